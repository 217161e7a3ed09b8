"""The two files that say what a project is: `SHA256SUMS`, and `manifest.json` with its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Protocol
from unicodedata import normalize

import msgspec

from sandbar.errors import Incorrect, NotFound
from sandbar.projects.rooted import RootedFolder

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
FORMAT = "sandbar-project"
VERSION = 1

_SUMS_BYTES_MAX = 256 << 20  # a million files, with long names
_DOUBTFUL_MAX = 100_000
_LINE = re.compile(r"([0-9a-f]{64})[ ][ *]([^\r\n]+)\r*\n?")


class Manifest(msgspec.Struct, frozen=True):
    """`manifest.json`: nothing in it differs between two equal workspaces."""

    format: str
    version: int
    files: int
    digest: str  # of SHA256SUMS


def digest_of(data: bytes) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()


def plain_digest(data: bytes) -> str:
    """The same for a file whose lines were ended as on Windows: git does that to some."""
    return digest_of(data.replace(b"\r\n", b"\n"))


def write_sums(sums: Iterable[tuple[str, bytes]]) -> bytes:
    """The text for these paths and digests, as `sha256sum` writes it, sorted by path."""
    return "".join(f"{digest.hex()}  {path}\n" for path, digest in sorted(sums)).encode()


def write_manifest(sums: bytes, files: int) -> bytes:
    """The text of the manifest."""
    manifest = Manifest(FORMAT, VERSION, files, digest_of(sums))
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(folder: RootedFolder) -> Manifest | None:
    """The manifest of a project; None if the folder has none of ours."""
    try:
        data = folder.read(MANIFEST, bytes_max=1 << 16)
    except (NotFound, Incorrect):
        return None
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    if manifest.format != FORMAT:
        return None
    if manifest.version > VERSION:
        raise Incorrect(
            "project.version",
            f"this project is of version {manifest.version}; here, {VERSION} is the newest known",
            hint="use a newer Sandbar",
        )
    return manifest


class Sums(Protocol):
    """Digests by path: a dictionary, or a table that is not in memory."""

    def get(self, path: str, /) -> str | None:
        """The digest of a file."""

    def __setitem__(self, path: str, digest: str, /) -> None: ...

    def __delitem__(self, path: str, /) -> None: ...


def read_sums(folder: RootedFolder, sums: Sums, name: str = SUMS) -> None:
    """Note the digests as of the export; none, if there is no such file.

    Somebody may have merged two of them: lines that say something else are left out, and so is
    whatever two lines say differently.
    """
    doubtful: set[str] = set()
    try:
        for line in folder.lines(name, bytes_max=_SUMS_BYTES_MAX):
            match = _LINE.fullmatch(line.decode("utf-8", "replace"))
            if match is not None:
                path = composed(match[2])
                known = sums.get(path)
                if known is None:
                    sums[path] = match[1]
                elif known != match[1]:
                    doubtful.add(path)
                    _check_merged(name, len(doubtful))
    except NotFound:
        return
    for path in doubtful:
        del sums[path]


def _check_merged(name: str, doubtful: int) -> None:
    if doubtful > _DOUBTFUL_MAX:
        raise Incorrect(
            "project.too-large",
            f"{name} says of more than {_DOUBTFUL_MAX:,} files two different things",
            hint="take it from one of the exports that were merged into it",
        )


def composed(path: str) -> str:
    """A path with its letters composed: some file systems take them apart."""
    return path if path.isascii() else normalize("NFC", path)
