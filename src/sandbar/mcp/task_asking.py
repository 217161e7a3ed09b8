"""What a task asks, and what is answered: on the session that began it, or wherever it is told.

Since 2026-07-28 the client reads the questions and sends `tasks/update`. Before, the server asks:
on the stream of `tasks/result` if the client opens that, as the revision recommends; some clients
only look at the task until it has ended, and those are asked on the stream of their session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from sandbar.access import Caller
from sandbar.errors import Problem
from sandbar.mcp import task_words as words
from sandbar.mcp.client import Connection, declares_forms
from sandbar.mcp.service import Service
from sandbar.verbs import TASK_METHODS, Call, Task

_BEGUN_MAX = 10_000
_OWN_MOVE_S = 1.0  # for clients that open `tasks/result` when they see that something is asked


def can_be_asked(connection: Connection) -> bool:
    """Whether the client has said that it answers questions."""
    return declares_forms(connection.capabilities)


def questions_for(service: Service, caller: Caller, task: Task) -> list[str]:
    """What the task asks this caller, unless its client has left it open a while ago."""
    if not task.may_answer or task.paused:
        return []
    return [key for key in task.input if not service.left_open.holds(caller, task.process_id, key)]


def next_question(connection: Connection, process_id: int, keys: Iterable[str]) -> str | None:
    """The first of these that this session is not being asked already."""
    return next((key for key in keys if (process_id, key) not in connection.asking), None)


@contextmanager
def being_asked(connection: Connection, process_id: int, key: str) -> Iterator[None]:
    """Meanwhile the same is not asked twice in this session."""
    connection.asking.add((process_id, key))
    try:
        yield
    finally:
        connection.asking.discard((process_id, key))


def note_begun(connection: Connection, process_id: int) -> None:
    """This session has begun a process, or follows it: it is asked what that asks."""
    if len(connection.begun) < _BEGUN_MAX:
        connection.begun.add(process_id)


def ask_follower(service: Service, connection: Connection, caller: Caller, task: Task) -> None:
    """Ask a session that looks at a task what the task asks, on the session's own stream."""
    tasks = connection.tasks
    keys = questions_for(service, caller, task)
    if tasks is None or not keys or not service.sessions.is_listening(connection.id):
        return
    note_begun(connection, task.process_id)
    tasks.start_soon(ask_session, service, connection, caller, task)


async def ask_session(service: Service, connection: Connection, caller: Caller, task: Task) -> None:
    """Ask on the stream of a session what a task that it has begun wants to know.

    Whatever goes wrong, the task goes on waiting, and its client can see that it does.
    """
    about = connection.about_to_ask
    if not can_be_asked(connection) or task.process_id in about:
        return
    about.add(task.process_id)
    try:
        await anyio.sleep(_OWN_MOVE_S)
    finally:
        about.discard(task.process_id)
    if task.process_id not in connection.begun:
        return
    database = service.database(caller)

    def look() -> Task:
        tasks = database.tasks(caller)
        return tasks.shown(tasks.find(task.task_id))

    def tell(given: dict[str, Any]) -> Callable[[], Any]:
        told, verb = {"task-id": task.task_id, "answers": given}, TASK_METHODS["answer"]
        return lambda: database.perform(Call(caller, verb.name, told, verb, "mcp"))

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
    except Problem:
        if key is not None:  # `tasks/result` asks again
            service.left_open.note(caller, task.process_id, key)


async def _asked(connection: Connection, task: Task, key: str) -> dict[str, Any]:
    question = task.input[key]
    params = words.elicitation(question.message, question.schema)
    return await connection.ask("elicitation/create", {**params, "_meta": words.related(task)})
