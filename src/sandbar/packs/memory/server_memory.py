"""The source `server-memory`: the file of the npm package @modelcontextprotocol/server-memory.

Every line is an entity or a relation in JSON. All of it is kept: from what is imported the same
lines can be written again. A line that does not fit into slots to the letter is kept whole beside
them, in memory/extra or relation/extra.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import msgspec

from sandbar.codecs import Codecs, Parsed
from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, data_of
from sandbar.model import Introspection
from sandbar.packs.memory.answers import MEMORY
from sandbar.packs.memory.links import LINK_SLOTS
from sandbar.packs.memory.naming import Idents, digest_of, slug_of
from sandbar.projects import Item, RootedFolder

RELATION = "mm/Relation"
LINE_KEY = "server-memory/line"  # in memory/extra and relation/extra: the line as it was

_FILE_BYTES_MAX = 256 << 20  # the server itself holds all of it in memory
_USUAL_NAMES = ("memory.jsonl", "memory.json")
_NO_NAME = "(no name)"
_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")
_HINT = 'lines are {"type": "entity", …} or {"type": "relation", …}, as server-memory writes them'


class _Entity(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    entity_type: str
    observations: list[str]


class _Relation(msgspec.Struct, frozen=True, rename="camel"):
    from_: str = msgspec.field(name="from")
    to: str
    relation_type: str


_KINDS: dict[str, type[_Entity | _Relation]] = {"entity": _Entity, "relation": _Relation}


class _Line(NamedTuple):
    """A line that says something."""

    number: int
    text: str
    said: _Entity | _Relation | None
    more: dict[str, Any]  # keys that the server does not know
    is_plain: bool  # whether it says everything once
    problem: Problem | None = None


class ServerMemorySource:
    """The file of a server-memory, alone or in a folder."""

    name = "server-memory"

    def recognises(self, folder: RootedFolder) -> bool:
        """Whether the first line of the file is one of theirs."""
        path = _file_of(folder)
        if path is None:
            return False
        try:
            first = next(_lines(folder.read(path, bytes_max=_FILE_BYTES_MAX)), None)
        except Problem:
            return False
        return first is not None and first.said is not None

    def items(
        self,
        folder: RootedFolder,
        schema: Introspection,
        codecs: Codecs,
        *,
        only: Container[str] | None = None,
    ) -> Iterator[Item]:
        """Every line, in order: memories first, as the server writes them, then relations."""
        path = _file_of(folder)
        if path is None:
            raise Incorrect(
                "server-memory.no-file",
                f"there is no {_USUAL_NAMES[0]} in {folder.name}",
                hint="name the file that MEMORY_FILE_PATH of the server names",
            )
        if only is not None and path not in only:
            return
        data = folder.read(path, bytes_max=_FILE_BYTES_MAX)
        graph = _Graph(schema, data)
        for line in _lines(data):
            if line.problem is not None:
                yield Item(path=path, problem=line.problem)
                continue
            class_, slots = graph.slots_of(line)
            parsed = Parsed(class_=class_, slots=slots, line=line.number)
            yield Item(path=path, parsed=parsed, size=len(line.text), is_whole=False)


class _Graph:
    """What the file says as a whole: which memories there are, and how they are linked."""

    def __init__(self, schema: Introspection, data: bytes) -> None:
        self._schema = schema
        self._idents = Idents()
        self._by_line: dict[int, str] = {}
        self._by_name: dict[str, str] = {}  # of several of one name the first is meant
        self._links: dict[str, dict[str, dict[str, None]]] = {}
        relations: list[_Relation] = []
        for line in _lines(data):
            if isinstance(line.said, _Entity):
                name = line.said.name
                ident = self._idents.give(f"mm/{slug_of(schema, name)}", name)
                self._by_line[line.number] = ident
                self._by_name.setdefault(name, ident)
            elif isinstance(line.said, _Relation):
                self._by_line[line.number] = self._ident_of(line.said)
                relations.append(line.said)
        for relation in relations:
            self._link(relation)

    def slots_of(self, line: _Line) -> tuple[str, dict[str, Any]]:
        """The class and the slots of what a line says."""
        if isinstance(line.said, _Entity):
            return MEMORY, self._memory(line, line.said)
        assert isinstance(line.said, _Relation)
        return RELATION, self._relation(line, line.said)

    def _memory(self, line: _Line, said: _Entity) -> dict[str, Any]:
        ident = self._by_line[line.number]
        observations = list(dict.fromkeys(map(_kept, said.observations)))
        is_exact = observations == said.observations and bool(said.name)
        is_exact = is_exact and _is_kept(said.name, said.entity_type)
        kinds = self._schema.describe_property("memory/type")["one-of"]
        kind = said.entity_type.lower()
        return {
            "db/ident": ident,
            "memory/name": _kept(said.name) or _NO_NAME,
            "memory/entity-type": _kept(said.entity_type),
            "memory/observations": observations or None,
            "memory/extra": self._extra(line, is_exact, "memory/extra"),
            **({"memory/type": kind} if kind in kinds else {}),
            **{slot: list(ends) for slot, ends in self._links.get(ident, {}).items()},
        }

    def _relation(self, line: _Line, said: _Relation) -> dict[str, Any]:
        is_exact = bool(said.from_ and said.to)
        is_exact = is_exact and _is_kept(said.from_, said.to, said.relation_type)
        slots = {
            "db/ident": self._by_line[line.number],
            "relation/type": _kept(said.relation_type),
            "relation/extra": self._extra(line, is_exact, "relation/extra"),
        }
        for slot, name in (("relation/from", said.from_), ("relation/to", said.to)):
            known = self._by_name.get(name)
            slots |= {slot: known, f"{slot}-name": None if known else _kept(name)}
        return slots

    def _extra(self, line: _Line, is_exact: bool, slot: str) -> dict[str, Any] | None:
        """The keys that the server does not know; the whole line, if that is not all."""
        more = line.more
        try:
            is_exact = is_exact and self._schema.stored(slot, more) == more
        except Problem:
            more, is_exact = {}, False
        if not is_exact or not line.is_plain or LINE_KEY in more:
            more = {**more, LINE_KEY: line.text}
        return more or None

    def _ident_of(self, relation: _Relation) -> str:
        key = "\0".join((relation.from_, relation.relation_type, relation.to))
        return self._idents.give(f"relation/{digest_of(key, 16)}", key)

    def _link(self, relation: _Relation) -> None:
        """A relation whose type is one of our links is such a link as well."""
        slot = LINK_SLOTS.get(relation.relation_type.lower().replace("_", "-").replace(" ", "-"))
        start, end = self._by_name.get(relation.from_), self._by_name.get(relation.to)
        if slot is not None and start is not None and end is not None and start != end:
            self._links.setdefault(start, {}).setdefault(slot, {})[end] = None


def _file_of(folder: RootedFolder) -> str | None:
    if folder.only is not None:
        return folder.only if folder.only.endswith((".jsonl", ".json")) else None
    return next((name for name in _USUAL_NAMES if folder.has(name)), None)


def _lines(data: bytes) -> Iterator[_Line]:
    """The lines that are not blank."""
    start = 0
    number = 0
    while start <= len(data):
        end = data.find(b"\n", start)
        end = len(data) if end == -1 else end
        number += 1
        if raw := data[start:end].strip():
            yield _line(number, raw)
        start = end + 1


def _line(number: int, raw: bytes) -> _Line:
    repeated: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append("")
        return found

    try:
        text = raw.decode("utf-8")
        # Unlike others this reader takes halves of surrogate pairs, which JavaScript writes.
        found = json.loads(text, object_pairs_hook=read_object)
    except (ValueError, RecursionError) as error:
        return _refused_line(number, f"no JSON: {error}")
    kind = _KINDS.get(str(found.get("type"))) if isinstance(found, dict) else None
    if kind is None:
        return _refused_line(number, "neither an entity nor a relation")
    try:
        said = msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        return _refused_line(number, str(error))
    known = {"type", *(field.encode_name for field in msgspec.structs.fields(kind))}
    more = {key: value for key, value in found.items() if key not in known}
    return _Line(number, text, said, more, not repeated)


def _refused_line(number: int, what: str) -> _Line:
    found = Finding(line=number, code="server-memory.malformed", message=what, hint=_HINT)
    problem = Incorrect(
        "server-memory.malformed",
        f"line {number}: {what[:300]}",
        hint=_HINT,
        data={"findings": data_of([found])},
    )
    return _Line(number, "", None, {}, True, problem)


def _kept(text: str) -> str:
    """A text without what cannot be kept."""
    return _UNKEEPABLE.sub("\ufffd", text)


def _is_kept(*texts: str) -> bool:
    return not any(_UNKEEPABLE.search(text) for text in texts)
