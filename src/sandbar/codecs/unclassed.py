"""A document of which nobody says what it is: keys with their values, and the body.

For those who read documents that were written for other programs. Nothing is refused: front matter
that cannot be read stays what it is for everybody else, text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yaml.nodes import Node, ScalarNode, SequenceNode

from sandbar.codecs.document_text import split_document
from sandbar.codecs.findings import findings_of_text
from sandbar.codecs.yaml_reading import FrontMatter, Refused
from sandbar.findings import Finding


class Key(NamedTuple):
    """What a key of the front matter says."""

    value: Any  # as JSON
    words: tuple[str, ...] | None  # as they are written, if it is a word or a list of words
    line: int


class UnclassedDocument(NamedTuple):
    """A document as it is."""

    keys: dict[str, Key]
    body: str
    body_line: int
    trouble: Finding | None = None  # why the front matter was taken as text


def read_document(text: str) -> UnclassedDocument:
    """The keys and the body of a document."""
    split = split_document(text)
    found = findings_of_text()
    front = FrontMatter(split.front_matter, 2, found)
    keys: dict[str, Key] = {}
    for entry in front.entries:
        try:
            keys[entry.key] = Key(front.value(entry.node), _words(front, entry.node), entry.line)
        except Refused as refused:
            found.add(refused.finding)
    if found.told:
        return UnclassedDocument({}, text.removeprefix("\ufeff"), 1, found.told[0])
    return UnclassedDocument(keys, split.body, split.body_line)


def _words(front: FrontMatter, node: Node) -> tuple[str, ...] | None:
    nodes = node.value if isinstance(node, SequenceNode) else [node]
    if not all(isinstance(one, ScalarNode) for one in nodes):
        return None
    return tuple(one.value for one in nodes if not front.is_nothing(one))
