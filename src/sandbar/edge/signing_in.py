"""Who is asking: from a key to a caller, and what HTTP wants beside a refusal."""

from __future__ import annotations

import anyio.to_thread

from sandbar.access import Caller, Houses, sign_in, sign_in_at_once
from sandbar.edge.asgi import Headers
from sandbar.errors import Forbidden, Problem, TooMany, Unauthenticated

# What tells an attacker nothing; of everything else only the log has the reason.
_SHOWN = frozenset({"auth.missing", "auth.malformed"})


class Authenticator:
    """Asks every request who it is from.

    `is_inline` says that the database answers in microseconds, as SQLite does: then a token that is
    known is checked on the event loop, and only a chosen key that is new goes to a thread.
    """

    def __init__(self, houses: Houses, *, is_inline: bool, realm: str = "sandbar-mcp") -> None:
        self._houses = houses
        self._is_inline = is_inline
        self._challenge = f'Bearer realm="{realm}"'

    def at_once(self, key: str | None) -> Caller | None:
        """Whose key this is, if that can be told in microseconds; None: ask `caller`."""
        return sign_in_at_once(self._houses, key) if self._is_inline else None

    async def caller(self, key: str | None) -> Caller:
        """Whose key this is."""
        caller = self.at_once(key)
        if caller is not None:
            return caller
        return await anyio.to_thread.run_sync(sign_in, self._houses, key)

    def headers(self, problem: Problem) -> Headers:
        """What HTTP wants to be said beside a refusal."""
        if isinstance(problem, TooMany):
            return [(b"retry-after", b"1")]
        if not isinstance(problem, Unauthenticated | Forbidden):
            return []
        challenge = self._challenge
        if problem.code != "auth.missing":  # RFC 6750: no error code if no token was given
            challenge += f', error="invalid_token", error_description="{problem.message}"'
        return [(b"www-authenticate", challenge.encode())]


def shown(problem: Problem) -> Problem:
    """A refusal as strangers see it: what is wrong with a key only the log is told."""
    if isinstance(problem, Unauthenticated) and problem.code not in _SHOWN:
        return Unauthenticated("auth.invalid", problem.message, hint=problem.hint)
    return problem
