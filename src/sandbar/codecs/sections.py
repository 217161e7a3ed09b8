"""Headings of Markdown as one ordered tree of sections. ATX headings (`#` to `######`) only.

What stands in a fence of code is no heading. The text of a section is kept as it is written.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

import msgspec

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_UNNAMED = "section"


class Section(msgspec.Struct, kw_only=True):
    """A heading, the text up to the next heading, and the sections below it."""

    level: int  # 1 to 6; 0 is the text before the first heading
    title: str
    anchor: str  # unique in its document
    text: str
    line: int  # of the heading, in the body; the first is 1
    children: list[Section] = []


def sections_of(body: str) -> list[Section]:
    """The sections of a text, in order, each below the nearest heading of a lower level."""
    tops: list[Section] = []
    open_: list[Section] = []
    taken: dict[str, int] = {}  # anchor to the number that its next namesake gets
    for level, title, text, line in _pieces(body):
        if level == 0:
            if text.strip():
                tops.append(Section(level=0, title="", anchor="", text=text, line=line))
            continue
        anchor = _unique(anchor_of(title), taken)
        section = Section(level=level, title=title, anchor=anchor, text=text, line=line)
        while open_ and open_[-1].level >= level:
            open_.pop()
        (open_[-1].children if open_ else tops).append(section)
        open_.append(section)
    return tops


def anchor_of(title: str) -> str:
    """The anchor of a heading, as GitHub makes it: letters of every script stay."""
    plain = normalize("NFC", _LINK.sub(r"\1", title)).strip().lower()
    kept = (
        char
        for char in plain.replace(" ", "-").replace("\t", "-")
        if char.isalnum() or char in "-_" or category(char)[0] == "M"
    )
    return "".join(kept) or _UNNAMED


def _unique(anchor: str, taken: dict[str, int]) -> str:
    found, number = anchor, taken.get(anchor, 0)
    while found in taken:
        number += 1
        found = f"{anchor}-{number}"
    taken[anchor] = number
    taken.setdefault(found, 0)
    return found


def _pieces(body: str) -> list[tuple[int, str, str, int]]:
    """Level, title, text and line of whatever begins with a heading, or with the body."""
    pieces: list[tuple[int, str, str, int]] = []
    level, title, begun = 0, "", 1
    lines: list[str] = []
    fence = ""
    for number, line in enumerate(body.split("\n"), 1):
        plain = line.removesuffix("\r")
        match = None if fence else _HEADING.fullmatch(plain)
        if match is None:
            fence = _fence_after(fence, plain)
            lines.append(line)
            continue
        pieces.append((level, title, _joined(lines), begun))
        level, title, begun = len(match[1]), _title(match[2] or ""), number
        lines = []
    pieces.append((level, title, "\n".join(lines), begun))
    return pieces


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _title(text: str) -> str:
    return _CLOSING.sub("", text).strip()


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line, if one is."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return fence
    marks, info = match[1], match[2]
    if not fence:
        return "" if marks[0] == "`" and "`" in info else marks
    is_end = marks[0] == fence[0] and len(marks) >= len(fence) and not info.strip()
    return "" if is_end else fence
