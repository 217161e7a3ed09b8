"""What the index tables should hold, worked out anew from the documents and their versions."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sandbar.model import core
from sandbar.model.documents import read_doc
from sandbar.model.schema import Schema
from tests.fault.tables import Tables

Pairs = set[tuple[int, bytes]]


def index_findings(schema: Schema, tables: Tables) -> list[str]:
    """Rows that are missing, and rows that no document explains."""
    slot, past, findings = _expected(schema, tables)
    actual_slot = {(p, bytes(value), id, since) for p, value, id, since in tables.slot}
    actual_past = {(p, bytes(v), since, id, until) for p, v, _, since, id, until in tables.past}
    for name, wanted, actual in (("slot", slot, actual_slot), ("past", past, actual_past)):
        findings += [f"{name} lacks {row}" for row in sorted(wanted - actual)]
        findings += [f"{name} has an orphan {row}" for row in sorted(actual - wanted)]
    return findings


def _expected(schema: Schema, tables: Tables) -> tuple[set[Any], set[Any], list[str]]:
    lives: defaultdict[int, list[tuple[int, int, str | None]]] = defaultdict(list)
    for id, t, cls, doc in tables.version:
        lives[id].append((t, cls, doc))
    for id, cls, t, doc in tables.entity:
        lives[id].append((t, cls, doc))
    slot: set[Any] = set()
    past: set[Any] = set()
    findings = []
    for id, life in lives.items():
        since: dict[tuple[int, bytes], int] = {}
        for t, cls, doc in sorted(life):
            if id not in tables.tx.get(t, ()):
                findings.append(f"entity {id} changed at {t}, which transaction does not say so")
            pairs = _pairs(schema, cls, doc)
            for pair in [pair for pair in since if pair not in pairs]:
                past.add((*pair, since.pop(pair), id, t))
            for pair in pairs:
                since.setdefault(pair, t)
        slot |= {(*pair, id, t) for pair, t in since.items()}
    return slot, past, findings


def _pairs(schema: Schema, cls: int, doc: str | None) -> Pairs:
    if doc is None:
        return set()
    known = schema.class_by_id(cls)
    pairs: Pairs = {(core.TYPE, known.type_key)}
    stored = read_doc(doc)
    for property in known.slots.values():
        if property.indexed and property.key in stored:
            pairs |= {(property.id, key) for key in property.index_keys(stored[property.key])}
    return pairs
