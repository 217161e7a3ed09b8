"""The activity behind `task/call`: a verb that takes long, called in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sandbar.access import caller_again
from sandbar.errors import Interrupted, Problem
from sandbar.model import Workspace
from sandbar.verbs import Call, Content, nobody_to_ask
from sandbar.workflow import (
    CALL,
    Activity,
    Outcome,
    Question,
    Reply,
    Running,
    internal_workflow,
    told,
)

_encode = msgspec.json.Encoder(decimal_format="string").encode


class Background:
    """The channel of a call that nobody waits for: it can tell how far it is, and not ask."""

    native = None

    def __init__(self, job: Running) -> None:
        self._job = job

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the work has come; stops it if it is no longer wanted."""
        self._job.progress(done, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Nobody listens."""

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """There is nobody."""
        raise nobody_to_ask()


def call_activity(
    workspace: Workspace, workspace_name: str, perform: Callable[[Call], Any]
) -> Activity:
    """What makes the call, in the name of whoever asked for it and with the rights of now."""

    def run(job: Running) -> Outcome:
        if job.process.workflow != CALL:
            raise internal_workflow(CALL)
        caller = caller_again(workspace, workspace_name, job.process.started_by, job.caller)
        verb, arguments = job.data["verb"], dict(job.data.get("arguments") or {})
        # A verb that is made again after a crash finds what it did the first time.
        key = f"task-{job.process.process_id}.{job.process.run}"
        channel = Background(job)
        call = Call(caller, verb, arguments, surface="task", channel=channel, retry_key=key)
        try:
            result = perform(call)
        except Interrupted:
            raise
        except Problem as problem:
            return Outcome("fail", error=told(problem))
        return Outcome("complete", result=_kept(result))

    return run


def _kept(result: Any) -> dict[str, Any]:
    """A verb's result as a process keeps it."""
    if isinstance(result, Content):
        kept: dict[str, Any] = {"content": result.blocks, "is-error": result.is_error}
        if result.structured is not None:
            kept["structured"] = msgspec.json.decode(_encode(result.structured))
        return kept
    return {"structured": msgspec.json.decode(_encode(result))}
