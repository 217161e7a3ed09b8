"""What a process asks, asked of the client whose call shows the process.

Before 2026-07-28 on the stream of the call, which waits a while for the answer. Since then the
result asks, and the client makes the same call again with the answers: the state that it carries
for us names the process, so that nothing is done twice.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, Literal, NamedTuple

import anyio
import msgspec

from sandbar.audit import Note
from sandbar.errors import Conflict, Forbidden, Incorrect, Problem
from sandbar.mcp import task_words as words
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.service import Service
from sandbar.mcp.table import Params
from sandbar.mcp.talk import plain_responses
from sandbar.mcp.task_asking import being_asked, next_question
from sandbar.mcp.wire import RefusedError, is_modern
from sandbar.verbs import TASK_METHODS, Call, NeedsInput, Started, Task, replies_in
from sandbar.workflow import ProcessView

CALL_S = 45.0  # a call waits so long: less than the minute after which clients give up
_TRIES = 3  # of a question whose answers do not fit
_ANSWER = "workflow.answer"
_MARK = "sandbar/asks"

Shape = Literal["started", "task", "process"]


class _Round(NamedTuple):
    """What a client carries for us from one call to the next."""

    shape: Shape  # of the result
    process_id: int
    tries: int = 0

    def sealed(self) -> str:
        """As text; the SDK seals it, for this caller and these arguments."""
        return f"{_MARK}:{self.shape}:{self.process_id}:{self.tries}"


class CallAsking:
    """Asks the clients of calls."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def asked(self, exchange: Exchange, result: Any) -> Any:
        """The result, or a newer one after an answer, or one that asks (since 2026-07-28)."""
        shape = _shape_of(result)
        if shape is None or not result.input or not exchange.client.takes_forms:
            return result
        if exchange.verb is not None and exchange.verb.name == _ANSWER:
            return result  # who answers one by one is about to answer the next
        begun = _Round(shape, result.process_id)
        if is_modern(exchange.version):
            return await self._required(exchange, begun, result)
        if not exchange.client.can_ask or not await self._next(exchange, begun.process_id):
            return result
        await self._ask_in_session(exchange, begun.process_id)
        return await self._service.read(exchange, lambda: self._shown(exchange, begun))

    async def resumed(self, exchange: Exchange, params: Params) -> Any | None:
        """What a call has come to that brings answers; None: it is no such call."""
        begun = _round_in(params.get("requestState")) if is_modern(exchange.version) else None
        if begun is None:
            return None
        given = plain_responses(params) or {}
        is_fitting = await self._service.read(
            exchange, lambda: self._answered(exchange, begun.process_id, given)
        )
        following = begun._replace(tries=0 if is_fitting else begun.tries + 1)
        result = await self._service.read(exchange, lambda: self._shown(exchange, begun))
        if following.tries >= _TRIES:
            return result
        return await self._required(exchange, following, result)

    # --- since 2026-07-28 ----------------------------------------------------------------------

    async def _required(self, exchange: Exchange, begun: _Round, result: Any) -> Any:
        view = await self._service.read(exchange, lambda: self._asking(exchange, begun.process_id))
        if view is None or any(self._is_left(exchange, view, key) for key in view.input):
            return result
        return NeedsInput(view.input, begun.sealed())

    def _answered(self, exchange: Exchange, process_id: int, given: dict[str, Any]) -> bool:
        """Tell the process what was answered; False if the answer is missing, or does not fit."""
        view = self._asking(exchange, process_id)
        if view is None:
            return True  # someone else was quicker
        try:
            replies = replies_in(given, view.input)
            if not replies:
                return False
            exchange.database.perform(self._reply(exchange, process_id, given, exchange.note))
        except Incorrect:
            return False
        except (Conflict, Forbidden):  # there is no way to decline, or its guard refuses
            for key in replies:
                self._service.left_open.note(exchange.caller, process_id, key)
        return True

    # --- before --------------------------------------------------------------------------------

    async def _ask_in_session(self, exchange: Exchange, process_id: int) -> None:
        """Ask, and wait a while; what is answered later counts as well."""
        answered = anyio.Event()

        async def work() -> None:
            try:
                await self._ask_all(exchange, process_id)
            except (Problem, RefusedError):
                return  # the process goes on waiting, as its view shows
            finally:
                answered.set()

        tasks = exchange.client.connection.tasks
        with anyio.move_on_after(CALL_S):
            if tasks is None:
                await work()
            else:
                tasks.start_soon(work)
                await answered.wait()

    async def _ask_all(self, exchange: Exchange, process_id: int) -> None:
        client, run = exchange.client, self._service.runner.run
        tries: Counter[str] = Counter()
        while found := await self._next(exchange, process_id):
            key, view = found
            question = view.input[key]
            with being_asked(client.connection, process_id, key):
                try:
                    params = words.elicitation(question.message, question.schema)
                    given = {key: await client.ask("elicitation/create", params)}
                    call = self._reply(exchange, process_id, given, None)
                    await run(exchange.caller, partial(exchange.database.perform, call))
                except Incorrect:
                    tries[key] += 1
                    if tries[key] < _TRIES:
                        continue
                    self._service.left_open.note(exchange.caller, process_id, key)
                except Problem:  # no answer, no way to decline, or its guard refuses
                    self._service.left_open.note(exchange.caller, process_id, key)

    async def _next(self, exchange: Exchange, process_id: int) -> tuple[str, ProcessView] | None:
        """The next question that this session is neither being asked nor has left open."""
        view = await self._service.runner.run(
            exchange.caller, lambda: self._asking(exchange, process_id)
        )
        if view is None:
            return None
        keys = [key for key in view.input if not self._is_left(exchange, view, key)]
        key = next_question(exchange.client.connection, process_id, keys)
        return None if key is None else (key, view)

    # --- both ----------------------------------------------------------------------------------

    def _asking(self, exchange: Exchange, process_id: int) -> ProcessView | None:
        """The process, if it asks this caller something now, and the caller may answer."""
        caller, workflows = exchange.caller, exchange.database.workflows
        if not caller.rights.may_call("workflow", _ANSWER, "write"):
            return None
        view = workflows.view(process_id)
        if not view.input or view.paused:
            return None
        if not exchange.database.tasks(caller).reaches(view, is_changed=True):
            return None
        if not workflows.may_answer(view, principal=caller.principal, roles=caller.roles):
            return None
        return view

    def _is_left(self, exchange: Exchange, view: ProcessView, key: str) -> bool:
        return self._service.left_open.holds(exchange.caller, view.process_id, key)

    def _reply(
        self, exchange: Exchange, process_id: int, given: dict[str, Any], note: Note | None
    ) -> Call:
        """The call that tells a process what was said; without a note it has a row of its own."""
        told, verb = {"process": process_id, "answers": given}, TASK_METHODS["reply"]
        call = exchange.call(verb.name, told, verb=verb)
        return msgspec.structs.replace(call, note=note, names_row=note is None)

    def _shown(self, exchange: Exchange, begun: _Round) -> Any:
        """The process as it stands, in the form of the verb that was called."""
        caller, database = exchange.caller, exchange.database
        tasks = database.tasks(caller)
        id = tasks.process_named(begun.process_id)
        view = tasks.visible(
            database.workflows.state(id, principal=caller.principal, roles=caller.roles)
        )
        if begun.shape == "process":
            return view
        return tasks.started(view) if begun.shape == "started" else tasks.shown(view)


def _shape_of(result: Any) -> Shape | None:
    if isinstance(result, Started):
        return "started"
    if isinstance(result, Task):
        return "task"
    return "process" if isinstance(result, ProcessView) else None


def _round_in(state: str | None) -> _Round | None:
    """What the client brings back, if it is of ours."""
    if state is None or not state.startswith(f"{_MARK}:"):
        return None
    _, shape, process_id, tries = state.split(":")
    return _Round(shape, int(process_id), int(tries))  # type: ignore[arg-type]
