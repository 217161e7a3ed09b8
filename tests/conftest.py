"""Fixtures that every test may use, and the closing report.

`postgres_url`    the superuser's address of a real PostgreSQL server, one per run of pytest
`postgres_server` the server itself
`fresh_postgres`  the address of an empty database of its own, dropped after the test
`shared_postgres` the address of one with our tables, for tests with workspaces of their own
`superusers_postgres` the superuser's address of the same database
`say`             prints a figure, also in the closing report
`seed`            what every random choice of a test comes from; it is printed
"""

from __future__ import annotations

import fcntl
import gc
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from sandbar.model import secrets as secret_slots
from sandbar.store.postgres.install import install
from tests.house.summary import HOUSE_FIGURE, write_figures
from tests.kept_postgres import end_kept_stores
from tests.postgres_server import PostgresServer, new_directory
from tests.postgres_supervisor import READY_FILE
from tests.set_up import PLACE, SetUpFailed
from tests.set_up import pytest_report_teststatus as pytest_report_teststatus  # hooks, for pytest
from tests.set_up import pytest_runtest_makereport as pytest_runtest_makereport

Say = Callable[[str], None]

# The controller of a parallel run makes the place, its workers inherit the variables.
_DIRECTORY = PLACE
_OWNER = "SANDBAR_TESTS_POSTGRES_OWNER"
_TEMPORARY = "PYTEST_DEBUG_TEMPROOT"  # pytest's own: the parent of every tmp_path
_ROOM_BYTES = 4 << 30

_ONE_SERVER_EACH = ("limits", "malformed", "seeds")
_ONE_SERVER_PER_FILE = ("edge", "mcp")
_ONE_READING = "test_figures"  # of all files, which takes a while
_WITH_NODE = ("conformance", "mcp_clients")
_AT_THE_END = ("model",)
_WAITING, _COMPUTING = ("fault",), ("codecs", "verbs")  # most of the time, each of them
_INSTALLING_S_MAX = 600
_WHERE_HASHES_COST = "test_timing"  # how long answers take is measured there

# No deadline: on two busy cores a slow example says nothing. The gate repeats what it has run.
settings.register_profile("house", deadline=None, print_blob=True)
settings.register_profile("gate", settings.get_profile("house"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "house")

# Thousands of secrets are hashed in these tests, each as dearly as it should be for a guesser.
_DEAR_HASHER, _CHEAP_HASHER = secret_slots._hasher, PasswordHasher(1, 8, 1)


def pytest_configure(config: pytest.Config) -> None:
    """Choose where files and the server will live; it starts only when a test asks for it.

    A run in the background ignores Ctrl-C, and so would every program that its tests start.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        place = _quick_place()
        os.environ.setdefault(_TEMPORARY, str(place))
        os.environ[_DIRECTORY] = str(new_directory(place))
        os.environ[_OWNER] = str(os.getpid())


def _quick_place() -> Path:
    """Memory, if there is enough of it.

    Everything still asks for its data to be synced, and a process that is killed loses as much or
    as little as on a disk; but thousands of syncs to a disk are half of the time of a whole run.
    Power cuts and full disks are played by the tests of faults, wherever the files are.
    """
    memory = Path("/dev/shm")
    is_roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= _ROOM_BYTES
    return memory if is_roomy else Path("/tmp")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a server run in one process, so that each server starts once."""
    places = _places(items)
    items.sort(key=lambda item: (_turn(item), places.get(item, 0.0)))
    for item in items:
        folder = item.path.parent.name
        if _needs_node(item) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_INSTALLING_S_MAX))
        if folder in _ONE_SERVER_EACH:
            item.add_marker(pytest.mark.xdist_group(folder))
        elif folder in _ONE_SERVER_PER_FILE or item.path.stem == _ONE_READING:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _turn(item: pytest.Item) -> int:
    """Clients from npm may still be on the way; small tests at the end keep everybody busy."""
    if item.path.parent.name in _AT_THE_END:
        return 3
    if _needs_node(item):
        return 2
    return 1 if item.path.parent.name in (*_WAITING, *_COMPUTING) else 0


def _places(items: list[pytest.Item]) -> dict[pytest.Item, float]:
    """Those who wait among those who compute: by themselves they would leave the processors idle.

    Nothing that these make for a whole module or folder has to be made anew for that.
    """
    waiting = [item for item in items if item.path.parent.name in _WAITING]
    computing = [item for item in items if item.path.parent.name in _COMPUTING]
    apart = len(computing) / max(len(waiting), 1)
    places = {item: float(n) for n, item in enumerate(computing)}
    return places | {item: (n + 0.5) * apart for n, item in enumerate(waiting)}


def _needs_node(item: pytest.Item) -> bool:
    return item.path.parent.name in _WITH_NODE or item.path.stem == "test_server_memory"


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: no need to look through them for garbage.

    Nor is there to look so often: it took an eighth of the time of all tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 25, 25)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let secrets be hashed in a moment, in this process, wherever that is not what is tested."""
    is_dear = item.path.stem == _WHERE_HASHES_COST
    secret_slots._hasher = _DEAR_HASHER if is_dear else _CHEAP_HASHER


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server at the end of the whole run, also after a failure or Ctrl-C."""
    if not hasattr(config, "workerinput") and _DIRECTORY in os.environ:
        directory = Path(os.environ.pop(_DIRECTORY))
        if (directory / READY_FILE).exists():
            PostgresServer(directory).attach().stop()
        shutil.rmtree(directory, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of the house, if they were measured, and what tests have measured."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    rows = [row for report in reports for row in _properties(report, HOUSE_FIGURE)]
    if rows:
        write_figures(terminalreporter.write_line, rows)
    for report in reports:
        _write_measured(terminalreporter, report)


def _write_measured(terminalreporter: pytest.TerminalReporter, report: object) -> None:
    """Say what a test has measured: seeds, kills, losses."""
    figures = _properties(report, "figure")
    if figures:
        name = getattr(report, "nodeid", "").removeprefix("tests/")
        terminalreporter.write_line(f"{name}: {'; '.join(figures)}")


def _properties(report: object, name: str) -> list[str]:
    if getattr(report, "when", "") != "call":
        return []
    return [text for key, text in getattr(report, "user_properties", ()) if key == name]


@pytest.fixture(scope="session")
def postgres_server() -> PostgresServer:
    """The run's PostgreSQL server; whichever worker needs it first starts it for all."""
    directory = Path(os.environ[_DIRECTORY])
    settings = {"autovacuum": "off"}  # it would tidy up after tests that are over
    server = PostgresServer(directory, owner=int(os.environ[_OWNER]), settings=settings)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (directory / READY_FILE).exists():
            return server.attach()
        try:
            return server.start()
        except RuntimeError as error:
            raise SetUpFailed("PostgreSQL", str(error)) from error


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """The superuser's address of the run's PostgreSQL server."""
    return postgres_server.url


@pytest.fixture
def fresh_postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """The superuser's address of a new, empty database (about 80 ms)."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with our tables for the tests of a worker: each has workspaces of its own."""
    url = postgres_server.create_database()
    yield install(url)
    end_kept_stores()
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def superusers_postgres(postgres_server: PostgresServer, shared_postgres: str) -> str:
    """The superuser's address of that database."""
    return postgres_server.url_of(urlsplit(shared_postgres).path.removeprefix("/"))


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Say:
    """Print a figure, also in the closing report."""

    def line(text: str) -> None:
        sys.stdout.write(text + "\n")
        record_property("figure", text)

    return line


@pytest.fixture
def seed(say: Say) -> str:
    """What every random choice of a test comes from."""
    seed = os.environ.get("SANDBAR_SEED") or secrets.token_hex(4)
    say(f"seed {seed}")
    return seed
