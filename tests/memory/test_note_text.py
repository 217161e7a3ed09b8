"""Links and tags of a text, as Obsidian reads them."""

from __future__ import annotations

import random
import time

import pytest

from sandbar.packs.memory.note_text import Link, Mention, references_of


def _links(text: str) -> list[str]:
    return [link.target for link in references_of(text).links]


def _tags(text: str) -> list[str]:
    return [mention.tag for mention in references_of(text).tags]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[Target]]", ["Target"]),
        ("[[Target|shown]]", ["Target"]),
        ("[[Target#Heading]]", ["Target"]),
        ("[[Target#Heading#Below|shown]]", ["Target"]),
        ("[[Target#^block]]", ["Target"]),
        ("![[embed]]", ["embed"]),
        ("![[image.png|300]]", ["image.png"]),
        ("[[folder/Target.md]]", ["folder/Target.md"]),
        ("[[ spaced ]]", ["spaced"]),
        ("| a [[Target\\|shown]] | b |", ["Target"]),
        ("[[#Heading of this note]]", []),
        ("[[]] [[ ]] [[a\nb]] [[ [[in]] ]]", ["in"]),
        ("[[A]][[B]] [[A]]", ["A", "B", "A"]),
        ("[a](b.md)", ["b.md"]),
        ("![a](b.png)", ["b.png"]),
        ("[a](b.md#heading)", ["b.md"]),
        ('[a](b.md "a title")', ["b.md"]),
        ("[a](<b c.md>)", ["b c.md"]),
        ("[a](b c.md)", ["b c.md"]),
        ("[a](b%20c.md)", ["b c.md"]),
        ("[a](b%20(1).md)", ["b (1).md"]),
        ("[a](b (1).md)", ["b (1).md"]),
        ("[a](../b/../c.md)", ["../b/../c.md"]),
        ("[a](#here) [b](https://example.org/x.md) [c](mailto:a@b.c) [d](//e.f/g.md)", []),
        ("[a](obsidian://open?vault=x)", []),
        ("[a]() [a]( ) [a](unclosed.md", []),
        ("[a][r]\n\n[r]: b.md 'title'", ["b.md"]),
        ("[r]: <b c.md>", ["b c.md"]),
        ("[r]: https://example.org/b.md", []),
        ("`[[code]]` [[link]]", ["link"]),
        ("``a ` [[code]] `` [[link]]", ["link"]),
        ("`never closed [[link]]", ["link"]),
        ("`closed in another\n\nparagraph` [[link]]", ["link"]),
        ("`over\nlines [[code]]` [[link]]", ["link"]),
        ("\\`[[link]]\\`", ["link"]),
        ("```\n[[code]]\n```\n[[link]]", ["link"]),
        ("````\n```\n[[code]]\n````\n[[link]]", ["link"]),
        ("~~~ python\n[[code]]\n```\n[[code]]\n~~~\n[[link]]", ["link"]),
        ("> ```\n> [[code]]\n> ```\n> [[link]]", ["link"]),
        ("- ```\n  [[code]]\n  ```\n- [[link]]", ["link"]),
        ("```\r\n[[code]]\r\n```\r\n[[link]]\r\n", ["link"]),
        ("```\n[[code]]\nnever closed", []),
        ("```not a fence``` [[link]]", ["link"]),
    ],
)
def test_links(text: str, targets: list[str]) -> None:
    assert _links(text) == targets


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#tag", ["tag"]),
        ("a #tag, #other.", ["tag", "other"]),
        ("#nested/tag #nested/deep/er/", ["nested/tag", "nested/deep/er"]),
        ("(#a) *#b* _#c ~~#d~~ |#e|", ["a", "b", "c", "d", "e"]),
        ("#größe #日本 #🎉 #a_b-c", ["größe", "日本", "🎉", "a_b-c"]),
        ("#👩‍💻", ["👩‍💻"]),
        ("#Tag #tag", ["Tag", "tag"]),
        ("#2026 #1 #2026-q3 #v2", ["2026-q3", "v2"]),
        ("# heading\n## heading\n#tag", ["tag"]),
        ("##not #", []),
        ("a#b \\#c &#35; https://x.y/#z [l](#anchor) [[#h]] [[n#h]]", []),
        ('<a href="#x">', []),
        ("`#code` #tag", ["tag"]),
        ("`code`#glued", []),
        ("```\n#code\n```\n#tag", ["tag"]),
        ("- [ ] #todo", ["todo"]),
        ("> #quoted", ["quoted"]),
        ("line\n#start", ["start"]),
        ("#a,#b;#c", ["a", "b", "c"]),
        ("#what? #this! #it's", ["what", "this", "it"]),
    ],
)
def test_tags(text: str, tags: list[str]) -> None:
    assert _tags(text) == tags


def test_lines_are_told() -> None:
    found = references_of("one\n\n```\n[[x]]\n```\n[[a]] and `x\ny` #t\n[b](c.md)")
    assert found.links == [Link("a", 6, False), Link("c.md", 8, True)]
    assert found.tags == [Mention("t", 7)]


@pytest.mark.parametrize(
    "part",
    [
        "`",
        "``a",
        "[[",
        "]]",
        "](",
        "](.md#",
        "#",
        "#a",
        "[a]:",
        "\n`",
        "> ```\n",
        "[[a",
        "](<",
        "a](b ",
    ],
)
def test_a_hostile_text_takes_no_longer_than_a_plain_one(part: str) -> None:
    """A megabyte in seconds at most: nothing grows with the square of the length."""
    text = part * (500_000 // len(part))
    began = time.monotonic()
    references_of(text)
    assert time.monotonic() - began < 8


def test_random_text_is_read_without_a_fault_and_lines_fit() -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    parts = ["[[", "]]", "](", ")", "`", "```", "~~~", "#", "a", "\n", "\r\n", " ", "|", "é", "<"]
    for _ in range(2_000):
        text = "".join(
            chance.choices([*parts, "#tag", "[[N]]", "\\", "(", ">", ":", "[r]: x"], k=40)
        )
        found = references_of(text)
        lines = text.split("\n")
        for mention in found.tags:
            assert f"#{mention.tag}" in lines[mention.line - 1], seed
        for link in found.links:
            assert link.line <= len(lines), seed
