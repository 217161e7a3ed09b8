"""Fixtures for breaking things, and the closing report of what was measured.

`zygote`          forks child processes quickly
`seed`            a new one for each test, printed; `SANDBAR_SEED` repeats a run
`say`             prints a figure: with the test's output, and in the closing report
`postgres_admin`  a fresh database with our tables, as its owner knows it
`postgres_app`    the same database, as servers know it
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator

import pytest

from sandbar.store.postgres.install import install
from tests.fault.zygote import Zygote

Say = Callable[[str], None]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One for all tests of a worker."""
    with Zygote() as zygote:
        yield zygote


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Say:
    """Print a figure."""

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


@pytest.fixture
def postgres_admin(fresh_postgres: str) -> str:
    """The owner's address of a database with our tables."""
    install(fresh_postgres)
    return fresh_postgres


@pytest.fixture
def postgres_app(postgres_admin: str) -> str:
    """The servers' address of the same database."""
    return install(postgres_admin)
