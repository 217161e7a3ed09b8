"""The course of the contest: everybody in turn, round by round, from one thread and from more."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.population import Say
from bench.settings import Settings
from bench.workflow.entrants import Contestant, ContestantError, Entrant, line_up
from bench.workflow.messages import STEPS, Counted
from bench.workflow.outcome import THREADS, Outcome, Round, Traffic
from bench.workflow.traffic import counted
from tests.postgres_server import PostgresServer


def contest(settings: Settings, folder: Path, say: Say) -> Outcome:
    """Measure everybody. While one works, the others wait; PostgreSQL is one server for all."""
    with PostgresServer() as server, ExitStack() as stack:
        say("preparing the databases")
        field = line_up(server, folder)
        outcome = Outcome(field)
        for each in field.entrants:
            if each.second:
                say(f"counting the round trips of {each.what}")
                outcome.traffic[each.key] = _traffic(each, settings.workflow_seconds)
        running = {}
        for each in field.entrants:
            say(f"starting {each.what}")
            running[each.key] = Contestant(each.what, each.command(each.target))
            stack.callback(running[each.key].end)
        _all_rounds(outcome, running, settings, server, say)
        for each in field.entrants:
            check(each, running[each.key].count(), outcome.run_by[each.key])
    return outcome


def _all_rounds(
    outcome: Outcome,
    running: dict[str, Contestant],
    settings: Settings,
    server: PostgresServer,
    say: Say,
) -> None:
    """The first round warms up and does not count; every second one goes the other way round."""
    entrants = outcome.field.entrants
    for number in range(settings.workflow_rounds + 1):
        for threads in THREADS:
            for each in entrants if number % 2 else reversed(entrants):
                say(f"round {number}, {threads} threads: {each.what}")
                before = _cpu_seconds(server)
                driven = running[each.key].drive(threads, settings.workflow_seconds)
                used = driven.cpu_seconds + _cpu_seconds(server) - before
                one = Round(driven.seconds, driven.latencies, used)
                outcome.note(each, threads, one, counts=number > 0)


def _traffic(each: Entrant, seconds: float) -> Traffic:
    """What goes over the wire for a process, once everything is prepared and warm."""
    with counted(each.second) as (url, counter):
        contestant = Contestant(each.what, each.command(url))
        try:
            contestant.drive(1, seconds)
            trips, statements = counter.trips, counter.statements
            steps = STEPS * len(contestant.drive(1, seconds).latencies)
            return Traffic(
                (counter.trips - trips) / steps, (counter.statements - statements) / steps
            )
        finally:
            contestant.end()


def _cpu_seconds(server: PostgresServer) -> float:
    """The processor time that PostgreSQL has used."""
    files = [Path(f"/proc/{pid}/schedstat") for pid in server.pids()]
    return sum(int(file.read_text().split()[0]) for file in files if file.exists()) / 1e9


def check(each: Entrant, found: Counted, processes: int) -> None:
    """Every process that was counted has ended in the database, with all of its steps."""
    expected = Counted(processes, processes * STEPS)
    if found != expected:
        raise ContestantError(f"{each.what}: {expected} were driven, {found} are recorded")
