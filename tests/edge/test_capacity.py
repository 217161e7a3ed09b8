"""How connections are shared: by address, key and workspace, and who makes room for whom."""

from __future__ import annotations

from contextlib import ExitStack, suppress

import pytest

from sandbar import clock
from sandbar.access import Caller
from sandbar.edge.asgi import Receive, Scope, Send
from sandbar.edge.capacity import KNOWN_S, Capacity, Place
from sandbar.edge.proxies import Proxies, neighbourhood
from sandbar.errors import TooMany
from tests.edge.live import echo, serving
from tests.edge.raw import START, WHOLE, opened, said, told

HOME = "10.0.0.1"
CLOSING = WHOLE.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


class Crowd:
    """Connections that are open, without a network."""

    def __init__(self, connections_max: int = 80, *proxies: str) -> None:
        self.capacity = Capacity(connections_max, Proxies(proxies))
        self.closed: list[Place] = []

    def come(self, address: str = HOME, number: int = 1) -> list[Place]:
        """New connections."""
        places = [self._one(address) for _ in range(number)]
        for place in places:
            self.capacity.enter(place)
        return places

    def _one(self, address: str) -> Place:
        def close() -> None:
            self.closed.append(place)

        place = Place(address, close)
        return place

    def from_everywhere(self, number: int) -> list[Place]:
        """As many connections, each from another address."""
        return [self.come(f"172.16.{at // 250}.{at % 250}")[0] for at in range(number)]

    def serve(self, places: list[Place], key: int, workspace: int = 1) -> Caller:
        """Requests on these connections, of somebody who has signed in."""
        caller = Caller("service/one", "reader", "main", 7, key_id=key, number=workspace)
        for place in places:
            self.capacity.begin(place, caller)
        return caller


def test_no_warning_hides_another_and_each_comes_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crowd = Crowd()
    for _ in range(2):
        crowd.come(number=12)
        crowd.from_everywhere(90)
        for one in range(3):
            with suppress(TooMany):
                crowd.serve(crowd.come(f"10.1.{one}.1", 11), key=one)
        for one in range(12):
            with suppress(TooMany):
                crowd.serve(crowd.come(f"10.2.{one}.1", 9), key=100 + one, workspace=2)
    found = [record.getMessage() for record in caplog.records]
    wanted = ("10.0.0.1 holds", "81 connections are open", "a key has", "a workspace has")
    assert [sum(one.startswith(begin) for one in found) for begin in wanted] == [1] * 4
    assert len(found) == 4


def test_an_address_loses_its_own_oldest_connection() -> None:
    crowd = Crowd()
    (other,) = crowd.come("10.0.0.2")
    mine = crowd.come(number=15)
    assert crowd.closed == mine[:5]  # an eighth of 80 may stay
    assert other.is_open


def test_who_has_signed_in_does_not_count_for_an_address() -> None:
    crowd = Crowd()
    crowd.serve(crowd.come(number=10), key=1)
    crowd.come(number=10)
    assert crowd.closed == []


def test_a_full_server_closes_the_oldest_that_nobody_knows() -> None:
    crowd = Crowd()
    crowd.serve(crowd.come("10.0.0.9"), key=1)
    expected = crowd.come("10.0.0.9")
    strangers = crowd.from_everywhere(100)
    assert crowd.closed == strangers[:22]
    late = crowd.come("10.0.0.9", 5)
    assert crowd.closed == strangers[:27]
    assert all(place.is_open for place in expected + late)


def test_strangers_always_find_an_eighth() -> None:
    crowd = Crowd()
    callers = [crowd.come(f"10.1.0.{at}")[0] for at in range(80)]
    for at, place in enumerate(callers):
        crowd.capacity.end(place, crowd.serve([place], key=at))
    strangers = crowd.from_everywhere(30)
    assert crowd.closed[:10] == callers[:10]  # idle for longest
    assert crowd.closed[10:] == strangers[:20]


def test_what_is_served_is_never_closed_for_others() -> None:
    crowd = Crowd()
    busy = [crowd.come(f"10.1.0.{at}")[0] for at in range(80)]
    for at, place in enumerate(busy):
        crowd.serve([place], key=at, workspace=at)
    (late,) = crowd.come("10.2.0.1")
    (known,) = crowd.come("10.1.0.1")
    assert crowd.closed == [late, known]
    assert all(place.is_open for place in busy)


def test_a_key_has_so_many_requests_open_and_the_next_is_refused() -> None:
    crowd = Crowd()
    caller = crowd.serve(places := crowd.come(number=10), key=1)
    (more, other) = crowd.come(number=2)
    with pytest.raises(TooMany) as refused:
        crowd.serve([more], key=1)
    assert refused.value.code == "gate.requests-open"
    crowd.serve([other], key=2)
    crowd.capacity.end(places[0], caller)
    crowd.serve([more], key=1)


def test_a_key_loses_its_own_oldest_idle_connection() -> None:
    crowd = Crowd()
    (other,) = crowd.come()
    crowd.capacity.end(other, crowd.serve([other], key=2))
    places = crowd.come(number=10)
    for place in places:
        crowd.capacity.end(place, crowd.serve([place], key=1))
    crowd.serve(crowd.come(number=1), key=1)
    (one,) = crowd.come()
    crowd.capacity.end(one, crowd.serve([one], key=1))
    assert crowd.closed == places[:2]


def test_many_keys_of_one_workspace_do_not_take_all() -> None:
    crowd = Crowd()
    for key in range(6):
        crowd.serve(crowd.come(number=10), key=key)
    (place, other) = crowd.come(number=2)
    with pytest.raises(TooMany):
        crowd.serve([place], key=99)
    crowd.serve([other], key=99, workspace=2)


def test_several_greedy_workspaces_leave_something_to_the_next() -> None:
    crowd = Crowd()
    for workspace in (2, 3):
        _fill(crowd, workspace)
    crowd.serve(crowd.come(number=2), key=9, workspace=9)


def _fill(crowd: Crowd, workspace: int) -> None:
    """Take all that a workspace gets, with ten keys."""
    for key in range(100 * workspace, 100 * workspace + 10):
        for place in crowd.come(number=10):
            try:
                crowd.serve([place], key=key, workspace=workspace)
            except TooMany:
                return
    raise AssertionError("nothing was refused")


def test_an_address_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = Crowd()
    crowd.serve(crowd.come("10.0.0.9"), key=1)
    now_s = clock.monotonic_s() + KNOWN_S + 1
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s)
    (late,) = crowd.come("10.0.0.9")
    crowd.from_everywhere(80)
    assert late in crowd.closed


def test_nothing_is_kept_of_connections_that_are_gone() -> None:
    crowd = Crowd()
    for _ in range(3):
        places = crowd.come(number=10) + crowd.come("10.0.0.2", 10)
        served = crowd.serve(places[:5], key=1)
        for place in places:
            crowd.capacity.leave(place)
        for place in places[:5]:
            crowd.capacity.end(place, served)
    kept = {name: value for name, value in vars(crowd.capacity).items() if value}
    assert not {"_open", "_groups", "_serving", "_unknown", "_expected", "_idle"} & set(kept)
    crowd.from_everywhere(80)
    assert crowd.closed == []


# --- behind a proxy ------------------------------------------------------------------------------

PROXY = "10.9.9.9"


def forwarded(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", value.encode()) for value in values]


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([], PROXY),
        (["1.2.3.4"], "1.2.3.4"),
        (["6.6.6.6, 1.2.3.4"], "1.2.3.4"),  # the first one is what the client wrote itself
        (["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
        (["6.6.6.6, 1.2.3.4, 10.9.0.1"], "1.2.3.4"),  # through two of ours
        (["10.9.0.2, 10.9.0.1"], "10.9.0.2"),
        (["1.2.3.4:5678"], "1.2.3.4"),
        (["[2001:db8::1]:5678"], "2001:db8::1"),
        (["::ffff:1.2.3.4"], "1.2.3.4"),
        (["6.6.6.6, unknown"], PROXY),
        (["6.6.6.6, unknown, 10.9.0.1"], "10.9.0.1"),
        (["1.2.3.4, "], PROXY),
    ],
)
def test_the_last_hop_that_is_no_proxy_of_ours_is_the_caller(told: list[str], counts: str) -> None:
    assert Proxies(["10.9.0.0/16"]).caller(PROXY, forwarded(*told)) == counts


def test_who_is_trusted() -> None:
    proxies = Proxies(["10.9.0.0/16", "192.0.2.7", "fd00::/8"])
    assert all(map(proxies.is_trusted, [PROXY, "192.0.2.7", "fd00::1", "::ffff:10.9.0.1"]))
    assert not any(map(proxies.is_trusted, ["10.8.0.1", "192.0.2.8", "", "x", "::1"]))
    assert not Proxies().is_trusted("127.0.0.1")


def test_a_network_of_ipv6_counts_as_one_address() -> None:
    assert neighbourhood("2001:db8:0:1::1") == neighbourhood("2001:db8:0:1:ffff::2")
    assert neighbourhood("2001:db8:0:1::1") != neighbourhood("2001:db8:0:2::1")
    assert (
        neighbourhood("::ffff:10.0.0.1") == neighbourhood("10.0.0.1") != neighbourhood(HOME + "1")
    )


def test_behind_a_proxy_the_forwarded_address_counts() -> None:
    crowd = Crowd(80, PROXY)
    places = crowd.come(PROXY, 40)
    for place in places[:15]:
        crowd.capacity.ask(place, forwarded("6.6.6.6"))
    assert crowd.closed == places[:5]
    for at, place in enumerate(places[15:30]):
        crowd.capacity.ask(place, forwarded(f"7.7.7.{at}"))
    crowd.serve(places[30:], key=1)
    assert crowd.closed == places[:5]


def test_a_connection_of_a_proxy_is_free_again_after_its_answer() -> None:
    crowd = Crowd(80, PROXY)
    places = crowd.come(PROXY, 15)
    for place in places:
        crowd.capacity.ask(place, forwarded("6.6.6.6"))
        crowd.capacity.answered(place)
    assert crowd.closed == []


# --- over sockets --------------------------------------------------------------------------------


async def signed_in(scope: Scope, receive: Receive, send: Send) -> None:
    """Serves everybody as the same caller, who has signed in."""
    capacity, place = scope["state"]["capacity"], scope["state"]["place"]
    caller = Caller("service/one", "reader", "main", 7, key_id=1, number=1)
    capacity.begin(place, caller)
    try:
        await echo(scope, receive, send)
    finally:
        capacity.end(place, caller)


def test_a_connection_too_many_from_one_address_replaces_its_oldest() -> None:
    with serving(echo, capacity=Capacity(8)) as port, opened(port) as silent, opened(port) as half:
        assert said(silent).split()[1] == b"503"
        half.sendall(START)
        with opened(port) as late:
            heard = said(half)
            assert heard.split()[1] == b"503"
            assert b"gate.connections" in heard
            late.sendall(WHOLE)
            assert late.recv(4096).split()[1] == b"200"


def test_a_full_server_sends_away_who_comes_and_serves_who_is_there() -> None:
    capacity = Capacity(3)
    capacity.key_max = capacity.workspace_max = capacity.address_max = 3
    with serving(signed_in, capacity=capacity) as port, ExitStack() as stack:
        inside = [stack.enter_context(opened(port)) for _ in range(3)]
        for connection in inside:
            connection.sendall(WHOLE)
            assert connection.recv(4096).split()[1] == b"200"
            connection.sendall(WHOLE[:-1])
        for _ in range(5):
            refused = told(port, b"")
            assert refused.split()[1] == b"503"
            assert b"gate.connections" in refused
        for connection in inside:
            connection.sendall(b"}")
            assert connection.recv(4096).split()[1] == b"200"
        assert told(port, CLOSING).split()[1] == b"200"  # for one that is idle now


@pytest.mark.parametrize(
    ("proxies", "senders", "refused"),
    [
        ([], "0123", 3),  # what anybody writes does not count: all come from one address
        (["127.0.0.1"], "0123", 0),
        (["127.0.0.1"], "0000", 2),
    ],
)
def test_only_a_trusted_proxy_says_whose_request_it_is(
    proxies: list[str], senders: str, refused: int
) -> None:
    capacity = Capacity(16, Proxies(proxies))  # two of one address
    with serving(echo, capacity=capacity) as port, ExitStack() as stack:
        sent = []
        for sender in senders:
            one = stack.enter_context(opened(port))
            forwarded = f"X-Forwarded-For: 6.6.6.6, 7.7.7.{sender}\r\n".encode()
            one.sendall(START + forwarded + b"Content-Length: 2\r\n\r\n{")
            sent.append(one)
        assert told(port, CLOSING).split()[1] == b"200"
        statuses = []
        for one in sent:
            with suppress(OSError):
                one.sendall(b"}")
            statuses.append(one.recv(4096)[9:12])
    assert statuses == [b"503"] * refused + [b"200"] * (len(sent) - refused)
