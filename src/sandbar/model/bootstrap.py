"""Writing a metamodel into an empty workspace, and reading it out again.

The dump of a metamodel is the same kind of text as `core.json`. Loading one is metacircular: the
entries are compiled into a schema, and every entry must be a valid instance of its own class
under that very schema.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, Findings, finding_of
from sandbar.keywords import looks_like_ident
from sandbar.model import core
from sandbar.model.checks import check_required, check_validators, decode_slot
from sandbar.model.core import Entry
from sandbar.model.documents import Doc, write_doc
from sandbar.model.drafts import Draft
from sandbar.model.handover import change_of, creation_of, pairs_of
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.model.soundness import check_definition
from sandbar.model.trouble import refuse
from sandbar.model.values.refusals import quoted
from sandbar.model.values.scalars import MAX_REF
from sandbar.model.words import entity_words
from sandbar.store import Change, Transaction

PRINCIPAL = "sandbar"

_HINT = "load a dump as Introspection.dump wrote it"


def install_metamodel(tx: Transaction, entries: list[Entry]) -> None:
    """Write the entries of a dump into an empty workspace, with the ids that they name."""
    if tx.t != 1:
        return  # another process was faster
    known, changes = _of_core()
    if entries is not known:
        changes = _changes_of(entries)
    tx.attribute(PRINCIPAL, "the metamodel")
    tx.bump_schema()
    for change in changes:
        tx.change(change, None)
    tx.next_id = max(core.FIRST_FREE_ID, max(change.id for change in changes) + 1)


@cache
def _of_core() -> tuple[list[Entry], list[Change]]:
    """What nearly every workspace begins with: most of the time that makes one went to this."""
    return core.CORE, _changes_of(core.CORE)


def _changes_of(entries: list[Entry]) -> list[Change]:
    schema = compile_entries(entries)
    changes = []
    for id, (class_id, doc) in schema.docs.items():
        cls = schema.class_by_id(class_id)
        begun = list(pairs_of(cls, doc))
        words = entity_words(cls, doc)
        changes.append(Change(id, class_id, write_doc(doc), begun, (), words))
    return changes


def grow_core(tx: Transaction) -> None:
    """Bring the core of an older workspace up to date; what users have made stays as it is."""
    if tx.entity(core.LAST_ID) is not None:
        return  # another process was faster
    schema = compile_entries(core.CORE)
    tx.attribute(PRINCIPAL, "the metamodel has grown")
    tx.tally.uses_reserve = True  # a full workspace can be opened, too
    tx.bump_schema()
    for id, (class_id, doc) in schema.docs.items():
        cls = schema.class_by_id(class_id)
        row = tx.entity(id)
        if row is None:
            tx.change(creation_of(Draft(id, class_id, None, None, doc), cls), None)
            continue
        draft = Draft.of(row)
        draft.doc = doc
        if draft.is_changed():
            tx.change(change_of(draft, cls, cls), row)


def read_metamodel(text: bytes) -> list[Entry]:
    """The entries of a dump that can be loaded."""
    try:
        entries = core.parse_entries(text)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Incorrect("metamodel.malformed", f"this is no dump: {error}", hint=_HINT) from error
    entries = _with_core_of_today(entries)
    compile_entries(entries)
    return entries


def _with_core_of_today(entries: list[Entry]) -> list[Entry]:
    """A dump that was made with a smaller core is loaded with the one that there is now."""
    today = {entry.id: entry.slots["db/ident"] for entry in core.CORE}
    old = {e.id: e.slots.get("db/ident") for e in entries if e.id < core.FIRST_FREE_ID}
    if core.LAST_ID in old or not old or not old.items() <= today.items():
        return entries
    return core.CORE + [entry for entry in entries if entry.id >= core.FIRST_FREE_ID]


def compile_entries(entries: list[Entry]) -> Schema:
    """The schema that a dump describes, checked against itself."""
    if [entry for entry in entries if entry.id < core.FIRST_FREE_ID] != core.CORE:
        raise Incorrect("metamodel.other-core", "this dump was made with another core", hint=_HINT)
    names = [entry.slots.get("db/ident") for entry in entries]
    if not all(isinstance(name, str) and looks_like_ident(name) for name in names):
        raise Incorrect("metamodel.idents", "every entry of a metamodel has an ident", hint=_HINT)
    ids: dict[Any, int] = {entry.slots["db/ident"]: entry.id for entry in entries}
    if len(ids) != len(entries) or len(set(ids.values())) != len(entries):
        raise Incorrect("metamodel.twice", "an id or an ident occurs twice", hint=_HINT)
    if max(ids.values()) > MAX_REF:
        raise Incorrect("metamodel.malformed", f"ids go up to {MAX_REF}", hint=_HINT)
    shapes = {entry.slots["db/ident"]: entry.slots for entry in entries}
    docs = {entry.id: (_number(ids, entry.class_), _raw(entry, ids, shapes)) for entry in entries}
    schema = Schema(1, 1, docs, [1])
    for entry in entries:
        if ids[entry.class_] not in schema.metaclasses:
            name = entry.slots["db/ident"]
            raise Incorrect("metamodel.data", f"{name} is no class or property", hint=_HINT)
    # Definitions are read only after it is known that all they are read from has its form.
    for check in (_check_form, _check):
        findings = Findings()
        for id, (class_id, doc) in docs.items():
            for found in check(schema, id, class_id, doc):
                findings.add(found)
        if findings.told:
            raise refuse("the metamodel contradicts itself", findings, {})
    return schema


def dump_metamodel(schema: Schema) -> bytes:
    """The metamodel as text: loading it and dumping again gives the same bytes."""
    lines = [msgspec.json.encode(_entry(schema, id)).decode() for id in sorted(schema.docs)]
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def _entry(schema: Schema, id: int) -> Entry:
    class_id, doc = schema.docs[id]
    cls = schema.class_by_id(class_id)
    slots: dict[str, Any] = {}
    for key, stored in sorted(doc.items(), key=lambda item: int(item[0])):
        property = cls.by_key[key]
        if property.is_ref:
            names = [schema.ident_of(target) for target in property.values(stored)]
            stored = names if property.many else names[0]
        slots[property.ident] = stored
    return Entry(id, cls.ident, slots)


def _number(ids: dict[Any, int], name: Any) -> int:
    if not isinstance(name, str) or name not in ids:
        raise Incorrect("metamodel.dangling", f"{quoted(name)} is not defined here", hint=_HINT)
    return ids[name]


def _raw(entry: Entry, ids: dict[Any, int], shapes: dict[str, dict[str, Any]]) -> Doc:
    """The document of an entry: names become numbers wherever the slot refers to an entity."""
    doc: Doc = {}
    for slot, given in entry.slots.items():
        number = _number(ids, slot)
        if not str(shapes[slot].get("dt/range")).startswith("db.type/"):
            if shapes[slot].get("db/cardinality") != "many":
                given = _number(ids, given)
            elif isinstance(given, list) and given:
                given = [_number(ids, name) for name in given]
            else:
                raise Incorrect("metamodel.malformed", f"{slot} takes a list", hint=_HINT)
        doc[str(number)] = given
    return doc


def _check_form(schema: Schema, id: int, class_id: int, doc: Doc) -> list[Finding]:
    """Whether the slots that make a definition, which all metamodels share, hold such values."""
    slots = schema.class_by_id(class_id).by_key
    try:
        for key, stored in doc.items():
            if key in slots and int(key) < core.FIRST_FREE_ID:
                _check_stored(schema, slots[key], stored)
    except Problem as problem:
        return [finding_of(problem, slot=schema.ident_of(id))]
    return []


def _check(schema: Schema, id: int, class_id: int, doc: Doc) -> list[Finding]:
    cls = schema.class_by_id(class_id)
    findings = check_required(cls, lambda property: property.key in doc)
    if findings:
        return findings
    try:
        check_definition(schema, id)
        for key, stored in doc.items():
            if key not in cls.by_key:
                raise Incorrect("slot.unknown", f"{cls.ident} has no slot #{key}")
            _check_stored(schema, cls.by_key[key], stored)
    except Problem as problem:
        findings.append(finding_of(problem, slot=schema.ident_of(id)))
    return findings + check_validators(cls, doc)


def _check_stored(schema: Schema, property: Property, stored: Any) -> None:
    def resolve(target: Any, property: Property) -> int:
        class_id = schema.docs[target][0]
        if property.target is None:
            return int(target)
        if property.target not in schema.class_by_id(class_id).lineage:
            raise Incorrect("reference.range", f"#{target} is no {property.ident}")
        return int(target)

    if decode_slot(property, stored, resolve) != stored:
        raise Incorrect("value.form", f"{property.ident} is not in its stored form")
