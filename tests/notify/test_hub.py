"""Whoever listens to a workspace is told of each commit once, in order, and of nothing else."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading

import apsw
import psycopg
import pytest

from sandbar.errors import Fault, Unavailable
from sandbar.model import Commit, Standing, Workspace
from sandbar.notify import EntityNews, News
from tests.notify.listening import (
    WAIT_S,
    Heard,
    Site,
    other_process,
    run,
    threads_left,
    write_note,
)


def test_a_commit_tells_what_it_made_changed_and_ended(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    made = workspace.transact(
        [{"op": "create", "class": "note/Note", "slots": {"db/ident": "my/note"}}], principal="me"
    )
    id = made.entity_id
    workspace.transact(
        [{"op": "update", "entity": id, "set": {"note/text": "x", "db/ident": "your/note"}}],
        principal="me",
    )
    ended = workspace.transact([{"op": "delete", "entity": id}], principal="me")
    assert heard.wait_for(ended.t) == [
        News(name, made.t, False, (EntityNews(id, "my/note", "note/Note", "created"),)),
        News(name, made.t + 1, False, (EntityNews(id, "your/note", "note/Note", "updated"),)),
        News(name, made.t + 2, False, (EntityNews(id, "your/note", "note/Note", "deleted"),)),
    ]


def test_a_new_class_is_news_of_the_schema_and_an_ended_one_still_has_its_name(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    defined = workspace.define({}, {"note/Brief": {"dt/slots": ["note/text"]}}, principal="me")
    brief = workspace.transact([{"op": "create", "class": "note/Brief", "slots": {}}], principal="")
    workspace.transact([{"op": "delete", "entity": brief.entity_id}], principal="me")
    last = workspace.transact([{"op": "delete", "entity": "note/Brief"}], principal="me")
    news = heard.wait_for(last.t)
    assert [one.is_schema for one in news] == [True, False, False, True]
    assert news[0].entities == (EntityNews(defined.entity_id, "note/Brief", "dt/Class", "created"),)
    assert [one.entities[0].class_ for one in news[1:3]] == ["note/Brief", "note/Brief"]
    assert news[3].entities[0].kind == "deleted"


def test_what_another_process_commits_is_told(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    acknowledged = run(other_process(site.address, name, 20))
    heard.wait_for(max(acknowledged))
    assert heard.ts == list(acknowledged)
    assert workspace.last_t() == heard.ts[-1]


def test_workspaces_do_not_hear_each_other(site: Site) -> None:
    (first, mine), (second, theirs) = site.workspace(), site.workspace()
    heard, other = Heard(), Heard()
    site.hub.subscribe(first, heard)
    site.hub.subscribe(second, other)
    for n in range(20):
        last_mine, last_theirs = write_note(mine, number=n), write_note(theirs, text=str(n))
    last_theirs = write_note(theirs)
    heard.wait_for(last_mine)
    other.wait_for(last_theirs)
    assert {news.workspace for news in heard.news} == {first}
    assert {news.workspace for news in other.news} == {second}
    assert (len(heard.news), len(other.news)) == (20, 21)


def test_no_t_is_lost_repeated_or_late_under_eight_writers(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    first = workspace.last_t() + 1
    process = other_process(site.address, name, 40)
    threads = [
        threading.Thread(target=lambda: [write_note(workspace, number=n) for n in range(30)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    run(process)
    for thread in threads:
        thread.join()
    last = workspace.last_t()
    heard.wait_for(last)
    assert last == first + 8 * 30 + 40 - 1
    assert heard.ts == list(range(first, last + 1))
    assert all(len(news.entities) == 1 for news in heard.news)


def test_a_listener_hears_nothing_from_before_it_came(site: Site) -> None:
    name, workspace = site.workspace()
    early, late = Heard(), Heard()
    is_here, may_go = threading.Event(), threading.Event()

    def hold(_: News) -> None:
        is_here.set()
        may_go.wait(WAIT_S)

    holding = site.hub.subscribe(name, hold)
    site.hub.subscribe(name, early)
    first = write_note(workspace)
    assert is_here.wait(WAIT_S)
    write_note(workspace)  # still to be told when the other one comes
    site.hub.subscribe(name, late)
    holding.close()
    may_go.set()
    last = write_note(workspace)
    early.wait_for(last)
    late.wait_for(last)
    assert early.ts == [first, first + 1, last]
    assert late.ts == [last]


def test_a_listener_that_left_hears_no_more_and_the_thread_ends_with_the_last(site: Site) -> None:
    name, workspace = site.workspace()
    heard, other = Heard(), Heard()
    subscription = site.hub.subscribe(name, heard)
    remaining = site.hub.subscribe(name, other)
    t = write_note(workspace)
    heard.wait_for(t)
    subscription.close()
    subscription.close()
    other.wait_for(write_note(workspace))
    assert heard.ts == [t]
    thread = next(t for t in threading.enumerate() if t.name == "sandbar-hub")
    remaining.close()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert "sandbar-ear" not in threads_left()
    again = Heard()
    site.hub.subscribe(name, again)
    assert again.wait_for(write_note(workspace))


def test_a_listener_that_fails_is_logged_and_hurts_nobody(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    name, workspace = site.workspace()
    heard = Heard()

    def fail(news: News) -> None:
        raise SystemExit(f"secret {news.t}")

    site.hub.subscribe(name, fail)
    site.hub.subscribe(name, heard)
    write_note(workspace)
    with caplog.at_level(logging.ERROR, "sandbar"):
        heard.wait_for(write_note(workspace))
    assert len(heard.news) == 2
    assert "notify.listener-failed" in caplog.text
    assert "secret" not in caplog.text
    assert site.hub.is_well()


def test_a_large_commit_is_told_in_part(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    create = {"op": "create", "class": "note/Note", "slots": {}}
    large = workspace.transact([create] * 1500, principal="me")
    exact = workspace.transact([create] * 1000, principal="me")
    news = heard.wait_for(exact.t)
    assert [(len(one.entities), one.is_partial) for one in news] == [(1000, True), (1000, False)]
    assert heard.ts == [large.t, exact.t]


def test_a_slow_listener_costs_time_but_no_memory(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    is_here, may_go = threading.Event(), threading.Event()

    def dawdle(news: News) -> None:
        is_here.set()
        assert may_go.wait(WAIT_S)
        heard(news)

    site.hub.subscribe(name, dawdle)
    first = write_note(workspace)
    assert is_here.wait(WAIT_S)
    before = count_kept()
    last = [write_note(workspace) for _ in range(200)][-1]
    kept = count_kept() - before
    may_go.set()
    heard.wait_for(last)
    assert heard.ts == list(range(first, last + 1))
    assert kept < 50, "what is still to be told waits in the database"


def count_kept() -> int:
    """How many commits are in memory."""
    gc.collect()
    return sum(isinstance(one, News | Commit) for one in gc.get_objects())


def test_a_restored_backup_is_told_as_a_change_of_everything(
    site: Site, request: pytest.FixtureRequest
) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    t = write_note(workspace)
    heard.wait_for(t)
    if site.dialect == "sqlite":
        file = apsw.Connection(site.address)
        file.execute("UPDATE workspace SET epoch = epoch + 1 WHERE name = ?", (name,))
        file.close()
    else:
        with psycopg.connect(request.getfixturevalue("notify_admin")) as admin:
            admin.execute("UPDATE sandbar.workspace SET epoch = epoch + 1 WHERE name = %s", (name,))
    last = write_note(workspace)
    news = heard.wait_for(last)
    assert News(name, news[1].t, True, (), True) == news[1]
    assert news[1].t in (t, last)  # the commit after it may already be part of everything


def test_what_cannot_be_read_is_told_as_a_change_of_everything(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.look_often(monkeypatch)
    name, workspace = site.workspace()
    heard = Heard()
    site.hub.subscribe(name, heard)
    real, failures = Workspace.commits, [ZeroDivisionError("a defect"), Fault("x.y", "another")]

    def failing(self: Workspace, since: Standing, *, limit: int) -> list[Commit]:
        if failures:
            raise failures.pop()
        return real(self, since, limit=limit)

    monkeypatch.setattr(Workspace, "commits", failing)
    with caplog.at_level(logging.ERROR, "sandbar"):
        for left in (1, 0):
            t = write_note(workspace)
            assert heard.wait_for(t)[-1] == News(name, t, True, (), True)
            assert len(failures) == left
    assert caplog.text.count("notify.look-failed") == 2
    t = write_note(workspace)
    assert [len(news.entities) for news in heard.wait_for(t)] == [0, 0, 1]
    assert site.hub.is_well()


def test_a_dead_watcher_is_noticed_and_replaced(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    monkeypatch.setattr(site.hub, "_work", lambda: None)
    site.hub.subscribe(name, heard)
    dead = site.hub._thread
    assert dead is not None
    dead.join()
    assert not site.hub.is_well()
    monkeypatch.undo()
    t = write_note(workspace)
    site.hub.subscribe(name, Heard())
    heard.wait_for(t)
    assert site.hub.is_well()


def test_a_hub_that_was_closed_says_so(site: Site) -> None:
    name, workspace = site.workspace()
    heard = Heard()
    subscription = site.hub.subscribe(name, heard)
    site.hub.close()
    site.hub.close()
    write_note(workspace)
    assert heard.news == []
    subscription.close()
    with pytest.raises(Unavailable) as caught:
        site.hub.subscribe(name, heard)
    assert caught.value.code == "notify.closed"


def test_a_listener_may_close_the_hub_it_is_told_by(site: Site) -> None:
    name, workspace = site.workspace()
    closed = threading.Event()

    def close(_: News) -> None:
        site.hub.close()
        closed.set()

    site.hub.subscribe(name, close)
    write_note(workspace)
    assert closed.wait(WAIT_S)


def test_the_threads_end_with_the_store_too(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.look_often(monkeypatch)
    name, _ = site.workspace()
    site.hub.subscribe(name, Heard())
    thread = next(t for t in threading.enumerate() if t.name == "sandbar-hub")
    site.store.close()
    thread.join(WAIT_S)
    assert threads_left() == []


def test_the_checker_of_threads_notices_one_that_is_left(site: Site) -> None:
    name, _ = site.workspace()
    site.hub.subscribe(name, Heard())
    site.store.submit(0, lambda tx: None).exception(WAIT_S)
    assert "sandbar-hub" in threads_left()
    assert ("sandbar-ear" in threads_left()) == (site.dialect == "postgres")


def test_a_watcher_that_fails_cannot_fail_the_writer(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    name, workspace = site.workspace()
    heard = Heard()

    def fail() -> None:
        raise ZeroDivisionError

    watch = workspace.watch(fail)
    site.hub.subscribe(name, heard)
    with caplog.at_level(logging.ERROR, "sandbar"):
        heard.wait_for(write_note(workspace))
    assert "watcher.failed" in caplog.text
    watch.close()
    watch.close()


def test_subscribing_never_blocks_an_event_loop_silently(postgres_site: Site) -> None:
    name, workspace = postgres_site.workspace()
    heard = Heard()

    async def on_the_loop() -> None:
        with pytest.raises(Fault) as caught:
            postgres_site.hub.subscribe(name, heard)
        assert caught.value.code == "store.blocking-call"
        await asyncio.to_thread(postgres_site.hub.subscribe, name, heard)

    asyncio.run(on_the_loop())
    heard.wait_for(write_note(workspace))
