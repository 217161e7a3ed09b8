"""Whether a changed metamodel stays within its bounds.

Cheap questions come first, and a class that fails one is asked no other: what is refused must cost
less than what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, TypeVar

from sandbar import clock
from sandbar.errors import Incorrect
from sandbar.model import core
from sandbar.model.bounds import beyond
from sandbar.model.reaching import reached
from sandbar.model.schema import Schema

V = TypeVar("V")

_SUBCLASS_OF, _SLOTS, _ROOT = str(core.SUBCLASS_OF), str(core.SLOTS), [core.RESOURCE]

# What reading definitions takes of the processor in one transaction, beyond what is ordinary.
READING_NS_MAX = 400_000_000
_ORDINARY_NS = 100_000

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


class Effort:
    """What a transaction spends on reading its definitions, whose patterns and validators can take
    milliseconds each: enter it for each of them.
    """

    def __init__(self) -> None:
        self._ns_left = READING_NS_MAX
        self._started_ns = 0

    def __enter__(self) -> None:
        self._started_ns = clock.thread_ns()  # whatever other threads do meanwhile does not count

    def __exit__(self, *_: object) -> None:
        self._ns_left -= max(0, clock.thread_ns() - self._started_ns - _ORDINARY_NS)
        if self._ns_left < 0:
            raise Incorrect(
                "schema.too-costly",
                "reading the patterns and validators of these definitions takes too long",
                hint="define fewer of them at once, or simplify them",
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
    for check in (_check_depth, _check_ancestors, _check_slots, _check_total):
        check(old, new, below)


def _check_total(old: Schema, new: Schema, below: list[int]) -> None:
    """What all classes inherit together; only those in `below` may inherit more than before."""
    more = sum(_inherited(new, below)) - sum(_inherited(old, below))
    if more <= 0:
        return
    most = new.bounds.inheritance
    count = more + sum(_inherited(old, [id for id in old.class_ids if id in new.docs]))
    if count > most:
        said = f"all classes together have at most {most} slots and classes above them, "
        said += f"counted for each; there would be {count}"
        raise beyond("inheritance", said, most, count)


def _inherited(schema: Schema, ids: list[int]) -> list[int]:
    """How many slots and ancestors each class has; those that are not there have none."""
    _count(schema, ids)
    return [sum(schema.inherited.get(id, ())) for id in ids]


def _count(schema: Schema, ids: list[int]) -> None:
    """Let the schema know how many slots and ancestors each class has; which ones is not kept."""

    def inherited(id: int, above: list[tuple[frozenset[int], int]]) -> tuple[frozenset[int], int]:
        own = _held(schema, id, _SLOTS)
        if len(above) == 1:
            slots, ancestors = above[0]
            return slots.union(own) if own else slots, ancestors + 1
        slots = frozenset(own).union(*(some for some, _ in above))
        return slots, len(reached([id], partial(_parents, schema))) - 1

    found = _Upward(schema, inherited)
    for id in ids:
        if id not in schema.inherited and id in schema.docs:
            slots, ancestors = found.of(id)
            schema.inherited[id] = len(slots), ancestors


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
    def steps(id: int, above: list[int]) -> int:
        return 1 + max(above, default=-1)

    most, now, before = new.bounds.class_depth, _Upward(new, steps), _Upward(old, steps)
    for id in ids:
        count = now.of(id)
        if count > most and (id not in old.docs or count > before.of(id)):
            said = f"a class stands at most {most} steps below dt/Resource; "
            said += f"{new.ident_of(id)} would stand {count} below it"
            raise beyond("class_depth", said, most, count)


def _check_ancestors(old: Schema, new: Schema, ids: list[int]) -> None:
    most = new.bounds.class_ancestors
    enough = _Upward(new, partial(_ancestors, new, most))
    beyond_it = [id for id in ids if enough.of(id) is None]
    _count(old, beyond_it)
    for id in beyond_it:
        count = len(reached([id], partial(_parents, new))) - 1
        if count > old.inherited.get(id, (0, 0))[1]:
            said = f"a class has at most {most} others above it; {new.ident_of(id)} would have "
            raise beyond("class_ancestors", f"{said}{count}", most, count)


def _ancestors(
    schema: Schema, most: int, id: int, above: list[frozenset[int] | None]
) -> frozenset[int] | None:
    """The classes above one, or None for too many: so no set is much larger than the bound."""
    sets = [one for one in above if one is not None]
    found = frozenset(_parents(schema, id)).union(*sets)
    return found if len(sets) == len(above) and len(found) <= most else None


def _check_slots(old: Schema, new: Schema, ids: list[int]) -> None:
    most = new.bounds.class_slots
    _count(new, ids)
    for id in ids:
        count = new.inherited[id][0]
        if count > most:
            _count(old, [id])
            if count > old.inherited.get(id, (0, 0))[0]:
                raise _too_many_slots(new.ident_of(id), most, count)


def _too_many_slots(ident: str, most: int, count: int) -> Incorrect:
    said = f"a class has at most {most} slots, inherited ones included; {ident} would have {count}"
    return beyond("class_slots", said, most, count)


def _parents(schema: Schema, id: int) -> list[int]:
    """The classes directly above one; what is not there has none."""
    is_root = id == core.RESOURCE or id not in schema.docs
    return [] if is_root else _held(schema, id, _SUBCLASS_OF) or _ROOT


def _held(schema: Schema, id: int, slot: str) -> list[int]:
    """What a definition refers to, without compiling it: of large schemas most is never used."""
    entry = schema.docs.get(id)
    held: list[int] = (entry[1].get(slot) if entry else None) or []
    return held


class _Upward(Generic[V]):
    """What follows of a class from those directly above it: worked out once for each."""

    def __init__(self, schema: Schema, derive: Callable[[int, list[V]], V]) -> None:
        self._schema = schema
        self._derive = derive
        self._known: dict[int, V] = {}

    def of(self, id: int) -> V:
        """The value of a class; a circle is not followed."""
        known, way, begun = self._known, [id], set[int]()
        while way:
            here = way[-1]
            if here in known:
                way.pop()
                continue
            parents = _parents(self._schema, here)
            if here in begun:  # and all above it are known, but for a circle
                known[here] = self._derive(here, [known[up] for up in parents if up in known])
            else:
                begun.add(here)
                way += [up for up in parents if up not in known and up not in begun]
        return known[id]
