"""Answers on their way out: each bears its request's id, and none leaves before its row is kept."""

from __future__ import annotations

from sandbar.edge.asgi import Headers, Message, Scope, Send
from sandbar.edge.recording import Record
from sandbar.edge.refusing import refuse
from sandbar.edge.request_ids import REQUEST_ID
from sandbar.edge.state import RequestState
from sandbar.edge.surfaces import Id
from sandbar.errors import Problem

REFUSED = "request.refused"  # by a status, without a word of ours

_STREAM = b"text/event-stream"


class Answer:
    """A `send` that lets an answer begin once its request has a row, and else refuses it.

    A stream that answers a POST begins before its row is written, and is held back until there is
    something to tell: an answer, which has its row or says why not, or what is told before it.
    """

    def __init__(self, scope: Scope, state: RequestState, send: Send) -> None:
        self._scope = scope
        self._state = state
        self._send = send
        self._held: Message | None = None
        self._is_withheld = False
        self.is_sent = False  # or at least begun to be

    async def __call__(self, message: Message) -> None:
        """One ASGI message of the answer."""
        if self._is_withheld:
            return
        record = self._state.record
        if message["type"] != "http.response.start":
            if self._held is not None:
                start, self._held = self._held, None
                await self._begin(start, record)
            if not self._is_withheld:
                await self._send(message)
        elif record is not None and _goes_on(self._scope, message):
            self._held = message
        else:
            if record is not None:
                if message["status"] >= 400:
                    record.fail(REFUSED)
                await _settle(record)
            await self._begin(message, record)

    async def refuse(
        self, problem: Problem, *, headers: Headers | None = None, id: Id = None
    ) -> None:
        """Answer with a problem instead of whatever else is said, unless that is on its way."""
        if self.is_sent or self._is_withheld:
            return
        self._is_withheld = True
        record, status = self._state.record, None
        if record is not None:
            record.fail(problem.code)
            await _settle(record)
            id = record.id
            if record.lost is not None:  # no row, no answer
                problem, status = record.lost, 503
        await refuse(self._scope, self._pass_on, problem, status=status, headers=headers, id=id)

    async def _begin(self, start: Message, record: Record | None) -> None:
        if record is None or record.lost is None:
            await self._start(start)
        else:
            await self.refuse(record.lost)

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._start(message)
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        self.is_sent = True
        id = (REQUEST_ID, self._state.request_id.encode())
        message["headers"] = [*message.get("headers", ()), id]
        await self._send(message)


async def _settle(record: Record) -> None:
    try:
        await record.settle()
    except Problem:
        pass  # the record knows


def _goes_on(scope: Scope, start: Message) -> bool:
    """Whether this begins a stream whose answer comes later; one that is opened is an answer."""
    kind = dict(start.get("headers", ())).get(b"content-type", b"")
    return scope["method"] != "GET" and bytes(kind).startswith(_STREAM)
