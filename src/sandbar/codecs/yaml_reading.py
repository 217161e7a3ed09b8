"""Front matter: YAML composed to nodes by libyaml; what a word is, the range of its slot decides.

No tags but `!!str` and our `!json`. Nodes and depth are counted while the text is read, so that a
hostile one is refused early; what aliases repeat is counted when it is read out.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sandbar.codecs.json_text import NotJson, read_json
from sandbar.findings import Finding, Findings

NODES_MAX = 5_000
ALIASED_NODES_MAX = 1_000
DEPTH_MAX = 70  # a JSON value has at most 64 levels
JSON_TAG = "!json"

_PLAIN = "plain"  # a word without quotes or tag
_TEXT = "tag:yaml.org,2002:str"
_TAGS = {
    ScalarNode: (_PLAIN, _TEXT, JSON_TAG),
    SequenceNode: ("tag:yaml.org,2002:seq",),
    MappingNode: ("tag:yaml.org,2002:map",),
}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_FRACTION = re.compile(r"-?[0-9]+\.[0-9]+(?:e[-+][0-9]+)?")
_LONGS = range(-(1 << 63), 1 << 63)


class Refused(Exception):
    """What is wrong at one place of the YAML."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Entry:
    """A key of the front matter with its node."""

    __slots__ = ("key", "line", "node")

    def __init__(self, key: str, line: int, node: Node) -> None:
        self.key = key
        self.line = line
        self.node = node


class _Composer(yaml.CBaseLoader):
    """Counts while it composes; tells words from quoted text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.count = 0
        self._depth = 0

    def descend_resolver(self, parent: Node | None, index: Any) -> None:
        """Called before each node."""
        self.count += 1
        self._depth += 1
        if self.count > NODES_MAX:
            raise _TooMuch(f"front matter has at most {NODES_MAX:,} nodes", parent)
        if self._depth > DEPTH_MAX:
            raise _TooMuch(f"front matter has at most {DEPTH_MAX} levels", parent)

    def ascend_resolver(self) -> None:
        """Called after each node."""
        self._depth -= 1

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        """The tag of a node that states none."""
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return _TAGS[kind][0]


class _TooMuch(Exception):
    def __init__(self, message: str, parent: Node | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = parent.start_mark.line if parent is not None else 0


class FrontMatter:
    """The keys of a front matter, and the way from their nodes to values."""

    def __init__(self, text: str, line: int, found: Findings) -> None:
        self.entries: list[Entry] = []
        self.is_read = False
        self._keys: set[str] = set()
        self._line = line  # of the source, on which the front matter begins
        self._found = found
        self._room = 0
        try:
            composer = _Composer(text)
            root = composer.get_single_node()
        except yaml.MarkedYAMLError as error:
            self._syntax(error)
            return
        except yaml.YAMLError as error:  # a character that no YAML may have
            self._note_at(
                "codec.syntax", f"no YAML: {_first_line(error)}", line, 'escape it: "\\x07"'
            )
            return
        except _TooMuch as error:
            hint = "state large values as !json '{\"a\": 1}'"
            self._note_at("codec.too-many-nodes", error.message, line + error.line, hint)
            return
        self.is_read = True
        self._room = composer.count + ALIASED_NODES_MAX
        self._open(root)

    @property
    def is_exhausted(self) -> bool:
        """Whether no more of it will be read out."""
        return self._room < 0

    def line_of(self, node: Node) -> int:
        """The line of the source that a node begins on."""
        line: int = node.start_mark.line
        return self._line + line

    def is_nothing(self, node: Node) -> bool:
        """Whether a node says that there is no value."""
        return node.tag == _PLAIN and node.value in _NULLS

    def word(self, node: Node) -> str:
        """The text of a scalar, as it is written."""
        self._visit(node)
        if not isinstance(node, ScalarNode):
            kind = "a list" if isinstance(node, SequenceNode) else "an object"
            raise self.wrong_at("value.type", f"expected one value, got {kind}", node, "state one")
        text: str = node.value
        return text

    def json_text(self, node: Node) -> Any:
        """The value of a node whose text is JSON."""
        try:
            return read_json(self.word(node))
        except NotJson as error:
            raise self.wrong_at("codec.syntax", error.message, node, "!json '[1, 2]'") from None

    def value(self, node: Node, depth: int = 1) -> Any:
        """A node as JSON. A word is a number only if we would write that number so."""
        self._visit(node, depth)
        if isinstance(node, ScalarNode):
            if node.tag == JSON_TAG:
                return self.json_text(node)
            return node.value if node.tag == _TEXT else guessed(node.value)
        if isinstance(node, SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        assert isinstance(node, MappingNode)
        return {key: self.value(item, depth + 1) for key, item in self._pairs(node)}

    def wrong_at(self, code: str, message: str, node: Node, hint: str | None = None) -> Refused:
        """Something wrong at a node."""
        return Refused(self._yaml_finding(code, message, self.line_of(node), hint))

    def _open(self, root: Node | None) -> None:
        if root is None or self.is_nothing(root):
            return
        try:
            self._visit(root)
            if not isinstance(root, MappingNode):
                raise self.wrong_at("codec.syntax", "front matter is a list of key: value", root)
            for key, node in root.value:
                self._enter(key, node)
        except Refused as refused:
            self._found.add(refused.finding)

    def _enter(self, key: Node, node: Node) -> None:
        try:
            entry = Entry(self._key(key), self.line_of(key), node)
        except Refused as refused:
            self._found.add(refused.finding)
            return
        if entry.key in self._keys:
            self._found.add(self._twice(entry.key, entry.line))
            return
        self._keys.add(entry.key)
        self.entries.append(entry)

    def _pairs(self, mapping: MappingNode) -> list[tuple[str, Node]]:
        seen: set[str] = set()
        pairs = []
        for key, node in mapping.value:
            name = self._key(key)
            if name in seen:
                raise Refused(self._twice(name, self.line_of(key)))
            seen.add(name)
            pairs.append((name, node))
        return pairs

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            raise self.wrong_at("codec.syntax", "a key is a word", node, "quote it")
        return self.word(node)

    def _visit(self, node: Node, depth: int = 1) -> None:
        """Count what is read; aliases may repeat a node without end."""
        self._room -= 1
        if self.is_exhausted or depth > DEPTH_MAX:
            self._room = -1
            message = f"aliases repeat more than {ALIASED_NODES_MAX:,} nodes"
            raise self.wrong_at("codec.too-many-nodes", message, node, "write them out")
        if node.tag not in _TAGS[type(node)]:
            tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")[:80]
            hint = f"leave {tag} out: the range of the slot decides"
            raise self.wrong_at("codec.tag", f"the tag {tag} means nothing here", node, hint)

    def _twice(self, key: str, line: int) -> Finding:
        return Finding(
            line=line,
            key=key,
            code="codec.key-twice",
            message="this key was there before",
            hint="state it once",
        )

    def _syntax(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        at = self._line + (mark.line if mark is not None else 0)
        parts = [part for part in (error.context, error.problem) if part]
        hint = "quote a value that has `: ` or ` #` in it or begins with a sign"
        self._note_at("codec.syntax", f"no YAML: {', '.join(parts)}", at, hint)

    def _note_at(self, code: str, message: str, line: int, hint: str | None) -> None:
        self._found.add(self._yaml_finding(code, message, line, hint))

    def _yaml_finding(self, code: str, message: str, line: int, hint: str | None) -> Finding:
        return Finding(line=line, code=code, message=message, hint=hint)


def guessed(word: str) -> Any:
    """What a word without quotes is where nothing says what it has to be."""
    if word in _NULLS:
        return None
    if word in _TRUTHS:
        return _TRUTHS[word]
    if _WHOLE.fullmatch(word) and int(word) in _LONGS:
        return int(word)
    if _FRACTION.fullmatch(word) and number_word(float(word)) == word:
        return float(word)
    return word


def number_word(number: float) -> str:
    """A finite number as every YAML reads it: with a point, also before an exponent."""
    text = repr(number)
    if "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
