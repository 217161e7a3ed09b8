"""A preview says what the write says, of a series of transactions, too; and it writes nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from sandbar import Conflict, Database, Interrupted, Problem
from sandbar.model import Introspection, Preview, impact
from sandbar.model.unwritten import Unwritten
from sandbar.patience import Patience, limited
from tests.conftest import Say
from tests.model.conftest import Place
from tests.model.shop import problem_of

Operation = dict[str, Any]
Patch = Callable[[pytest.MonkeyPatch], None]

SERIES = 80
PEOPLE = 12
SLOTS = ["x/name", "x/rank", "x/tags", "x/friend", "x/parts", "x/code"]


def define(db: Database) -> None:
    """Two classes, one below the other, with slots of many kinds."""
    db.define(
        properties={
            "x/name": {"dt/range": "db.type/string", "db/unique": "identity"},
            "x/rank": {"dt/range": "db.type/long"},
            "x/tags": {"dt/range": "db.type/string", "db/cardinality": "many"},
            "x/friend": {"dt/range": "x/A"},
            "x/parts": {"dt/range": "x/A", "db/cardinality": "many", "dt/component?": True},
            "x/code": {"dt/range": "db.type/string", "dt/indexed?": True},
        },
        classes={
            "x/A": {"dt/slots": SLOTS[:4]},
            "x/B": {"dt/subclass-of": ["x/A"], "dt/slots": SLOTS[4:]},
        },
    )
    for n in range(PEOPLE):
        slots = {"db/ident": f"who/{n}", "x/rank": n, "x/tags": ["a"], "x/name": f"name {n}"}
        db.create("x/B" if n % 2 else "x/A", slots)


# --- operations by chance --------------------------------------------------------------------


class Chance:
    """Operations that mostly mean something."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def who(self) -> Any:
        n = self.random.randrange(PEOPLE + 2)
        return self.random.choice([f"who/{n}", {"x/name": f"name {n}"}, f"who/{n}"])

    def value(self, slot: str) -> Any:
        random = self.random
        values: dict[str, Callable[[], Any]] = {
            "x/name": lambda: f"name {random.randrange(9 * PEOPLE)}",
            "x/rank": lambda: random.randrange(20),
            "x/tags": lambda: random.sample(["a", "b", "c"], random.randrange(1, 3)),
            "x/friend": self.who,
            "x/parts": lambda: [self.who()],
            "x/code": lambda: random.choice("pqr"),
        }
        return random.choice([5, None, "", [7]]) if random.random() < 0.05 else values[slot]()

    def slots(self, names: list[str]) -> dict[str, Any]:
        some = self.random.sample(names, self.random.randrange(1, 3))
        return {name: self.value(name) for name in some}

    def create(self) -> Operation:
        cls, random = self.random.choice(["x/A", "x/B"]), self.random
        slots = self.slots(SLOTS[:4] if cls == "x/A" else SLOTS)
        if random.random() < 0.5:
            slots["db/ident"] = f"who/{random.randrange(3 * PEOPLE)}"
        return {"op": "create", "class": cls, "slots": slots}

    def beginning(self) -> Operation:
        """What is nearly always possible, for the rest to build upon."""
        return {"op": "create", "class": self.random.choice(["x/A", "x/B"]), "slots": {}}

    def update(self) -> Operation:
        how = self.random.choice(["set", "set", "add", "remove"])
        slots = {"x/tags": ["a", "z"]} if how != "set" else self.slots(SLOTS)
        is_careful = self.random.random() < 0.1
        more = {"expect": self.random.randrange(3, 20)} if is_careful else {}
        return {"op": "update", "entity": self.who(), how: slots, **more}

    def delete(self) -> Operation:
        mode = self.random.choice(["refuse", "cascade", "detach"])
        return {"op": "delete", "entity": self.who(), "mode": mode}

    def restore(self) -> Operation:
        operation = {"op": "restore", "entity": self.who()}
        is_far = self.random.random() < 0.3
        return operation | ({"to": self.random.randrange(2, 16)} if is_far else {})

    def migrate(self) -> Operation:
        step: Operation = self.random.choice(
            [
                {"fill": {"x/rank": 7}},
                {"clear": ["x/code"]},
                {"rename": {"x/code": "x/tags"}},
                {"clear": ["x/rank"], "fill": {"x/tags": ["m"]}},
            ]
        )
        return {"op": "migrate", "class": self.random.choice(["x/A", "x/B"]), **step}

    def definition(self) -> Operation:
        random = self.random
        entity, change = random.choice(
            [
                ("x/rank", {"dt/max": random.randrange(5, 25)}),
                ("x/rank", {"dt/range": random.choice(["db.type/double", "db.type/string"])}),
                ("x/rank", {"dt/required?": random.random() < 0.5}),
                ("x/code", {"db/cardinality": random.choice(["one", "many"])}),
                ("x/code", {"db/unique": random.choice(["value", None])}),
                ("x/code", {"dt/indexed?": random.random() < 0.5}),
                ("x/tags", {"db/cardinality": random.choice(["one", "many"])}),
                ("x/tags", {"dt/pattern": random.choice(["^[a-z]$", "^a$", None])}),
                ("x/friend", {"dt/range": random.choice(["x/A", "x/B"])}),
                ("x/name", {"db/ident": random.choice(["x/name", "x/title"])}),
                ("x/A", {"dt/abstract?": random.random() < 0.3}),
                ("x/A", {"dt/validator": random.choice(['this["x/rank"] < 15', None])}),
                ("x/B", {"dt/slots": random.sample(SLOTS[4:], random.randrange(3))}),
                ("x/B", {"dt/subclass-of": random.choice([["x/A"], ["dt/Ref"]])}),
            ]
        )
        return {"op": "update", "entity": entity, "set": change}

    def transaction(self) -> list[Operation]:
        makers = [*[self.create] * 4, *[self.update] * 3, *[self.migrate] * 3]
        makers += [self.delete, self.restore, self.definition, self.definition]
        return [self.random.choice(makers)() for _ in range(self.random.choice([1, 1, 1, 2, 3]))]


# --- what is said ----------------------------------------------------------------------------


def told(call: Callable[[], Any]) -> str:
    """An answer, or all that a refusal says."""
    try:
        return repr(call())
    except Problem as problem:
        return said_by(problem)


def said_by(problem: Problem) -> str:
    said = [problem.code, problem.message, problem.hint, problem.data]
    return json.dumps(said, default=str, sort_keys=True)


def foreseen(preview: Preview, operations: list[Operation]) -> list[str]:
    """What a preview says of a transaction, twice; then it goes on from there."""

    def look() -> Any:
        found = preview.foresee(operations)
        return found.outcomes, found.changed, names_of(found.schema)

    return [told(look), told(lambda: (preview.transact(operations), names_of(preview.schema)))]


def written(db: Database, operations: list[Operation]) -> list[str]:
    """What the write says."""

    before = db.t
    try:
        done = db.workspace.transact(operations, principal="local")
    except Problem as problem:
        return [said_by(problem)] * 2
    changed = [id for entry in db.workspace.changes(since=before) for id in entry.entity_ids]
    names = names_of(db.workspace.schema())
    return [repr((done.outcomes, changed, names)), repr((done.outcomes, names))]


def names_of(schema: Introspection) -> Any:
    return schema.classes(), schema.properties()


def disagreements(db: Database, seed: str) -> list[str]:
    """Where a preview of a series of transactions says something else than writing them."""
    chance, apart = Chance(Random(seed)), []
    for _ in range(SERIES):
        series = [[chance.beginning()]]
        series += [chance.transaction() for _ in range(chance.random.randrange(4))]
        before, preview = db.t, db.workspace.preview()
        said = [foreseen(preview, operations) for operations in series]
        assert db.t == before
        for operations, beforehand in zip(series, said, strict=True):
            afterwards = written(db, operations)
            if afterwards != beforehand:
                apart.append(f"{operations}\n  {beforehand}\n  {afterwards}")
    return apart


@pytest.fixture
def by_the_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No write has anything checked before: that would be the preview itself."""
    monkeypatch.setattr("sandbar.model.writes.defines", lambda *_: False)


@pytest.mark.usefixtures("by_the_writer")
def test_a_preview_says_what_the_write_says(db: Database, seed: str, say: Say) -> None:
    define(db)
    apart = disagreements(db, seed)
    say(f"{db.t} transactions of {4 * SERIES} at most were possible")
    assert not apart, "\n".join(apart[:3])
    assert db.t > SERIES / 3  # enough of them were possible


def _without_instances(patch: pytest.MonkeyPatch) -> None:
    def careless(*asked: Any, is_kept: bool) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            if not is_kept:  # what is broken and kept breaks the rest
                inside.setattr("sandbar.model.impact.report_on", lambda *_: None)
            return impact.conclude(*asked, is_kept=is_kept)

    patch.setattr("sandbar.model.preview.conclude", careless)


def _without_what_comes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Unwritten, "_come", lambda *_: iter(()))


def _without_memory(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Unwritten, "keep", lambda self: None)


@pytest.mark.usefixtures("by_the_writer")
@pytest.mark.parametrize("spoil", [_without_instances, _without_what_comes, _without_memory])
def test_a_careless_preview_is_found_out(
    db: Database, spoil: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(db)
    spoil(monkeypatch)
    assert any(disagreements(db, f"careless {turn}") for turn in range(3))


# --- what it is for --------------------------------------------------------------------------


@pytest.fixture
def people(db: Database) -> Database:
    define(db)
    return db


def test_it_tells_what_a_definition_would_break_as_the_write_does(
    people: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = [{"op": "update", "entity": "x/rank", "set": {"dt/max": 3}}]
    beforehand = problem_of(lambda: people.workspace.preview().foresee(change))
    monkeypatch.setattr("sandbar.model.writes.defines", lambda *_: False)
    problem = problem_of(lambda: people.transact(change))
    assert beforehand.code == problem.code == "schema.would-break"
    assert beforehand.data == problem.data
    assert problem.data["broken"] == PEOPLE - 4


def test_it_tells_whom_a_deletion_takes_along(people: Database) -> None:
    target = people.get("who/0").entity_id
    part = people.create("x/A", {"db/ident": "who/part"}).entity_id
    owner = people.update("who/1", {"x/friend": "who/0", "x/parts": [part]}).entity_id

    def foreseen(entity: str, mode: str) -> tuple[list[int], list[int]]:
        delete = {"op": "delete", "entity": entity, "mode": mode}
        found = people.workspace.preview().foresee([delete])
        return found.outcomes[0].deleted, found.changed

    assert foreseen("who/1", "refuse") == ([owner, part], [owner, part])
    assert foreseen("who/0", "cascade") == ([target, owner, part], [target, owner, part])
    assert foreseen("who/0", "detach") == ([target], [target, owner])
    with pytest.raises(Conflict) as refusal:
        foreseen("who/0", "refuse")
    assert refusal.value.data["referrers"] == [{"entity-id": owner, "slot": "x/friend"}]
    assert people.get("who/0").entity_id == target


def test_one_transaction_builds_upon_another(people: Database) -> None:
    preview = people.workspace.preview()
    preview.transact(
        [
            {"op": "create", "class": "dt/Property", "slots": color("db.type/string")},
            {"op": "update", "entity": "x/A", "add": {"dt/slots": ["x/color"]}},
        ]
    )
    create = {"op": "create", "class": "x/A", "slots": {"x/color": "red", "db/ident": "who/red"}}
    first = preview.transact([create])[0]
    assert preview.findings([create | {"slots": {"x/color": 5}}])[0]["code"] == "value.type"
    assert preview.foresee([{"op": "delete", "entity": "who/red"}]).changed == [first.entity_id]
    assert preview.transact([create])[0].created is False
    assert "x/color" in preview.schema.properties()
    assert "x/color" not in people.schema.properties()
    assert people.workspace.preview().findings([create])[0]["code"] == "slot.unknown"


def color(range: str) -> dict[str, Any]:
    return {"db/ident": "x/color", "dt/range": range}


def test_calls_of_one_transaction_are_judged_together(people: Database) -> None:
    preview = people.workspace.preview()
    stricter = {"op": "update", "entity": "x/rank", "set": {"dt/max": 20}}
    repair = {"op": "migrate", "class": "x/A", "clear": ["x/rank"], "fill": {"x/rank": 21}}
    with pytest.raises(Conflict), preview.transaction() as call:
        call([{"op": "update", "entity": "x/rank", "set": {"dt/max": 5}}])
    with preview.transaction() as call:
        call([stricter])
        assert problem_of(lambda: call([repair])).code == "value.out-of-bounds"
    assert preview.schema.describe_property("x/rank")["max"] == 20


def test_secrets_and_migrations_go_together(people: Database) -> None:
    """A scan looks at what was planned before it, secrets included."""
    people.define(
        properties={"x/key": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"x/A": {"dt/slots": [*SLOTS[:4], "x/key"]}},
    )
    operations = [
        {"op": "update", "entity": "who/1", "set": {"x/key": "a-secret"}},
        {"op": "migrate", "class": "x/A", "clear": ["x/key"]},
    ]
    changed = people.workspace.preview().foresee(operations).changed
    people.transact(operations)
    assert changed == [people.get("who/1").entity_id]


def test_it_asks_neither_the_writer_nor_its_lock(people: Database) -> None:
    """It is answered while a write holds everybody else up."""
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        people.create("x/A", {})
        is_held.set()
        assert may_go.wait(30)

    holding = threading.Thread(target=lambda: people.run(hold))
    holding.start()
    try:
        assert is_held.wait(30)
        change = [{"op": "update", "entity": "x/rank", "set": {"dt/max": 3}}]
        assert people.workspace.preview().findings(change)[0]["code"] == "schema.would-break"
    finally:
        may_go.set()
        holding.join()


def test_it_ends_with_its_callers_patience(people: Database) -> None:
    change = [{"op": "update", "entity": "x/rank", "set": {"dt/max": 3}}]
    preview, patience = people.workspace.preview(), Patience(None)
    patience.cancel()
    with limited(patience), pytest.raises(Interrupted):
        preview.foresee(change)


def test_it_is_of_one_moment(people: Database) -> None:
    preview = people.workspace.preview()
    assert not preview.is_outdated()
    friend = people.get("who/2").entity_id
    people.update("who/3", {"x/friend": "who/2"})
    people.update("who/0", {"x/rank": 1000, "x/name": "changed"})
    people.delete("who/1")
    people.create("x/A", {"db/ident": "who/new", "x/rank": 1000})
    assert preview.is_outdated()

    def update(who: Any) -> list[Operation]:
        return [{"op": "update", "entity": who, "set": {"x/rank": 1}}]

    for who in ("who/1", {"x/name": "name 0"}):
        assert preview.findings(update(who)) == []
    for who in ("who/new", {"x/name": "changed"}):
        assert preview.findings(update(who))[0]["code"] == "entity.unknown"
    stricter = [{"op": "update", "entity": "x/rank", "set": {"dt/max": PEOPLE}}]
    assert preview.findings(stricter) == []
    assert preview.foresee([{"op": "delete", "entity": friend}]).changed == [friend]
    now = people.workspace.preview()
    assert now.findings(stricter)[0]["code"] == "schema.would-break"
    assert now.findings([{"op": "delete", "entity": friend}])[0]["code"] == "entity.referenced"


def test_plain_writes_are_not_previewed(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Preview, "__init__", lambda *_: pytest.fail("there was a preview"))
    people.create("x/A", {"x/rank": 1})
    people.update("who/1", {"x/rank": 2})
    people.define(properties={"x/more": {"dt/range": "db.type/long"}})  # it has no instances
    with pytest.raises(pytest.fail.Exception):
        people.update("x/rank", {"dt/max": 1000})


def test_definitions_that_are_instances_may_be_repaired_at_once(place: Place) -> None:
    """A change of a class of classes, and of its instance, which without that would break."""
    db = place.another()
    db.define(
        properties={"m/note": {"dt/range": "db.type/string"}},
        classes={"m/Kind": {"dt/subclass-of": ["dt/Class"], "dt/slots": ["m/note"]}},
    )
    db.create("m/Kind", {"db/ident": "m/Thing", "dt/subclass-of": ["dt/Ref"]})
    stricter = {"op": "update", "entity": "m/Kind", "set": {"dt/validator": '"m/note" in this'}}
    assert problem_of(lambda: db.transact([stricter])).code == "schema.would-break"
    db.transact([stricter, {"op": "update", "entity": "m/Thing", "set": {"m/note": "x"}}])
    assert db.get("m/Thing")["m/note"] == "x"
