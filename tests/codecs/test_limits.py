"""Hostile texts: refused quickly, whatever they would have grown into."""

from __future__ import annotations

import time

import pytest

from sandbar.codecs import Codecs, base_codecs, parse_one, sections_of
from sandbar.codecs.findings import DOCUMENT_BYTES_MAX
from sandbar.codecs.yaml_reading import ALIASED_NODES_MAX, DEPTH_MAX, NODES_MAX
from sandbar.errors import Incorrect
from sandbar.model import Introspection
from tests.conftest import Say

QUICK_S = 0.25  # on a busy machine; each takes a few milliseconds alone

_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)

FRONT_MATTER = {
    "billion laughs": (_LAUGHS, "codec.too-many-nodes"),
    "laughs in objects": (
        "a0: &a0 {x: y}\n"
        + "".join(f"a{n}: &a{n} {{a: *a{n - 1}, b: *a{n - 1}}}\n" for n in range(1, 40)),
        "codec.too-many-nodes",
    ),
    "an alias of itself": ("a: &a [*a]\n", "codec.too-many-nodes"),
    "an alias of itself, in an object": ("a: &a {b: *a}\n", "codec.too-many-nodes"),
    "deep flow list": ("a: " + "[" * 100_000, "codec.too-many-nodes"),
    "deep flow object": ("a: " + "{a: " * 50_000, "codec.too-many-nodes"),
    "deep block list": ("a:\n  " + "- " * 100_000 + "x", "codec.too-many-nodes"),
    "deep keys": ("? " * 100_000, "codec.too-many-nodes"),
    "a long list": ("a: [" + "x, " * 100_000 + "]\n", "codec.too-many-nodes"),
    "many keys": ("".join(f"k{n}: v\n" for n in range(50_000)), "codec.too-many-nodes"),
    "an endless quote": ('a: "' + "x" * 500_000, "codec.syntax"),
    "colons": (":" * 500_000, "codec.syntax"),
    "a deep !json": ("a: !json '" + "[" * 100_000 + "'\n", "codec.syntax"),
    "a large text": ("title: " + "x" * (1 << 20) + "x\n", "value.too-long"),
}


@pytest.mark.parametrize("name", FRONT_MATTER)
def test_hostile_front_matter_is_refused_at_once(
    name: str, schema: Introspection, codecs: Codecs, say: Say
) -> None:
    front, code = FRONT_MATTER[name]
    begun = time.perf_counter()
    with pytest.raises(Incorrect) as caught:
        parse_one(codecs.named("markdown"), f"---\n{front}\n---\nbody", schema, "book/Note")
    took = time.perf_counter() - begun
    say(f"{name}: {took * 1000:.1f} ms")
    assert code in [finding["code"] for finding in caught.value.data["findings"]]
    assert took < QUICK_S


@pytest.mark.parametrize("format", ["markdown", "json"])
def test_a_document_has_a_size(format: str, schema: Introspection, codecs: Codecs) -> None:
    for text in ("x" * (DOCUMENT_BYTES_MAX + 1), "é" * (DOCUMENT_BYTES_MAX // 2 + 1)):
        with pytest.raises(Incorrect) as caught:
            parse_one(codecs.named(format), text, schema, "book/Note")
        assert caught.value.code == "codec.too-large"


def test_a_line_of_many_has_a_size(schema: Introspection, codecs: Codecs) -> None:
    text = '{"title": "a"}\n{"title": "' + "x" * DOCUMENT_BYTES_MAX + '"}\n{"title": "b"}\n'
    lines = codecs.named("jsonl").parse(text, schema, "book/Note")
    assert next(lines).slots["note/name"] == "a"
    with pytest.raises(Incorrect) as caught:
        next(lines)
    assert (caught.value.code, caught.value.data) == ("codec.too-large", {"line": 2})
    assert next(lines).slots["note/name"] == "b"


def test_what_is_within_the_limits_is_read(schema: Introspection, codecs: Codecs) -> None:
    keys = "".join(f"k{n}: v\n" for n in range(NODES_MAX // 2 - DEPTH_MAX))
    deep = "deep: " + "[" * (DEPTH_MAX - 8) + "]" * (DEPTH_MAX - 8)
    text = f"---\ntitle: x\n{keys}{deep}\n---\n"
    parsed = parse_one(codecs.named("markdown"), text, schema, "book/Note")
    assert len(parsed.slots["note/extra"]) == NODES_MAX // 2 - DEPTH_MAX + 1


def test_aliases_may_repeat_a_little(schema: Introspection, codecs: Codecs) -> None:
    def parse(times: int) -> object:
        text = f"---\ntitle: x\na: &a y\nb: [{', '.join(['*a'] * times)}]\n---\n"
        return parse_one(codecs.named("markdown"), text, schema, "book/Note").slots["note/extra"]

    assert parse(ALIASED_NODES_MAX - 10) == {"a": "y", "b": ["y"] * (ALIASED_NODES_MAX - 10)}
    with pytest.raises(Incorrect):
        parse(ALIASED_NODES_MAX + 10)


def test_an_endless_quote_in_a_table_is_refused_at_once(
    schema: Introspection, codecs: Codecs
) -> None:
    begun = time.perf_counter()
    with pytest.raises(Incorrect):
        parse_one(codecs.named("csv"), 'title\n"' + "x" * 4_000_000, schema, "book/Note")
    assert time.perf_counter() - begun < QUICK_S


def test_many_columns_and_many_equal_headings_take_no_time(schema: Introspection) -> None:
    began = time.perf_counter()
    with pytest.raises(Incorrect):
        list(
            base_codecs()
            .named("csv")
            .parse(",".join(f"c{n}" for n in range(140_000)), schema, None)
        )
    sections = sections_of("# a\n" * 50_000)
    assert time.perf_counter() - began < 3
    anchors = [one.anchor for one in sections]
    assert len(set(anchors)) == 50_000
    assert anchors[:3] == ["a", "a-1", "a-2"]
    mixed = [one.anchor for one in sections_of("# a-1\n# a\n# a\n# a\n# a-1\n")]
    assert mixed == ["a-1", "a", "a-2", "a-3", "a-1-1"]
