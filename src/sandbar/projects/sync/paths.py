"""Which file is whose: the ident of a path, and the path that an ident stands for.

foo.md              mm/foo              the home namespace is the folder itself
decisions/foo.md    decisions/foo
a/b/c.md            a.b/c               deeper folders are dotted
My note.md          mm/my-note          names are made as everywhere
1042.md             (no ident)          an entity without ident, by its number

Whatever ident has no such path lies in a file that is called as much like it as file systems take,
and states it: what%3F.md is the file of mm/what?.
"""

from __future__ import annotations

import re

from sandbar.codecs import ident_for_path, numbered
from sandbar.projects.layout import PART_BYTES_MAX, escaped, unescaped

CONFLICT = re.compile(r"\.(?:conflict|deleted)-\d+-[0-9a-f]{6}(?:-\d+)?$")

_NO_FILE_CHARACTER = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,15}")
# Names that editors give to what they are about to throw away.
_TEMPORARY = re.compile(r"(?:^\.|^#.*#$|^~|~$|\.tmp$|\.swp$|\.bak$|\.part$)")


def is_ignored_folder(name: str) -> bool:
    """Whether nothing in a folder of this name is ours: .git, .obsidian, .trash, .sandbar …"""
    return name.startswith(".")


class Paths:
    """Idents and paths below one folder, for files whose names end in one of the suffixes."""

    def __init__(self, home: str, suffixes: tuple[str, ...]) -> None:
        self._home = home
        self._suffixes = suffixes

    def is_ours(self, name: str) -> bool:
        """Whether a file of this name is one to keep in step."""
        stem = self._stem(name)
        return stem is not None and not (_TEMPORARY.search(stem) or CONFLICT.search(stem))

    def ident(self, path: str) -> str:
        """The ident that a path stands for, if nobody else has it."""
        return ident_for_path(path, self._home)

    def other_ident(self, path: str) -> str:
        """The ident of a file whose path makes the ident of another one, too."""
        return numbered(self.ident(path), path)

    def is_place_of(self, path: str, ident: str | None) -> bool:
        """Whether a file there need not state the ident."""
        return ident in (self.ident(path), self.other_ident(path))

    def number(self, path: str) -> int | None:
        """The number that a file is called by, as those of entities without ident are."""
        stem = self._stem(path)
        return int(stem) if "/" not in path and stem and _NUMBER.fullmatch(stem) else None

    def stem(self, path: str) -> str:
        """The name of a file for people, without folder and suffix."""
        stem = self._stem(path.rpartition("/")[2])
        assert stem is not None
        return unescaped(stem) or stem

    def path(self, ident: str | None, number: int, *, is_strict: bool = False) -> str:
        """Where the file of an entity belongs. Strict: also if case does not count there.

        One that is named lies under its name; if that does not lead back to it, it states it.
        """
        suffix = self._suffixes[0]
        if ident is None:
            return f"{number}{suffix}"
        space, name = ident.split("/", 1)
        ends = f"{_percent(name[0])}{name[1:-1]}{_percent(name[-1])}" if len(name) > 1 else name
        forms = [] if is_strict else [escaped(name, suffix)]
        forms += [escaped(name, suffix, is_strict=True), f"{_percent(name[0])}{name[1:]}{suffix}"]
        forms.append(f"{ends}{suffix}")
        folders = [""] if space == self._home else [f"{_folders(space)}/", f"{escaped(space)}/"]
        paths = [folder + form for form in forms for folder in folders]
        fit = [path for path in paths if self._is_fit(path)]
        back = (path for path in fit if self.ident(path) == ident)
        return next(back, fit[0] if fit else f"{number}{suffix}")

    def beside(self, path: str, word: str, t: int, sha: str, number: int = 0) -> str:
        """The name of a version that is kept beside a file: `foo.conflict-12-a1b2c3.md`."""
        folder, slash, last = path.rpartition("/")
        stem = self._stem(last) or last
        cut = stem.encode()[: PART_BYTES_MAX + 40].decode("utf-8", "ignore")
        more = f"-{number}" if number else ""
        return f"{folder}{slash}{cut}.{word}-{t}-{sha[:6]}{more}{last[len(stem) :]}"

    def _stem(self, name: str) -> str | None:
        for suffix in self._suffixes:
            if name.lower().endswith(suffix) and len(name) > len(suffix):
                return name[: -len(suffix)]
        return None

    def _is_fit(self, path: str) -> bool:
        """Whether a path is one that any file system takes, and that we would look at."""
        parts = path.split("/")
        return (
            self.number(path) is None
            and self.is_ours(parts[-1])
            and all(_is_portable(part) for part in parts)
        )


def _is_portable(part: str) -> bool:
    is_short = len(part.encode("utf-8", "surrogateescape")) <= PART_BYTES_MAX
    is_plain = part != "" and part[0] not in ". " and part[-1] not in ". "
    return is_short and is_plain and not (_NO_FILE_CHARACTER.search(part) or _RESERVED.match(part))


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))


def _folders(space: str) -> str:
    """The folders of a namespace."""
    return space.replace(".", "/")
