"""A note as it lies in its file: the front matter by key, and the text below it."""

from __future__ import annotations

from sandbar.codecs import UnclassedDocument, read_document
from sandbar.errors import Incorrect

TAG_KEYS = ("tags", "tag")
ALIAS_KEYS = ("aliases", "alias")
IDENT_KEYS = ("ident", "db/ident")


def read_note(data: bytes) -> UnclassedDocument:
    """The parts of a note."""
    try:
        return read_document(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Incorrect(
            "note.encoding", f"line {line}: this is no UTF-8", hint="save the file as UTF-8"
        ) from error


def words_of(document: UnclassedDocument, *keys: str) -> list[str]:
    """The words of these keys; none, if they are not there or say something else."""
    found = (document.keys.get(key) for key in keys)
    return [word for key in found if key is not None for word in key.words or ()]


def stated_by(document: UnclassedDocument) -> str | None:
    """The ident that the front matter states, as it is written."""
    return next(iter(words_of(document, *IDENT_KEYS)), None)


def tags_of(document: UnclassedDocument) -> list[str]:
    """The tags of the front matter, without #: from `[a, b]`, `a, b`, `#a #b`, `area/database`."""
    tags: list[str] = []
    for word in words_of(document, *TAG_KEYS):
        parts = word.split(",") if "," in word else word.split()
        stripped = (part.strip().lstrip("#").strip("/").strip() for part in parts)
        tags += [tag for tag in stripped if tag]
    return tags
