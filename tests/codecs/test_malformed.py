"""Texts that are wrong, with every finding that they must give: line, key and code."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.codecs import Codecs, parse_one
from sandbar.errors import Incorrect, Problem
from sandbar.model import Introspection

Place = tuple[int, str | None, str]

MARKDOWN: dict[str, tuple[str, str | None, list[Place]]] = {
    "unknown key": (
        "---\nname: x\nstats: open\n---\n",
        "book/Card",
        [(3, "stats", "codec.unknown-key")],
    ),
    "unknown whole ident": (
        "---\nnote/nmae: x\n---\n",
        "book/Card",
        [(2, "note/nmae", "codec.unknown-key")],
    ),
    "two slots of that name": (
        "---\nname: x\nsize: 3\n---\n",
        "book/Note",
        [(3, "size", "codec.ambiguous-key")],
    ),
    "key twice": ("---\nname: x\nname: y\n---\n", "book/Card", [(3, "name", "codec.key-twice")]),
    "slot twice": (
        "---\ntitle: x\nnote/name: y\n---\n",
        "book/Note",
        [(3, "note/name", "codec.key-twice")],
    ),
    "key twice, deep": (
        "---\ntitle: x\nmore:\n  a: 1\n  b: 2\n  a: 3\n---\n",
        "book/Note",
        [(6, "more", "codec.key-twice")],
    ),
    "rest states it too": (
        "---\ntitle: x\nextra:\n  a: 1\na: 2\n---\n",
        "book/Note",
        [(3, "a", "codec.key-twice")],
    ),
    "body in both places": (
        "---\ntitle: x\nbody: y\n---\nz\n",
        "book/Note",
        [(5, "body", "codec.key-twice")],
    ),
    "computed": (
        "---\ntitle: x\ncited-by: []\n---\n",
        "book/Note",
        [(3, "cited-by", "slot.derived")],
    ),
    "no number": (
        "---\nname: x\nother/size: large\n---\n",
        "book/Card",
        [(3, "other/size", "value.type")],
    ),
    "too large a number": (
        f"---\nname: x\nother/size: {1 << 63}\n---\n",
        "book/Card",
        [(3, "other/size", "value.range")],
    ),
    "no boolean": ("---\npinned: maybe\n---\n", "book/Card", [(2, "pinned", "value.type")]),
    "no moment": (
        "---\ncreated: yesterday\n---\n",
        "book/Card",
        [(2, "created", "value.malformed")],
    ),
    "no offset": (
        "---\ncreated: 2026-01-01 10:00:00\n---\n",
        "book/Card",
        [(2, "created", "value.naive")],
    ),
    "not allowed": ("---\nstatus: opne\n---\n", "book/Card", [(2, "status", "value.not-allowed")]),
    "list for one": ("---\nname: [a, b]\n---\n", "book/Card", [(2, "name", "value.type")]),
    "object for text": ("---\nname:\n  a: b\n---\n", "book/Card", [(3, "name", "value.type")]),
    "second item": (
        "---\nmany/long:\n  - 1\n  - two\n  - 3\n  - four\n---\n",
        "kind/Every",
        [(4, "many/long", "value.type"), (6, "many/long", "value.type")],
    ),
    "item that the model refuses": (
        "---\nmany/uuid:\n  - 00000000-0000-0000-0000-000000000000\n  - x\n---\n",
        "kind/Every",
        [(4, "many/uuid", "value.malformed")],
    ),
    "item without value": (
        "---\nmany/string:\n  - a\n  -\n---\n",
        "kind/Every",
        [(4, "many/string", "value.type")],
    ),
    "path that is no ident": (
        "---\ntitle: x\ncites: ../a b/c.md\n---\n",
        "book/Note",
        [(3, "cites", "reference.malformed")],
    ),
    "ident that is none": (
        "---\nident: Foo Bar\n---\n",
        "book/Card",
        [(2, "ident", "keyword.malformed")],
    ),
    "no class": ("---\nname: x\n---\n", None, [(1, None, "codec.no-class")]),
    "unknown class": ("---\nclass: book/Crad\n---\n", None, [(2, "class", "codec.unknown-class")]),
    "other class": (
        "---\nname: x\nclass: book/Note\n---\n",
        "book/Card",
        [(3, "class", "codec.other-class")],
    ),
    "class that is a list": ("---\nclass: [a]\n---\n", None, [(2, "class", "value.type")]),
    "no place for a body": (
        "---\nname: x\n---\n\ntext\n",
        "book/Card",
        [(4, None, "codec.no-body")],
    ),
    "yaml: unclosed": ("---\nname: [a\nb: c\n---\n", "book/Card", [(3, None, "codec.syntax")]),
    "yaml: colon": ("---\na: 1\nname: a: b\n---\n", "book/Card", [(3, None, "codec.syntax")]),
    "yaml: tab": ("---\nname:\n\t- a\n---\n", "book/Card", [(3, None, "codec.syntax")]),
    "yaml: no mapping": ("---\njust words\n---\n", "book/Card", [(2, None, "codec.syntax")]),
    "yaml: key that is a list": (
        "---\n? [a]\n: b\n---\n",
        "book/Card",
        [(2, None, "codec.syntax")],
    ),
    "yaml: control character": ("---\nname: \x07\n---\n", "book/Card", [(2, None, "codec.syntax")]),
    "yaml: unknown alias": ("---\nname: *a\n---\n", "book/Card", [(2, None, "codec.syntax")]),
    "yaml: tag": ("---\nname: !!binary aGk=\n---\n", "book/Card", [(2, "name", "codec.tag")]),
    "yaml: object tag": (
        "---\nmore: !!python/object:os.system {}\n---\n",
        "book/Note",
        [(2, "more", "codec.tag")],
    ),
    "!json that is none": (
        "---\nname: !json '{'\n---\n",
        "book/Card",
        [(2, "name", "codec.syntax")],
    ),
    "NUL": ("---\nname: x\n---\na\n\0\n", "book/Note", [(5, None, "value.nul")]),
    "half a surrogate pair": (
        "---\nname: \ud800\n---\n",
        "book/Note",
        [(2, None, "value.surrogate")],
    ),
    "all at once": (
        "---\nnaem: x\npinned: maybe\ncreated: soon\nname: x\nname: y\n---\ntext\n",
        "book/Card",
        [
            (2, "naem", "codec.unknown-key"),
            (3, "pinned", "value.type"),
            (4, "created", "value.malformed"),
            (6, "name", "codec.key-twice"),
            (8, None, "codec.no-body"),
        ],
    ),
}

JSON: dict[str, tuple[str, str | None, list[Place]]] = {
    "no json": ('{\n  "a": 1,\n}\n', "book/Card", [(3, None, "codec.syntax")]),
    "array": ("[{}]", "book/Card", [(1, None, "codec.syntax")]),
    "number": ("1", "book/Card", [(1, None, "codec.syntax")]),
    "NaN": ('{"a": NaN}', "book/Card", [(1, None, "codec.syntax")]),
    "deep": ("[" * 100_000, "book/Card", [(1, None, "codec.syntax")]),
    "many digits": ('{"a": ' + "9" * 5000 + "}", "book/Card", [(1, None, "codec.syntax")]),
    "key twice": (
        '{\n"name": "a",\n"x": 1,\n"name": "b"}',
        "book/Card",
        [(4, "name", "codec.key-twice")],
    ),
    "slot twice": (
        '{"note/name": "a",\n "name": "b"}',
        "book/Card",
        [(2, "name", "codec.key-twice")],
    ),
    "unknown key": ('{\n  "nmae": "a"\n}', "book/Card", [(2, "nmae", "codec.unknown-key")]),
    "wrong values": (
        '{\n  "pinned": "yes",\n  "x": {"pinned": 1},\n  "status": "opne"\n}',
        "book/Card",
        [
            (2, "pinned", "value.type"),
            (3, "x", "codec.unknown-key"),
            (4, "status", "value.not-allowed"),
        ],
    ),
    "no class": ('{"name": "a"}', None, [(1, "_class", "codec.no-class")]),
    "unknown class": ('{\n"_class": "a/B"}', None, [(2, "_class", "codec.unknown-class")]),
    "class that is a number": ('{"_class": 5}', None, [(1, "_class", "codec.unknown-class")]),
    "other class": ('{"_class": "book/Note"}', "book/Card", [(1, "_class", "codec.other-class")]),
    "id that is none": ('{"name": "a", "_id": "7"}', "book/Card", [(1, "_id", "codec.id")]),
    "id and ident": ('{"ident": "a/b", "_id": 7}', "book/Card", [(1, "_id", "codec.id")]),
    "surrogate in an escape": (
        '{"name": "\\ud800"}',
        "book/Card",
        [(1, "name", "value.surrogate")],
    ),
    "NUL in an escape": ('{"name": "\\u0000"}', "book/Card", [(1, "name", "value.nul")]),
    "not finite": ('{"one/double": 1e999}', "kind/Every", [(1, "one/double", "value.not-finite")]),
}


def places(problem: Problem) -> list[Place]:
    """Where something was found, and what."""
    return [(one["line"], one.get("key"), one["code"]) for one in problem.data["findings"]]


def refusal(codecs: Codecs, format: str, text: str, schema: Introspection, class_: Any) -> Problem:
    """What a text is refused with."""
    with pytest.raises(Incorrect) as caught:
        parse_one(codecs.named(format), text, schema, class_)
    return caught.value


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown_that_is_wrong(name: str, schema: Introspection, codecs: Codecs) -> None:
    text, class_, expected = MARKDOWN[name]
    problem = refusal(codecs, "markdown", text, schema, class_)
    assert problem.code == "codec.malformed"
    assert places(problem) == expected
    assert_well_said(problem, expected)


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_wrong(name: str, schema: Introspection, codecs: Codecs) -> None:
    text, class_, expected = JSON[name]
    problem = refusal(codecs, "json", text, schema, class_)
    assert problem.code == "codec.malformed"
    assert places(problem) == expected
    assert_well_said(problem, expected)


def assert_well_said(problem: Problem, expected: list[Place]) -> None:
    """The message begins with the first place; every finding says what to do."""
    line, key, _ = expected[0]
    assert problem.message.startswith(f"line {line}, {key}: " if key else f"line {line}: ")
    assert problem.hint
    assert all(one["message"] for one in problem.data["findings"])
    if len(expected) > 1:
        assert f"(and {len(expected) - 1} more)" in problem.message


def test_a_wrong_key_is_told_the_right_one(schema: Introspection, codecs: Codecs) -> None:
    problem = refusal(codecs, "markdown", "---\nstatsu: open\n---\n", schema, "book/Card")
    assert "did you mean status" in str(problem.hint)


def test_an_unknown_class_is_the_callers_mistake(schema: Introspection, codecs: Codecs) -> None:
    with pytest.raises(Problem) as caught:
        parse_one(codecs.named("json"), "{}", schema, "book/Crad")
    assert caught.value.code == "class.unknown"


@pytest.mark.parametrize(
    ("format", "text", "code"),
    [
        ("json", "", "codec.empty"),
        ("json", "\ufeff \n", "codec.empty"),
        ("jsonl", "\n\n", "codec.empty"),
        ("csv", "name\n", "codec.empty"),
        ("jsonl", '{"name": "a"}\n{"name": "b"}\n', "codec.many"),
        ("csv", "name\na\nb\n", "codec.many"),
    ],
)
def test_one_entity_is_neither_none_nor_two(
    format: str, text: str, code: str, schema: Introspection, codecs: Codecs
) -> None:
    assert refusal(codecs, format, text, schema, "book/Card").code == code


def test_no_more_than_a_hundred_findings(schema: Introspection, codecs: Codecs) -> None:
    text = "---\n" + "".join(f"key{number}: x\n" for number in range(400)) + "---\n"
    problem = refusal(codecs, "markdown", text, schema, "book/Card")
    assert places(problem) == [
        (number + 2, f"key{number}", "codec.unknown-key") for number in range(100)
    ]
