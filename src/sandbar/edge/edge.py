"""The edge itself: one ASGI application, which asks every request the same questions in turn.

    its size      `headers.check_size`, `bodies.is_declared`
    for whom      `hosts.Hosts.check`: Host and Origin
    to what       `surfaces.Routes`: exact paths
    from whom     `credentials.key_in`, `signing_in.Authenticator`
    how many      `capacity.Capacity.begin`
    noted where   `recording.Record`

Each is a plain function over the head of a request that raises a Problem; what is refused is said
in the words of the surface that it was meant for.
"""

from __future__ import annotations

import logging
from functools import partial

from sandbar.edge.answering import Answer
from sandbar.edge.asgi import Headers, Message, Receive, Scope, Send
from sandbar.edge.bodies import BODY_BYTES_MAX, Counted, is_declared, small_body
from sandbar.edge.credentials import key_in
from sandbar.edge.headers import HEADER_BYTES_MAX, check_size
from sandbar.edge.hosts import Hosts
from sandbar.edge.lifespan import Running, live
from sandbar.edge.pages import no_page
from sandbar.edge.recording import Record, Recorder
from sandbar.edge.refusing import defect
from sandbar.edge.request_ids import request_id
from sandbar.edge.signing_in import Authenticator, shown
from sandbar.edge.state import KEY, RequestState
from sandbar.edge.surfaces import Id, Routes, Surface
from sandbar.errors import Problem, TooMany, Unauthenticated

_ID_BODY_BYTES_MAX = 64 * 1024
_ID_WAIT_S_MAX = 0.25

_log = logging.getLogger("sandbar.edge")


class Edge:
    """What every HTTP request passes before its surface sees it."""

    def __init__(
        self,
        routes: Routes,
        usual: Surface,
        *,
        hosts: Hosts,
        authenticator: Authenticator,
        recorder: Recorder | None,
        running: Running,
        header_bytes_max: int = HEADER_BYTES_MAX,
        body_bytes_max: int = BODY_BYTES_MAX,
    ) -> None:
        """`usual` speaks where a path leads to no surface; without a recorder, nothing is noted."""
        self._routes = routes
        self.usual = usual
        self._hosts = hosts
        self._authenticator = authenticator
        self._recorder = recorder
        self._running = running
        self._header_bytes_max = header_bytes_max
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await live(self._running, scope, receive, send)
            return
        surface = self._routes.get(scope["path"])
        state = scope[KEY] = self._arrived(scope, surface or self.usual)
        answer = Answer(scope, state, send)
        try:
            is_declared = self.check_head(scope["headers"], scope["query_string"])
            if surface is None:
                await no_page(scope, answer, self._routes)
                return
            if not is_declared:
                receive = Counted(receive, answer, self._body_bytes_max)
            if surface.is_open or await self._let_in(scope, state, receive, answer):
                await surface.app(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - the outermost door of a request
            await self._say(error, answer)
        finally:
            if state.record is not None:
                state.record.abandon()
            self._leave(state)

    def check_head(self, headers: Headers, query: bytes) -> bool:
        """Refuse a head that is too large or not for us; whether it says how large its body is."""
        check_size(headers, query, self._header_bytes_max)
        self._hosts.check(headers)
        return is_declared(headers, self._body_bytes_max)

    def _arrived(self, scope: Scope, surface: Surface) -> RequestState:
        given = scope.get("state", {})  # by `connections`
        id = request_id(scope["headers"])
        return RequestState(surface, id, given.get("place"), given.get("capacity"))

    # --- who is there ------------------------------------------------------------------------

    async def _let_in(
        self, scope: Scope, state: RequestState, receive: Receive, answer: Answer
    ) -> bool:
        """Whether the caller is known and has not too much open; if not, they are told so."""
        try:
            key = key_in(scope["headers"])
            caller = await self._authenticator.caller(key)
        except Problem as problem:
            await self._turn_away(problem, scope, state, receive, answer)
            return False
        if state.capacity is not None and state.place is not None:
            try:
                state.capacity.begin(state.place, caller)
            except TooMany as problem:
                await self._refuse(problem, scope, state, receive, answer)
                return False
            state.is_counted = True
        state.caller = caller
        if self._recorder is not None:
            is_refused_now = partial(self._is_refused_now, key, scope, state, answer)
            state.record = Record(
                self._recorder, caller, state.surface.name, state.request_id, is_refused_now
            )
        return True

    def _leave(self, state: RequestState) -> None:
        if state.is_counted:
            assert state.capacity is not None and state.place is not None
            assert state.caller is not None
            state.capacity.end(state.place, state.caller)

    async def _is_refused_now(
        self, key: str | None, scope: Scope, state: RequestState, answer: Answer
    ) -> bool:
        """Whether the caller could not sign in any more; then that is answered already."""
        try:
            if await self._authenticator.caller(key) == state.caller:
                return False
            raise Unauthenticated(
                "auth.changed", "invalid token", hint="the account has changed: send it again"
            )
        except Problem as problem:
            await self._turn_away(problem, scope, state, _nothing_more, answer)
            return True

    # --- refusals ----------------------------------------------------------------------------

    async def _turn_away(
        self,
        problem: Problem,
        scope: Scope,
        state: RequestState,
        receive: Receive,
        answer: Answer,
    ) -> None:
        _log.warning("sign-in refused: %s (request %s)", problem.code, state.request_id)
        await self._refuse(problem, scope, state, receive, answer)

    async def _refuse(
        self,
        problem: Problem,
        scope: Scope,
        state: RequestState,
        receive: Receive,
        answer: Answer,
    ) -> None:
        headers = self._authenticator.headers(problem)
        id = await _id_of(state.surface, scope["headers"], receive)
        await answer.refuse(shown(problem), headers=headers, id=id)

    async def _say(self, error: Exception, answer: Answer) -> None:
        """Say a problem as it is; of a defect only its number."""
        problem = error if isinstance(error, Problem) else defect("app.request-failed", error)
        if answer.is_sent:
            raise error  # what has been sent must not look like a whole answer
        await answer.refuse(problem)


async def _id_of(surface: Surface, headers: Headers, receive: Receive) -> Id:
    """By which id the client knows its request, if that is soon here."""
    if surface.id_in is None:
        return None
    body = await small_body(headers, receive, bytes_max=_ID_BODY_BYTES_MAX, wait_s=_ID_WAIT_S_MAX)
    return None if body is None else surface.id_in(body)


async def _nothing_more() -> Message:
    """The body was read already."""
    return {"type": "http.disconnect"}
