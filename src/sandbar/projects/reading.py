"""Reading files into items: which codec, which class, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sandbar.codecs import Codec, Codecs, Parsed, Place, parse_one
from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, data_of
from sandbar.model import Introspection
from sandbar.projects.documents import SPEC
from sandbar.projects.places import Places
from sandbar.projects.rooted import FILE_BYTES_MAX, Found, RootedFolder
from sandbar.projects.sources import Item
from sandbar.projects.sums import digest_of, plain_digest
from sandbar.workflow import DEFINITION, read_spec

BULK_BYTES_MAX = 256 << 20


def read_items(
    folder: RootedFolder,
    found: Found,
    schema: Introspection,
    codecs: Codecs,
    class_: str | None,
    places: Places,
) -> Iterator[Item]:
    """The items of one file: one, unless its codec is for many."""
    path = found.path
    codec = codecs.of_suffix(suffix_of(path))
    if found.problem is not None:
        yield Item(path=path, problem=found.problem)
    elif codec is None:
        yield Item(path=path)
    elif codec.is_bulk:
        yield from _bulk(folder, path, schema, codec, class_)
    else:
        yield _single(folder, places.of(path), schema, codec, class_)


def suffix_of(path: str) -> str:
    """How the name of a file ends, with the dot."""
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f"{dot}{suffix}"


def read_workflow(folder: RootedFolder, path: str) -> Item:
    """The item of a workflow: its spec, which is checked as `workflow.define` does."""
    try:
        data = folder.read(path)
        spec = _spec(text_of(data))
        slots = {"db/ident": read_spec(spec).name, SPEC: spec}
    except Problem as problem:
        return Item(path=path, problem=problem)
    return _whole(path, data, Parsed(class_=DEFINITION, slots=slots))


def text_of(data: bytes) -> str:
    """The text of a file, which is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line}: this is not UTF-8"
        found = Finding(
            line=line,
            code="project.encoding",
            message="this is not UTF-8",
            hint="save the file as UTF-8",
        )
        raise Incorrect(
            "project.encoding", message, hint=found.hint, data={"findings": data_of([found])}
        ) from None


def _spec(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        found = Finding(line=line, code="codec.syntax", message=f"no JSON: {error}")
        raise Incorrect(
            "codec.malformed",
            f"line {line}: no JSON: {error}",
            hint="workflow.find shows how a spec is written",
            data={"findings": data_of([found])},
        ) from None


def _single(
    folder: RootedFolder, place: Place, schema: Introspection, codec: Codec, class_: str | None
) -> Item:
    path = place.path
    try:
        data = folder.read(path, bytes_max=FILE_BYTES_MAX)
        parsed = parse_one(codec, text_of(data), schema, class_, place=place)
    except Problem as problem:
        return Item(path=path, problem=problem)
    return _whole(path, data, parsed)


def _whole(path: str, data: bytes, parsed: Parsed) -> Item:
    return Item(
        path=path,
        parsed=parsed,
        digest=digest_of(data),
        plain_digest=plain_digest(data) if b"\r\n" in data else None,
        size=len(data),
    )


def _bulk(
    folder: RootedFolder, path: str, schema: Introspection, codec: Codec, class_: str | None
) -> Iterator[Item]:
    """An item for each entity; what is refused does not keep the rest from being read."""
    try:
        text = text_of(folder.read(path, bytes_max=BULK_BYTES_MAX))
    except Problem as problem:
        yield Item(path=path, problem=problem)
        return
    rows = codec.parse(text, schema, class_)
    while True:
        try:
            parsed = next(rows)
        except StopIteration:
            return
        except Problem as problem:
            yield Item(path=path, problem=problem)
            continue
        size = sum(len(value) for value in parsed.slots.values() if isinstance(value, str))
        yield Item(path=path, parsed=parsed, size=size + 64 * len(parsed.slots), is_whole=False)
