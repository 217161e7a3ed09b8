"""News of tasks, on each kind of stream; and two servers that share them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from sandbar.database import prepare_postgres
from sandbar.mcp import task_asking
from tests.mcp.listening import Ear, streaming
from tests.mcp.served import Served, serving
from tests.mcp.tasking import NOBODYS, RELATED, YES, Extension, Message, Session, until
from tests.postgres_server import PostgresServer

STATUS = "notifications/tasks/status"
TASKS = "notifications/tasks"
PROGRESS = "notifications/progress"
ELICITS: Message = {"elicitation": {"form": {}}}
_OWN_MOVE_S = 0.1  # for which a session may ask for a result itself, if nobody will
_QUIET_S = 6 * _OWN_MOVE_S

Record = Callable[[str, object], None]


@contextmanager
def _session_stream(served: Served, session: Session) -> Iterator[Ear]:
    with streaming(served, "GET", "/mcp", headers=session.headers) as ear:
        time.sleep(0.05)
        yield ear


@contextmanager
def _listen(
    served: Served, client: Extension, handles: list[str], told: list[str]
) -> Iterator[Ear]:
    body = {
        "jsonrpc": "2.0",
        "id": "listen-1",
        "method": "subscriptions/listen",
        "params": {"notifications": {"taskIds": handles}, "_meta": client.meta},
    }
    headers = client.headers("subscriptions/listen")
    with streaming(served, "POST", "/mcp", body=body, headers=headers) as ear:
        _, message = ear.wait_for("notifications/subscriptions/acknowledged")
        assert message["params"]["notifications"] == {"taskIds": told}
        yield ear


def _told_of_end(ear: Ear, method: str, handle: str) -> Message:
    while True:
        _, message = ear.wait_for(method)
        task: Message = message["params"]
        if task["taskId"] == handle and task["status"] not in ("working", "input_required"):
            return task


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are asked soon."""
    monkeypatch.setattr(task_asking, "_OWN_MOVE_S", _OWN_MOVE_S)


# --- sessions -------------------------------------------------------------------------------------


def test_a_session_hears_of_its_callers_tasks(tasked: Served) -> None:
    session, other = Session(tasked, "admin"), Session(tasked, "writer")
    with _session_stream(tasked, session) as ear, _session_stream(tasked, other) as stranger:
        handle = session.begin("slow_compute", {"seconds": 0.2})["taskId"]
        task = _told_of_end(ear, STATUS, handle)
        assert task["status"] == "completed"
        seen = session.ask("tasks/get", {"taskId": handle})["result"]
        beside = {"workflow": "task/call", "state": "task/completed", "kind": "success"}
        assert seen.pop("_meta") == {"sandbar/process": beside}
        assert task == seen
        assert stranger.silent(STATUS)


def test_progress_comes_under_the_token_of_the_call(tasked: Served) -> None:
    session = Session(tasked)
    with _session_stream(tasked, session) as ear:
        more = {"_meta": {"progressToken": "tide-7"}}
        handle = session.begin("slow_compute", {"seconds": 1.0}, **more)["taskId"]
        _, message = ear.wait_for(PROGRESS)
        assert message["params"]["progressToken"] == "tide-7"
        assert 0 <= message["params"]["progress"] <= message["params"]["total"] == 1
        _told_of_end(ear, STATUS, handle)
        handle = session.begin("slow_compute", {"seconds": 0.3})["taskId"]
        told: list[Message] = []
        while not told or told[-1]["params"].get("status") != "completed":
            told.append(ear.heard.get(timeout=10)[1])
        assert told[-1]["params"]["taskId"] == handle
        assert PROGRESS not in [one["method"] for one in told], "nobody gave a token for that one"


@pytest.mark.usefixtures("hasty")
def test_a_session_that_only_looks_is_asked_on_its_stream(tasked: Served) -> None:
    """As some clients do: they poll, and never open tasks/result before the end."""
    session, beside = Session(tasked, capabilities=ELICITS), Session(tasked, capabilities=ELICITS)
    with _session_stream(tasked, session) as ear, _session_stream(tasked, beside) as other:
        handle = session.begin("confirm_delete", {"filename": "a.txt"})["taskId"]
        _, question = ear.wait_for("elicitation/create")
        assert question["params"]["_meta"] == {RELATED: {"taskId": handle}}
        session.reply(question, YES)
        assert _told_of_end(ear, STATUS, handle)["status"] == "completed"
        assert other.silent("elicitation/create"), "it did not begin the task"


def test_a_session_is_asked_once(tasked: Served) -> None:
    session = Session(tasked, capabilities=ELICITS)
    with _session_stream(tasked, session) as ear:
        handle = session.begin("confirm_delete")["taskId"]

        def thinking(question: Message) -> Message:
            quiet_s = 1.6 * task_asking._OWN_MOVE_S
            assert ear.silent("elicitation/create", quiet_s), "it was asked here already"
            return YES

        result = session.ask("tasks/result", {"taskId": handle}, thinking)["result"]
        assert result["content"][0]["text"].startswith("Deleted")


@pytest.mark.usefixtures("hasty")
def test_a_session_that_cannot_answer_is_not_asked(tasked: Served) -> None:
    session = Session(tasked)
    with _session_stream(tasked, session) as ear:
        session.begin("confirm_delete")
        assert ear.silent("elicitation/create", _QUIET_S)


@pytest.mark.usefixtures("hasty")
def test_a_wrong_answer_on_the_stream_leaves_the_question(tasked: Served) -> None:
    session = Session(tasked, capabilities=ELICITS)
    with _session_stream(tasked, session) as ear:
        handle = session.begin("confirm_delete")["taskId"]
        _, question = ear.wait_for("elicitation/create")
        session.reply(question, {"action": "accept", "content": {"confirm": "maybe"}})
        assert ear.silent("elicitation/create", _QUIET_S), "asked again and again"
        task = session.ask("tasks/get", {"taskId": handle})["result"]
        assert task["status"] == "input_required"
        answer = session.ask("tasks/result", {"taskId": handle}, lambda question: YES)
        assert not answer["result"].get("isError")


# --- listeners ------------------------------------------------------------------------------------


def test_a_listener_hears_of_the_tasks_it_named(tasked: Served) -> None:
    client = Extension(tasked)
    named = client.begin("confirm_delete", {"filename": "a.txt"})["taskId"]
    unnamed = client.begin("confirm_delete")["taskId"]
    with _listen(tasked, client, [named], [named]) as ear:
        client.ask("tasks/cancel", {"taskId": unnamed}, name=unnamed)
        (key,) = client.get(named)["inputRequests"]
        given = {"taskId": named, "inputResponses": {key: YES}}
        client.ask("tasks/update", given, name=named)
        task = _told_of_end(ear, TASKS, named)
        assert task["status"] == "completed"
        assert task["result"]["content"][0]["text"].startswith("Deleted a.txt")
        assert task["_meta"] == {"io.modelcontextprotocol/subscriptionId": "listen-1"}
        assert all(one["params"]["taskId"] == named for one in ear.all_for(0.2))


def test_a_listener_is_told_what_is_asked(tasked: Served) -> None:
    client = Extension(tasked)
    handle = client.begin("multi_input")["taskId"]
    with _listen(tasked, client, [handle], [handle]) as ear:
        first, second = client.get(handle)["inputRequests"]
        given = {first: {"action": "accept", "content": {"name": "Ada"}}}
        client.ask("tasks/update", {"taskId": handle, "inputResponses": given}, name=handle)
        _, message = ear.wait_for(TASKS)
        while list(message["params"]["inputRequests"]) == [first, second]:
            _, message = ear.wait_for(TASKS)  # the first was of the beginning, and late
        assert list(message["params"]["inputRequests"]) == [second]


def test_tasks_of_others_are_left_out_of_the_acknowledgement(tasked: Served) -> None:
    mine = Extension(tasked, "writer")
    owner = Extension(tasked, "admin")
    theirs = owner.begin("confirm_delete")["taskId"]
    handle = mine.begin("confirm_delete")["taskId"]
    wanted = [theirs, handle, NOBODYS, "x", handle]
    with _listen(tasked, mine, wanted, [handle]) as ear:
        owner.ask("tasks/cancel", {"taskId": theirs}, name=theirs)
        # The news of the beginning of one's own may come late.
        assert {one["params"]["taskId"] for one in ear.all_for(0.3)} <= {handle}
        mine.ask("tasks/cancel", {"taskId": handle}, name=handle)
        assert _told_of_end(ear, TASKS, handle)["status"] == "cancelled"
    elsewhere = Extension(tasked, workspace="beside")
    with _listen(tasked, elsewhere, [handle, theirs], []):
        pass


def test_an_admin_hears_of_a_task_whose_handle_it_knows(tasked: Served) -> None:
    owner, admin = Extension(tasked, "writer"), Extension(tasked, "admin")
    handle = owner.begin("confirm_delete")["taskId"]
    with _listen(tasked, admin, [handle], [handle]) as ear:
        owner.ask("tasks/cancel", {"taskId": handle}, name=handle)
        assert _told_of_end(ear, TASKS, handle)["status"] == "cancelled"


# --- the seeds' stream ----------------------------------------------------------------------------


def test_the_open_stream_speaks_the_seeds_dialect(tasked: Served) -> None:
    with streaming(tasked, "GET", "/mcp/sse") as ear:
        params = {"name": "confirm_delete", "arguments": {}}
        handle = tasked.post("tools/call", params)["result"]["taskId"]
        _, message = ear.wait_for(STATUS)
        assert message["params"]["taskId"] == message["params"]["task-id"] == handle
        assert message["params"]["status"] == "pending"
        assert message["params"]["state"] == ":deletion/asking"
        tasked.post("tasks/cancel", {"taskId": handle})
        _, message = ear.wait_for(PROGRESS)
        while message["params"]["status"] != "completed":
            _, message = ear.wait_for(PROGRESS)
        assert message["params"]["task-id"] == handle
        assert message["params"]["workflow"] == ":everything/confirmed-deletion"
        _, message = ear.wait_for(STATUS)
        assert (message["params"]["status"], message["params"]["kind"]) == ("complete", "cancel")
        Session(tasked, "writer").begin("confirm_delete")
        assert ear.silent(STATUS), "it is somebody else's"


# --- two servers ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(postgres_server: PostgresServer) -> Iterator[tuple[Served, Served]]:
    """Two servers on one database, which know the same accounts."""
    owned = postgres_server.create_database()
    url = prepare_postgres(owned, role="sandbar_tasks")
    with ExitStack() as closing:
        closing.callback(postgres_server.drop_database, owned)
        near = closing.enter_context(serving(url, packs=("everything",)))
        far = closing.enter_context(serving(url, packs=("everything",)))
        far.keep_token("admin", near.token("admin"))
        time.sleep(0.3)  # a session that hears of the making of its own account ends
        yield near, far


def test_a_task_is_the_same_on_every_server(pair: tuple[Served, Served]) -> None:
    near, far = pair
    here, there = Extension(near), Extension(far)
    handle = here.begin("slow_compute", {"seconds": 60})["taskId"]
    assert there.get(handle)["status"] == "working"
    with _listen(near, here, [handle], [handle]) as ear, streaming(near, "GET", "/mcp/sse") as sse:
        there.ask("tasks/cancel", {"taskId": handle}, name=handle)
        assert _told_of_end(ear, TASKS, handle)["status"] == "cancelled"
        sse.wait_for(STATUS)
    assert here.get(handle)["status"] == "cancelled"
    listed, told = (
        Session(one, capabilities=ELICITS).ask("tasks/list")["result"]["tasks"]
        for one in (far, near)
    )
    assert handle in [task["taskId"] for task in listed]
    assert listed == told


def test_a_question_is_answered_on_another_server(pair: tuple[Served, Served]) -> None:
    near, far = pair
    handle = Session(near).begin("confirm_delete", {"filename": "a.txt"})["taskId"]
    answer = Session(far, capabilities=ELICITS).ask(
        "tasks/result", {"taskId": handle}, lambda question: YES
    )
    assert answer["result"]["content"][0]["text"].startswith("Deleted a.txt")
    here = Session(near)
    until(lambda: here.ask("tasks/get", {"taskId": handle})["result"]["status"] == "completed")


# --- many -----------------------------------------------------------------------------------------


def test_many_tasks_do_not_slow_a_look_at_one(tasked: Served, record_property: Record) -> None:
    client = Extension(tasked)
    handle = client.begin("confirm_delete")["taskId"]
    before = _look_ms(client, handle)
    for _ in range(1500):
        tasked.db.workflows.start("everything/two-questions", None, {}, principal="somebody")
    after = _look_ms(client, handle)
    record_property("figure", f"tasks/get {before:.1f} ms, beside 1,500 others {after:.1f} ms")
    assert after < 3 * before + 5


def _look_ms(client: Extension, handle: str) -> float:
    taken = []
    for _ in range(15):
        begun = time.perf_counter()
        client.get(handle)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1000
