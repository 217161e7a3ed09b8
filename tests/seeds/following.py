"""Starting tasks and following them, as a reader of the seeds does: with bare requests."""

from __future__ import annotations

import time
from typing import Any

from tests.seeds.typing_it import PATIENCE_S, ShellStream, call, payload, post, rpc

ORDER = {
    "workflow": "order/fulfillment",
    "subject": "product/mud-lord",
    "data": {"quantity": 1},
}
_BETWEEN_S = 0.05


def begun(address: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a call that starts a task."""
    result: dict[str, Any] = call(address, tool, arguments)
    assert not result.get("isError"), result
    return result


def begun_order(address: str) -> str:
    """The handle of an order that waits for us."""
    handle = begun(address, "sandbar.workflow.start-process", ORDER)["task-id"]
    assert isinstance(handle, str)
    return handle


def moved(address: str, handle: str, *transitions: str, **arguments: Any) -> Any:
    """Move a process on by these transitions; how it stands then."""
    for name in transitions:
        given = {"process": handle, "transition": name, **arguments}
        view = payload(call(address, "sandbar.workflow.transition", given))
        assert "error" not in view, view
    return view


def asked(address: str, method: str, **params: Any) -> Any:
    """The response to a request about a task."""
    return post(address, rpc(method, params)).json()


def ended(address: str, spelling: str, handle: str) -> dict[str, Any]:
    """A task once it has ended, polled as the seeds say."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        task: dict[str, Any] = asked(address, "tasks/get", **{spelling: handle})["result"]
        if task["status"] in ("complete", "completed"):
            return task
        assert time.monotonic() < deadline, task
        time.sleep(_BETWEEN_S)


def told_of(stream: ShellStream, method: str, handle: str) -> dict[str, Any]:
    """The next notification of a method about a task; what is told of others is passed over."""
    while True:
        message: dict[str, Any] = stream.until(method)
        if message["params"].get("taskId") == handle:
            return message
