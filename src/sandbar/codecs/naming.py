"""Names made of names: `mm/foo` for Foo, and the ident that a path stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from sandbar.model import Introspection

NAME_BYTES_MAX = 180  # an ident has 255: room for its namespace and for a number after it

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


def looks_like_path(text: str) -> bool:
    """Whether a reference is the path of a file; one with a colon before it is an ident."""
    return not text.startswith(":") and _FILE.fullmatch(text) is not None


def ident_of_path(text: str, namespace: str) -> str:
    """The ident of the entity in a file: its folder and its name (`../decisions/foo.md`).

    A file in the same folder has the same namespace as the document that refers to it.
    """
    match = _FILE.fullmatch(text)
    parts = (match["name"] if match else text).split("/")
    folder = parts[-2] if len(parts) > 1 and parts[-2] not in ("", ".", "..") else namespace
    return f"{unquote(folder)}/{unquote(parts[-1])}"
