"""What the text of a note refers to: links and tags as Obsidian reads them. Nothing is changed.

Code is not looked into, neither fences nor spans. Every scan is linear: a note is somebody's file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple
from urllib.parse import unquote

NOTE_SUFFIXES = (".md", ".markdown")

# A fence may stand in a quote or in an item of a list.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_TICKS = re.compile(r"`+")
_WIKI = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:[ \t]*(<[^<>\n]*>|[^\s<>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]+:")
_ADDRESS = re.compile(r"(?<![a-zA-Z0-9+.\-])[a-zA-Z][a-zA-Z0-9+.\-]{1,30}://\S+")
_NO_TAG = r"\s\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\"
_TAG = re.compile(rf"(?<![^\s(*_~|,;])#([^{_NO_TAG}]+)")
_MASK = '"'  # stands for what is not looked into: no tag has it, and none follows it


class Link(NamedTuple):
    """A link to something beside the note."""

    target: str  # without what it says of a heading
    line: int  # of the text, the first is 1
    is_path: bool  # a Markdown link: its target is a path, seen from the note


class Mention(NamedTuple):
    """A tag in the text."""

    tag: str
    line: int


class References(NamedTuple):
    """All that a text refers to, in order."""

    links: list[Link]
    tags: list[Mention]


def references_of(text: str) -> References:
    """The links and tags of a text."""
    shown = _without_code(text)
    starts = [match.end() for match in re.finditer("\n", shown)]
    links: list[tuple[int, Link]] = []
    masked: list[tuple[int, int]] = []
    for match in _WIKI.finditer(shown):
        masked.append(match.span())
        if target := wiki_target(match[1]):
            links.append((match.start(), Link(target, _line_at(starts, match.start()), False)))
    for start, end, written in _destinations(shown):
        masked.append((start, end))
        if target := _path_of(written):
            links.append((start, Link(target, _line_at(starts, start), True)))
    if "://" in shown:
        masked += [match.span() for match in _ADDRESS.finditer(shown)]
    return References(
        [link for _, link in sorted(links, key=lambda pair: pair[0])],
        [
            Mention(tag, _line_at(starts, match.start()))
            for match in _TAG.finditer(_masked(shown, masked))
            if (tag := match[1].strip("/")) and not tag.isdigit()
        ],
    )


def wiki_target(inside: str) -> str:
    """What `[[…]]` leads to: without shown text and heading; empty, if it is the note itself."""
    target = re.split(r"\\?\|", inside, maxsplit=1)[0]
    return target.partition("#")[0].strip()


def wiki_links(text: str) -> list[str]:
    """The targets of the links in a value of the front matter."""
    return [target for match in _WIKI.finditer(text) if (target := wiki_target(match[1]))]


def _path_of(written: str) -> str:
    """The path in a destination; empty, if it leads elsewhere or into the note itself."""
    if _SCHEME.match(written) or written.startswith("//"):
        return ""
    return unquote(written.partition("#")[0]).strip()


def _destinations(text: str) -> list[tuple[int, int, str]]:
    """The destinations of `[…](…)` and of `[…]: …`, each with its place."""
    found: list[tuple[int, int, str]] = []
    at = text.find("](")
    while at != -1:
        start = at + 2
        at = text.find("](", start)
        # No destination has another one inside, so every letter is looked at once.
        written = _destination(text, start, len(text) if at == -1 else at)
        if written:
            found.append((start, start + len(written), written.strip("<>")))
    defined = _DEFINITION.finditer(text) if "]:" in text else ()
    return found + [(match.start(1), match.end(1), match[1].strip("<>")) for match in defined]


def _destination(text: str, start: int, limit: int) -> str:
    """What stands between the brackets; people leave spaces in the names of files."""
    if text.startswith("<", start):
        end = text.find(">", start, limit)
        return text[start : end + 1] if end != -1 and "\n" not in text[start:end] else ""
    depth = 0
    end = -1
    for place in range(start, limit):
        sign = text[place]
        if sign == "\n" or (sign == ")" and depth == 0):
            end = place
            break
        depth += (sign == "(") - (sign == ")")
    if end == -1:
        return ""
    whole = text[start:end]
    if whole.partition("#")[0].lower().endswith(NOTE_SUFFIXES):
        return whole
    return whole.split(None, 1)[0] if whole.strip() else ""


def _without_code(text: str) -> str:
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line.removesuffix("\r"))
        if fence:
            is_end = match is not None and match[1].startswith(fence) and not match[2].strip()
            lines[number] = ""
            fence = "" if is_end else fence
        elif match is not None and not (match[1][0] == "`" and "`" in match[2]):
            lines[number] = ""
            fence = match[1]
    return _without_spans("\n".join(lines))


def _without_spans(text: str) -> str:
    """The text without `code` in it; a span ends at the latest with its paragraph."""
    if "`" not in text:
        return text
    ends = [match.start() for match in _BLANK_LINE.finditer(text)]
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    masked: list[tuple[int, int]] = []
    done = 0
    for start, end in runs:
        if start < done or text[start - 1 : start] == "\\":
            continue
        same = by_length[end - start]
        later = bisect_right(same, start)
        paragraph = bisect_right(ends, start)
        limit = ends[paragraph] if paragraph < len(ends) else len(text)
        if later < len(same) and same[later] < limit:
            done = same[later] + end - start
            masked.append((start, done))
    return _masked(text, masked)


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with these spans made unreadable; its lines stay where they are."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if end <= done:
            continue
        start = max(start, done)
        parts.append(text[done:start])
        parts.append(re.sub(r"[^\n]", _MASK, text[start:end]))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _line_at(starts: list[int], place: int) -> int:
    return bisect_right(starts, place) + 1
