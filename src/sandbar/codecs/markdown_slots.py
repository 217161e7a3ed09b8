"""From the nodes of front matter to slots: the range of each slot decides what its words are."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, SequenceNode

from sandbar.codecs.conversion import checked, from_word, meant_by
from sandbar.codecs.findings import findings_of_text
from sandbar.codecs.naming import looks_like_path
from sandbar.codecs.shapes import Slot
from sandbar.codecs.statements import Statements
from sandbar.codecs.yaml_reading import JSON_TAG, Entry, FrontMatter, Refused
from sandbar.errors import Problem
from sandbar.findings import Findings, finding_of
from sandbar.model import Introspection

_COMPOUND = frozenset({"json", "tuple"})


class SlotReader:
    """States what the entries of one front matter say."""

    def __init__(
        self,
        front: FrontMatter,
        statements: Statements,
        schema: Introspection,
        found: Findings,
    ) -> None:
        self._front = front
        self._statements = statements
        self._schema = schema
        self._found = found

    def state(self, entry: Entry) -> None:
        """State what one key says, or note what is wrong with it."""
        try:
            slot = self._statements.claim(entry.key, entry.line)
            if slot is None:
                self._keep(entry)
            elif not self._statements.keeps_misfits(slot):
                self._state(slot, entry)
            elif not self._fits(slot, entry):
                self._statements.lines.pop(slot.ident, None)
                self._keep(entry)
        except Refused as refused:
            self._found.add(refused.finding.moved(key=entry.key))
        except Problem as problem:
            self._found.add(finding_of(problem, line=entry.line, key=entry.key))

    def _keep(self, entry: Entry) -> None:
        self._statements.keep(entry.key, self._front.value(entry.node), entry.line)

    def _fits(self, slot: Slot, entry: Entry) -> bool:
        """State what a key of someone's own note says, if its slot takes it."""
        found, self._found = self._found, findings_of_text()
        try:
            self._state(slot, entry)
            return not self._found.told
        except (Refused, Problem):
            return not slot.many and self._means(slot, entry)
        finally:
            self._found = found

    def _means(self, slot: Slot, entry: Entry) -> bool:
        try:
            self._statements.put(slot, meant_by(slot.kind, self._front.word(entry.node)))
        except (Refused, Problem):
            return False
        return True

    def _state(self, slot: Slot, entry: Entry) -> None:
        node = entry.node
        if self._front.is_nothing(node):
            return
        if node.tag == JSON_TAG:
            self._statements.put(slot, self._front.json_text(node))
        elif slot.kind in _COMPOUND:
            self._statements.put(slot, self._front.value(node))
        elif slot.many and isinstance(node, SequenceNode):
            self._state_items(slot, entry, node.value)
        else:
            self._statements.put(slot, self._one(slot, node))

    def _state_items(self, slot: Slot, entry: Entry, nodes: list[Node]) -> None:
        items = []
        for node in nodes:
            try:
                if self._front.is_nothing(node):
                    raise self._front.wrong_at("value.type", "an item says nothing", node, 'say ""')
                items.append(self._one(slot, node))
            except Problem as problem:
                self._found.add(finding_of(problem, line=self._front.line_of(node), key=entry.key))
        if len(items) < len(nodes):
            return
        try:
            self._statements.put(slot, items)
        except Problem:
            for item, node in zip(items, nodes, strict=True):
                self._try(slot, item, self._front.line_of(node), entry.key)
            if not self._found.told:
                raise

    def _try(self, slot: Slot, item: Any, line: int, key: str) -> None:
        try:
            checked(self._schema, slot, [item])
        except Problem as problem:
            if not self._found.is_full:
                self._found.add(finding_of(problem, line=line, key=key))

    def _one(self, slot: Slot, node: Node) -> Any:
        if slot.kind != "ref":
            return from_word(slot, self._front.word(node))
        if isinstance(node, MappingNode):
            return self._front.value(node)
        word = self._front.word(node).strip()
        if not looks_like_path(word):
            return from_word(slot, word)
        return self._statements.ident_at(slot, word)
