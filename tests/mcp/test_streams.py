"""Streams lose nothing, end with the right to them, and are limited."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server.connection import Connection

from sandbar.access import revoke, set_role
from sandbar.access.accounts import find_account
from sandbar.access.metamodel import EXPIRES_AT
from sandbar.edge import streams
from sandbar.edge.runner import Runner
from sandbar.model import Update
from tests.mcp.in_session import ask, greet, initialize, post
from tests.mcp.in_session import open_session as shake_hands
from tests.mcp.listening import (
    PROMPTS,
    STREAMS,
    TOOLS,
    UPDATED,
    Ear,
    open_listen,
    open_sse,
    settled,
    streaming,
)
from tests.mcp.served import Served, serving
from tests.mcp.without_tls import WITHOUT_TLS

_NAME = "test-admin"  # the account that all streams here belong to
_GREETING = {
    "protocolVersion": "2025-11-25",
    "clientInfo": {"name": "t", "version": "1"},
    "capabilities": {},
}
_PING = {"id": 3, "method": "ping"}


def _boot(served: Served, ident: str) -> str:
    served.db.create("zorp/Boot", {"db/ident": ident, "footwear/name": "A boot"})
    return f"mcp://sandbar/zorp/Boot/{ident}"


def _define(served: Served, cls: str) -> None:
    served.db.define(classes={cls: {"dt/subclass-of": "dt/Resource"}})


def _prompt(served: Served, ident: str) -> None:
    message = {"role": "user", "content": {"type": "text", "text": "Hi"}}
    served.db.create("prompt/Prompt", {"db/ident": ident, "prompt/messages": [message]})


@contextmanager
def _each_kind(served: Served) -> Iterator[dict[str, Ear]]:
    """Open streams of all kinds, told of a class already."""
    with ExitStack() as closing:
        ears = {kind: closing.enter_context(opener(served)) for kind, opener in STREAMS.items()}
        _define(served, "kinds/Heard")
        for ear in ears.values():
            ear.wait_for(TOOLS)
        yield ears


def _over(ears: dict[str, Ear], timeout_s: float = 3.0) -> list[str]:
    """The kinds of those that end in time."""
    return [kind for kind, ear in ears.items() if ear.is_over.wait(timeout_s)]


def _stream_of(session: str) -> dict[str, str]:
    return {"Mcp-Session-Id": session}


# --- nothing is lost -------------------------------------------------------------------------


def test_a_session_may_subscribe_as_soon_as_it_is_greeted(served: Served) -> None:
    uri = _boot(served, "soon/boot")
    for n in range(10):
        session = initialize(served)
        assert ask(served, session, "resources/subscribe", {"uri": uri})[0]["result"] == {}
        served.db.update("soon/boot", {"footwear/name": f"Boot {n}"})
        greet(served, session)
        with streaming(served, "GET", "/mcp", headers=_stream_of(session)) as ear:
            assert ear.wait_for(UPDATED)[1]["params"] == {"uri": uri}


def test_what_happens_between_two_streams_of_a_session_is_told_once(served: Served) -> None:
    session = shake_hands(served)
    uri = _boot(served, "between/boot")
    ask(served, session, "resources/subscribe", {"uri": uri})
    for n in range(3):
        with open_sse(served) as witness:
            served.db.update("between/boot", {"footwear/name": f"Boot {n}"})
            _define(served, f"between/Class{n}")
            witness.wait_for(TOOLS)  # the server has heard of both, and nobody listens
        with streaming(served, "GET", "/mcp", headers=_stream_of(session)) as ear:
            told = [*ear.before(UPDATED), UPDATED]
            _prompt(served, f"between/prompt{n}")
            told += ear.before(PROMPTS)
            assert told.count(TOOLS) == 1
            assert told.count(UPDATED) == 1
        time.sleep(0.2)  # the server sees that the stream was cut


def test_who_is_not_subscribed_any_more_is_not_told_later(served: Served) -> None:
    session = shake_hands(served)
    uri = _boot(served, "later/boot")
    ask(served, session, "resources/subscribe", {"uri": uri})
    with open_sse(served) as witness:
        served.db.update("later/boot", {"footwear/name": "Changed"})
        _define(served, "later/Class")
        witness.wait_for(TOOLS)
    ask(served, session, "resources/unsubscribe", {"uri": uri})
    with streaming(served, "GET", "/mcp", headers=_stream_of(session)) as ear:
        ear.wait_for(TOOLS)
        _prompt(served, "later/prompt")
        assert UPDATED not in ear.before(PROMPTS)


def test_a_name_is_watched_whoever_bears_it(served: Served) -> None:
    uri, last = _boot(served, "again/boot"), _boot(served, "again/last")
    wanted = {"resourceSubscriptions": [uri, last]}
    with settled(served), open_listen(served, wanted=wanted) as ear:
        served.db.delete("again/boot")
        ear.wait_for(UPDATED)
        _boot(served, "again/boot")
        ear.wait_for(UPDATED)
        served.db.update("again/boot", {"footwear/name": "Another"})
        assert ear.wait_for(UPDATED)[1]["params"]["uri"] == uri
        _boot(served, "again/other")
        served.db.update("again/last", {"footwear/name": "The end"})
        assert ear.wait_for(UPDATED)[1]["params"]["uri"] == last


# --- the right to a stream -------------------------------------------------------------------


def _change_role(served: Served) -> None:
    set_role(served.db.workspace, _NAME, "reader")
    set_role(served.db.workspace, _NAME, "admin")


def _revoke_account(served: Served) -> None:
    revoke(served.db.workspace, _NAME)


def _revoke_key(served: Served) -> None:
    revoke(served.db.workspace, served.token())


@pytest.mark.parametrize("change", [_change_role, _revoke_account, _revoke_key])
def test_streams_end_when_their_account_changes(tmp_path: Path, change: Any) -> None:
    with serving(tmp_path / "end.db", ()) as served, _each_kind(served) as ears:
        change(served)
        assert _over(ears) == [*STREAMS]


def test_the_session_ends_with_its_stream(tmp_path: Path) -> None:
    with serving(tmp_path / "end.db", ()) as served:
        deaf = shake_hands(served)  # has no stream that could end
        with streaming(served, "GET", "/mcp", headers=_stream_of(session := shake_hands(served))):
            _change_role(served)
            _until(lambda: post(served, _PING, session).status_code == 404)
            _until(lambda: post(served, _PING, deaf).status_code == 404)
        fresh = shake_hands(served)
        with streaming(served, "GET", "/mcp", headers=_stream_of(fresh)) as ear:
            _define(served, "e/B")
            ear.wait_for(TOOLS)


def _until(holds: Any, for_s: float = 3.0) -> None:
    end = time.monotonic() + for_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _account(served: Served) -> int:
    served.token()
    found = find_account(served.db.workspace, _NAME)
    assert found is not None
    return found.entity_id


def test_streams_end_when_their_account_expires(tmp_path: Path) -> None:
    with serving(tmp_path / "expired.db", ()) as served:
        end = datetime.now(UTC) + timedelta(seconds=2)
        expiry = Update(entity=_account(served), set={EXPIRES_AT: end.isoformat()})
        served.db.workspace.transact([expiry], principal="local")
        with _each_kind(served) as ears:
            assert _over(ears, 4.0) == [*STREAMS]
            assert datetime.now(UTC) >= end


def test_a_big_commit_ends_the_streams_of_accounts_it_changes(tmp_path: Path) -> None:
    count = 1001  # more than news tell one by one, so that those with the greatest ids are unsaid
    with serving(tmp_path / "big.db") as served:
        slots = {"footwear/name": "One of many"}
        boots = [{"op": "create", "class": "zorp/Boot", "slots": slots} for _ in range(count)]
        made = served.db.transact(boots)
        ids = [outcome.entity_id for outcome in made.outcomes]
        account = _account(served)
        assert account > max(ids)
        renamed = [Update(entity=id, set={"footwear/name": "Renamed"}) for id in ids]
        with _each_kind(served) as ears:
            served.db.workspace.transact(
                [*renamed, Update(entity=ids[0], set={"footwear/color": "red"})], principal="local"
            )
            for ear in ears.values():
                ear.wait_for(TOOLS)  # it was too big to say what it did not change
            assert _over(ears, 0.1) == []
            again = [Update(entity=id, set={"footwear/name": "Again"}) for id in ids]
            touch = Update(entity=account, set={"db/doc": "Touched"})
            served.db.workspace.transact([*again, touch], principal="local")
            assert _over(ears) == [*STREAMS]


# --- limits ----------------------------------------------------------------------------------


def test_too_many_streams_are_told_when_to_come_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STREAMS_PER_CALLER", 1)
    sessions = [shake_hands(served) for _ in range(3)]  # these have a limit of their own
    headers = {"Authorization": f"Bearer {served.token()}", "Accept": "text/event-stream"}
    with open_sse(served), httpx2.Client(verify=WITHOUT_TLS) as client:
        refused = client.get(f"{served.url}/sse", headers=headers)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert refused.json()["error"]["data"]["code"] == "subscription.too-many"
    with streaming(served, "GET", "/mcp", headers=_stream_of(sessions[0])) as ear:
        _define(served, "limit/A")
        ear.wait_for(TOOLS)


def test_streams_beyond_the_budget_of_the_workspace_are_refused(served: Served) -> None:
    budgets = served.db.workspace.budgets
    before = served.call("sandbar.workspace.usage", {})["budgets"]["limit/streams"]["used"]
    budgets.set_limits({"streams": before + 1})
    headers = {"Authorization": f"Bearer {served.token('reader')}", "Accept": "text/event-stream"}
    with open_sse(served) as ear, httpx2.Client(verify=WITHOUT_TLS) as client:
        refused = client.get(f"{served.url}/sse", headers=headers)  # whoever's the other one is
        assert refused.status_code == 429
        error = refused.json()["error"]
        assert error["data"]["code"] == "budget.streams"
        assert (error["data"]["used"], error["data"]["most"]) == (before + 2, before + 1)
        begun = post(served, {"id": 1, "method": "initialize", "params": _GREETING})
        assert "budget.streams" in begun.text
        told = served.call("sandbar.workspace.usage", {}, role="reader")
        assert told["budgets"]["limit/streams"] == {"used": before + 1, "limit": before + 1}
        assert told["over-budget"] == ["limit/streams"]
        _define(served, "limit/B")
        ear.wait_for(TOOLS)
    budgets.set_limits({"streams": None})
    with open_sse(served), open_sse(served):
        pass


def test_a_listener_may_name_any_number_of_resources(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first thousand are looked up, all at once."""
    runs = []
    run = Runner.run

    async def counted(self: Runner, *rest: Any) -> Any:
        runs.append(rest)
        return await run(self, *rest)

    monkeypatch.setattr(Runner, "run", counted)
    known = _boot(served, "many/boot")
    unknown = [f"{known}-{n}" for n in range(20_000)]
    wanted = {"resourceSubscriptions": [*unknown[:500], known, *unknown[500:], known]}
    honoured = {"resourceSubscriptions": [known]}
    with open_listen(served, wanted=wanted, honoured=honoured) as ear:
        assert len(runs) == 1
        served.db.update("many/boot", {"footwear/name": "Heard"})
        ear.wait_for(UPDATED)
    too_late = {"resourceSubscriptions": [*unknown[:1000], known]}
    with open_listen(served, wanted=too_late, honoured={"resourceSubscriptions": []}):
        pass


def test_a_session_that_cannot_be_told_ends_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    notify = Connection.notify
    unlucky = shake_hands(served)

    async def fail(self: Connection, *rest: Any) -> None:
        if self.session_id == unlucky:
            raise RuntimeError("a defect")
        await notify(self, *rest)

    monkeypatch.setattr(Connection, "notify", fail)
    lucky = shake_hands(served)
    with (
        streaming(served, "GET", "/mcp", headers=_stream_of(unlucky)) as broken,
        streaming(served, "GET", "/mcp", headers=_stream_of(lucky)) as ear,
    ):
        _define(served, "defect/A")
        ear.wait_for(TOOLS)
        assert broken.is_over.wait(3)
        assert post(served, _PING, unlucky).status_code == 404
        _define(served, "defect/B")
        ear.wait_for(TOOLS)
    assert "mcp.session-failed" in caplog.text
