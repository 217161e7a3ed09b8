"""Tasks on the wire: one process, said in the words of three dialects.

2025-11-25 (`ttl`, `tasks/result`), the extension of 2026-07-28 (`ttlMs`, everything inline), and
the seeds' own (`task-id`, `pending`, `running`, `complete`, `kind`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sandbar.mcp.wire import INTERNAL_ERROR, RefusedError, json_encode
from sandbar.verbs import Task
from sandbar.workflow import CALL, Question

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
POLL_MS = 500
_BESIDE = "sandbar/process"
_MESSAGE_CHARACTERS = 200
_TASK_ID = b'"task-id"'

_Shown = dict[str, Any]


# --- what came of it -------------------------------------------------------------------------


def error_of(task: Task) -> _Shown | None:
    """The JSON-RPC error that a task ended with: a defect of ours, and nothing else."""
    error = task.error
    if task.kind != "failure" or error is None or error.get("category") != "Fault":
        return None
    data = {**(error.get("data") or {}), "code": error.get("code")}
    return {"code": INTERNAL_ERROR, "message": error.get("message", "Internal error"), "data": data}


def result_of(task: Task) -> _Shown:
    """What the tool call behind a task that has ended would have answered."""
    kept = task.result if isinstance(task.result, dict) else {}
    if task.kind == "success" and (task.workflow == CALL or "content" in kept):
        return _called(kept)
    payload = _payload(task)
    result: _Shown = {
        "content": [{"type": "text", "text": json_encode(payload).decode()}],
        "structuredContent": payload,
    }
    if task.kind != "success":
        result["isError"] = True
    return result


def _called(kept: _Shown) -> _Shown:
    """The result of a verb that was called in the background."""
    structured = kept.get("structured")
    text = {"type": "text", "text": json_encode(structured).decode()}
    result: _Shown = {"content": kept.get("content", [text])}
    if isinstance(structured, dict):
        result["structuredContent"] = structured
    if kept.get("is-error"):
        result["isError"] = True
    return result


def _payload(task: Task) -> _Shown:
    payload: _Shown = {
        "task-id": task.task_id,
        "workflow": task.workflow,
        "state": task.state,
        "status": task.status,
        "kind": task.kind,
    }
    for name, value in (("result", task.result), ("data", task.data), ("error", task.error)):
        if value:
            payload[name] = value
    return payload


# --- the protocol's words --------------------------------------------------------------------


def _status(task: Task, *, failure: str) -> str:
    if task.kind is None:
        is_asking = bool(task.input) and task.may_answer and not task.paused
        return "input_required" if is_asking else "working"
    if task.kind == "cancel":
        return "cancelled"
    return failure if is_failure(task) else "completed"


def is_failure(task: Task) -> bool:
    """Whether a task has ended badly; a call does so by saying that its result is an error."""
    kept = task.result if isinstance(task.result, dict) else {}
    return task.kind == "failure" or (task.kind == "success" and bool(kept.get("is-error")))


def _message(task: Task) -> str:
    progress = task.progress or {}
    if task.kind is None and progress:
        done, total = progress.get("done"), progress.get("total")
        counted = f"{done:g}" if total is None else f"{done:g} of {total:g}"
        told = progress.get("message")
        return f"{counted}: {told}" if told else counted
    if task.kind == "failure" and task.error is not None:
        return str(task.error.get("message"))
    if task.kind == "success" and is_failure(task):
        return _first_text(result_of(task)) or task.label or task.state
    if task.kind is None and task.input and not task.may_answer:
        return f"{task.label or task.state}: it asks others, who answer with workflow.answer"
    return task.label or task.state


def _first_text(result: _Shown) -> str | None:
    texts = (block.get("text") for block in result["content"] if isinstance(block, dict))
    return next((text[:_MESSAGE_CHARACTERS] for text in texts if isinstance(text, str)), None)


def _common(task: Task, status: str) -> _Shown:
    return {
        "taskId": task.task_id,
        "status": status,
        "statusMessage": _message(task),
        "createdAt": task.started_at,
        "lastUpdatedAt": task.completed_at or task.updated_at,
    }


def seen_beside(task: Task) -> _Shown:
    """What the protocol has no word for, as metadata."""
    seen: _Shown = {"workflow": task.workflow, "state": task.state}
    if task.kind is not None:
        seen["kind"] = task.kind
    return {_BESIDE: seen}


def task_2025(task: Task) -> _Shown:
    """A task of 2025-11-25. It is kept for good, so its time to live is null."""
    shown = _common(task, _status(task, failure="failed"))
    return {**shown, "ttl": None, "pollInterval": POLL_MS}


def related(task: Task) -> _Shown:
    """The metadata that ties a message to a task, before 2026-07-28."""
    return {RELATED: {"taskId": task.task_id}}


def task_2026(task: Task) -> _Shown:
    """A task of the extension: `failed` is for errors of the protocol only."""
    failure = "failed" if error_of(task) is not None else "completed"
    shown = _common(task, _status(task, failure=failure))
    return {**shown, "ttlMs": None, "pollIntervalMs": POLL_MS}


def detailed_2026(task: Task) -> _Shown:
    """The same with what came of it, or what it asks."""
    shown = task_2026(task)
    error = error_of(task)
    if shown["status"] == "input_required":
        shown["inputRequests"] = input_requests(task.input)
    elif error is not None:
        shown["error"] = error
    elif shown["status"] == "completed":
        shown["result"] = {"resultType": "complete", **result_of(task)}
    return shown


def input_requests(questions: Mapping[str, Question]) -> dict[str, _Shown]:
    """What a process asks, as requests of the protocol."""
    return {
        key: {
            "method": "elicitation/create",
            "params": elicitation(question.message, question.schema),
        }
        for key, question in questions.items()
    }


def elicitation(message: str, schema: _Shown) -> _Shown:
    """The parameters of a question to the user."""
    return {"mode": "form", "message": message, "requestedSchema": schema}


def raised(error: _Shown) -> RefusedError:
    """The error that a task ended with."""
    return RefusedError(error["code"], error["message"], error["data"])


# --- the seeds' words ------------------------------------------------------------------------


def seed_envelope(result: _Shown) -> _Shown:
    """What a result that shows a task says besides: at its top, and in the payload."""
    shown = result.get("structuredContent")
    if type(shown) is msgspec.Raw and _TASK_ID in bytes(shown):
        shown = msgspec.json.decode(shown)
    if not isinstance(shown, dict) or "task-id" not in shown:
        return {}
    envelope: _Shown = {"taskId": shown["task-id"], "task-id": shown["task-id"]}
    if "status" in shown:
        envelope |= {"status": shown["status"], "kind": shown.get("kind")}
    payload = {**shown, **envelope}
    told: _Shown = {**envelope, "structuredContent": payload}
    text = {"type": "text", "text": json_encode(shown).decode()}
    if result.get("content") == [text]:  # a tool may have words of its own, and keeps them
        told["content"] = [{**text, "text": json_encode(payload).decode()}]
    return told


def seed_task(task: Task, *, asked_by: str) -> _Shown:
    """A task as the seeds print it: 002 asks by `taskId`, 001 and 004 ask by `task-id`."""
    status: str = task.status
    if asked_by == "taskId":
        status = "completed" if task.kind is not None else "running"
    shown: _Shown = {
        "taskId": task.task_id,
        "task-id": task.task_id,
        "status": status,
        "state": f":{task.state}",
        "workflow": f":{task.workflow}",
    }
    if task.progress:
        shown["progress"] = task.progress
    if task.input:
        shown["input"] = {
            key: {"message": question.message, "schema": question.schema}
            for key, question in task.input.items()
        }
    if task.kind is not None:
        shown["kind"] = task.kind
        shown["result"] = task.result if task.result is not None else task.data
        shown["content"] = [{"type": "text", "text": _seed_text(task)}]
        if task.error is not None:
            shown["error"] = task.error
    return shown


def _seed_text(task: Task) -> str:
    if task.kind == "cancel":
        return f"Task cancelled. Workflow state: :{task.state}"
    return f"Task in state: :{task.state}\nProcess data: {json_encode(task.data).decode()}"
