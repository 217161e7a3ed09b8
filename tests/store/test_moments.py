"""Instants as moments: only those that have come, and what a commit can still add to them."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sandbar
from sandbar import clock
from tests.store.writing import WAIT_S


def test_an_instant_that_is_still_to_come_is_refused(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "x.db") as db:
        now = datetime.now(UTC)
        assert db.get("dt/Class", as_of=now).ident == "dt/Class"
        for moment in (now + timedelta(hours=1), str(now.date() + timedelta(days=2))):
            for read in (
                lambda moment=moment: db.get("dt/Class", as_of=moment),
                lambda moment=moment: db.query("dt/Class", as_of=moment),
                lambda moment=moment: db.schema_as_of(moment),
                lambda moment=moment: db.diff("dt/Class", 1, moment),
            ):
                with pytest.raises(sandbar.Incorrect) as caught:
                    read()
                assert caught.value.code == "as-of.unknown"
                assert caught.value.hint == "the last t is 1"


def test_a_receipt_of_a_faster_clock_is_no_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sandbar.open(tmp_path / "x.db") as db:
        ahead_us = clock.now_us() + 3_600_000_000
        with monkeypatch.context() as fast:
            fast.setattr(clock, "now_us", lambda: ahead_us)
            written = db.create("dt/Class", {"db/ident": "x/Early"})
        assert db.get("x/Early", as_of=written.receipt.instant).t == written.t


def test_an_instant_can_gain_the_transaction_that_is_being_committed(tmp_path: Path) -> None:
    """As the page says: whoever needs a moment that stands at once takes its t."""
    inside, go_on = threading.Event(), threading.Event()
    with sandbar.open(tmp_path / "x.db") as db:

        def slow() -> None:
            db.update("x/A", {"dt/label": "new"})
            inside.set()
            assert go_on.wait(WAIT_S)

        db.create("dt/Class", {"db/ident": "x/A", "dt/label": "old"})
        t = db.t
        writer = threading.Thread(target=db.run, args=(slow,))
        writer.start()
        assert inside.wait(WAIT_S)
        now = datetime.now(UTC)
        assert db.get("x/A", as_of=now)["dt/label"] == "old"
        go_on.set()
        writer.join(WAIT_S)
        assert db.get("x/A", as_of=now)["dt/label"] == "new"
        assert db.get("x/A", as_of=t)["dt/label"] == "old"
