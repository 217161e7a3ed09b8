"""The course of the contest: everybody in turn, round by round, at every number of connections."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from bench.population import Say
from bench.settings import Settings
from bench.wire import data
from bench.wire.answers import WrongAnswerError
from bench.wire.entrants import READS, WRITES, WRITES_BESIDE, Entrant, Field, line_up
from bench.wire.load import Round, open_session, run_round
from bench.wire.outcome import CONNECTIONS, Outcome
from bench.wire.requests import SESSION
from bench.wire.servers import seconds_of_help


def contest(settings: Settings, folder: Path, say: Say) -> Outcome:
    """Measure everybody. Servers share one core and the load has the other."""
    say("preparing the databases")
    field = line_up(folder)
    with _cores() as server_cores, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        try:
            for number in range(settings.wire_starts):
                for server in field.servers:
                    server.end()
                    say(f"starting {server.what} ({number + 1} of {settings.wire_starts})")
                    loop.run(server.start(server_cores))
            outcome = loop.run(_all_rounds(field, settings, say))
            for server in field.servers:
                outcome.resident_mb[server.key] = server.resident_mb()
        finally:
            for server in field.servers:
                server.end()
    for server in field.servers:
        outcome.starts[server.key] = server.starts
    outcome.help_seconds = [seconds_of_help() for _ in range(2 * settings.wire_starts + 1)]
    for key, path in field.databases.items():
        check_what_was_written(key, path, outcome.answered[key])
    return outcome


async def _all_rounds(field: Field, settings: Settings, say: Say) -> Outcome:
    """The first round warms up and does not count; every second one goes the other way round."""
    outcome = Outcome(field)
    sessions = {
        each.key: [await open_session(each.server.port, each.token) for _ in range(CONNECTIONS[-1])]
        for each in field.entrants
        if each.road == SESSION
    }
    for number in range(settings.wire_rounds + 1):
        is_warm = number > 0
        seconds = settings.wire_seconds if is_warm else settings.wire_seconds / 4
        for connections in CONNECTIONS:
            for each in field.entrants if number % 2 else reversed(field.entrants):
                say(f"round {number}, {connections} connections: {each.what}")
                one = await _one_round(each, connections, seconds, sessions.get(each.key, []))
                outcome.note(each, connections, one, counts=is_warm)
    return outcome


async def _one_round(
    each: Entrant, connections: int, seconds: float, sessions: list[bytes]
) -> Round:
    try:
        before = each.server.cpu_seconds()
        one = await run_round(each.server.port, each.calls, connections, seconds, sessions)
        return one._replace(server_cpu_seconds=each.server.cpu_seconds() - before)
    except (WrongAnswerError, OSError, TimeoutError) as error:
        raise WrongAnswerError(f"{each.what}, {connections} connections: {error!r}") from error


def check_what_was_written(key: str, path: Path, calls: int) -> None:
    """Every create that was answered is in the file, and nothing besides; so are rows of audit."""
    created = calls if key in (WRITES, WRITES_BESIDE) else 0
    expected, found = data.ITEMS + created, data.count_items(path)
    if found != expected:
        raise WrongAnswerError(f"{expected} items were created, {found} are in the file of {key}")
    rows, is_recorded = data.count_rows(path), key in (READS, WRITES)
    if rows < calls if is_recorded else rows > 0:
        raise WrongAnswerError(f"{calls} calls have left {rows} rows of audit at {key}")


@contextmanager
def _cores() -> Iterator[set[int]]:
    """The core for the servers; the load keeps to another one, if there is any."""
    own = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {own[-1]})
    try:
        yield {own[0]}
    finally:
        os.sched_setaffinity(0, set(own))
