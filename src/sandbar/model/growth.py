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
    if not reshaped:
        return
    for id in sorted(reshaped):
        _check_width(old, new, id)
    below = sorted(new.at_or_below(reshaped))
    _check_depth(old, new, below)
    for id in below:
        _check_inherited(old, new, id)
    most, count = new.bounds.inherited_slots, slot_total(new)
    if count > most and count > slot_total(old):
        said = f"all classes together have at most {most} slots, inherited ones included; "
        raise beyond("inherited_slots", f"{said}there would be {count}", most, count)


def slot_count(schema: Schema, id: int) -> int:
    """How many slots a class has, inherited ones included; which ones is not kept."""
    count = schema.slot_counts.get(id)
    if count is None:
        classes = reached([id], partial(_parents, schema))
        slots = (schema.class_by_id(one).direct_slot_ids for one in classes if one in schema.docs)
        count = schema.slot_counts[id] = len(set[int]().union(*slots))
    return count


def slot_total(schema: Schema) -> int:
    """The same of all classes together."""
    return sum(slot_count(schema, id) for id in schema.class_ids)


def _is_reshaped(old: Schema, new: Schema, id: int) -> bool:
    """Whether a class stands elsewhere than before, or brings other slots."""
    if not old.has_class(id):
        return True
    was, now = old.class_by_id(id), new.class_by_id(id)
    return was.parent_ids != now.parent_ids or was.direct_slot_ids != now.direct_slot_ids


def _check_width(old: Schema, new: Schema, id: int) -> None:
    """What the class itself brings."""
    cls = new.class_by_id(id)
    was = old.class_by_id(id) if old.has_class(id) else None
    most, count = new.bounds.class_parents, len(cls.parent_ids)
    if count > most and (was is None or count > len(was.parent_ids)):
        said = f"a class has at most {most} parents; {cls.ident} would have {count}"
        raise beyond("class_parents", said, most, count)
    most, count = new.bounds.class_slots, len(cls.direct_slot_ids)
    if count > most and (was is None or count > len(was.direct_slot_ids)):
        raise _too_many_slots(cls.ident, most, count)


def _check_depth(old: Schema, new: Schema, ids: list[int]) -> None:
    most, steps, before = new.bounds.class_depth, _Steps(new), _Steps(old)
    for id in ids:
        count = steps.above(id)
        if count > most and count > before.above(id):
            said = f"a class stands at most {most} steps below dt/Resource; "
            said += f"{new.ident_of(id)} would stand {count} below it"
            raise beyond("class_depth", said, most, count)


def _check_inherited(old: Schema, new: Schema, id: int) -> None:
    ident, is_new = new.ident_of(id), not old.has_class(id)
    most = new.bounds.class_ancestors
    count = _ancestor_count(new, id, most)
    if count > most and (is_new or _ancestor_count(new, id) > _ancestor_count(old, id)):
        said = f"a class has at most {most} others above it; {ident} would have {count} or more"
        raise beyond("class_ancestors", said, most, count)
    most, count = new.bounds.class_slots, slot_count(new, id)
    if count > most and (is_new or count > slot_count(old, id)):
        raise _too_many_slots(ident, most, count)


def _too_many_slots(ident: str, most: int, count: int) -> Incorrect:
    said = f"a class has at most {most} slots, inherited ones included; {ident} would have {count}"
    return beyond("class_slots", said, most, count)


def _ancestor_count(schema: Schema, id: int, enough: float = math.inf) -> int:
    """How many classes are above one; it is not counted much further than `enough`."""
    seen = set(schema.class_by_id(id).parent_ids)
    waiting = list(seen)
    while waiting and len(seen) <= enough:
        fresh = [up for up in _parents(schema, waiting.pop()) if up not in seen]
        seen.update(fresh)
        waiting += fresh
    return len(seen)


def _parents(schema: Schema, id: int) -> list[int]:
    return schema.parents_of(id) if id in schema.docs else []


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
