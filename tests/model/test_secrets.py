"""A secret is written once, compared, and seen nowhere again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sandbar import Database, Problem
from tests.model.conftest import Place
from tests.model.shop import problem_of, refused, slots_of
from tests.postgres_server import PostgresServer

CANARY = "canary-7f3a-secret"
USER = "user/password"


@pytest.fixture
def users(db: Database) -> Database:
    """A class with a secret slot."""
    db.define(
        properties={
            "user/name": {"dt/range": "db.type/string", "db/unique": "identity"},
            USER: {
                "dt/range": "db.type/string",
                "dt/secret?": True,
                "dt/min": 5,
                "dt/pattern": "^[a-z0-9-]+$",
            },
        },
        classes={"my/User": {"dt/slots": ["user/name", USER]}},
    )
    return db


def everything(db: Database, id: int) -> str:
    """All that the database tells of an entity and of itself."""
    told: list[Any] = [
        db.get(id),
        db.query("my/User", fields=["user/name", USER]),
        db.history(id),
        db.diff(id, 1),
        db.changes(limit=1000),
        db.schema.dump(),
        db.schema.describe("my/User"),
        db.schema.json_schema("my/User"),
        list(db.each("dt/Resource")),
    ]
    return repr(told)


def test_a_secret_is_compared_and_never_shown(users: Database) -> None:
    made = users.create(
        "my/User", {"user/name": "ann", USER: CANARY}, idempotency_key="k", reason="r"
    )
    id = made.entity_id
    assert users.secret_matches(id, USER, CANARY)
    assert users.secret_matches({"user/name": "ann"}, f":{USER}", CANARY)
    for wrong in ("", CANARY + "x", CANARY.upper(), "\0", "\ud800"):
        assert not users.secret_matches(id, USER, wrong)
    users.update(id, {"user/name": "bob"})
    assert users.secret_matches(id, USER, CANARY)
    told = everything(users, id) + repr(made)
    assert CANARY not in told
    assert "argon2" not in told
    before = users.t
    users.update(id, {USER: CANARY + "-2"})
    assert users.t == before + 1
    assert not users.secret_matches(id, USER, CANARY)
    assert CANARY not in everything(users, id)
    users.update(id, {USER: None})
    assert not users.secret_matches(id, USER, CANARY + "-2")
    users.delete(id)
    assert problem_of(lambda: users.secret_matches(id, USER, CANARY)).code == "entity.unknown"


@pytest.mark.parametrize("name", [USER, f":{USER}"])
def test_secrets_are_hashed_among_operations_that_have_none(users: Database, name: str) -> None:
    written = users.transact(
        [
            {"op": "create", "class": "my/User", "slots": {"user/name": "ann"}, "temp": "ann"},
            {"op": "create", "class": "my/User", "slots": {name: CANARY}},
            {"op": "update", "entity": "ann", "set": {name: CANARY}},
            {"op": "create", "class": "my/User", "slots": {"user/name": "bob"}},
        ]
    )
    ann, nobody, _, bob = (outcome.entity_id for outcome in written.outcomes)
    assert [users.secret_matches(id, USER, CANARY) for id in (ann, nobody, bob)] == [1, 1, 0]


def test_no_error_repeats_a_secret(users: Database) -> None:
    id = users.create("my/User", {"user/name": "ann", USER: CANARY}).entity_id
    loud = CANARY.upper() + "!"
    calls = [
        lambda: users.create("my/User", {USER: loud}),
        lambda: users.create("my/User", {USER: [loud]}),
        lambda: users.create("my/User", {USER: {loud: loud}}),
        lambda: users.create("my/User", {USER: loud + "\0"}),
        lambda: users.create("my/User", {USER: loud + "\ud800"}),
        lambda: users.create("my/User", {USER: CANARY, "user/nope": 1}),
        lambda: users.create("my/User", {"user/name": "ann", USER: CANARY}),
        lambda: users.update(id, {USER: loud}),
        lambda: users.update(id, add={USER: CANARY}),
        lambda: users.update(id, remove={USER: CANARY}),
        lambda: users.query("my/User", {USER: CANARY}),
        lambda: users.query("my/User", {USER: {"starts-with": CANARY}}),
        lambda: users.query("my/User", order_by=USER),
        lambda: users.get({USER: CANARY}),
        lambda: users.update({USER: CANARY}, {"user/name": "x"}),
        lambda: users.transact([{"op": "migrate", "class": "my/User", "fill": {USER: CANARY}}]),
        lambda: users.secret_matches(id, "user/name", CANARY),
    ]
    for number, call in enumerate(calls):
        problem = problem_of(call)
        told = repr(problem) + str(problem) + repr(problem.data)
        assert CANARY.lower() not in told.lower(), (number, told)
        assert problem.hint, (number, told)


def test_the_rules_of_a_secret_hold_before_it_is_hashed(users: Database) -> None:
    for wrong, code in (
        ("abc", "value.out-of-bounds"),
        ("ABCDEF", "value.pattern"),
        ("", "value.type"),
    ):
        with refused(users, code):
            users.create("my/User", {USER: wrong})


def test_a_required_secret(users: Database) -> None:
    users.update(USER, {"dt/required?": True})
    with refused(users, "slot.required"):
        users.create("my/User", {"user/name": "x"})
    id = users.create("my/User", {USER: CANARY}).entity_id
    with refused(users, "slot.required"):
        users.update(id, {USER: None})
    assert users.secret_matches(id, USER, CANARY)


@pytest.mark.parametrize("colon", ["", ":"])
def test_a_secret_slot_and_its_first_value_come_in_one_transaction(
    db: Database, colon: str
) -> None:
    word = {"db/ident": "new/word", "dt/range": "db.type/string", f"{colon}dt/secret?": True}
    written = db.transact(
        [
            {
                "op": "create",
                "class": "new/User",
                "slots": {f"{colon}new/word": CANARY},
                "temp": "u",
            },
            {
                "op": "create",
                "class": "dt/Class",
                "slots": {"db/ident": "new/User", "dt/slots": ["new/word"]},
            },
            {"op": "create", "class": "dt/Property", "slots": word},
        ]
    )
    assert db.secret_matches(written.temps["u"], "new/word", CANARY)
    assert slots_of(db, written.temps["u"]) == {}


def test_a_slot_that_another_connection_has_made_secret_is_hashed(place: Place) -> None:
    one, two = place.another(), place.another()
    one.define(
        properties={"a/word": {"dt/range": "db.type/string"}},
        classes={"a/A": {"dt/slots": ["a/word"]}},
    )
    two.create("a/A", {})
    one.update("a/word", {"dt/secret?": True})
    id = two.create("a/A", {"a/word": CANARY}).entity_id
    assert slots_of(one, id) == {}
    assert one.secret_matches(id, "a/word", CANARY)
    one.update("a/word", {"dt/secret?": False})
    id = two.create("a/A", {"a/word": "plain"}).entity_id
    assert slots_of(one, id) == {"a/word": "plain"}


def test_what_is_wrong_with_secrets_is_told_with_all_else(users: Database) -> None:
    users.define(properties={"user/pin": {"dt/range": "db.type/string", "dt/secret?": True}})
    users.update("my/User", add={"dt/slots": "user/pin"})
    wrong = {"user/pin": 5, USER: "abc", "bogus/x": 1, "user/name": 2}
    found = problem_of(lambda: users.create("my/User", wrong)).data["findings"]
    assert {one["slot"] for one in found} == wrong.keys()
    operations = [
        {"op": "create", "class": "my/User", "slots": {"user/name": "ann", USER: CANARY}},
        {"op": "create", "class": "my/User", "slots": {USER: "abc"}},
        {"op": "create", "class": "my/User", "slots": {f":{USER}": 5, "user/name": 7}},
    ]
    for call in (users.transact, lambda ops: users.run(lambda: users.transact(ops))):
        with refused(users, "value.type") as seen:
            call(operations)
        found = {(one["at"], one["slot"]) for one in seen[0].data["findings"]}
        assert found == {(1, USER), (2, USER), (2, "user/name")}
    assert {one["at"] for one in users.workspace.preview().findings(operations)} == {1, 2}


def test_a_repeated_create_with_a_wrong_secret_is_refused(users: Database) -> None:
    users.create("my/User", {"db/ident": "my/ann", USER: CANARY})
    with refused(users, "value.out-of-bounds"):
        users.create("my/User", {"db/ident": "my/ann", USER: "abc"})


@pytest.mark.parametrize("name", ["ident", "number"])
def test_a_secret_slot_may_be_renamed_in_the_transaction_that_sets_it(
    users: Database, name: str
) -> None:
    id = users.create("my/User", {USER: CANARY}).entity_id
    slot = USER if name == "ident" else users.get(USER).entity_id

    def rename(old: Any, new: str, secret: str) -> list[dict[str, Any]]:
        return [
            {"op": "update", "entity": id, "set": {new: secret}},
            {"op": "update", "entity": old, "set": {"db/ident": new}},
        ]

    assert users.workspace.preview().findings(rename(slot, "user/pass", CANARY + "2")) == []
    users.transact(rename(slot, "user/pass", CANARY + "2"))
    assert users.secret_matches(id, "user/pass", CANARY + "2")
    users.run(lambda: users.transact(rename("user/pass", "user/key", CANARY + "3")))
    assert users.secret_matches(id, "user/key", CANARY + "3")
    with refused(users, "value.out-of-bounds"):  # its rules go with it
        users.transact(rename("user/key", "user/pass", "abc"))


def test_a_slot_may_cease_to_be_secret_in_the_transaction_that_sets_it(users: Database) -> None:
    id = users.create("my/User", {}).entity_id
    operations = [
        {"op": "update", "entity": USER, "set": {"dt/secret?": False}},
        {"op": "update", "entity": id, "set": {USER: "in-the-open"}},
    ]
    assert users.workspace.preview().findings(operations) == []
    users.transact(operations)
    assert slots_of(users, id) == {USER: "in-the-open"}


def kept(db: Database, id: int, property: int) -> str | None:
    """The row that the store has."""
    with db.workspace._store.snapshot(db.workspace.number) as snapshot:
        return snapshot.secret(id, property)


LOSSES: dict[str, list[dict[str, Any]]] = {
    "taken": [{"op": "update", "entity": "my/User", "remove": {"dt/slots": USER}}],
    "deleted": [{"op": "delete", "entity": USER, "mode": "detach"}],
    "public": [{"op": "update", "entity": USER, "set": {"dt/secret?": False}}],
}
RETURNS: dict[str, list[dict[str, Any]]] = {
    "taken": [{"op": "update", "entity": "my/User", "add": {"dt/slots": USER}}],
    "deleted": [
        {"op": "restore", "entity": USER},
        {"op": "update", "entity": "my/User", "add": {"dt/slots": USER}},
    ],
    "public": [{"op": "update", "entity": USER, "set": {"dt/secret?": True}}],
}


@pytest.mark.parametrize("how", LOSSES)
def test_secrets_end_with_their_slot(users: Database, how: str) -> None:
    users.define(classes={"my/Admin": {"dt/subclass-of": ["my/User"]}, "my/Other": {}})
    users.update("my/Other", add={"dt/slots": USER})
    slot = users.get(USER).entity_id
    ann, root, other, gone = (
        users.create(cls, {USER: CANARY}).entity_id
        for cls in ("my/User", "my/Admin", "my/Other", "my/User")
    )
    users.transact([*LOSSES[how], {"op": "delete", "entity": gone}])
    for id in (ann, root, gone):
        assert kept(users, id, slot) is None
    assert (kept(users, other, slot) is not None) == (how == "taken")
    for operation in RETURNS[how]:
        users.transact([operation])
    assert not users.secret_matches(ann, USER, CANARY)
    users.update(ann, {USER: CANARY})
    assert users.secret_matches(ann, USER, CANARY)


def test_a_slot_that_was_away_within_one_function_has_lost_its_secrets(users: Database) -> None:
    ann, bob = (users.create("my/User", {USER: CANARY}).entity_id for _ in range(2))

    def work() -> None:
        users.transact(LOSSES["taken"])
        users.query("my/User")
        users.transact(RETURNS["taken"])
        users.update(bob, {USER: CANARY})

    users.run(work)
    assert not users.secret_matches(ann, USER, CANARY)
    assert users.secret_matches(bob, USER, CANARY)


def test_a_slot_that_cannot_be_taken_keeps_its_secrets(users: Database) -> None:
    ann = users.create("my/User", {"user/name": "ann", USER: CANARY}).entity_id
    with refused(users, "slot.removed"):
        users.update("my/User", remove={"dt/slots": ["user/name", USER]})
    assert users.secret_matches(ann, USER, CANARY)


def test_no_byte_of_a_secret_is_on_the_disk_of_sqlite(tmp_path: Path) -> None:
    place = Place("sqlite", str(tmp_path / "secret.db"))
    _write_canaries(place)
    files = sorted(tmp_path.iterdir())
    assert any(b"visible-canary" in file.read_bytes() for file in files)
    assert not any(CANARY.encode() in file.read_bytes() for file in files)
    place.close()
    assert not any(CANARY.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_no_row_of_postgresql_holds_a_secret(
    postgres_server: PostgresServer, shared_postgres: str
) -> None:
    place = Place("postgres", shared_postgres)
    _write_canaries(place)
    place.close()
    name = conninfo_to_dict(shared_postgres)["dbname"]
    rows: list[str] = []
    with psycopg.connect(make_conninfo(postgres_server.url, dbname=name)) as connection:
        tables = connection.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables"
            " WHERE schemaname !~ '^pg_(catalog|temp)' AND schemaname <> 'information_schema'"
        ).fetchall()
        for (table,) in tables:
            found = connection.execute(f"SELECT t::text FROM {table} t").fetchall()
            rows += [row[0] for row in found]
    assert any(b"visible-canary".hex() in row for row in rows)
    assert not any(CANARY in row or CANARY.encode().hex() in row for row in rows)


def _write_canaries(place: Place) -> None:
    db = place.open()
    db.define(
        properties={
            "user/name": {"dt/range": "db.type/string", "dt/indexed?": True},
            USER: {"dt/range": "db.type/string", "dt/secret?": True},
        },
        classes={"my/User": {"dt/slots": ["user/name", USER]}},
    )
    id = db.create(
        "my/User", {"user/name": "visible-canary", USER: CANARY}, idempotency_key="k"
    ).entity_id
    db.update(id, {USER: CANARY + "2"})
    for slots in ({USER: CANARY, "nope/x": 1}, {USER: CANARY, "user/name": 5}):
        with pytest.raises(Problem):
            db.create("my/User", slots)
    db.update(id, {USER: None})
