"""The slots by which memories refer to each other."""

from __future__ import annotations

RELATED = "memory/related"
# By the name that a key of front matter, or the type of a relation, has for them.
LINK_SLOTS = {
    "supersedes": "memory/supersedes",
    "refines": "memory/refines",
    "contradicts": "memory/contradicts",
    "motivated-by": "memory/motivated-by",
    "part-of": "memory/part-of",
    "cites": "memory/cites",
    "related": RELATED,
}
