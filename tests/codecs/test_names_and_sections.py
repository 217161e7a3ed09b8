"""Names that are made, codecs that are chosen, headings that become sections."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sandbar.codecs import BASE_CODECS, Codecs, Section, derived_ident, sections_of
from sandbar.errors import Conflict, Unsupported
from sandbar.keywords import parse_ident
from sandbar.model import Introspection


@pytest.mark.parametrize(
    ("name", "ident"),
    [
        ("Foo", "nb/foo"),
        ("A quick thought", "nb/a-quick-thought"),
        ("  --Foo!!  bar_baz/7 ", "nb/foo-bar_baz-7"),
        ("Über Straße", "nb/über-straße"),
        ("U\u0308ber", "nb/über"),
        ("日本語のメモ", "nb/日本語のメモ"),
        ("Привет, мир", "nb/привет-мир"),
        ("İstanbul", "nb/i-stanbul"),
        ("🙂", None),
        ("", None),
        ("../..", None),
        ("x" * 1000, f"nb/{'x' * 180}"),
        ("é" * 1000, f"nb/{'é' * 90}"),
        ("日" * 61, f"nb/{'日' * 60}"),
        (5, None),
        (None, None),
    ],
)
def test_an_ident_is_made_of_a_name(name: Any, ident: str | None, schema: Introspection) -> None:
    made = derived_ident(schema, "book/Note", {"note/name": name})
    assert made == ident
    assert made is None or parse_ident(made) == made
    assert derived_ident(schema, "book/Letter", {"note/name": name}) == ident


def test_a_class_that_says_nothing_makes_no_idents(schema: Introspection) -> None:
    assert derived_ident(schema, "book/Card", {"note/name": "Foo"}) is None


def test_a_codec_is_chosen(schema: Introspection, codecs: Codecs) -> None:
    def chosen(class_: str | None, **how: str) -> str:
        return codecs.choose(schema, class_, **how).format

    assert [codec.format for codec in codecs] == ["markdown", "json", "jsonl", "csv"]
    assert chosen("book/Note") == chosen("book/Letter") == "markdown"
    assert chosen("book/Card") == chosen(None) == "json"
    assert chosen("book/Note", format="csv") == "csv"
    assert chosen("book/Card", media_type="Text/Markdown; charset=utf-8") == "markdown"
    assert chosen("book/Card", media_type="text/csv", format="json") == "json"
    assert codecs.native(schema, "book/Letter").media_types[0] == "text/markdown"
    suffixes = {suffix: codecs.of_suffix(suffix) for suffix in (".MD", ".ndjson", ".txt", "")}
    formats = [codec and codec.format for codec in suffixes.values()]
    assert formats == ["markdown", "jsonl", None, None]
    assert all(codec.supports(schema, "book/Note") for codec in codecs)


def test_an_unknown_codec_is_told_the_known_ones(schema: Introspection, codecs: Codecs) -> None:
    with pytest.raises(Unsupported) as caught:
        codecs.named("markdwon")
    assert caught.value.code == "codec.unknown"
    assert "did you mean markdown" in str(caught.value.hint)
    assert "markdown, json, jsonl, csv" in str(caught.value.hint)
    with pytest.raises(Unsupported):
        codecs.of_media_type("image/png")


@dataclasses.dataclass(frozen=True)
class Shouting:
    """A codec that a pack brings; reading and writing are of no matter here."""

    format: str = "shout"
    media_types: tuple[str, ...] = ("text/shout",)
    suffixes: tuple[str, ...] = (".shout", ".md")
    is_bulk: bool = False

    def supports(self, *_: Any) -> bool:
        """None."""
        return False

    def parse(self, *_: Any, **__: Any) -> Any:
        """Nothing."""

    def emit(self, *_: Any, **__: Any) -> Any:
        """Nothing."""


def test_packs_bring_more_but_replace_none(schema: Introspection) -> None:
    more = Codecs((*BASE_CODECS, Shouting()))
    assert more.named("shout") is more.of_media_type("text/shout")
    found = more.of_suffix(".md")
    assert found is not None
    assert found.format == "markdown"
    with pytest.raises(Conflict) as caught:
        Codecs((*BASE_CODECS, Shouting(format="json")))
    assert caught.value.code == "codec.clash"


def test_a_class_whose_codec_is_not_there_is_written_as_json(schema: Introspection) -> None:
    without = Codecs([codec for codec in BASE_CODECS if codec.format != "markdown"])
    assert without.native(schema, "book/Note").format == "json"


def outline(sections: list[Section]) -> list[Any]:
    """The tree in short."""
    return [
        (
            one.level,
            one.title,
            one.anchor,
            one.line,
            *([outline(one.children)] * bool(one.children)),
        )
        for one in sections
    ]


def test_headings_become_one_ordered_tree() -> None:
    no = "####### no\n#no\n\\# no\n    # no\n"
    body = f"before\n\n# A\n\none\n### C\ntwo\n## B\n# A\n{no}   # D ##\n"
    sections = sections_of(body)
    assert outline(sections) == [
        (0, "", "", 1),
        (1, "A", "a", 3, [(3, "C", "c", 6), (2, "B", "b", 8)]),
        (1, "A", "a-1", 9),
        (1, "D", "d", 14),
    ]
    assert sections[1].text == "\none\n"
    assert sections[2].text == no


@pytest.mark.parametrize(
    ("body", "titles"),
    [
        ("```\n# no\n```\n# yes", ["yes"]),
        ("~~~ python\n# no\n```\n# no\n~~~\n# yes", ["yes"]),
        ("````\n```\n# no\n```\n````\n# yes", ["yes"]),
        ("```\n# no\n``` x\n# no\n", []),
        ("``` a`b\n# yes\n", ["yes"]),
        ("   ```\n# no\n   ```\n# yes\n", ["yes"]),
        ("    ```\n# yes\n", ["yes"]),
        ("# a\r\n```\r\n# no\r\n```\r\n## b\r\n", ["a", "b"]),
        ("#\n", [""]),
        ("# #\n", [""]),
        ("#\ttab\n", ["tab"]),
        ("# C# is\n", ["C# is"]),
        ("# a #b\n", ["a #b"]),
        ("", []),
    ],
)
def test_fences_and_edges_of_headings(body: str, titles: list[str]) -> None:
    def all_titles(sections: list[Section]) -> list[str]:
        return [
            title
            for one in sections
            for title in ([one.title] * (one.level > 0) + all_titles(one.children))
        ]

    assert all_titles(sections_of(body)) == titles


def test_anchors_are_unique_in_every_script() -> None:
    titles = [
        "Über uns",
        "日本語",
        "हिन्दी",
        "🙂",
        "🙂",
        "A-1",
        "A",
        "A",
        "A",
        "[Link](x.md) & *co*",
    ]
    anchors = [one.anchor for one in sections_of("".join(f"# {title}\n" for title in titles))]
    assert anchors == [
        "über-uns", "日本語", "हिन्दी", "section", "section-1", "a-1", "a", "a-2", "a-3", "link--co",
    ]  # fmt: skip


def test_nothing_of_a_text_is_lost_in_sections() -> None:
    body = "x\n# A\n\n```\n# n\n```\n## B\ny\n\n# C\nz"

    def joined(sections: list[Section]) -> str:
        return "".join(
            f"{'#' * one.level} {one.title}\n" * (one.level > 0) + one.text + joined(one.children)
            for one in sections
        )

    assert joined(sections_of(body)) == body
