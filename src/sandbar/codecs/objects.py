"""JSON objects and entities: what JSON and JSON Lines have in common."""

from __future__ import annotations

from typing import Any

from sandbar.codecs.api import Parsed
from sandbar.codecs.findings import findings_of_text, refuse_if_any
from sandbar.codecs.naming import derived_ident, looks_like_path
from sandbar.codecs.places import Place
from sandbar.codecs.routing import stated_class, wanted_class
from sandbar.codecs.shapes import CLASS_MARK, ID_MARK, IDENT, Slot, shape_of
from sandbar.codecs.statements import Statements
from sandbar.errors import Problem
from sandbar.findings import Finding, Findings, finding_of
from sandbar.keywords import looks_like_ident
from sandbar.model import Entity, Introspection

_KINDS = {list: "an array", str: "text", bool: "true or false", type(None): "null"}


def object_of(entity: Entity, schema: Introspection, *, with_class: bool) -> dict[str, Any]:
    """An entity as an object of its slots, under their idents."""
    shape = shape_of(schema, entity.class_)
    slots = entity.slots
    whole = {slot.ident: slots[slot.ident] for slot in shape.written if slot.ident in slots}
    if with_class:
        whole[CLASS_MARK] = entity.class_
    if entity.ident is None:
        if with_class:
            whole[ID_MARK] = entity.entity_id
        if derived_ident(schema, entity.class_, slots) is not None:
            whole[IDENT] = None
    return whole


def parse_object(
    given: Any,
    schema: Introspection,
    class_: str | None,
    line: int,
    lines: dict[str, int],
    place: Place | None = None,
) -> Parsed:
    """What an object states; `lines` tells where its keys stand, as far as that is known."""
    wanted = None if class_ is None else schema.ident(class_)
    found = findings_of_text()
    if not isinstance(given, dict):
        found.add(
            Finding(
                line=line,
                code="codec.syntax",
                message=f"expected an object of slots, got {_KINDS.get(type(given), 'a number')}",
                hint='for example {"footwear/name": "Mud Lord"}; many objects are jsonl',
            )
        )
        refuse_if_any(found)
    try:
        if given.get(CLASS_MARK) is not None:
            name = stated_class(schema, given[CLASS_MARK], wanted)
        else:
            name = wanted_class(wanted, f'name it under "{CLASS_MARK}"')
    except Problem as problem:
        found.add(finding_of(problem, line=lines.get(CLASS_MARK, line), key=CLASS_MARK))
        refuse_if_any(found)
    statements = Statements(schema, name, found, place)
    for key, value in given.items():
        if key not in (CLASS_MARK, ID_MARK) and not found.is_full:
            _state(statements, key, value, lines.get(key, line), found)
    id = None
    if given.get(ID_MARK) is not None:
        try:
            id = statements.check_id(given[ID_MARK])
        except Problem as problem:
            found.add(finding_of(problem, line=lines.get(ID_MARK, line), key=ID_MARK))
    return statements.parsed(line, id)


def _state(statements: Statements, key: str, value: Any, line: int, found: Findings) -> None:
    try:
        slot = statements.claim(key, line)
        if slot is None:
            statements.keep(key, value, line)
        else:
            statements.put(slot, _led(statements, slot, value))
    except Problem as problem:
        found.add(finding_of(problem, line=line, key=key))


def _led(statements: Statements, slot: Slot, value: Any) -> Any:
    """References with idents for paths. What could be an ident is one: data is taken literally."""
    if not statements.has_place or slot.kind != "ref":
        return value
    if isinstance(value, list):
        return [_led(statements, slot, one) for one in value]
    is_path = isinstance(value, str) and looks_like_path(value) and not looks_like_ident(value)
    return statements.ident_at(slot, value) if is_path else value
