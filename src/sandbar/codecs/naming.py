"""Names made of names: `mm/foo` for Foo, and the ident that a path stands for.

A file that states no ident is known by its path, whoever reads it: an import, a watch, or a source
that a pack brings. `ident_for_path` is the one place that says how.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from sandbar.model import Introspection

NAME_BYTES_MAX = 180  # an ident has 255: room for its namespace and for a number after it

_IDENT_BYTES_MAX = 255
_FOLDER_BYTES_MAX = 100
_DIGEST_DIGITS = 8
# Namespaces in which something else lives: a folder of that name gets another one.
OWN_NAMESPACES = frozenset(
    {"audit", "auth", "db", "dt", "mm", "pack", "prompt", "relation", "tag", "task", "workflow"}
)

_NO_WORD = re.compile(r"\W+")
_FILE = re.compile(r"(?P<name>.+)\.(?:md|markdown|json)", re.IGNORECASE | re.DOTALL)


def derived_ident(schema: Introspection, class_: str, slots: Mapping[str, Any]) -> str | None:
    """The ident that an instance with these slots has when it states none, if its class says how.

    Letters and digits of every script stay, in lower case; whatever else becomes a hyphen.
    """
    document = schema.document(class_)
    if document.ident_from is None or document.ident_in is None:
        return None
    name = slots.get(document.ident_from)
    slug = slug_of(name) if isinstance(name, str) else ""
    return f"{document.ident_in}/{slug}" if slug else None


def slug_of(name: str) -> str:
    """A name as the last part of an ident; empty, if no letter or digit is in it."""
    lower = normalize("NFC", normalize("NFC", name[: 4 * NAME_BYTES_MAX]).lower())
    slug = _NO_WORD.sub("-", lower).strip("-")
    cut = slug.encode("utf-8", "ignore")[:NAME_BYTES_MAX].decode("utf-8", "ignore")
    return cut.strip("-")


def ident_for_path(path: str, namespace: str) -> str:
    """The ident of the entity in a file that states none, by its path below the folder it is in.

    `decisions/sqlite.md` is `decisions/sqlite`, deeper folders are dotted, and a file at the top
    has the namespace of its class. Each part is made a name as `derived_ident` does.
    """
    *folders, file = path.split("/")
    name = _part_of(file.rpartition(".")[0] or file)
    space = namespace if not folders else _space_of(folders, namespace)
    room = _IDENT_BYTES_MAX - len(space.encode()) - 2 * _DIGEST_DIGITS - 3
    if len(name.encode()) > room:
        cut = name.encode()[: room - 10].decode("utf-8", "ignore").rstrip("-")
        name = f"{cut}-{digest_of(name)}"
    return f"{space}/{name}"


def numbered(ident: str, key: str) -> str:
    """The ident of another file whose path makes the same ident: with a digest of its own path."""
    return f"{ident}-{digest_of(key)}"


def digest_of(text: str) -> str:
    """A few digits that stand for a text."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]


def _space_of(folders: list[str], namespace: str) -> str:
    space = ".".join(map(_part_of, folders))
    if len(space.encode()) > _FOLDER_BYTES_MAX:
        cut = space.encode()[: _FOLDER_BYTES_MAX - 10].decode("utf-8", "ignore").rstrip(".-")
        space = f"{cut}-{digest_of(space)}"
    if not (space[0].isalpha() or space[0] == "_"):
        space = f"_{space}"
    is_taken = space.partition(".")[0] in OWN_NAMESPACES or space == namespace
    return f"notes.{space}" if is_taken else space


def _part_of(name: str) -> str:
    """A part of a path as a part of an ident, also where no letter or digit is in it."""
    return slug_of(name) or f"x-{digest_of(name)}"


def looks_like_path(text: str) -> bool:
    """Whether a reference is the path of a file; one with a colon before it is an ident."""
    return not text.startswith(":") and _FILE.fullmatch(text) is not None


def ident_of_path(text: str, namespace: str) -> str:
    """The ident that a path in a text means which lies nowhere (`../decisions/foo.md`).

    Its folder and its name; without a folder, it has the namespace of the text itself.
    """
    match = _FILE.fullmatch(text)
    parts = (match["name"] if match else text).split("/")
    folder = parts[-2] if len(parts) > 1 and parts[-2] not in ("", ".", "..") else namespace
    return f"{unquote(folder)}/{unquote(parts[-1])}"
