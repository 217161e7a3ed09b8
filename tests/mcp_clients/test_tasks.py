"""Clients that know tasks: each drives one to its end, cancels one, and answers one that asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import fastmcp
import pytest
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task

from tests.live_server import LiveServer
from tests.mcp.without_tls import WITHOUT_TLS
from tests.mcp_clients.drivers import HANDSHAKE, STATELESS, TypeScript

pytestmark = pytest.mark.xdist_group("mcp-clients")

SLOW = {"seconds": 0.3, "label": "tide"}
SLOW_SAYS = "Computed tide in 0.3 s"
ENDLESS = {"seconds": 60}
FAILING_SAYS = "This job always fails"
FILE = {"filename": "letter.txt"}
DELETION = "everything/confirmed-deletion"
ASKS = "Really delete the file?"
DELETED = "Deleted letter.txt, or so it seems"
YES = {"action": "accept", "content": {"confirm": True}}
NO = {"action": "decline"}


# --- fastmcp-tasks: the extension, without that the caller knows of it ----------------------------


@asynccontextmanager
async def _fastmcp(server: LiveServer, *answers: Any, mode: str = "auto") -> AsyncIterator[Any]:
    given = iter(answers)

    async def on_question(message: str, *more: Any) -> Any:
        assert message == ASKS
        return next(given)

    transport = StreamableHttpTransport(server.url, headers=server.headers, verify=WITHOUT_TLS)
    async with fastmcp.Client(transport, elicitation_handler=on_question, mode=mode) as client:
        assert client.session.protocol_version == (STATELESS if mode == "auto" else HANDSHAKE)
        yield client
    assert list(given) == [], "it was not asked everything"


def _run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 30))


def test_fastmcp_waits_for_the_end(tasking: LiveServer) -> None:
    async def work() -> None:
        async with _fastmcp(tasking) as client:
            result = await client.call_tool("slow_compute", SLOW)
            assert result.content[0].text == SLOW_SAYS
            with pytest.raises(ToolError, match=FAILING_SAYS):
                await client.call_tool("failing_job", {})

    _run(work)


def test_fastmcp_cancels(tasking: LiveServer) -> None:
    async def work() -> None:
        async with _fastmcp(tasking) as client:
            task = await call_tool_task(client, "slow_compute", ENDLESS)
            assert (await task.status()).status == "working"
            await task.cancel()
            assert (await task.wait(timeout=10)).status == "cancelled"
            with pytest.raises(ToolError, match="was cancelled"):
                await task.result()

    _run(work)


def test_fastmcp_answers(tasking: LiveServer) -> None:
    async def work() -> None:
        answers = ({"confirm": True}, ElicitResult(action="decline"))
        async with _fastmcp(tasking, *answers) as client:
            result = await client.call_tool("confirm_delete", FILE)
            assert result.content[0].text == DELETED
            with pytest.raises(ToolError, match="deletion/kept"):
                await client.call_tool("confirm_delete", FILE)

    _run(work)


def test_fastmcp_is_asked_by_a_process_that_it_starts(tasking: LiveServer) -> None:
    start, arguments = "sandbar_workflow_start-process", {"workflow": DELETION}
    yes = {"confirm": True}

    async def as_task() -> None:
        async with _fastmcp(tasking, yes, yes) as client:
            task = await call_tool_task(client, start, arguments)
            ends: list[Any] = [await task.result(), await client.call_tool(start, arguments)]
            assert all(end.content[0].text.startswith("Deleted") for end in ends)

    async def in_session() -> None:
        async with _fastmcp(tasking, yes, mode="legacy") as client:
            result = await client.call_tool(start, arguments)
            assert result.structured_content["state"] != "deletion/asking"

    _run(as_task)
    _run(in_session)


# --- ext-tasks: both dialects ---------------------------------------------------------------------


@pytest.fixture(scope="module", params=[HANDSHAKE, STATELESS])
def ext_tasks(request: pytest.FixtureRequest, tasking: LiveServer) -> Iterator[TypeScript]:
    """ext-tasks over the TypeScript client, in a revision."""
    era = "legacy" if request.param == HANDSHAKE else request.param
    with TypeScript(tasking, "typescript_tasks.mjs", era) as client:
        assert client.revision() == request.param
        yield client


def _begin(client: TypeScript, name: str, arguments: dict[str, Any]) -> str:
    begun = client.ask("start", name=name, arguments=arguments)
    assert begun["kind"] == "task"
    return str(begun["task"])


def test_ext_tasks_waits_for_the_end(ext_tasks: TypeScript) -> None:
    settled = ext_tasks.ask("settle", task=_begin(ext_tasks, "slow_compute", SLOW))
    assert settled["status"] == "completed"
    assert settled["result"]["content"][0]["text"] == SLOW_SAYS
    assert settled["states"][0] == "working"


def test_ext_tasks_is_told_of_a_failure(ext_tasks: TypeScript) -> None:
    """An error of a tool is a failed task in 2025-11-25, and a result of the extension."""
    settled = ext_tasks.ask("settle", task=_begin(ext_tasks, "failing_job", {}))
    if ext_tasks.revision() == HANDSHAKE:
        assert (settled["status"], settled["error"]) == ("failed", FAILING_SAYS)
    else:
        assert settled["status"] == "completed"
        assert settled["result"]["isError"] is True
        assert settled["result"]["content"][0]["text"] == FAILING_SAYS


def test_ext_tasks_cancels(ext_tasks: TypeScript) -> None:
    task = _begin(ext_tasks, "slow_compute", ENDLESS)
    assert ext_tasks.ask("look", task=task) == "working"
    ext_tasks.ask("cancel", task=task)
    assert ext_tasks.ask("look", task=task) == "cancelled"
    assert ext_tasks.ask("settle", task=task)["status"] == "cancelled"


def test_ext_tasks_answers(ext_tasks: TypeScript) -> None:
    """Before 2026-07-28 it only looks at the task, so the server asks on the session's stream."""
    settled = ext_tasks.ask("settle", task=_begin(ext_tasks, "confirm_delete", FILE), reply=YES)
    assert settled["status"] == "completed", settled
    assert settled["result"]["content"][0]["text"] == DELETED
    is_old = ext_tasks.revision() == HANDSHAKE
    delivery = "peer-request" if is_old else "task-update"
    assert settled["asked"] == [{"message": ASKS, "delivery": delivery}]


def test_ext_tasks_declines(ext_tasks: TypeScript) -> None:
    settled = ext_tasks.ask("settle", task=_begin(ext_tasks, "confirm_delete", FILE), reply=NO)
    assert len(settled["asked"]) == 1
    is_old = ext_tasks.revision() == HANDSHAKE
    assert settled["status"] == ("failed" if is_old else "completed")
    assert is_old or settled["result"]["structuredContent"]["state"] == "deletion/kept"


def test_ext_tasks_lists_what_the_revision_lets_it(ext_tasks: TypeScript) -> None:
    task = _begin(ext_tasks, "slow_compute", {"seconds": 0})
    ext_tasks.ask("settle", task=task)
    if ext_tasks.revision() == HANDSHAKE:
        assert ext_tasks.ask("list")[0] == task
    else:
        with pytest.raises(RuntimeError, match="inventory is not supported"):
            ext_tasks.ask("list")


# --- TypeScript SDK 1.32: experimental tasks of 2025-11-25 ----------------------------------------


@pytest.fixture(scope="module")
def sdk(tasking: LiveServer) -> Iterator[TypeScript]:
    """The SDK that most clients are made with."""
    with TypeScript(tasking, "typescript_sdk_tasks.mjs") as client:
        assert client.revision() == HANDSHAKE
        yield client


def test_the_sdk_sees_which_tools_may_be_tasks(sdk: TypeScript) -> None:
    support = sdk.ask("support")
    assert support["slow_compute"] == "optional"
    assert support["failing_job"] == "required"
    assert support["sandbar_entity_find"] is None


def test_the_sdk_waits_for_the_end(sdk: TypeScript) -> None:
    seen = sdk.ask("run", name="slow_compute", arguments=SLOW)
    assert seen["result"]["content"][0]["text"] == SLOW_SAYS
    assert seen["states"][-1] == seen["last"] == "completed"
    assert seen["task"] in sdk.ask("list")


def test_the_sdk_cancels(sdk: TypeScript) -> None:
    seen = sdk.ask("run", name="slow_compute", arguments=ENDLESS, cancelled=True)
    assert (seen["cancelled"], seen["last"]) == ("cancelled", "cancelled")
    assert "was cancelled" in seen["error"]


def test_the_sdk_answers_once(sdk: TypeScript) -> None:
    """It opens tasks/result, and is asked there: nobody asks it a second time on its stream."""
    seen = sdk.ask("run", name="confirm_delete", arguments=FILE, reply=YES)
    assert seen["asked"] == [{"message": ASKS, "task": seen["task"]}]
    assert seen["result"]["content"][0]["text"] == DELETED


def test_the_sdk_answers_two_questions(sdk: TypeScript) -> None:
    reply = {"action": "accept", "content": {"name": "Ada", "confirm": True}}
    seen = sdk.ask("run", name="multi_input", arguments={}, reply=reply)
    assert len(seen["asked"]) == 2
    assert seen["result"]["structuredContent"]["data"] == {"name": "Ada"}
    assert seen["last"] == "completed"
