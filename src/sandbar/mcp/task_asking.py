"""What a task asks, and what is answered: on the session that began it, or wherever it is told.

Since 2026-07-28 the client reads the questions and sends `tasks/update`. Before, the server asks:
on the stream of `tasks/result` if the client opens that, as the revision recommends; some clients
only look at the task until it has ended, and those are asked on the stream of their session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sandbar.access import Caller
from sandbar.database import Database
from sandbar.errors import Forbidden, Incorrect, Problem
from sandbar.mcp import task_words as words
from sandbar.mcp.service import Service
from sandbar.mcp.talk import ANSWER_S
from sandbar.mcp.wire import dumped
from sandbar.verbs import Task
from sandbar.workflow import Reply

BEGUN = "begun-tasks"  # of a session: the processes that its calls have begun
_ASKING = "asking"  # of a session: what it is being asked just now
_OWN_MOVE_S = 1.0  # for clients that open `tasks/result` when they see that something is asked


def can_be_asked(connection: Any) -> bool:
    """Whether the client has said that it answers questions."""
    declared = connection.client_capabilities
    return declared is not None and declared.elicitation is not None


def next_question(connection: Any, task: Task) -> str | None:
    """The key of what the task asks and this session is not being asked already."""
    asking: set[tuple[int, str]] = connection.state.setdefault(_ASKING, set())
    return next((key for key in task.input if (task.process_id, key) not in asking), None)


@contextmanager
def being_asked(connection: Any, task: Task, key: str) -> Iterator[None]:
    """Meanwhile nobody else asks this session the same."""
    asking: set[tuple[int, str]] = connection.state.setdefault(_ASKING, set())
    asking.add((task.process_id, key))
    try:
        yield
    finally:
        asking.discard((task.process_id, key))


async def ask_session(service: Service, connection: Any, caller: Caller, task: Task) -> None:
    """Ask on the stream of a session what a task that it has begun wants to know.

    Whatever goes wrong, the task goes on waiting, and its client can see that it does.
    """
    await anyio.sleep(_OWN_MOVE_S)
    if not can_be_asked(connection) or task.process_id not in connection.state[BEGUN]:
        return
    database = service.database(caller)

    def look() -> Task:
        tasks = database.tasks(caller)
        return tasks.shown(tasks.find(task.task_id))

    def tell(given: dict[str, Any]) -> Callable[[], None]:
        return lambda: answer(database, caller, task.task_id, given)

    try:
        while key := next_question(connection, now := await service.runner.run(caller, look)):
            with being_asked(connection, now, key):
                reply = await _asked(connection, now, key)
                await service.runner.run(caller, tell({key: reply}))
    except (Problem, MCPError, TimeoutError, ValidationError):
        return  # there is nobody to tell: `tasks/result` asks again


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
    replies = {key: _reply(reply) for key, reply in given.items() if key in task.input}
    if replies:
        database.workflows.answer(
            task.process_id, replies, principal=caller.principal, roles=caller.roles
        )


def must_write(caller: Caller) -> None:
    """Refuse whoever may look at tasks, but not change them."""
    if not caller.rights.may_call("task", "task.cancel", "write"):
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
