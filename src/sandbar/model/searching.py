"""Searching a workspace for words, and bringing old entities into the index.

The index is written by the transactions that write the entities, so a search sees what a read at
the same moment sees. It says who has the words; how well they answer is weighed here, so that all
stores give the same answer. What is weighed is bounded: of those that have all words a window of
the youngest, then the next one; of those that have some, those with the weightiest.

A page continues after as many results as were shown before it: what is written in between may move
results by a place, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple, Protocol

from sandbar.errors import Incorrect, Unavailable, Unsupported
from sandbar.model import core
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.documents import read_doc
from sandbar.model.hiding import AllBut, hidden_ids
from sandbar.model.moments import Moment
from sandbar.model.ranking import COUNTED_MAX, Yardstick, fields_of, weight_of
from sandbar.model.rendering import Source, render
from sandbar.model.results import Hit, SearchPage
from sandbar.model.schema import Schema
from sandbar.model.search_terms import Asked, Wanted, parse_search
from sandbar.model.snippets import snippet_of
from sandbar.model.values.scalars import MAX_REF
from sandbar.model.words import entity_words
from sandbar.store import AllOf, Row, Sought, Store, Transaction

LIMIT_MAX = 100
WINDOW = 200
"""So many are weighed at once."""
ENOUGH = 5
"""So many that have all the words, and nobody is shown who has only some."""
FEW_WORDS = 3
"""More words are a question: hardly any text has them all, and those need not be the best."""

_MOST = 0.6  # the part of the words that somebody has who is shown beside those with all
_SOME = 0.2  # the part that somebody has who is shown when hardly anybody has all
_OF_BEST = 0.25  # likewise, of the part that the one has who has most
_CROSSED_MAX = 3  # common words that are sought together
_READ_ROWS = 32
_READ_CHARACTERS_MAX = 2_000_000  # of all that are weighed

_IDENT = str(core.IDENT)
_BUILT_ROWS = 500  # per transaction


class Search(NamedTuple):
    """A search as it was asked. It is passed on whole; a field is read where it counts."""

    query: str
    class_: Any = None
    limit: int = 20
    cursor: str | None = None
    as_of: Moment | None = None
    hidden: Collection[Any] = ()  # classes whose instances are left out


class Searched(Source, Protocol):
    """Where a search looks."""

    def search(self, sought: Sought) -> list[list[int]]:
        """For each search for words the ids of those who have them, greatest first."""


class _Scope(NamedTuple):
    """Among whom is searched."""

    source: Searched
    schema: Schema
    classes: tuple[int, ...] | None
    hidden: tuple[int, ...]

    def find(self, searches: Iterable[AllOf], below: int | None = None) -> list[list[int]]:
        """The youngest who have the words, as far as anybody counts."""
        wanted = tuple(searches)
        if not wanted:
            return []
        sought = Sought(wanted, COUNTED_MAX, below, self.classes, self.hidden)
        return self.source.search(sought)


class _Scored(NamedTuple):
    id: int
    score: float
    share: float


class _Ranking(NamedTuple):
    """Who was found, best first; and below which id a search for more would go on."""

    scored: list[_Scored]
    weights: tuple[float, ...]  # of what was sought, for the snippets
    wanted: tuple[Wanted, ...]
    rows: dict[int, Row]
    below: int | None = None


def refuse_past(as_of: object) -> None:
    """Only what is there now can be searched."""
    if as_of is not None:
        raise Unsupported(
            "search.as-of",
            "a search looks at what there is now, not at the past",
            hint="search now, then read the entities as-of; or use entity.query with as-of",
        )


def search_page(source: Searched, schema: Schema, t: int, epoch: int, search: Search) -> SearchPage:
    """One page of what was found, best first."""
    if type(search.limit) is not int or not 1 <= search.limit <= LIMIT_MAX:
        raise Incorrect(
            "search.limit", f"limit is from 1 to {LIMIT_MAX}", hint="page with the cursor"
        )
    asked = parse_search(search.query)
    hidden = hidden_ids(schema, search.hidden)
    classes = None
    if search.class_ is not None or isinstance(search.hidden, AllBut):
        root = None if search.class_ is None else schema.class_named(search.class_).id
        wanted = schema.class_ids if root is None else schema.descendants(root)
        classes = tuple(id for id in wanted if id not in hidden)
    question = question_digest("search", search.query, search.class_, sorted(hidden))
    passed, below = 0, None
    if search.cursor is not None:
        cursor = read_cursor(search.cursor, question, epoch)
        passed, below = cursor.id, min(int.from_bytes(cursor.key[:8]), MAX_REF) or None
    left_out = () if classes is not None else tuple(sorted(hidden))
    found = _ranking(_Scope(source, schema, classes, left_out), asked, below)
    shown = found.scored[passed : passed + search.limit]
    items = _hits(source, schema, found, shown)
    after = passed + len(shown)
    if after < len(found.scored):
        stop = (after, below)
    elif found.below is not None:
        stop = (0, found.below)
    else:
        return SearchPage(items, t)
    key = b"" if stop[1] is None else stop[1].to_bytes(8)
    return SearchPage(items, t, write_cursor(Cursor(epoch, t, question, 0, key, stop[0])))


def _hits(source: Searched, schema: Schema, found: _Ranking, shown: Sequence[_Scored]) -> list[Hit]:
    unread = [each.id for each in shown if each.id not in found.rows]
    rows = found.rows | ({row.id: row for row in source.entities(unread)} if unread else {})
    entities = render(schema, [rows[each.id] for each in shown], source)
    return [
        Hit(
            entity,
            each.score,
            snippet_of(_texts(schema, rows[each.id]), found.wanted, found.weights),
        )
        for entity, each in zip(entities, shown, strict=True)
    ]


def _texts(schema: Schema, row: Row) -> list[str]:
    """What a snippet may show: the ident comes last, since every hit has it beside."""
    doc = read_doc(row.doc)
    texts: list[str] = []
    slots = schema.class_by_id(row.cls).text_slots
    for key, many in sorted(slots, key=lambda slot: slot[0] == _IDENT):
        if key in doc:
            texts += doc[key] if many else [doc[key]]
    return texts


# --- who is weighed --------------------------------------------------------------------------


def _ranking(scope: _Scope, asked: Asked, below: int | None) -> _Ranking:
    """Those that have all words; if these are few, or the words many, those that have some."""
    parts = asked.parts
    is_question = len(asked.whole) > FEW_WORDS
    searches = [asked.strict]
    if len(asked.whole) > 1:
        searches += [asked.partial(part) for part in parts]
    strict, *lists = scope.find(searches, below)
    enough = 1 if len(asked.whole) <= 1 else ENOUGH
    has_no_parts = len(parts) <= 1 and parts == asked.whole
    if below is not None or has_no_parts or (len(strict) >= enough and not is_question):
        counts = [len(ids) for ids in lists] if len(parts) == len(asked.whole) else []
        return _window(scope, asked, strict, counts)
    if not lists:
        lists = scope.find(asked.partial(part) for part in parts)
    return _mixture(scope, asked, strict, lists)


def _window(scope: _Scope, asked: Asked, strict: Sequence[int], counts: Sequence[int]) -> _Ranking:
    """Those that have all words, the youngest of them."""
    wanted = (*asked.whole, *asked.musts)
    weights = [weight_of(count) for count in counts] or [weight_of(COUNTED_MAX)] * len(asked.whole)
    weights += [weight_of(COUNTED_MAX)] * len(asked.musts)
    ids = strict[:WINDOW]
    everything = _bits(range(len(wanted)))
    scored, rows = _weighed(scope, Yardstick(wanted, weights), dict.fromkeys(ids, everything))
    more = ids[-1] if len(strict) > WINDOW else None
    return _Ranking(scored, tuple(weights), wanted, rows, more)


def _mixture(
    scope: _Scope, asked: Asked, strict: Sequence[int], lists: Sequence[Sequence[int]]
) -> _Ranking:
    """Those that have some of the words, the weightiest."""
    there = [at for at, ids in enumerate(lists) if ids]  # what nobody has tells nobody apart
    parts = [asked.parts[at] for at in there]
    wanted = (*parts, *asked.musts)
    weights = [weight_of(len(lists[at])) for at in there]
    has: dict[int, int] = {}  # which of the parts, a bit for each
    for number, at in enumerate(there):
        for id in lists[at]:
            has[id] = has.get(id, 0) | 1 << number
    common = [number for number, at in enumerate(there) if len(lists[at]) == COUNTED_MAX]
    crossings = list(_crossings(common, parts))
    crossed = scope.find(asked.partial(*(parts[n] for n in some)) for some in crossings)
    for some, ids in zip(crossings, crossed, strict=True):
        for id in ids:
            has[id] = has.get(id, 0) | _bits(some)
    for id in strict:
        has[id] = _bits(range(len(parts)))
    best = _promising(has, weights, common, _least(strict, asked))
    weights += [weight_of(COUNTED_MAX)] * len(asked.musts)
    musts = _bits(range(len(parts), len(wanted)))
    known = {id: has[id] | musts for id in best}
    scored, rows = _weighed(scope, Yardstick(wanted, weights), known)
    return _Ranking(_shown(scored, frozenset(strict), asked), tuple(weights), wanted, rows)


def _crossings(common: Sequence[int], parts: Sequence[Wanted]) -> Iterator[tuple[int, ...]]:
    """Which common words to seek together: who has several of them need not be among the youngest.

    Long words first: they tell more.
    """
    chosen = sorted(common, key=lambda n: (-len(parts[n].terms[0].words[0]), n))[:_CROSSED_MAX]
    for size in range(len(chosen), 1, -1):
        yield from combinations(sorted(chosen), size)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _promising(
    has: dict[int, int], weights: Sequence[float], common: Sequence[int], least: float
) -> list[int]:
    """Who is worth being weighed: the most by what the index says, without those that cannot do.

    Somebody may have a common word that the index does not say of them, and none else.
    """
    at_least, maybe = least * sum(weights), _bits(common)
    heavy: dict[int, float] = {0: 0.0}
    for bits in {bits for had in has.values() for bits in (had, had | maybe)}:
        heavy[bits] = sum(weight for n, weight in enumerate(weights) if bits >> n & 1)
    able = (id for id, bits in has.items() if heavy[bits | maybe] >= at_least)
    return sorted(able, key=lambda id: (-heavy[has[id]], -id))[:WINDOW]


def _weighed(
    scope: _Scope, yardstick: Yardstick, known: dict[int, int]
) -> tuple[list[_Scored], dict[int, Row]]:
    """Everybody with a score, best first; last who was not read, since others are so long."""
    scored: list[_Scored] = []
    rows: dict[int, Row] = {}
    ids = iter(known)
    room = _READ_CHARACTERS_MAX
    while room > 0 and (some := list(islice(ids, _READ_ROWS))):
        for row in scope.source.entities(some):
            fields = fields_of(scope.schema.class_by_id(row.cls), read_doc(row.doc))
            room -= sum(len(field.text) for field in fields)
            scored.append(_Scored(row.id, *yardstick.measure(fields, known[row.id])))
            rows[row.id] = row
    scored.sort(key=lambda each: (-each.score, -each.id))
    scored += (_Scored(id, 0.0, 0.0) for id in ids)
    return scored, rows


def _least(strict: Collection[int], asked: Asked) -> float:
    """What part of all that was sought somebody must have to be shown."""
    return _MOST if strict and len(asked.whole) <= FEW_WORDS else _SOME


def _shown(scored: list[_Scored], strict: frozenset[int], asked: Asked) -> list[_Scored]:
    """Who is worth being shown: beside those that have all words only a few others."""
    least = max(_least(strict, asked), _OF_BEST * max((each.share for each in scored), default=0.0))
    worthy = [each for each in scored if each.id in strict or each.share >= least]
    if not strict or len(asked.whole) > FEW_WORDS:
        return worthy
    others = [each.id for each in worthy if each.id not in strict]
    shown = strict.union(others[: ENOUGH - len(strict)])
    return [each for each in worthy if each.id in shown]


# --- the index -------------------------------------------------------------------------------


def refuse_unbuilt(unsearched: int | None) -> None:
    """A search that would miss something says so instead."""
    if unsearched is not None:
        raise Unavailable(
            "search.building",
            "the search index of this workspace is still being built",
            hint="retry soon; whoever opens the database goes on building it",
        )


def build_index(store: Store, ws: int, schema_of: Callable[[int, int], Schema]) -> None:
    """Index the entities from before there was a search, in short transactions.

    Several processes may do this at once: each step begins where the last one, anybody's, ended.
    """

    def step(tx: Transaction) -> bool:
        reads = tx.hindsight()
        after = reads.unsearched()
        if after is None:
            return False
        schema = schema_of(tx.generation, tx.epoch)
        rows = reads.entities_after(after, _BUILT_ROWS)
        for row in rows:
            words = entity_words(schema.class_by_id(row.cls), read_doc(row.doc))
            tx.index_words(row.id, words)
        tx.indexed_up_to(rows[-1].id if rows else None)
        return bool(rows)

    while store.submit(ws, step, alone=True).result():
        pass
