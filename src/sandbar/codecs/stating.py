"""The ident that a text states, without knowing what the text is about."""

from __future__ import annotations

from sandbar.codecs.json_text import NotJson, read_json
from sandbar.codecs.shapes import IDENT, IDENT_KEY
from sandbar.codecs.unclassed import read_document
from sandbar.keywords import looks_like_ident


def stated_ident(text: str, suffix: str) -> str | None:
    """The ident that a document states, whatever else is in it; None if it states none."""
    if suffix.lower() == ".json":
        try:
            given = read_json(text)
        except NotJson:
            return None
        keys = given if isinstance(given, dict) else {}
        found = keys.get(IDENT, keys.get(IDENT_KEY))
    else:
        head = read_document(text).keys
        key = head.get(IDENT) or head.get(IDENT_KEY)
        found = key.words[0] if key is not None and key.words else None
    is_ident = isinstance(found, str) and looks_like_ident(found)
    return found.removeprefix(":") if isinstance(found, str) and is_ident else None
