"""Drafts: entities on their way from one document to the next, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from sandbar.errors import Conflict, Forbidden, Problem
from sandbar.model import core
from sandbar.model.documents import Doc, exact, read_doc
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.store import Row

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


Differs = Callable[[str, Any, Any], bool | None]  # of a slot, its value now and before

Misfits = dict[str, Misfit]  # by the key of the slot


class Draft(msgspec.Struct, gc=False):
    """One entity on its way from its old document to its new one (None: deleted)."""

    id: int
    class_id: int
    before: Row | None
    old: Doc | None
    doc: Doc | None
    misfits: Misfits | None = None  # what a change of the metamodel has set aside
    differing: tuple[str, Any, Doc] | None = None  # a slot that differs, its value, and from where

    @classmethod
    def of(cls, row: Row) -> Draft:
        """The draft of an entity that exists."""
        old = read_doc(row.doc)
        return cls(row.id, row.cls, row, old, dict(old))

    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return self.differs_from(self.old)

    def differs_from(
        self, was: Doc | None, at_once: Differs = lambda key, one, other: None
    ) -> bool:
        """Whether the document is another than this one; of some slots that is known `at_once`.

        It may be asked after each of many operations: what has not changed since is not compared
        again, so a value that is the same as before is replaced by that one.
        """
        doc = self.doc
        if doc is None or was is None:
            return doc is not was
        if self.differing is not None:
            key, value, then = self.differing
            if then is was and doc.get(key) is value:
                return True
        if doc.keys() != was.keys():
            return True
        for key, value in doc.items():
            before = was[key]
            if value is before or (differs := at_once(key, value, before)) is False:
                continue
            if differs or value != before or exact(value) != exact(before):
                if not isinstance(value, list):  # which is changed where it is
                    self.differing = key, value, was
                return True
            doc[key] = before
        return False


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
