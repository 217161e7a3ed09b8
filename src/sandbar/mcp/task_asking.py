"""What a task asks, and what is answered: on the session that began it, or wherever it is told.

Since 2026-07-28 the client reads the questions and sends `tasks/update`. Before, the server asks:
on the stream of `tasks/result` if the client opens that, as the revision recommends; some clients
only look at the task until it has ended, and those are asked on the stream of their session.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sandbar.access import Caller
from sandbar.database import Database
from sandbar.errors import Forbidden, Incorrect, Problem
from sandbar.mcp import task_words as words
from sandbar.mcp.service import Service
from sandbar.mcp.talk import ANSWER_S, declares_forms
from sandbar.mcp.wire import dumped
from sandbar.verbs import Task, acting
from sandbar.workflow import Reply

CHANGING = ("task", "task.cancel")  # that permits to answer a task, too
BEGUN = "begun-tasks"  # of a session: the processes that its calls have begun
SESSION_TASKS = "session-tasks"  # of a session: what runs as long as it lives
_ASKING = "asking"  # of a session: what it is being asked just now
_ABOUT_TO_ASK = "about-to-ask"  # of a session: processes of which it will be asked in a moment
_BEGUN_MAX = 10_000
_OWN_MOVE_S = 1.0  # for clients that open `tasks/result` when they see that something is asked


def can_be_asked(connection: Any) -> bool:
    """Whether the client has said that it answers questions."""
    return declares_forms(connection.client_capabilities)


def questions_for(service: Service, caller: Caller, task: Task) -> list[str]:
    """What the task asks this caller, unless its client has left it open a while ago."""
    if not task.may_answer or task.paused:
        return []
    return [key for key in task.input if not service.left_open.holds(caller, task.process_id, key)]


def next_question(connection: Any, process_id: int, keys: Iterable[str]) -> str | None:
    """The first of these that this session is not being asked already."""
    asking: set[tuple[int, str]] = connection.state.setdefault(_ASKING, set())
    return next((key for key in keys if (process_id, key) not in asking), None)


@contextmanager
def being_asked(connection: Any, process_id: int, key: str) -> Iterator[None]:
    """Meanwhile the same is not asked twice in this session."""
    asking: set[tuple[int, str]] = connection.state.setdefault(_ASKING, set())
    asking.add((process_id, key))
    try:
        yield
    finally:
        asking.discard((process_id, key))


def note_begun(connection: Any, process_id: int) -> None:
    """This session has begun a process, or follows it: it is asked what that asks."""
    begun: set[int] | None = connection.state.get(BEGUN)
    if begun is not None and len(begun) < _BEGUN_MAX:
        begun.add(process_id)


def ask_follower(service: Service, connection: Any, caller: Caller, task: Task) -> None:
    """Ask a session that looks at a task what the task asks, on the session's own stream."""
    tasks: anyio.abc.TaskGroup | None = connection.state.get(SESSION_TASKS)
    keys = questions_for(service, caller, task)
    if tasks is None or not keys or not service.sessions.is_listening(connection.session_id):
        return
    note_begun(connection, task.process_id)
    tasks.start_soon(ask_session, service, connection, caller, task)


async def ask_session(service: Service, connection: Any, caller: Caller, task: Task) -> None:
    """Ask on the stream of a session what a task that it has begun wants to know.

    Whatever goes wrong, the task goes on waiting, and its client can see that it does.
    """
    about: set[int] = connection.state.setdefault(_ABOUT_TO_ASK, set())
    if not can_be_asked(connection) or task.process_id in about:
        return
    about.add(task.process_id)
    try:
        await anyio.sleep(_OWN_MOVE_S)
    finally:
        about.discard(task.process_id)
    if task.process_id not in connection.state[BEGUN]:
        return
    database = service.database(caller)

    def look() -> Task:
        tasks = database.tasks(caller)
        return tasks.shown(tasks.find(task.task_id))

    def tell(given: dict[str, Any]) -> Callable[[], None]:
        return lambda: answer(database, caller, task.task_id, given)

    key = None
    try:
        while True:
            now = await service.runner.run(caller, look)
            keys = questions_for(service, caller, now)
            key = next_question(connection, now.process_id, keys)
            if key is None:
                return
            with being_asked(connection, now.process_id, key):
                reply = await _asked(connection, now, key)
                await service.runner.run(caller, tell({key: reply}))
    except (Problem, MCPError, TimeoutError, ValidationError):
        if key is not None:  # `tasks/result` asks again
            service.left_open.note(caller, task.process_id, key)


async def _asked(connection: Any, task: Task, key: str) -> dict[str, Any]:
    question = task.input[key]
    params = words.elicitation(question.message, question.schema)
    request = types.ElicitRequest.model_validate(
        {"method": "elicitation/create", "params": {**params, "_meta": words.related(task)}}
    )
    with anyio.fail_after(ANSWER_S):
        return dumped(await connection.send_request(request))


def answer(database: Database, caller: Caller, handle: str, given: dict[str, Any]) -> None:
    """Tell a task what it asked; keys that it did not ask are ignored."""
    task = database.tasks(caller).find(handle)
    must_write(caller)
    replies = replies_in(given, task.input)
    if replies:
        database.workflows.answer(task.process_id, replies, **acting(caller, *CHANGING))


def replies_in(given: Mapping[str, Any], asked: Container[str]) -> dict[str, Reply]:
    """What a client answers to what was asked; the rest is ignored."""
    return {key: _reply(reply) for key, reply in given.items() if key in asked}


def must_write(caller: Caller) -> None:
    """Refuse whoever may look at tasks, but not change them."""
    if not caller.rights.may_call(*CHANGING, "write"):
        raise Forbidden(
            "task.forbidden",
            f"a {caller.role} may not cancel or answer tasks",
            hint="it takes write access; ask an admin for another role",
        )


def _reply(given: Any) -> Reply:
    action = given.get("action") if isinstance(given, dict) else None
    content = given.get("content") if isinstance(given, dict) else None
    if action not in ("accept", "decline", "cancel") or not isinstance(content, dict | None):
        raise Incorrect(
            "request.params",
            "an answer is an object of action and content",
            hint='for example {"action": "accept", "content": {"name": "Ada"}}',
        )
    return Reply(action, content or {})
