"""What examples name in angle brackets, made in the workspace that they run in."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from sandbar.errors import Conflict
from sandbar.workflow import Tally
from tests.verbs.conftest import Call


def _started(call: Call) -> dict[str, Any]:
    order = {"workflow": "order/fulfillment", "subject": "product/mud-lord"}
    started: dict[str, Any] = call("workflow.start-process", {**order, "data": {"quantity": 2}})
    return started


def _process(call: Call) -> int:
    return int(_started(call)["process-id"])


def _paused(call: Call) -> int:
    process = _process(call)
    call("workflow.pause", {"process": process})
    return process


def _asking(call: Call) -> int:
    process = _process(call)
    for name in ("confirm", "ship", "ask-refund"):
        call("workflow.transition", {"process": process, "transition": name, "reason": "too small"})
    return process


def _task(call: Call) -> str:
    return str(_started(call)["task-id"])


def _validation(call: Call) -> int:
    return int(call("validation.start", {"class": "zorp/Boot"})["process-id"])


def _failed_validation(call: Call) -> int:
    def fail(*_: Any) -> None:
        raise Conflict("test.broken", "this cannot be looked at", hint="try again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tally, "take", fail)
        return int(call("validation.run", {"class": "zorp/Boot"})["process-id"])


def _key(call: Call) -> str:
    call("key.mint", {"name": "laptop"})
    return "laptop"


def _new_workspace(call: Call) -> str:
    return f"shop-{uuid4()}"


def _workspace(call: Call) -> str:
    name = _new_workspace(call)
    call("workspace.create", {"name": name})
    return name


def _exported(call: Call) -> str:
    folder = f"{tempfile.gettempdir()}/sandbar-example-{uuid4()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    call("project.export", {"to": folder})
    return folder


_MAKERS: dict[str, Callable[[Call], Any]] = {
    "<process>": _process,
    "<paused process>": _paused,
    "<asking process>": _asking,
    "<task>": _task,
    "<validation>": _validation,
    "<failed validation>": _failed_validation,
    "<key>": _key,
    "<new workspace>": _new_workspace,
    "<workspace>": _workspace,
    "<exported folder>": _exported,
}


def filled(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an example with something real for each placeholder, the same for each."""
    made: dict[str, Any] = {}
    return {name: _value(call, value, made) for name, value in arguments.items()}


def _value(call: Call, value: Any, made: dict[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("<"):
        assert value in _MAKERS, f"nobody knows how to make {value}"
        if value not in made:
            made[value] = _MAKERS[value](call)
        return made[value]
    return value
