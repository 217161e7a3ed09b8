"""A folder of files that nobody leads out of: every step is opened from the one before it.

No `..`, no absolute path, no symbolic link anywhere on the way, and of files only regular ones:
whoever swaps a folder for a link while it is being walked finds that it is not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import BinaryIO, NamedTuple, cast

from sandbar.errors import Forbidden, Incorrect, Problem
from sandbar.projects.file_problems import link, no_file, nowhere, refusal

FILE_BYTES_MAX = 8 << 20
DEPTH_MAX = 32
PATH_BYTES_MAX = 4_000
_LINE_BYTES_MAX = 2 * PATH_BYTES_MAX

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_GROWING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = ".sandbar-part-"  # what a file is called until it is whole


class Found(NamedTuple):
    """A file of the walk, or something in its place that is not read."""

    path: str
    problem: Problem | None = None


class RootedFolder:
    """A folder (or one file in it) below a root; use it in a `with` statement.

    The root is trusted and may be a link itself; `inside` and every path given later are not.
    Paths are written with `/`, from the folder on.
    """

    def __init__(
        self, root: Path, inside: str = "", *, is_made: bool = False, within: str | None = None
    ) -> None:
        """With `is_made`, folders on the way that are missing are made.

        Whoever is not to know where the root is hears of it as `within`.
        """
        self.only: str | None = None  # the one file, if `inside` names a file
        self.name = inside or str(root)  # for messages
        if within is not None:
            self.name = f"{inside} in {within}" if inside else within
        parts = _parts(inside) if inside else []
        top = _open_root(root, is_made=is_made)
        try:
            self._root = self._enter(top, parts, is_made=is_made)
        except FileNotFoundError as error:
            raise nowhere(self.name, within) from error
        except OSError as error:
            raise refusal(self.name, error) from error
        finally:
            if getattr(self, "_root", None) != top:
                os.close(top)
        self._at: tuple[str, int] | None = None  # the folder of the last file, kept open

    def _enter(self, top: int, parts: list[str], *, is_made: bool) -> int:
        if parts and not is_made:
            above = _descend(top, parts[:-1])
            try:
                if stat.S_ISREG(os.stat(parts[-1], dir_fd=above, follow_symlinks=False).st_mode):
                    self.only = parts[-1]
                    return os.dup(above)
            finally:
                os.close(above)
        return _descend(top, parts, is_made=is_made) if parts else top

    @classmethod
    def of(cls, path: Path) -> RootedFolder:
        """A folder or a file that a trusted person has named, wherever it is."""
        whole = Path(os.path.abspath(path))
        if whole.is_file():
            return cls(whole.resolve().parent, whole.resolve().name)
        return cls(whole)

    def __enter__(self) -> RootedFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        self._leave()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    # --- looking -----------------------------------------------------------------------------

    def files(self) -> Iterator[Found]:
        """Every file, sorted by path, lazily; hidden ones (`.git`) are left out.

        What is neither a folder nor a regular file comes with the problem that it is.
        """
        if self.only is not None:
            yield Found(self.only, _unreadable(self.only, stat.S_IFREG, 0))
        else:
            yield from self._walk(os.dup(self._root), "", 0)

    def _walk(self, folder: int, prefix: str, depth: int) -> Iterator[Found]:
        try:
            for name, mode in _entries(folder):
                path = prefix + name
                if (problem := _unreadable(path, mode, depth)) is not None:
                    yield Found(path, problem)
                elif not stat.S_ISDIR(mode):
                    yield Found(path)
                else:
                    try:
                        below = os.open(name, _FOLDER, dir_fd=folder)
                    except OSError as error:
                        yield Found(path, refusal(path, error))
                        continue
                    yield from self._walk(below, f"{path}/", depth + 1)
        finally:
            os.close(folder)

    def has(self, path: str) -> bool:
        """Whether there is a regular file."""
        try:
            folder, name = self._place(path)
            return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def read(self, path: str, *, bytes_max: int = FILE_BYTES_MAX) -> bytes:
        """All that a regular file holds, or the problem that it is too large, gone or none."""
        try:
            file = self._opened(path)
            try:
                data = _read_up_to(file, bytes_max)
            finally:
                os.close(file)
        except OSError as error:
            raise refusal(path, error) from error
        if len(data) > bytes_max:
            raise _too_large(path, bytes_max)
        return data

    def lines(self, path: str, *, bytes_max: int) -> Iterator[bytes]:
        """The lines of a regular file, one by one, without those that are far too long."""
        size, is_rest = 0, False
        try:
            with os.fdopen(self._opened(path), "rb") as file:
                while line := file.readline(_LINE_BYTES_MAX):
                    size += len(line)
                    if size > bytes_max:
                        raise _too_large(path, bytes_max)
                    is_cut = len(line) == _LINE_BYTES_MAX and not line.endswith(b"\n")
                    if not is_cut and not is_rest:
                        yield line
                    is_rest = is_cut
        except OSError as error:
            raise refusal(path, error) from error

    def _opened(self, path: str) -> int:
        folder, name = self._place(path)
        # Looked at before it is opened: to open a device may do something already.
        _check_regular(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        file = os.open(name, _FILE, dir_fd=folder)
        try:
            _check_regular(path, os.fstat(file))
        except BaseException:
            os.close(file)
            raise
        return file

    # --- writing -----------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Put a file in its place at once: whoever looks sees the old one or the whole new one."""
        try:
            folder, name = self._place(path, is_made=True)
            _check_replaceable(path, folder, name)
            part = f"{_PART}{os.getpid()}-{get_ident()}"
            _remove_if_there(part, folder)
            file = os.open(part, _NEW, 0o600, dir_fd=folder)
            try:
                _write_all(file, data)
            finally:
                os.close(file)
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise refusal(path, error) from error

    def clear_parts(self, path: str) -> None:
        """Remove what a write beside this file has left that was killed."""
        try:
            folder, _ = self._place(path)
            for name in os.listdir(folder):
                if name.startswith(_PART):
                    os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise refusal(path, error) from error

    def appending(self, path: str) -> BinaryIO:
        """A file that grows line by line, each of them at once."""
        try:
            folder, name = self._place(path)
            file = os.open(name, _GROWING, 0o600, dir_fd=folder)
            return cast(BinaryIO, os.fdopen(file, "ab", buffering=0))
        except OSError as error:
            raise refusal(path, error) from error

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty without it."""
        try:
            folder, name = self._place(path)
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise refusal(path, error) from error
        self._leave()
        parents = path.split("/")[:-1]
        while parents:
            try:
                above = _descend(self._root, parents[:-1])
            except OSError:
                return
            try:
                os.rmdir(parents[-1], dir_fd=above)
            except OSError:
                return  # it holds something else
            finally:
                os.close(above)
            parents.pop()

    # --- inside ------------------------------------------------------------------------------

    def _place(self, path: str, *, is_made: bool = False) -> tuple[int, str]:
        """The open folder of a file, and its name there."""
        parts = _parts(path)
        above = "/".join(parts[:-1])
        if self._at is None or self._at[0] != above:
            found = _descend(self._root, parts[:-1], is_made=is_made)
            self._leave()
            self._at = (above, found)
        return self._at[1], parts[-1]

    def _leave(self) -> None:
        if self._at is not None:
            os.close(self._at[1])
            self._at = None


def _too_large(path: str, bytes_max: int) -> Incorrect:
    return Incorrect(
        "project.too-large",
        f"{path} has more than {bytes_max:,} bytes",
        hint="split it; many entities in one file are read as jsonl or csv",
    )


def _parts(path: str) -> list[str]:
    """The steps of a path that leads down and nowhere else."""
    parts = path.split("/")
    is_down = not any(part in ("", ".", "..") for part in parts) and "\0" not in path
    if not is_down or len(path.encode("utf-8", "surrogateescape")) > PATH_BYTES_MAX:
        raise Forbidden(
            "project.path",
            f"{path[:200]!r} does not lead to a place inside the folder",
            hint="give a path from the folder on, such as notes/2026, without .. and no / before",
        )
    return parts


def _open_root(root: Path, *, is_made: bool) -> int:
    try:
        if is_made:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise nowhere(str(root), None) from error
    except OSError as error:
        raise refusal(str(root), error) from error


def _descend(top: int, parts: list[str], *, is_made: bool = False) -> int:
    """Open a folder step by step, following no link."""
    at = os.dup(top)
    try:
        for part in parts:
            if is_made:
                try:
                    os.mkdir(part, 0o700, dir_fd=at)
                except FileExistsError:
                    pass
            below = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
    except BaseException:
        os.close(at)
        raise
    return at


def _entries(folder: int) -> list[tuple[str, int]]:
    """Names and modes, so sorted that a walk comes by all paths in their order."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                try:
                    mode = entry.stat(follow_symlinks=False).st_mode
                except FileNotFoundError:
                    continue  # it was removed while we looked
                found.append((entry.name, mode))
    return sorted(found, key=lambda one: f"{one[0]}/" if stat.S_ISDIR(one[1]) else one[0])


def _unreadable(path: str, mode: int, depth: int) -> Problem | None:
    """Why something that a walk comes by is not looked into."""
    if stat.S_ISLNK(mode):
        return link(path)
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        return no_file(path)
    try:
        path.encode()
    except UnicodeEncodeError:
        return Incorrect(
            "project.name", f"the name {path!r} is not UTF-8", hint="rename it, then run again"
        )
    is_too_deep = stat.S_ISDIR(mode) and depth >= DEPTH_MAX
    if is_too_deep or len(path.encode()) > PATH_BYTES_MAX:
        return Incorrect(
            "project.too-deep",
            f"{path[:200]} lies too deep",
            hint=f"at most {DEPTH_MAX} folders in each other",
        )
    return None


def _check_regular(path: str, state: os.stat_result) -> None:
    if stat.S_ISLNK(state.st_mode):
        raise link(path)
    if not stat.S_ISREG(state.st_mode):
        raise no_file(path)


def _check_replaceable(path: str, folder: int, name: str) -> None:
    try:
        _check_regular(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        pass


def _remove_if_there(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _read_up_to(file: int, bytes_max: int) -> bytes:
    parts = []
    room = bytes_max + 1
    while room > 0 and (part := os.read(file, min(room, 1 << 20))):
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
