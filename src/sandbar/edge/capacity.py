"""How the server's connections are shared, so that no address, key or workspace takes them all.

A connection is in one of four states:

    unknown    nobody has signed in on it, nor lately from its address
    expected   nobody has signed in on it yet, but lately somebody did from its address
    serving    a request of a caller who has signed in
    idle       it served such a request, and waits for the next

What serves is never closed for others, so it is bounded by key and by workspace. The others wait in
queues: a connection too many closes the one that has waited longest, among those of its own address
or key if these have too many, else of all. Each step takes the same time, however many there are.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable

from sandbar import clock
from sandbar.access import Caller
from sandbar.edge.proxies import Proxies, neighbourhood
from sandbar.errors import TooMany

CONNECTIONS_MAX = 2_000
KNOWN_S = 3_600.0  # for which an address is known after somebody has signed in from it
_KNOWN_MAX = 4_096
_TELL_EVERY_S = 60.0

_log = logging.getLogger("sandbar.edge")

_Queue = OrderedDict["Place", None]


class Place:
    """One connection among all."""

    __slots__ = ("address", "close", "group", "is_open", "is_proxied", "peer", "queue", "serving")

    def __init__(self, peer: str, close: Callable[[], None]) -> None:
        self.peer = peer
        self.address = neighbourhood(peer)  # behind a proxy: of the last request
        self.close = close
        self.is_open = True
        self.is_proxied = False
        self.serving = 0  # more than one for a moment, where requests follow each other closely
        self.queue: _Queue | None = None
        self.group: Hashable = None  # the address or the key that it counts for while it waits


class Capacity:
    """All connections of a server."""

    def __init__(
        self, connections_max: int = CONNECTIONS_MAX, proxies: Proxies | None = None
    ) -> None:
        self.connections_max = connections_max
        self.address_max = self.key_max = max(1, connections_max // 8)
        self.workspace_max = max(1, connections_max * 3 // 4)
        self._unknown_min = connections_max // 8  # more than these are closed before all others
        self._proxies = proxies or Proxies()
        self._open = 0
        self._requests = 0  # that are being served
        self._unknown, self._expected, self._idle = _Queue(), _Queue(), _Queue()
        self._groups: dict[Hashable, _Queue] = {}
        self._serving: dict[Hashable, int] = {}
        self._known: OrderedDict[str, float] = OrderedDict()  # address: when somebody signed in
        self._told_s: dict[str, float] = {}  # by message, so that none hides another

    # --- connections -----------------------------------------------------------------------------

    def enter(self, place: Place) -> None:
        """Let a connection in; another is closed for it if need be, or it is itself."""
        self._open += 1
        place.is_proxied = self._proxies.is_trusted(place.peer)
        if place.is_proxied:
            self._wait(place, self._expected, None)
        else:
            is_known = self._is_known(place.address)
            self._wait(place, self._expected if is_known else self._unknown, place.address)
            self._bound(place.address, self.address_max)
        if self._open > self.connections_max:
            self._tell("%d connections are open: those that wait longest are closed", self._open)
            self._close_one()

    def leave(self, place: Place) -> None:
        """Forget a connection."""
        if place.is_open:
            place.is_open = False
            self._open -= 1
            self._wait(place, None, None)

    # --- requests --------------------------------------------------------------------------------

    def ask(self, place: Place, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """A proxy passes on a request: until its caller has signed in, their address counts."""
        place.address = neighbourhood(self._proxies.caller(place.peer, headers))
        if not place.serving:
            self._wait(place, place.queue, place.address)
            self._bound(place.address, self.address_max)

    def answered(self, place: Place) -> None:
        """A proxy's connection is free for a request of anybody else."""
        if not place.serving:
            self._wait(place, place.queue, None)

    def begin(self, place: Place, caller: Caller) -> None:
        """Serve a caller who has signed in, unless their key or workspace has too much open."""
        key = _key(caller)
        self._refuse_too_many(key, self.key_max, "key")
        self._refuse_too_many(caller.number, self._share_of_workspace(), "workspace")
        for one in (key, caller.number):
            self._serving[one] = self._serving.get(one, 0) + 1
        self._requests += 1
        place.serving += 1
        self._wait(place, None, None)
        self._bound(key, self.key_max - self._serving[key])
        self._know(place.address)

    def end(self, place: Place, caller: Caller) -> None:
        """The request has ended."""
        key = _key(caller)
        for one in (key, caller.number):
            self._serving[one] -= 1
            if not self._serving[one]:
                del self._serving[one]
        self._requests -= 1
        place.serving -= 1
        if not place.serving and place.is_open:
            self._wait(place, self._idle, None if place.is_proxied else key)
            self._bound(key, self.key_max - self._serving.get(key, 0))

    def _share_of_workspace(self) -> int:
        """Three times what is free: so however many take theirs, something is left for the next."""
        free = self.connections_max - self._requests
        return max(1, min(self.workspace_max, 3 * free))

    # --- queues ----------------------------------------------------------------------------------

    def _wait(self, place: Place, queue: _Queue | None, group: Hashable) -> None:
        """Put a connection at the end of a queue and of a group, and take it from where it was."""
        if place.queue is not None:
            del place.queue[place]
        if place.group is not None:
            members = self._groups[place.group]
            del members[place]
            if not members:
                del self._groups[place.group]
        place.queue, place.group = queue, group
        if queue is not None:
            queue[place] = None
        if group is not None:
            self._groups.setdefault(group, _Queue())[place] = None

    def _bound(self, group: Hashable, most: int) -> None:
        members = self._groups.get(group, ())
        if len(members) > most:
            if isinstance(group, str):
                self._tell("%s holds %d connections without signing in", group, most)
            self._close(next(iter(members)))

    def _close_one(self) -> None:
        known = max(self._idle, self._expected, key=len)
        is_unknown = len(self._unknown) > self._unknown_min or len(self._unknown) >= len(known)
        self._close(next(iter(self._unknown if is_unknown else known)))

    def _close(self, place: Place) -> None:
        self.leave(place)
        place.close()

    def _refuse_too_many(self, group: Hashable, most: int, what: str) -> None:
        if self._serving.get(group, 0) >= most:
            self._tell(f"a {what} has %d requests and streams open; more are refused", most)
            raise TooMany(
                "gate.requests-open",
                f"this {what} has {most} requests and streams open, and may not have more",
                hint="wait for answers, or close streams that nobody reads",
            )

    # --- addresses -------------------------------------------------------------------------------

    def _know(self, address: str) -> None:
        self._known[address] = clock.monotonic_s()
        self._known.move_to_end(address)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)

    def _is_known(self, address: str) -> bool:
        at_s = self._known.get(address)
        return at_s is not None and clock.monotonic_s() - at_s < KNOWN_S

    def _tell(self, words: str, *figures: object) -> None:
        now_s = clock.monotonic_s()
        if now_s - self._told_s.get(words, float("-inf")) >= _TELL_EVERY_S:
            self._told_s[words] = now_s
            _log.warning(words, *figures)


def _key(caller: Caller) -> Hashable:
    """What a caller signs in with: a key, or an account that has one of its own."""
    return caller.number, caller.account_id if caller.key_id is None else caller.key_id
