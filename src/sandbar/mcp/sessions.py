"""Which sessions live, and whose they are: the SDK keeps that to itself."""

from __future__ import annotations

from sandbar import clock
from sandbar.access import Caller

# The SDK ends a session that it has not heard of for half an hour: let it hear now and then.
_SHOWN_EVERY_S = 60.0


class Session:
    """A session that has shaken hands."""

    __slots__ = ("caller", "shown_s", "version")

    def __init__(self, caller: Caller, version: str) -> None:
        self.caller = caller
        self.version = version
        self.shown_s = clock.monotonic_s()


class Sessions:
    """The living sessions by their ids."""

    def __init__(self) -> None:
        self._living: dict[str, Session] = {}

    def begin(self, id: str, session: Session) -> None:
        """A session is ready."""
        self._living[id] = session

    def end(self, id: str) -> None:
        """It is over."""
        self._living.pop(id, None)

    def use(self, id: str, caller: Caller) -> Session | None:
        """The session, if it is this caller's, and if the SDK need not hear of this request."""
        session = self._living.get(id)
        if session is None or session.caller != caller:
            return None
        now = clock.monotonic_s()
        if now - session.shown_s > _SHOWN_EVERY_S:
            session.shown_s = now
            return None
        return session
