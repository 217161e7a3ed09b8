"""No row, no answer: what stands between a surface and the wire while a request is recorded."""

from __future__ import annotations

from sandbar.edge.asgi import App, Message, Receive, Scope, Send
from sandbar.edge.recording import Record, Recorder
from sandbar.edge.refusing import INTERNAL_ERROR, RETRY_SOON, refuse
from sandbar.edge.state import state_of
from sandbar.errors import Interrupted, Problem, Unavailable

REFUSED = "request.refused"  # by a status, without a word of ours
REFUSED_SINCE = "sandbar.refused-since"

_STREAM = b"text/event-stream"


class Recording:
    """Gives every request of somebody who has signed in a `Record`, and settles it in time."""

    def __init__(self, app: App, recorder: Recorder, surface: str) -> None:
        self._app = app
        self._recorder = recorder
        self._surface = surface

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        state = state_of(scope)
        assert state.caller is not None
        record = state.record = Record(
            self._recorder, state.caller, self._surface, state.request_id, scope[REFUSED_SINCE]
        )

        answer = _Answer(scope, send, record)
        try:
            await self._app(scope, receive, answer)
        except Problem as problem:
            is_ours = problem is record.lost or isinstance(problem, Unavailable | Interrupted)
            if answer.is_begun or not is_ours:
                raise
            record.fail(problem.code)
            await refuse(
                scope, answer, 503, INTERNAL_ERROR, problem, id=record.id, headers=RETRY_SOON
            )
        finally:
            record.abandon()


class _Answer:
    """A `send` that lets an answer begin once its request has a row, and else refuses it.

    A stream that answers a POST begins before its row is written, and is held back until there is
    something to tell: an answer, which has its row or says why not, or what is told before it.
    """

    def __init__(self, scope: Scope, send: Send, record: Record) -> None:
        self._scope = scope
        self._send = send
        self._record = record
        self._held: Message | None = None
        self._is_withheld = False
        self.is_begun = False

    async def __call__(self, message: Message) -> None:
        """One ASGI message of the answer."""
        if self._is_withheld:
            return
        self.is_begun = True
        if message["type"] != "http.response.start":
            if self._held is not None:
                start, self._held = self._held, None
                await self._begin(start)
        elif _goes_on(self._scope, message):
            self._held = message
            return
        else:
            await self._settle(message)
            await self._begin(message)
            return
        if not self._is_withheld:
            await self._send(message)

    async def _settle(self, start: Message) -> None:
        if start["status"] >= 400:
            self._record.fail(REFUSED)
        try:
            await self._record.settle()
        except Problem:
            pass  # the record knows

    async def _begin(self, start: Message) -> None:
        problem, record = self._record.lost, self._record
        if problem is None:
            await self._send(start)
            return
        self._is_withheld = True  # no row, no answer
        await refuse(
            self._scope,
            self._send,
            503,
            INTERNAL_ERROR,
            problem,
            id=record.id,
            headers=RETRY_SOON,
        )


def _goes_on(scope: Scope, start: Message) -> bool:
    """Whether this begins a stream whose answer comes later; one that is opened is an answer."""
    kind = dict(start.get("headers", ())).get(b"content-type", b"")
    return scope["method"] != "GET" and bytes(kind).startswith(_STREAM)
