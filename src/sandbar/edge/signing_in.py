"""The door: only an identified caller goes on, as `state_of(scope).caller`."""

from __future__ import annotations

import asyncio
import logging

import anyio.to_thread
import msgspec

from sandbar.access import Caller, Houses, sign_in, sign_in_at_once
from sandbar.edge.answering import REFUSED_SINCE
from sandbar.edge.asgi import App, Headers, Message, Receive, Scope, Send, header
from sandbar.edge.refusing import INTERNAL_ERROR, RETRY_SOON, is_modern, refuse
from sandbar.edge.state import state_of
from sandbar.errors import Forbidden, Interrupted, Problem, TooMany, Unauthenticated, Unavailable

_UNAUTHORIZED = -32001
_TOO_MANY = -32029
_ID_BODY_BYTES_MAX = 64 * 1024
_ID_WAIT_S_MAX = 0.25

# What tells an attacker nothing; of everything else only the log has the reason.
_SHOWN = frozenset({"auth.missing", "auth.malformed"})

_log = logging.getLogger("sandbar.edge")


class _Numbered(msgspec.Struct):
    id: int | str | None = None


class SignIn:
    """Asks every request who it is from.

    `is_inline` says that the database answers in microseconds, as SQLite does: then a token that is
    known is checked on the event loop, and only a chosen key that is new goes to a thread.
    """

    def __init__(
        self, app: App, houses: Houses, *, is_inline: bool, realm: str = "sandbar-mcp"
    ) -> None:
        self._app = app
        self._houses = houses
        self._is_inline = is_inline
        self._challenge = f'Bearer realm="{realm}"'

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            authorization = _authorization(scope)
            caller = await self._caller(authorization)
        except Problem as problem:
            await self._refuse(problem, scope, receive, send)
            return
        state = state_of(scope)
        state.caller = caller

        async def refused_since() -> bool:
            """Whether they could not sign in any more; then that is answered already."""
            try:
                if await self._caller(authorization) == caller:
                    return False
                raise Unauthenticated(
                    "auth.changed", "invalid token", hint="the account has changed: send it again"
                )
            except Problem as problem:
                await self._refuse(problem, scope, _nothing_more, send)
                return True

        scope[REFUSED_SINCE] = refused_since
        capacity, place = state.capacity, state.place
        if capacity is None or place is None:
            await self._app(scope, receive, send)
            return
        try:
            capacity.begin(place, caller)
        except TooMany as problem:
            await self._answer(problem, scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            capacity.end(place, caller)

    async def _caller(self, authorization: str | None) -> Caller:
        if self._is_inline:
            caller = sign_in_at_once(self._houses, authorization)
            if caller is not None:
                return caller
        return await anyio.to_thread.run_sync(sign_in, self._houses, authorization)

    async def _refuse(self, problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = state_of(scope).request_id
        _log.warning("sign-in refused: %s (request %s)", problem.code, request_id)
        await self._answer(problem, scope, receive, send)

    async def _answer(self, problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
        status, code = _wire(problem, scope)
        headers = self._headers(problem)
        if isinstance(problem, Unauthenticated) and problem.code not in _SHOWN:
            problem = Unauthenticated("auth.invalid", problem.message, hint=problem.hint)
        id = await _id_of(scope, receive)
        await refuse(scope, send, status, code, problem, id=id, headers=headers)

    def _headers(self, problem: Problem) -> Headers:
        if isinstance(problem, TooMany):
            return [(b"retry-after", b"1")]
        if isinstance(problem, Unavailable | Interrupted):
            return RETRY_SOON
        if not isinstance(problem, Unauthenticated | Forbidden):
            return []
        challenge = self._challenge
        if problem.code != "auth.missing":  # RFC 6750: no error code if no token was given
            challenge += f', error="invalid_token", error_description="{problem.message}"'
        return [(b"www-authenticate", challenge.encode())]


async def _nothing_more() -> Message:
    """The body was read already."""
    return {"type": "http.disconnect"}


def _authorization(scope: Scope) -> str | None:
    given = [value for key, value in scope["headers"] if key == b"authorization"]
    if not given:
        return None
    if len(given) > 1:
        raise Unauthenticated(
            "auth.malformed", "Bearer token required", hint="send one Authorization header"
        )
    try:
        return bytes(given[0]).decode()
    except UnicodeDecodeError:
        return bytes(given[0]).decode("latin-1")


def _wire(problem: Problem, scope: Scope) -> tuple[int, int]:
    """HTTP status and JSON-RPC code; 2026-07-28 reserves the range of our old codes."""
    if isinstance(problem, Unauthenticated | Forbidden):
        status = 401 if isinstance(problem, Unauthenticated) else 403
        return status, status if is_modern(scope) else _UNAUTHORIZED
    if isinstance(problem, TooMany):
        return 429, 429 if is_modern(scope) else _TOO_MANY
    if isinstance(problem, Unavailable | Interrupted):
        return 503, INTERNAL_ERROR
    return 500, INTERNAL_ERROR


async def _id_of(scope: Scope, receive: Receive) -> int | str | None:
    """The id of the request, if it is small and soon here: no waiting for a stranger's body."""
    length = header(scope, b"content-length")
    if length is None or not length.isdigit() or not 0 < int(length[:20]) <= _ID_BODY_BYTES_MAX:
        return None
    try:
        body = await asyncio.wait_for(_whole(receive), _ID_WAIT_S_MAX)
        return msgspec.json.decode(body, type=_Numbered).id
    except (TimeoutError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message: Message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return b"".join(parts)
