"""Databases for the tests of codecs.

`schema`  the metamodel of `tests.codecs.catalog`, on SQLite: codecs need nothing else
`db`      a new workspace with these classes, SQLite and PostgreSQL in turn
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbar
from sandbar.codecs import Codecs, base_codecs
from sandbar.model import Introspection
from tests.codecs import catalog
from tests.model.conftest import Place


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Introspection]:
    """The classes of the catalog."""
    db = sandbar.open(str(tmp_path_factory.mktemp("codecs") / "schema.db"))
    catalog.define(db)
    yield db.schema
    db.close()


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sandbar.Database]:
    """A workspace with the classes of the catalog."""
    if request.param == "sqlite":
        address = str(tmp_path / "test.db")
    else:
        address = request.getfixturevalue("shared_postgres")
    place = Place(request.param, address)
    opened = place.workspace_of_tests()
    catalog.define(opened)
    yield opened
    place.close()


@pytest.fixture(scope="session")
def codecs() -> Codecs:
    """The codecs that are always there."""
    return base_codecs()
