"""The search index of both stores: written with the batch, bound to the workspace, erasable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from sandbar import clock
from sandbar.errors import Fault
from sandbar.store.api import Store, Transaction
from sandbar.store.pieces import Change
from sandbar.store.postgres import words as postgres_words
from sandbar.store.search import GAP, AllOf, Sought, Term
from tests.store.conftest import Place, new_workspace
from tests.store.writing import Work, together, write


def saying(words: str, *, id: int | None = None, cls: int = 1, gone: bool = False) -> Work:
    """Make an entity with these words, or change one."""

    def work(tx: Transaction) -> int:
        who = tx.new_id() if id is None else id
        before = tx.entity(who)
        doc, text = (None, None) if gone else ("{}", words.split())
        tx.change(Change(who, cls, doc, (), (), text), before)
        return who

    return work


def terms(text: str) -> AllOf:
    """Words that must occur; `a+b` is a phrase, `a*` a beginning, `a|b` either."""
    return tuple(tuple(_term(word) for word in either.split("|")) for either in text.split())


def _term(word: str) -> Term:
    return Term(tuple(word.removesuffix("*").split("+")), word.endswith("*"))


def found(store: Store, ws: int, text: str, most: int = 100, **more: Any) -> list[int]:
    """The ids that a search finds, lowest first."""
    with store.snapshot(ws) as snapshot:
        (ids,) = snapshot.search(Sought((terms(text),), most, **more))
    assert ids == sorted(ids, reverse=True)
    return ids[::-1]


def test_words_phrases_and_beginnings(store: Store, ws: int) -> None:
    one = write(store, ws, saying(f"moon boot {GAP} red"))
    two = write(store, ws, saying("boot moon ready"))
    assert found(store, ws, "boot moon") == [one, two]
    assert found(store, ws, "moon+boot") == [one]
    assert found(store, ws, "boot+red") == []
    assert found(store, ws, "re*") == [one, two]
    assert found(store, ws, "moon+bo*") == [one]
    assert found(store, ws, "oon") == []


def test_a_batch_counts_by_its_end(store: Store, ws: int) -> None:
    old = write(store, ws, saying("old words"))
    back = write(store, ws, saying("back words"))
    new = back + 1
    together(
        store,
        ws,
        [
            saying("first"),  # makes `new`
            saying("second", id=new),
            saying("doomed"),
            saying("", id=new + 1, gone=True),
            saying("changed", id=old),
            saying("", id=back, gone=True),
            saying("again", id=back),
        ],
    )
    assert (
        found(store, ws, "first") == found(store, ws, "words") == found(store, ws, "doomed") == []
    )
    assert found(store, ws, "second") == [new]
    assert found(store, ws, "changed") == [old]
    assert found(store, ws, "again") == [back]
    write(store, ws, saying("", id=old, gone=True))
    assert found(store, ws, "changed") == []


def test_unchanged_words_stay_and_empty_ones_go(store: Store, ws: int) -> None:
    one = write(store, ws, saying("moon"))

    def silent(tx: Transaction) -> None:
        tx.change(Change(one, 1, '{"1":2}', (), ()), tx.entity(one))

    write(store, ws, silent)
    assert found(store, ws, "moon") == [one]
    write(store, ws, saying("", id=one))
    assert found(store, ws, "moon") == []


def test_a_transaction_that_runs_alone_finds_its_own_words(store: Store, ws: int) -> None:
    one = write(store, ws, saying("moon"))

    def work(tx: Transaction) -> Sequence[int]:
        made = saying("moon too")(tx)
        assert tx.search(Sought((terms("too"),), 9)) == [[made]]
        saying("sun", id=one)(tx)
        saying("star", id=made)(tx)
        assert tx.search(Sought((terms("moon"),), 9)) == [[]]
        return [made]

    assert write(store, ws, work, alone=True) == found(store, ws, "star")
    assert found(store, ws, "sun") == [one]


def test_a_failed_transaction_leaves_no_word(store: Store, ws: int) -> None:
    def work(tx: Transaction) -> None:
        saying("ghost")(tx)
        tx.flush()
        raise Fault("test.stop", "stop")

    with pytest.raises(Fault):
        write(store, ws, work, alone=True)
    assert found(store, ws, "ghost") == []


def test_classes_and_windows(store: Store, ws: int) -> None:
    ids = [write(store, ws, saying("moon " + "pad " * n, cls=1 + n % 2)) for n in range(6)]
    assert found(store, ws, "moon", classes=(2,)) == ids[1::2]
    assert found(store, ws, "moon", hidden=(2,)) == ids[::2]
    assert found(store, ws, "moon", classes=()) == []
    assert found(store, ws, "moon", 2) == ids[4:]
    assert found(store, ws, "moon", 2, below=ids[4]) == ids[2:4]
    assert found(store, ws, "moon", below=ids[0]) == []


def test_several_searches_are_answered_each(store: Store, ws: int) -> None:
    one, two = write(store, ws, saying("moon red")), write(store, ws, saying("sun red"))
    searches = tuple(map(terms, ("red", "moon|sun", "mars", "moon|mars red", "moon sun")))
    with store.snapshot(ws) as snapshot:
        answers = snapshot.search(Sought(searches, 9))
        assert snapshot.search(Sought((), 9)) == []
    assert answers == [[two, one], [two, one], [], [one], []]


@pytest.mark.parametrize("small", [0, 10])
def test_it_makes_no_difference_by_which_way_words_are_found(
    store: Store, ws: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL walks down the ids if a sample says that many have the words."""
    monkeypatch.setattr(postgres_words, "_SMALL", small)

    def many(tx: Transaction) -> None:
        for n in range(600):
            saying(f"common n{n} {'half' * (n % 2)} {'tenth' * (n % 10 == 0)}", cls=1 + n % 3)(tx)

    write(store, ws, many, alone=True)
    searches = tuple(
        map(terms, ("common", "half", "tenth", "n77", "half tenth", "common|half n5*"))
    )
    scopes: list[dict[str, Any]] = [{}, {"classes": (2,)}, {"hidden": (2,)}, {"below": 300}]
    for scope in scopes:
        with store.snapshot(ws) as snapshot:
            answers = snapshot.search(Sought(searches, 20, **scope))
            whole = snapshot.search(Sought(searches, 1000, **scope))
        assert answers == [ids[:20] for ids in whole], scope
        wanted = [n for n in reversed(range(600)) if _is_in(n, scope)]
        assert [len(ids) for ids in whole] == [
            len(wanted),
            sum(n % 2 for n in wanted),
            sum(n % 10 == 0 for n in wanted),
            77 in wanted,
            0,
            sum(str(n).startswith("5") for n in wanted),
        ]


def _is_in(n: int, scope: dict[str, Any]) -> bool:
    cls = 1 + n % 3
    if cls in scope.get("hidden", ()) or cls not in scope.get("classes", (1, 2, 3)):
        return False
    return n + 1 < int(scope.get("below", 1000))  # the first id is 1


def test_a_neighbours_words_are_not_found(store: Store, ws: int) -> None:
    one = write(store, ws, saying("moon"))
    write(store, ws, saying("sun"))
    other = new_workspace(store)
    theirs = [write(store, other, saying("moon")) for _ in range(5)]
    assert found(store, ws, "moon") == found(store, ws, "m*") == [one]
    assert found(store, other, "moon") == theirs


def test_erasing_leaves_a_mark_and_touches_nobody_else(store: Store, ws: int) -> None:
    other = new_workspace(store)
    kept = write(store, other, saying("moon"))
    one, two = write(store, ws, saying("moon")), write(store, ws, saying("moon"))
    write(store, ws, saying("sun", id=one))
    write(store, ws, saying("sun", id=two))

    def work(tx: Transaction) -> int:
        tx.attribute("warden", "why")
        saying("", id=one, gone=True)(tx)
        tx.erase(one)
        return tx.t

    t = write(store, ws, work, alone=True)
    assert store.scrub()
    with store.snapshot(ws) as snapshot:
        (mark,) = snapshot.versions(one, after=0, limit=9)
        assert (mark.t, mark.doc, mark.is_purge, mark.principal) == (t, None, True, "warden")
        assert snapshot.last_version(one) == mark
        assert snapshot.entity_as_of(one, 1) is None
        assert [v.is_purge for v in snapshot.versions(two, after=0, limit=9)] == [False, False]
    assert (found(store, ws, "sun"), found(store, other, "moon")) == ([two], [kept])


def test_former_holders_are_known_by_their_key(store: Store, ws: int) -> None:
    pair = (5, b"k")

    def holding(id: int | None, held: bool, gone: bool = False) -> Work:
        def work(tx: Transaction) -> int:
            who = tx.new_id() if id is None else id
            begun, ended = ((pair,), ()) if held else ((), (pair,))
            tx.change(Change(who, 1, None if gone else "{}", begun, ended), tx.entity(who))
            return who

        return work

    def former() -> int | None:
        with store.snapshot(ws) as snapshot:
            return snapshot.former(*pair)

    one = write(store, ws, holding(None, True))
    assert former() is None
    write(store, ws, holding(one, False, gone=True))
    assert former() == one
    two = write(store, ws, holding(None, True))
    write(store, ws, holding(two, False))
    assert former() == two


# --- PostgreSQL ------------------------------------------------------------------------------


def test_a_search_walks_the_index_of_words(postgres_place: Place, installed_admin: str) -> None:
    store = postgres_place.open()
    ws = new_workspace(store)

    def many(tx: Transaction) -> None:
        for n in range(2000):
            saying(f"common n{n}")(tx)

    start = _scans(installed_admin)
    write(store, ws, many, alone=True)
    store.close()  # its sessions report what they did as they end
    before = _once(installed_admin, "search_pkey", start["search_pkey"] + 2000)
    again = postgres_place.open()
    for n in range(20):
        assert len(found(again, ws, f"n{n} common", 1000)) == 1
    again.close()
    after = _once(installed_admin, "search_by_word", before["search_by_word"] + 20)
    assert after["search_pkey"] == before["search_pkey"]
    assert after["rows read in order"] == before["rows read in order"]
    again = postgres_place.open()  # what nearly all have is not worth the index of words
    for _ in range(20):
        assert len(found(again, ws, "common", 10)) == 10
    again.close()
    later = _once(installed_admin, "search_pkey", after["search_pkey"] + 20)
    assert later["search_by_word"] == after["search_by_word"]
    assert later["rows read in order"] == after["rows read in order"]


_LIST = "ALTER INDEX sandbar.search_by_word SET (gin_pending_list_limit"


@pytest.mark.parametrize("is_short", [True, False])
def test_a_search_reads_little_of_what_others_have_just_written(
    postgres_place: Place, installed_admin: str, is_short: bool
) -> None:
    store = postgres_place.open()
    ws, other = new_workspace(store), new_workspace(store)
    write(store, ws, saying("amber"))
    with psycopg.connect(installed_admin, autocommit=True) as admin:
        if not is_short:  # the control: the list is as long as PostgreSQL would have it
            admin.execute(f"{_LIST} = 4096)")
        for batch in range(20):
            long = " ".join(f"w{batch}x{n}" for n in range(500))
            write(store, other, saying(long))
        admin.execute("SET enable_seqscan = off")  # of a table so small it would read all
        explained = admin.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)"
            f" SELECT FROM sandbar.search WHERE words @@ '{ws}_amber'"
        ).fetchone()
        assert explained is not None
        admin.execute(f"{_LIST} = 64)")
    (plan,) = explained[0]
    assert (plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 20) is is_short


def _once(admin: str, index: str, count: int) -> dict[str, int]:
    """The counts, as soon as an index was used so often."""
    deadline_s = clock.monotonic_s() + 20
    while (scans := _scans(admin))[index] < count:
        assert clock.monotonic_s() < deadline_s, scans
        clock.pause_s(0.05)
    return scans


def _scans(admin: str) -> dict[str, int]:
    with psycopg.connect(admin) as connection:
        rows = connection.execute(
            "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 'search'"
        ).fetchall()
        whole = connection.execute(
            "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'search'"
        ).fetchone()
    assert whole is not None
    return dict(rows) | {"rows read in order": whole[0]}


def test_the_way_around_the_policies_leads_nowhere_else(postgres_place: Place) -> None:
    store = postgres_place.another()
    mine, other = new_workspace(store), new_workspace(store)
    theirs = write(store, other, saying("moon"))
    write(store, other, saying("moon again", id=theirs))
    query = f"'{other}_moon'"
    found_by = "SELECT count(*) FROM sandbar.found(%s, %s::tsquery, NULL, '{}', 9, 0)"
    with psycopg.connect(postgres_place.address, autocommit=True) as session:
        bind = "SELECT set_config('sandbar.ws', %s, false)"
        for bound, expected in ((mine, 0), (other, 1)):
            session.execute(bind, (str(bound),))
            assert session.execute(found_by, (other, query)).fetchone() == (expected,)
        session.execute(bind, (str(mine),))
        session.execute("SELECT sandbar.erase(ARRAY[%s], 9)", (theirs,))
        for table in ("version", "past", "tx"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(f"DELETE FROM sandbar.{table} WHERE ws = {mine}")
    assert found(store, other, "moon") == [theirs]
    with store.snapshot(other) as snapshot:
        assert len(snapshot.versions(theirs, after=0, limit=9)) == 2
