"""CSV and JSON Lines: many entities in one text, each with a verdict of its own."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.codecs import Codecs, Parsed
from sandbar.errors import Incorrect, Problem
from sandbar.model import Introspection
from tests.codecs.checking import entity


def verdicts(
    codecs: Codecs, format: str, text: str, schema: Introspection, class_: Any
) -> list[Any]:
    """What each entity of a text is: its slots, or where it is wrong."""
    parsed = codecs.named(format).parse(text, schema, class_)
    found: list[Any] = []
    while True:
        try:
            found.append(next(parsed).slots)
        except StopIteration:
            return found
        except Problem as problem:
            found.append(
                [
                    (one.get("row"), one["line"], one.get("key"), one["code"])
                    for one in problem.data["findings"]
                ]
            )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,pinned,other/size\na,yes,1\n", [{"name": "a", "pinned": True, "size": 1}]),
        ("name\r\na\r\nb", [{"name": "a"}, {"name": "b"}]),
        ("name\ra\rb\r", [{"name": "a"}, {"name": "b"}]),
        ("\ufeffname\na\n", [{"name": "a"}]),
        ("name,status\na,\n,open\n", [{"name": "a"}, {"status": "open"}]),
        ('name,doc\n"",x\n', [{"name": "", "doc": "x"}]),
        ('name,doc\n"a,""b""\nc", d \n', [{"name": 'a,"b"\nc', "doc": " d "}]),
        ("name\n\n\na\n\n", [{"name": "a"}]),
        ("note/name , pinned?\na, true \n", [{"name": "a", "pinned": True}]),
        ('name,cites\na,"[""nb/a"", 5]"\nb,nb/c\nc,7\nd,[]\n',
         [{"name": "a", "cites": ["nb/a", 5]}, {"name": "b", "cites": ["nb/c"]},
          {"name": "c", "cites": [7]}, {"name": "d"}]),
        ("name,version\na,1.10\n", [{"name": "a", "version": "1.10"}]),
        ("", []),
        ("name\n", []),
    ],
)  # fmt: skip
def test_tables_are_read_by_range(
    text: str, expected: list[Any], schema: Introspection, codecs: Codecs
) -> None:
    short = {
        "name": "note/name",
        "pinned": "note/pinned?",
        "size": "other/size",
        "status": "note/status",
        "doc": "db/doc",
        "cites": "note/cites",
        "version": "note/version",
    }
    wanted = [{short[key]: value for key, value in row.items()} for row in expected]
    assert verdicts(codecs, "csv", text, schema, "book/Card") == wanted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name,pinned,other/size\na,maybe,1\nb,yes,x\nc,no,3\n",
            [
                [(2, 2, "pinned", "value.type")],
                [(3, 3, "other/size", "value.type")],
                {"note/name": "c", "note/pinned?": False, "other/size": 3},
            ],
        ),
        ("nmae,pinned,nmae\na,yes,b\n", [[(1, 1, "nmae", "codec.syntax"),
          (1, 1, "nmae", "codec.unknown-key"), (1, 1, "nmae", "codec.unknown-key")]]),
        ("name,,pinned\n", [[(1, 1, None, "codec.syntax")]]),
        ("name,pinned\na\nb,no,c\nd,no\n",
         [[(2, 2, None, "codec.syntax")], [(3, 3, None, "codec.syntax")],
          {"note/name": "d", "note/pinned?": False}]),
        ('name,doc\n"a\nb","c"d\ne,f\n', [[(2, 3, "doc", "codec.syntax")],
         {"note/name": "e", "db/doc": "f"}]),
        ('name,pinned\n\n"a\nb",yes\n\nc,x\n', [{"note/name": "a\nb", "note/pinned?": True},
         [(3, 6, "pinned", "value.type")]]),
        ("name,cites\na,[1\n", [[(2, 2, "cites", "codec.syntax")]]),
        ("name,_id\na,7\nb,x\nc,\n", [{"note/name": "a"}, [(3, 3, "_id", "codec.id")],
         {"note/name": "c"}]),
        ("name,_class\na,book/Card\nb,book/Note\nc,\n", [{"note/name": "a"},
         [(3, 3, "_class", "codec.other-class")], {"note/name": "c"}]),
        ("name\na\0b\nc\n", [[(2, 2, "name", "value.nul")], {"note/name": "c"}]),
    ],
)  # fmt: skip
def test_a_wrong_row_is_told_by_row_and_column_and_the_others_are_read(
    text: str, expected: list[Any], schema: Introspection, codecs: Codecs
) -> None:
    assert verdicts(codecs, "csv", text, schema, "book/Card") == expected


def test_a_table_that_names_no_class(schema: Introspection, codecs: Codecs) -> None:
    found = verdicts(codecs, "csv", "name,_class\na,\nb,book/Card\n", schema, None)
    assert found == [[(2, 2, "_class", "codec.no-class")], {"note/name": "b"}]


def test_columns_that_nobody_declared_are_kept_as_text(
    schema: Introspection, codecs: Codecs
) -> None:
    found = verdicts(codecs, "csv", "title,mood\nx,007\ny,\n", schema, "book/Note")
    assert found == [
        {"note/name": "x", "note/extra": {"mood": "007"}, "db/ident": "nb/x"},
        {"note/name": "y", "db/ident": "nb/y"},
    ]


def test_a_table_has_one_class(schema: Introspection, codecs: Codecs) -> None:
    mixed = [entity("book/Card", {}), entity("book/Note", {})]
    parts = codecs.named("csv").emit(mixed, schema)
    assert next(parts).count("\n") == 2
    with pytest.raises(Incorrect) as caught:
        next(parts)
    assert caught.value.code == "codec.mixed-classes"


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_many_entities_come_back_in_order(
    format: str, schema: Introspection, codecs: Codecs
) -> None:
    many = [
        entity("book/Note", {"note/name": f"n\u2028{number}", "note/body": "a\nb"}, 5000 + number)
        for number in range(100)
    ]
    text = "".join(codecs.named(format).emit(iter(many), schema, with_class=True))
    back: list[Parsed] = list(codecs.named(format).parse(text, schema, None))
    assert [(one.class_, one.id, one.slots) for one in back] == [
        (one.class_, one.entity_id, one.slots) for one in many
    ]
    lines = [2 + 2 * number for number in range(100)] if format == "csv" else range(1, 101)
    assert [one.line for one in back] == list(lines)


def test_a_wrong_line_of_json_lines_is_told_and_the_others_are_read(
    schema: Introspection, codecs: Codecs
) -> None:
    text = '{"name": "a"}\n{"name": \n\n  \n{"pinned": 3, "x": 1}\r\n[1]\n{"name": "b"}'
    assert verdicts(codecs, "jsonl", text, schema, "book/Card") == [
        {"note/name": "a"},
        [(None, 2, None, "codec.syntax")],
        [(None, 5, "pinned", "value.type"), (None, 5, "x", "codec.unknown-key")],
        [(None, 6, None, "codec.syntax")],
        {"note/name": "b"},
    ]


def test_reading_is_lazy(schema: Introspection, codecs: Codecs) -> None:
    entities = (entity("book/Card", {"note/name": str(number)}) for number in iter(int, 1))
    assert "_class" in next(codecs.named("jsonl").emit(entities, schema))
