"""The tools that are tasks: slow ones, failing ones, and ones that ask while they run."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar import clock
from sandbar.errors import Fault
from sandbar.packs.everything.declaring import NoArguments, text, tool
from sandbar.packs.everything.requests import ask, is_accepted, question
from sandbar.patience import check
from sandbar.verbs import Content, Context, Started, Verb, Verbatim
from sandbar.workflow import Activity, Outcome, Running

_STEP_S = 0.05


class SlowArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long to take."""

    seconds: float = 1.0
    label: str = ""


class DeleteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which file not to delete."""

    filename: str = ""


def _schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _slow(context: Context, arguments: SlowArguments) -> Content:
    """Sleeps in small steps, so that it stops soon when nobody wants it any more."""
    end_s = clock.monotonic_s() + arguments.seconds
    while (left_s := end_s - clock.monotonic_s()) > 0:
        check()
        context.progress(arguments.seconds - left_s, arguments.seconds, arguments.label or None)
        clock.pause_s(min(left_s, _STEP_S))
    return text(f"Computed {arguments.label} in {arguments.seconds:g} s")


def _failing(context: Context, arguments: NoArguments) -> Content:
    return text("This job always fails", is_error=True)


def _broken(context: Context, arguments: NoArguments) -> Content:
    # As a defect is told; raised here, so that nobody looks for one in the log.
    raise Fault("verb.failed", "this tool is broken, as its description says", hint="use another")


def _confirm(context: Context, arguments: DeleteArguments) -> Started:
    data = {"filename": arguments.filename}
    return context.start_task("everything/confirmed-deletion", None, data)


def _two_questions(context: Context, arguments: NoArguments) -> Started:
    return context.start_task("everything/two-questions", None, {})


def _asks_first(context: Context, arguments: NoArguments) -> Started | Verbatim:
    answers = ask(context, {"user_name": question("What is your name?", "name")})
    if isinstance(answers, Verbatim):
        return answers
    answer = answers["user_name"]
    name = answer["content"]["name"] if is_accepted(answer) else "nobody"
    return context.start_task("everything/greeting", None, {"name": name})


def _delete(job: Running) -> Outcome:
    answers = job.answers.get("confirm") or {}
    if not answers.get("confirm"):
        return Outcome("keep")
    said = f"Deleted {job.data.get('filename')}, or so it seems"
    return Outcome("finish", result={"content": [{"type": "text", "text": said}]})


def _greet_later(job: Running) -> Outcome:
    said = f"Hello, {job.data.get('name')}, at last!"
    return Outcome("finish", result={"content": [{"type": "text", "text": said}]})


ACTIVITIES: dict[str, Activity] = {
    "everything/delete": _delete,
    "everything/greet": _greet_later,
}

_STRING = {"type": "string"}
_NUMBER = {"type": "number"}


def _task(verb: Verb, **flags: bool) -> Verb:
    return msgspec.structs.replace(verb, **flags)


VERBS: tuple[Verb, ...] = (
    _task(
        tool(
            "slow_compute",
            "Takes as many seconds as it is told.",
            _slow,
            SlowArguments,
            schema=_schema(seconds=_NUMBER, label=_STRING),
        ),
        is_long=True,
    ),
    _task(tool("failing_job", "Always fails.", _failing), is_long=True, needs_task=True),
    _task(tool("protocol_error_job", "Is broken.", _broken), is_long=True),
    _task(
        tool(
            "confirm_delete",
            "Asks before it pretends to delete a file.",
            _confirm,
            DeleteArguments,
            schema=_schema(filename=_STRING),
            access="write",
        ),
        starts_task=True,
    ),
    _task(
        tool("multi_input", "Asks two questions at once.", _two_questions, access="write"),
        starts_task=True,
    ),
    _task(
        tool("test_tool_with_task", "Asks, then goes on alone.", _asks_first, access="write"),
        starts_task=True,
        needs_task=True,
    ),
)
