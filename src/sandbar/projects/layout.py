"""Where an entity's file is: a path that every file system takes, and that can be read back.

    zorp/Boot/boot/moonwalker.json      an instance of zorp/Boot whose ident is boot/moonwalker
    zorp/Boot/1042.json                 one without ident, by its number
    dt/Class/zorp/Boot.json             classes and properties are entities like any other

Characters that some file system does not take are written `%3F`. A name that is too long goes on in
the next folder: each part but its last ends in a bare `%`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from unicodedata import normalize

from sandbar.keywords import looks_like_ident

PART_BYTES_MAX = 140  # eCryptfs takes 143, all others more
_FIRST_GROWS_BY = 3  # the mark that a name goes on, and two more bytes if a dot is escaped

_UNSAFE = re.compile(r'[%<>:"/\\|?*\x00-\x1f\x7f]')
# Windows keeps these for itself, in any case and whatever suffix they have.
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE
)
_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NUMBER = re.compile(r"[1-9][0-9]{0,15}")
_PLAIN = re.compile(r"[a-z0-9_.-]+")


class Placed(NamedTuple):
    """What a path says about the entity in the file."""

    class_: str
    ident: str | None
    number: int | None
    suffix: str


class Layout:
    """Paths of an export.

    Names that are equal but for case (or for how letters are composed) would be one file on some
    file systems: of these, all but small letters and digits is escaped.
    """

    def __init__(self, classes: Iterable[str]) -> None:
        known = list(classes)
        self._spaces = alike({class_.partition("/")[0] for class_ in known})
        self._classes = alike(known)
        self._ident_spaces: frozenset[str] = frozenset()
        self._idents: frozenset[str] = frozenset()
        self._folder = ""

    def enter(self, class_: str, idents: Iterable[str]) -> None:
        """From now on, paths are of direct instances of this class, which have these names."""
        space, name = class_.split("/", 1)
        first = escaped(space, is_strict=fold(space) in self._spaces)
        second = escaped(name, is_strict=fold(class_) in self._classes)
        self._folder = f"{first}/{second}"
        spaces: set[str] = set()
        self._idents = alike(_noting_spaces(idents, spaces))
        self._ident_spaces = alike(spaces)

    def path(self, ident: str | None, number: int, suffix: str) -> str:
        """The path of an instance: by its ident, or by its number if it has none."""
        if ident is None:
            return f"{self._folder}/{number}{suffix}"
        space, name = ident.split("/", 1)
        first = escaped(space, is_strict=fold(space) in self._ident_spaces)
        last = escaped(name, suffix, is_strict=fold(ident) in self._idents)
        return f"{self._folder}/{first}/{last}"


def _noting_spaces(idents: Iterable[str], spaces: set[str]) -> Iterator[str]:
    for ident in idents:
        spaces.add(ident.partition("/")[0])
        yield ident


def alike(names: Iterable[str]) -> frozenset[str]:
    """The folded forms that several of these different names have; 8 bytes are kept of each."""
    seen: set[int] = set()
    found: set[str] = set()
    for name in names:
        folded = fold(name)
        if hash(folded) in seen:
            found.add(folded)
        seen.add(hash(folded))
    return frozenset(found)


def fold(name: str) -> str:
    """The same for names that differ only in case, or in how letters are composed."""
    return name if _PLAIN.fullmatch(name) else normalize("NFC", normalize("NFD", name).casefold())


def escaped(name: str, suffix: str = "", *, is_strict: bool = False) -> str:
    """A part of a path that stands for the name; several parts, if it is long."""
    parts: list[str] = []
    part: list[str] = []
    size = 0
    for char in name:
        mark = _escaped_character(char, is_strict=is_strict)
        length = len(mark.encode())
        if size + length > PART_BYTES_MAX - len(suffix) - _FIRST_GROWS_BY:
            parts.append(_safe(part, "%"))
            part, size = [], 0
        part.append(mark)
        size += length
    return "/".join([*parts, _safe(part, suffix)])


def _safe(marks: list[str], end: str) -> str:
    """One part of a path: not hidden, not reserved, and with no dot at its end."""
    if marks[0] == "." or _RESERVED.match("".join(marks) + end):
        marks = [_percent(marks[0]), *marks[1:]]
    if not end and marks[-1] == ".":
        marks = [*marks[:-1], _percent(marks[-1])]
    return "".join(marks) + end


def _escaped_character(char: str, *, is_strict: bool) -> str:
    if _UNSAFE.match(char) or (is_strict and not _PLAIN.match(char)):
        return _percent(char)
    return char


def _percent(mark: str) -> str:
    """All bytes of a character as %XX; what is escaped stays as it is."""
    return mark if len(mark) > 1 else "".join(f"%{byte:02X}" for byte in mark.encode())


def unescaped(part: str) -> str | None:
    """The name that a part of a path stands for; None if it is none of ours."""
    if "%" not in part:
        return part
    if "%" in _ESCAPE.sub("", part):
        return None
    try:
        return _ESCAPE.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), part)
    except UnicodeDecodeError:
        return None


def placed(path: str) -> Placed | None:
    """What the path of a file says, if it is one of ours."""
    parts = _joined(path.split("/"))
    if len(parts) not in (3, 4):
        return None
    stem, dot, suffix = parts[-1].rpartition(".")
    names = [name for part in (*parts[:-1], stem) if (name := unescaped(part))]
    if not dot or len(names) != len(parts):
        return None
    class_ = f"{names[0]}/{names[1]}"
    if not looks_like_ident(class_):
        return None
    if len(names) == 3:
        number = int(names[2]) if _NUMBER.fullmatch(names[2]) else None
        return None if number is None else Placed(class_, None, number, f".{suffix}")
    ident = f"{names[2]}/{names[3]}"
    return Placed(class_, ident, None, f".{suffix}") if looks_like_ident(ident) else None


def below_class(path: str) -> tuple[str, str] | None:
    """The class in whose folders a file is, by its path, and the rest of the path."""
    parts = _joined(path.split("/"))
    names = [name for part in parts[:2] if (name := unescaped(part))]
    class_ = "/".join(names)
    if len(parts) < 3 or len(names) != 2 or not looks_like_ident(class_):
        return None
    return class_, "/".join(parts[2:])


def _joined(parts: list[str]) -> list[str]:
    """Parts that end in a bare % go on in the next one."""
    joined: list[str] = []
    is_open = False
    for part in parts:
        if is_open:
            joined[-1] += part
        else:
            joined.append(part)
        is_open = joined[-1].endswith("%")
        if is_open:
            joined[-1] = joined[-1][:-1]
    return joined
