"""A workspace imports its own export, however many definitions it has."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import sandbar
from sandbar.access import Role
from sandbar.database import open_database
from sandbar.model import Create, SchemaBounds
from tests.projects.conftest import Place, tree

FEW = SchemaBounds(definitions_at_once=20)
New = Callable[[SchemaBounds], Place]


@pytest.fixture(params=["sqlite", "postgres"])
def new(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[New]:
    """Makes workspaces with bounds of their own."""
    opened: list[sandbar.Database] = []

    def made(bounds: SchemaBounds) -> Place:
        name = str(uuid4())
        if request.param == "postgres":
            address, workspace = request.getfixturevalue("shared_postgres"), f"test-{name}"
        else:
            address, workspace = str(tmp_path_factory.mktemp("databases") / "it.db"), "main"
        opened.append(open_database(address, workspace, bounds=bounds))
        return Place(opened[-1])

    yield made
    for db in opened:
        db.close()


def knotted(count: int, seed: str) -> dict[str, Any]:
    """Definitions that refer to each other all over, in one large circle."""
    chance = random.Random(seed)
    properties: dict[str, Any] = {}
    classes: dict[str, Any] = {}
    names = list(range(count))
    chance.shuffle(names)
    for at, n in enumerate(names):
        near = names[(at + 1) % count]
        properties[f"p/to-{n}"] = {"dt/range": f"c/C{near}"}
        properties[f"p/name-{n}"] = {"dt/range": "db.type/string", "db/doc": "Its name."}
        classes[f"c/C{n}"] = {
            "dt/slots": [f"p/to-{n}", f"p/name-{n}"],
            "dt/validator": f"!('p/name-{n}' in this) || this['p/name-{n}'] != 'evil'",
            "dt/subclass-of": [f"c/C{names[at - 1]}" if at % 10 else "dt/Ref"],
        }
    properties[f"p/from-{names[0]}"] = {
        "dt/range": f"c/C{names[0]}",
        "dt/inverse-of": f"p/to-{names[0]}",
        "db/cardinality": "many",
    }
    return {"properties": properties, "classes": classes}


@pytest.mark.parametrize("role", ["admin", "writer"])
@pytest.mark.parametrize("mode", ["per-file", "atomic"])
def test_more_definitions_than_a_call_takes_are_imported(
    new: New, tmp_path: Path, seed: str, role: Role, mode: str
) -> None:
    origin, copy = new(SchemaBounds()), new(FEW)
    origin.db.define(**knotted(40, seed))
    origin.db.create("c/C3", {"db/ident": "x/one", "p/name-3": "one"})
    origin.export(tmp_path / "a")
    planned = copy.plan(tmp_path / "a", role=role)
    assert planned.counts == {"create": 122}, planned.findings
    before = copy.db.t
    applied = copy.apply(tmp_path / "a", role=role, mode=mode)
    assert applied.counts == planned.counts
    assert copy.db.t - before <= 2  # the definitions are one transaction still
    copy.export(tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert copy.apply(tmp_path / "a", role=role).counts == {"unchanged": 122}


def test_among_many_definitions_only_the_guilty_are_refused(
    new: New, tmp_path: Path, seed: str
) -> None:
    origin, copy = new(SchemaBounds()), new(FEW)
    texts = {f"p/t{n}": {"dt/range": "db.type/string"} for n in range(70)}
    origin.db.define(properties=texts)
    origin.export(tmp_path)
    for n in (7, 33, 69):
        file = tmp_path / f"dt/Property/p/t{n}.json"
        file.write_text(file.read_text().replace("db.type/string", "no/such-class"))
    applied = copy.apply(tmp_path)
    assert applied.counts == {"create": 67, "refused": 3}
    assert {one.path for one in applied.findings} == {
        f"dt/Property/p/t{n}.json" for n in (7, 33, 69)
    }


def test_classes_of_new_classes_are_imported_in_parts_too(new: New, tmp_path: Path) -> None:
    origin, copy = new(SchemaBounds()), new(FEW)
    texts = {f"q/p{n}": {"dt/range": "db.type/string"} for n in range(30)}
    code = {"dt/range": "db.type/string", "dt/required?": True}
    kind = {"dt/subclass-of": ["dt/Class"], "dt/slots": ["m/code"]}
    origin.db.define(properties={"m/code": code, **texts}, classes={"m/Kind": kind})
    above = ["dt/Ref", *(f"k/K{n // 2}" for n in range(29))]
    origin.db.transact(
        [
            Create(
                class_="m/Kind",
                slots={
                    "db/ident": f"k/K{n}",
                    "m/code": "x",
                    "dt/subclass-of": [above[n]],
                    "dt/slots": [f"q/p{n}"],
                },
            )
            for n in range(30)
        ]
    )
    origin.export(tmp_path / "a")
    assert copy.apply(tmp_path / "a").counts == {"create": 62}
    copy.export(tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


@pytest.mark.long
def test_eight_thousand_classes_are_imported(new: New, tmp_path: Path) -> None:
    origin, copy = new(SchemaBounds()), new(SchemaBounds())
    for part in range(2):
        origin.db.define(classes={f"c/C{part}x{n}": {"db/doc": "d"} for n in range(4_000)})
    origin.export(tmp_path)
    assert copy.apply(tmp_path).counts == {"create": 8_000}
