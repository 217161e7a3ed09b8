"""What takes more than one request or one connection: pipelines, broken-off requests, sessions."""

from __future__ import annotations

import socket

from tests.live_server import LiveServer
from tests.malformed.cases import OK, Case, Expect, request, tool_call
from tests.malformed.conftest import open_session
from tests.malformed.sending import TIMEOUT_S, Answer, Door, read_answer, request_bytes, send
from tests.malformed.verdict import complaints

NORMAL = Case("a normal call", OK, message=tool_call("sandbar.schema.datatypes", {}))
GONE = Expect(404, -32600)


def test_pipelined_requests_are_answered_in_their_order(door: Door) -> None:
    cases = [Case("", OK, message=request("no/such", id=number)) for number in range(5)]
    with socket.create_connection((door.host, door.port), TIMEOUT_S) as connection:
        connection.sendall(b"".join(request_bytes(case, "bare", door) for case in cases))
        received = b""
        while received.count(b"-32601") < len(cases):
            more = connection.recv(65536)
            assert more, "the server hung up"
            received += more
    order = [received.index(b'"id":%d' % number) for number in range(5)]
    assert order == sorted(order)


def test_nonsense_on_an_open_connection_ends_only_that_connection(door: Door) -> None:
    with socket.create_connection((door.host, door.port), TIMEOUT_S) as connection:
        connection.sendall(request_bytes(NORMAL, "bare", door))
        assert complaints(NORMAL, Expect(200), Answer(*read_answer(connection), 0.0)) == []
        connection.sendall(b"nonsense\r\n\r\n")
        assert read_answer(connection)[0] == 400
    assert complaints(NORMAL, Expect(200), send(NORMAL, "bare", door)) == []


def test_a_client_that_breaks_off_costs_nothing(door: Door) -> None:
    whole = request_bytes(NORMAL, "bare", door)
    for at in (1, 20, whole.index(b"\r\n\r\n"), len(whole) - 1, len(whole)):
        with socket.create_connection((door.host, door.port), TIMEOUT_S) as connection:
            connection.sendall(whole[:at])
    assert complaints(NORMAL, Expect(200), send(NORMAL, "bare", door)) == []


def test_idle_connections_do_not_keep_others_waiting(door: Door) -> None:
    idle = [socket.create_connection((door.host, door.port), TIMEOUT_S) for _ in range(50)]
    try:
        for connection in idle:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert complaints(NORMAL, Expect(200), send(NORMAL, "bare", door)) == []
    finally:
        for connection in idle:
            connection.close()


def test_a_session_of_another_principal_does_not_exist(server: LiveServer, door: Door) -> None:
    name, _, key = server.add_account("stranger", "writer").partition(":")
    stranger = Door(door.host, door.port, f"{name}:{key}", door.session)
    assert complaints(NORMAL, GONE, send(NORMAL, "session", stranger)) == []
    assert complaints(NORMAL, Expect(200), send(NORMAL, "session", door)) == []


def test_a_session_that_was_ended_does_not_exist(door: Door) -> None:
    opened = open_session(door)
    end = Case("end", {}, verb="DELETE")
    assert send(end, "session", opened).status == 200
    assert complaints(NORMAL, GONE, send(NORMAL, "session", opened)) == []
    assert complaints(end, GONE, send(end, "session", opened)) == []


def test_a_second_stream_of_a_session_is_refused(door: Door) -> None:
    opened = open_session(door)
    listen = Case("listen", {}, verb="GET", headers={"Accept": "text/event-stream"})
    with socket.create_connection((door.host, door.port), TIMEOUT_S) as first:
        first.sendall(request_bytes(listen, "session", opened))
        assert first.recv(12) == b"HTTP/1.1 200"
        assert complaints(listen, Expect(409), send(listen, "session", opened)) == []
