"""Which file is whose: the path that an ident stands for, and the ident of a path.

foo.md              mm/foo              the home namespace is the folder itself
decisions/foo.md    decisions/foo
a/b/c.md            a.b/c               deeper folders are dotted
My note.md          mm/My%20note        what no ident can carry is escaped in the ident
what%3F.md          mm/what?            what some file system cannot carry, in the file's name
1042.md             (no ident)          an entity without ident, by its number
"""

from __future__ import annotations

import re

from sandbar.keywords import MAX_BYTES as IDENT_BYTES_MAX
from sandbar.keywords import looks_like_ident
from sandbar.projects.layout import PART_BYTES_MAX, escaped, unescaped

CONFLICT = re.compile(r"\.(?:conflict|deleted)-\d+-[0-9a-f]{6}(?:-\d+)?$")

_NO_IDENT_CHARACTER = re.compile(r"[^\w*!?$&=<>.+\-'#]")
_NO_FOLDER_CHARACTER = re.compile(r"[^\w\-]")
_NO_FILE_CHARACTER = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
_FOLDER_ESCAPE = re.compile(r"_x([0-9A-F]{4,6})_")
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

    def ident(self, path: str) -> str | None:
        """The ident that a path stands for; None if it can be none."""
        *folders, last = path.split("/")
        while folders and folders[-1].endswith("%") and len(folders[-1]) > 1:
            last = folders.pop()[:-1] + last  # a name that was too long for one part
        stem = self._stem(last)
        assert stem is not None, "only files of ours have idents"
        space = self._home if not folders else ".".join(map(_component, folders))
        if folders and not re.match(r"[^\W\d]", space):
            space = _mark(space[0]) + space[1:]
        ident = f"{space}/{_name(stem)}"
        is_short = len(ident.encode("utf-8", "surrogateescape")) <= IDENT_BYTES_MAX
        return ident if is_short and looks_like_ident(ident) else None

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

        What has no path that leads back to it lies under its number, and states its ident.
        """
        suffix = self._suffixes[0]
        if ident is not None:
            space, name = ident.split("/", 1)
            forms = [] if is_strict else [f"{_unescaped_name(name)}{suffix}", escaped(name, suffix)]
            forms += [
                escaped(name, suffix, is_strict=True),
                f"{_percent(name[0])}{name[1:]}{suffix}",
            ]
            folders = [""] if space == self._home else [f"{_folders(space)}/", f"{escaped(space)}/"]
            for path in (folder + form for form in forms for folder in folders):
                if self._is_fit(path) and self.ident(path) == ident:
                    return path
        return f"{number}{suffix}"

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


def _name(stem: str) -> str:
    """The last part of the ident of a file."""
    plain = unescaped(stem)
    if plain is not None and not _NO_IDENT_CHARACTER.search(plain.replace("%", "")):
        return plain
    return _NO_IDENT_CHARACTER.sub(lambda found: _percent(found[0]), stem)


def _unescaped_name(name: str) -> str:
    """What a file was called whose ident has escapes."""
    return unescaped(name) or name


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))


def _component(folder: str) -> str:
    """A folder as a part of a namespace."""
    plain = unescaped(folder) or folder
    marked = _FOLDER_ESCAPE.sub(lambda found: f"_x005F_{found[0][1:]}", plain)
    return _NO_FOLDER_CHARACTER.sub(lambda found: _mark(found[0]), marked)


def _mark(char: str) -> str:
    return f"_x{ord(char):04X}_"


def _folders(space: str) -> str:
    """The folders of a namespace."""
    parts = (
        _FOLDER_ESCAPE.sub(lambda found: chr(int(found[1], 16)), part) for part in space.split(".")
    )
    return "/".join(part or "%" for part in parts)
