"""A document as two texts: the front matter between `---` lines, and the body below it."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = "---"

_OPENER = re.compile(r"---[ \t]*\r?\n")
_CLOSER = re.compile(r"^---[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)


class DocumentText(NamedTuple):
    """Both parts, and the line on which the body begins."""

    front_matter: str
    body: str
    body_line: int


def split_document(text: str) -> DocumentText:
    """Take a text apart. Without front matter, or if that has no end, all of it is the body."""
    plain = text.removeprefix("\ufeff")
    opener = _OPENER.match(plain)
    closer = None if opener is None else _CLOSER.search(plain, opener.end())
    if opener is None or closer is None:
        return DocumentText("", plain, 1)
    front = plain[opener.end() : closer.start()]
    return DocumentText(front, plain[closer.end() :], 3 + front.count("\n"))
