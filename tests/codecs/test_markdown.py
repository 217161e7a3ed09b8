"""Markdown: how keys become slots, what a body keeps, and what the text of others may look like."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.codecs import Codecs, Parsed, emit_one, parse_one
from sandbar.model import Introspection
from tests.codecs.checking import entity

SEED = "---\nname: Foo\ntype: idea\n---\n# Context\n\nA quick thought.\n"


@pytest.fixture
def parse(schema: Introspection, codecs: Codecs) -> Any:
    """Read a document."""

    def read(text: str, class_: str | None = "book/Note") -> Parsed:
        return parse_one(codecs.named("markdown"), text, schema, class_)

    return read


@pytest.fixture
def emit(schema: Introspection, codecs: Codecs) -> Any:
    """Write an entity."""

    def write(class_: str, slots: dict[str, Any], *, with_class: bool = False) -> str:
        one = entity(class_, slots)
        return emit_one(codecs.named("markdown"), one, schema, with_class=with_class)

    return write


def front(parse: Any, lines: str, class_: str | None = "book/Note") -> dict[str, Any]:
    """The slots that a front matter states."""
    slots: dict[str, Any] = parse(f"---\ntitle: x\n{lines}\n---\n", class_).slots
    return {name: value for name, value in slots.items() if name not in ("note/name", "db/ident")}


def test_the_document_of_the_seeds(parse: Any, emit: Any) -> None:
    parsed = parse(SEED, "mm/Memory")
    assert parsed == Parsed(
        class_="mm/Memory",
        slots={
            "db/ident": "mm/foo",
            "memory/name": "Foo",
            "memory/type": "idea",
            "memory/body": "# Context\n\nA quick thought.\n",
        },
        is_ident_derived=True,
        lines={"memory/name": 2, "memory/type": 3, "memory/body": 5},
    )
    assert emit("mm/Memory", parsed.slots) == SEED


@pytest.mark.parametrize(
    ("line", "slots"),
    [
        ("version: 1.10", {"note/version": "1.10"}),
        ("version: no", {"note/version": "no"}),
        ("version: 2026-01-01", {"note/version": "2026-01-01"}),
        ("version: 0x1F", {"note/version": "0x1F"}),
        ("version: '5'", {"note/version": "5"}),
        ("version: !!str 5", {"note/version": "5"}),
        ("version:", {}),
        ("version: ~", {}),
        ("version: null", {}),
        ('version: ""', {"note/version": ""}),
        ('version: "null"', {"note/version": "null"}),
        ("version: >\n  a\n  b\n", {"note/version": "a b\n"}),
        ("pinned: yes", {"note/pinned?": True}),
        ("pinned?: FALSE", {"note/pinned?": False}),
        ("note/pinned?: on", {"note/pinned?": True}),
        (":note/pinned?: off", {"note/pinned?": False}),
        ("note/size: +12", {"note/size": 12}),
        ("other/size: '-7'", {"other/size": -7}),
        ("created: 2026-01-01", {"note/created": "2026-01-01T00:00:00Z"}),
        ("created: 2026-01-01 10:00:00+02:00", {"note/created": "2026-01-01T08:00:00Z"}),
        ("status: :open", {"note/status": "open"}),
        ("type: idea", {"note/type": "idea"}),
        ("type: note", {}),
        ("description: d", {"db/doc": "d"}),
        ("doc: d", {"db/doc": "d"}),
        ("label: L # not this", {"dt/label": "L"}),
        ("key: hush", {"note/key": "hush"}),
        ("cites: nb/a", {"note/cites": ["nb/a"]}),
        ("cites: [':nb/a', nb/a, 42, '42', nb/b]", {"note/cites": ["nb/a", 42, "nb/b"]}),
        ("cites:\n  - {note/name: A}", {"note/cites": [{"note/name": "A"}]}),
        ("cites: []", {}),
        ("other: 1", {"note/extra": {"other": 1}}),
        ("other: 1.10", {"note/extra": {"other": "1.10"}}),
        ("other: 1.5", {"note/extra": {"other": 1.5}}),
        ("other: 1e5", {"note/extra": {"other": "1e5"}}),
        ("other: no", {"note/extra": {"other": "no"}}),
        ("other: true", {"note/extra": {"other": True}}),
        ("other:", {"note/extra": {"other": None}}),
        ("other: 2026-01-01", {"note/extra": {"other": "2026-01-01"}}),
        ("other: 99999999999999999999", {"note/extra": {"other": "99999999999999999999"}}),
        ("1: {2: [3, '4']}", {"note/extra": {"1": {"2": [3, "4"]}}}),
        ("extra: {a: 1}\nb: 2", {"note/extra": {"a": 1, "b": 2}}),
        ("b: 2\nextra: {a: 1}", {"note/extra": {"a": 1, "b": 2}}),
        ("extra: [1]", {"note/extra": [1]}),
        ("base: &b {a: 1}\nuse: *b", {"note/extra": {"base": {"a": 1}, "use": {"a": 1}}}),
        ("note/class: c", {"note/class": "c"}),
        ("class: book/Note", {}),
        ("body: b", {"note/body": "b"}),
    ],
)
def test_keys_and_words_become_slots(line: str, slots: dict[str, Any], parse: Any) -> None:
    assert front(parse, line) == slots


@pytest.mark.parametrize(
    ("path", "ident"),
    [
        ("../decisions/foo.md", "decisions/foo"),
        ("decisions/foo.md", "decisions/foo"),
        ("../../book/Note/decisions/foo.markdown", "decisions/foo"),
        ("foo.md", "nb/foo"),
        ("./foo.md", "nb/foo"),
        ("../foo.md", "nb/foo"),
        ("a/b%3Fc.json", "a/b?c"),
        (":a/b.md", "a/b.md"),
        ("a/b.txt", "a/b.txt"),
    ],
)
def test_a_path_stands_for_an_ident(path: str, ident: str, parse: Any) -> None:
    assert front(parse, f'cites: "{path}"') == {"note/cites": [ident]}


def test_a_file_beside_has_the_namespace_of_the_document(parse: Any) -> None:
    parsed = parse("---\ntitle: x\ncites: foo.md\nident: plans/mine\n---\n")
    assert parsed.slots["note/cites"] == ["plans/foo"]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\ntitle: x\n---\nbody", "body"),
        ("---\ntitle: x\n---\n", None),
        ("---\ntitle: x\n---", None),
        ("---\ntitle: x\n---\n\nbody\n\n\n", "\nbody\n\n\n"),
        ("---\ntitle: x\n---\na\n---\nb\n---\n", "a\n---\nb\n---\n"),
        ("---\ntitle: x\n---\n```\n---\ntitle: y\n---\n```\n", "```\n---\ntitle: y\n---\n```\n"),
        ("---\r\ntitle: x\r\n---\r\na\r\nb\r\n", "a\r\nb\r\n"),
        ("\ufeff---\ntitle: x\n---\nbody", "body"),
        ("--- \t\ntitle: x\n---  \nbody", "body"),
        ("---\ntitle: x\n---\n \u2028\x85\t", " \u2028\x85\t"),
        ("---\n---\nbody", "body"),
        ("---\n# only a remark\n---\nbody", "body"),
        ("", None),
        ("body", "body"),
        ("\ufeffbody", "body"),
        ("---\nno end", "---\nno end"),
        ("----\na\n---\n", "----\na\n---\n"),
        (" ---\na: b\n---\n", " ---\na: b\n---\n"),
        ("text\n---\na: b\n---\n", "text\n---\na: b\n---\n"),
        ("---\na\n ---\n--- b\n", "---\na\n ---\n--- b\n"),
    ],
)
def test_the_body_is_kept_to_the_letter(text: str, body: str | None, parse: Any) -> None:
    assert parse(text).slots.get("note/body") == body


def test_lines_are_those_of_the_source(parse: Any) -> None:
    text = "---\n# a remark\ntitle: x\n\ncites:\n  - nb/a\nother: 1\nmore: 2\n---\n\nbody\n"
    parsed = parse(text)
    lines = {"note/name": 3, "note/cites": 5, "note/extra": 7, "note/body": 10}
    assert parsed.lines == lines


@pytest.mark.parametrize(
    ("text", "class_", "found"),
    [
        ("---\ntype: note\n---\n", None, "book/Note"),
        ("---\ntype: card\n---\n", None, "book/Card"),
        ("---\ntype: note\n---\n", "book/Letter", "book/Letter"),
        ("---\ntype: card\n---\n", "book/Note", "book/Note"),
        ("---\ntype: note\n---\n", "dt/Ref", "book/Note"),
        ("---\nclass: book/Letter\ntype: note\n---\n", None, "book/Letter"),
        ("---\nclass: :book/Letter\n---\n", ":book/Note", "book/Letter"),
        ("---\nclass:\n---\n", "book/Card", "book/Card"),
    ],
)
def test_the_class_is_stated_or_wanted(text: str, class_: Any, found: str, parse: Any) -> None:
    assert parse(text, class_).class_ == found


@pytest.mark.parametrize(
    ("slots", "text"),
    [
        ({"note/name": "Foo", "db/ident": "nb/foo"}, "title: Foo\n"),
        ({"note/name": "Foo", "db/ident": "nb/bar"}, "ident: nb/bar\ntitle: Foo\n"),
        ({"note/name": "Foo"}, "ident: null\ntitle: Foo\n"),
        ({"note/name": "!"}, 'title: "!"\n'),
        (
            {"db/doc": "D", "note/type": "idea", "note/pinned?": True, "note/extra": {"b": 1}},
            "description: D\ntype: idea\nb: 1\npinned: true\n",
        ),
        ({"note/type": "note", "note/extra": {"type": 1}}, "note/type: note\nextra:\n  type: 1\n"),
        ({"note/cites": ["nb/a", 7, "nb/b.md"]}, 'cites:\n  - a\n  - 7\n  - ":nb/b.md"\n'),
        ({"note/size": 1, "other/size": 2}, "note/size: 1\nother/size: 2\n"),
        ({"note/body": ""}, 'body: ""\n'),
        ({"note/extra": {}}, "extra: {}\n"),
        ({"note/extra": {"a": [], "b": {}, "c": [[1], {"d": 1}]}},
         "a: []\nb: {}\nc:\n  - - 1\n  - d: 1\n"),
        ({"note/version": "a\nb"}, "version: |-\n  a\n  b\n"),
        ({"note/class": "c", "note/cited-by": ["nb/a"]}, "note/class: c\n"),
    ],
)  # fmt: skip
def test_what_a_document_looks_like(slots: dict[str, Any], text: str, emit: Any) -> None:
    assert emit("book/Note", slots) == f"---\n{text}---\n"


@pytest.mark.parametrize(
    ("class_", "slots", "line"),
    [
        ("book/Note", {}, "type: note"),
        ("book/Note", {"note/type": "idea"}, "class: book/Note"),
        ("book/Note", {"note/extra": {"type": "idea"}}, "type: note"),
        ("book/Letter", {}, "class: book/Letter"),
        ("book/Card", {}, "type: card"),
        ("kind/Every", {}, "class: kind/Every"),
    ],
)
def test_the_class_stands_first(class_: str, slots: dict[str, Any], line: str, emit: Any) -> None:
    assert emit(class_, slots, with_class=True).split("\n")[1] == line


def test_secrets_are_read_but_never_written(emit: Any) -> None:
    assert "hush" not in emit("book/Note", {"note/name": "x", "note/key": "hush"})
