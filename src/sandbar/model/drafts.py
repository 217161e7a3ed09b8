"""Drafts: entities on their way from one document to the next, before anything is written."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from sandbar.errors import Conflict, Forbidden, Problem
from sandbar.model import core
from sandbar.model.documents import Doc, exact, read_doc
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.store.rows import Row

_IDENT = str(core.IDENT)


class Hashed:
    """A secret that was hashed before it came near a transaction, or what is wrong with it."""

    __slots__ = ("_text", "problem")

    def __init__(self, text: str, problem: Problem | None = None) -> None:
        self._text = text
        self.problem = problem

    def kept(self) -> str:
        """The hash; raises what is wrong with the secret."""
        if self.problem is not None:
            raise self.problem
        return self._text


class SecretNotHashed(Exception):
    """A slot became secret, or no longer is: prepare again, by the schema that was met."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema


class Misfit(NamedTuple):
    """A value that its slot can no longer hold, the slot when it could, and what became of it."""

    stored: Any
    was: Property
    now: Property | None  # None: its class has it no longer


Misfits = dict[str, Misfit]  # by the key of the slot


class Draft(msgspec.Struct, gc=False):
    """One entity on its way from its old document to its new one (None: deleted)."""

    id: int
    class_id: int
    before: Row | None
    old: Doc | None
    doc: Doc | None
    misfits: Misfits | None = None  # what a change of the metamodel has set aside

    @classmethod
    def of(cls, row: Row) -> Draft:
        """The draft of an entity that exists."""
        old = read_doc(row.doc)
        return cls(row.id, row.cls, row, old, dict(old))

    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        if self.doc != self.old:
            return True
        return bool(self.doc) and exact(self.doc) != exact(self.old)

    def differs_from(self, was: Doc | None) -> bool:
        """Whether the document is another than this one."""
        return self.doc != was or exact(self.doc) != exact(was)


def ident_of(draft: Draft) -> str | None:
    """The name of a draft's entity, or of what it was."""
    ident: str | None = (draft.doc or draft.old or {}).get(_IDENT)
    return ident


def conflict_if_moved(draft: Draft, expect: int | None, now: int) -> None:
    """Refuse when the entity has changed since the caller looked, be it inside this unit."""
    if expect is None:
        return
    t = now if draft.before is None else draft.before.t
    if expect != t and not (expect == now and draft.is_changed()):
        raise Conflict(
            "entity.moved",
            f"entity {draft.id} was last changed at t={t}, not {expect}",
            hint="entity.find reads it again; then repeat the change and expect its t",
            data={"t": t, "expect": expect},
        )


def core_is_immutable(what: str) -> Forbidden:
    """The refusal to touch what every workspace has in common."""
    return Forbidden(
        "core.immutable",
        f"{what} is part of the core",
        hint="schema.define makes classes and properties of your own, also below those of the core",
    )
