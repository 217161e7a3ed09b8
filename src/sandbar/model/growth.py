"""Whether a changed metamodel stays within its bounds.

Cheap questions come first, and a class that fails one is asked no other: what is refused must cost
less than what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from sandbar.errors import Incorrect
from sandbar.model import core
from sandbar.model.bounds import beyond
from sandbar.model.reaching import reached
from sandbar.model.schema import Schema

_SUBCLASS_OF, _SLOTS, _ROOT = str(core.SUBCLASS_OF), str(core.SLOTS), [core.RESOURCE]

TURNS_MAX = 8  # of classes whose class is defined by the same transaction


def check_amount(schema: Schema, turns: int, changed: int) -> None:
    """Refuse more definitions than one transaction may make or change, or too many turns."""
    most = schema.bounds.definitions_at_once
    if changed > most:
        said = f"a transaction defines at most {most} classes and properties; these are {changed}"
        raise beyond("definitions_at_once", said, most, changed)
    if turns > TURNS_MAX:
        raise Incorrect(
            "schema.too-nested",
            f"at most {TURNS_MAX} classes of a transaction can be each the class of the next",
            hint="define the first of them in a transaction before",
        )


def check_growth(old: Schema, new: Schema, changed: Iterable[int]) -> None:
    """Refuse a change of these definitions that leads beyond a bound; `old` is what is committed.

    All that a class inherits concerns those below it as well.
    """
    most, count = new.bounds.definitions, len(new.docs)
    if count > most and count > len(old.docs):
        said = f"a workspace has at most {most} classes and properties; there would be {count}"
        raise beyond("definitions", said, most, count)
    reshaped = {id for id in changed if new.has_class(id) and _is_reshaped(old, new, id)}
    for id in sorted(reshaped):
        _check_width(old, new, id)
    below = sorted(new.at_or_below(reshaped))
    _check_depth(old, new, below)
    for id in below:
        _check_inherited(old, new, id)
    _check_total(old, new, below)


def _check_total(old: Schema, new: Schema, below: list[int]) -> None:
    """What all classes inherit together; only those in `below` may inherit more than before."""
    more = sum(_slot_count(new, id) for id in below)
    more -= sum(_slot_count(old, id) for id in below if old.has_class(id))
    if more <= 0:
        return
    most = new.bounds.inherited_slots
    count = more + sum(_slot_count(old, id) for id in old.class_ids if id in new.docs)
    if count > most:
        said = f"all classes together have at most {most} slots, inherited ones included; "
        raise beyond("inherited_slots", f"{said}there would be {count}", most, count)


def _slot_count(schema: Schema, id: int) -> int:
    """How many slots a class has, inherited ones included; which ones is not kept."""
    count = schema.slot_counts.get(id)
    if count is None:
        docs = (schema.docs.get(one) for one in reached([id], partial(_parents, schema)))
        slots = (entry[1].get(_SLOTS) or () for entry in docs if entry is not None)
        count = schema.slot_counts[id] = len(set[int]().union(*slots))
    return count


def _is_reshaped(old: Schema, new: Schema, id: int) -> bool:
    """Whether a class stands elsewhere than before, or brings other slots."""
    says = (_held(old, id, slot) != _held(new, id, slot) for slot in (_SUBCLASS_OF, _SLOTS))
    return not old.has_class(id) or any(says)


def _check_width(old: Schema, new: Schema, id: int) -> None:
    """What the class itself brings."""
    most, count = new.bounds.class_parents, len(_held(new, id, _SUBCLASS_OF))
    if count > most and count > len(_held(old, id, _SUBCLASS_OF)):
        said = f"a class has at most {most} parents; {new.ident_of(id)} would have {count}"
        raise beyond("class_parents", said, most, count)
    most, count = new.bounds.class_slots, len(_held(new, id, _SLOTS))
    if count > most and count > len(_held(old, id, _SLOTS)):
        raise _too_many_slots(new.ident_of(id), most, count)


def _check_depth(old: Schema, new: Schema, ids: list[int]) -> None:
    most, steps, before = new.bounds.class_depth, _Steps(new), _Steps(old)
    for id in ids:
        count = steps.above(id)
        if count > most and count > before.above(id):
            said = f"a class stands at most {most} steps below dt/Resource; "
            said += f"{new.ident_of(id)} would stand {count} below it"
            raise beyond("class_depth", said, most, count)


def _check_inherited(old: Schema, new: Schema, id: int) -> None:
    most, ident = new.bounds.class_ancestors, new.ident_of(id)
    count = _ancestor_count(new, id, most)
    if count > most and (count := _ancestor_count(new, id)) > _ancestor_count(old, id):
        said = f"a class has at most {most} others above it; {ident} would have {count}"
        raise beyond("class_ancestors", said, most, count)
    most, count = new.bounds.class_slots, _slot_count(new, id)
    if count > most and count > _slot_count(old, id):
        raise _too_many_slots(ident, most, count)


def _too_many_slots(ident: str, most: int, count: int) -> Incorrect:
    said = f"a class has at most {most} slots, inherited ones included; {ident} would have {count}"
    return beyond("class_slots", said, most, count)


def _ancestor_count(schema: Schema, id: int, enough: float = math.inf) -> int:
    """How many classes are above one; it is not counted much further than `enough`."""
    seen = set(_parents(schema, id))
    waiting = list(seen)
    while waiting and len(seen) <= enough:
        fresh = [up for up in _parents(schema, waiting.pop()) if up not in seen]
        seen.update(fresh)
        waiting += fresh
    return len(seen)


def _parents(schema: Schema, id: int) -> list[int]:
    """The classes directly above one; what is not there has none."""
    is_root = id == core.RESOURCE or id not in schema.docs
    return [] if is_root else _held(schema, id, _SUBCLASS_OF) or _ROOT


def _held(schema: Schema, id: int, slot: str) -> list[int]:
    """What a definition refers to, without compiling it: of large schemas most is never used."""
    entry = schema.docs.get(id)
    held: list[int] = (entry[1].get(slot) if entry else None) or []
    return held


class _Steps:
    """How far classes stand below the root, on the longest way; each is looked at once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known: dict[int, int] = {core.RESOURCE: 0}

    def above(self, id: int) -> int:
        """The steps up from a class; what is none has none, and a circle is not followed."""
        known, way, begun = self._known, [id], set[int]()
        while way:
            here = way[-1]
            parents = () if here in known else _parents(self._schema, here)
            if here in known:
                way.pop()
            elif here in begun:  # and all above it are known, but for a circle
                known[here] = 1 + max((known.get(up, 0) for up in parents), default=-1)
            else:
                begun.add(here)
                way += [up for up in parents if up not in known and up not in begun]
        return known[id]
