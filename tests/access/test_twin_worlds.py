"""Whether an account, a key or a role exists is told to nobody but admins.

Two worlds differ in one thing: what an admin has made is called `target` in one and `absent` in the
other. Whatever a reader or a writer asks about `target`, both answer with the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Role, install_access
from sandbar.codecs import base_codecs
from sandbar.errors import Problem
from sandbar.projects import RootedFolder, built_in_sources, choose_source, plan_import
from tests.kept_postgres import open_for_tests
from tests.tenancy.playing import steady

Twins = tuple[sandbar.Database, sandbar.Database]

KEY = {"auth/key-name": "target"}
LOOKUPS: list[Any] = [
    KEY,
    {":auth/key-name": "target"},
    {"auth/service-name": "service/target"},
    {"auth/user-name": "user/target"},
    {"auth/role-name": "target"},
    {"auth/owner": {"auth/user-name": "user/target"}},
    "auth.role/target",
    ":auth.role/target",
]
ITEM = {"shop/name": "an item"}
WAY = {
    "name": "shop/way",
    "states": [
        {"name": "shop/begun", "initial?": True},
        {"name": "shop/done", "terminal?": True, "terminal-kind": "success"},
    ],
    "transitions": [{"name": "end", "from": "shop/begun", "to": "shop/done"}],
}


def of_access(name: str) -> list[dict[str, Any]]:
    """One of each kind, all of that name."""
    return [
        made("auth/User", {"auth/user-name": f"user/{name}", "db/ident": f"auth.user/{name}"}),
        made("auth/ServiceAccount", {"auth/service-name": f"service/{name}"}),
        made("auth/Role", {"auth/role-name": name, "db/ident": f"auth.role/{name}"}),
        made("auth/Key", {"auth/key-name": name, "auth/owner": f"auth.user/{name}"}),
    ]


def made(class_: str, slots: dict[str, Any]) -> dict[str, Any]:
    return {"op": "create", "class": class_, "slots": slots}


def world(address: str, name: str) -> sandbar.Database:
    db = open_for_tests(address, f"twin-{uuid4()}")
    install_access(db.workspace)
    db.define(
        properties={
            "shop/name": {"dt/range": "db.type/string", "db/unique": "identity"},
            "shop/friend": {"dt/range": "dt/Resource"},
            "shop/plain": {"dt/range": "db.type/ref"},
        },
        classes={"shop/Item": {"dt/slots": ["shop/name", "shop/friend", "shop/plain"]}},
    )
    db.workflows.define(WAY, principal="admin")
    db.transact([*of_access(name), made("shop/Item", {"db/ident": "item/one"})])
    return db


@pytest.fixture(params=["sqlite", "postgres"])
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twins]:
    """A world that has the target, and one that has not."""
    names = ("target", "absent")
    if request.param == "sqlite":
        places = [str(tmp_path / f"{name}.db") for name in names]
    else:
        places = [request.getfixturevalue("shared_postgres")] * 2
    with world(places[0], names[0]) as one, world(places[1], names[1]) as other:
        yield one, other


def writes_about(entity: Any) -> Iterator[dict[str, Any]]:
    """Operations that name an entity, in every place where one can be named."""
    for slot in ("shop/friend", "shop/plain"):
        yield made("shop/Item", {**ITEM, slot: entity})
        yield {"op": "update", "entity": "item/one", "set": {slot: entity}}
        yield {"op": "update", "entity": "item/one", "remove": {slot: entity}}
        yield {"op": "migrate", "class": "shop/Item", "fill": {slot: entity}}
    yield {"op": "update", "entity": entity, "set": {"db/doc": "mine"}}
    yield {"op": "update", "entity": entity, "set": {"db/doc": "mine"}, "expect": 1}
    yield {"op": "delete", "entity": entity}
    yield {"op": "delete", "entity": entity, "mode": "cascade"}
    yield {"op": "restore", "entity": entity}
    yield {"op": "restore", "entity": entity, "to": 1}


def requests_about(entity: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that name an entity."""
    for verb in ("entity.find", "entity.history", "entity.delete", "entity.restore"):
        yield verb, {"entity": entity}
    yield "entity.find", {"entity": entity, "as-of": 2}
    yield "entity.purge", {"entity": entity, "confirm": entity}
    yield "entity.diff", {"entity": entity, "from": 1}
    yield "types.instance-of", {"entity": entity, "class": "auth/Key"}
    yield "workflow.start-process", {"workflow": "shop/way", "subject": entity}
    for slot in ("shop/friend", "shop/plain"):
        for where in (
            {slot: entity},
            {slot: {"=": entity}},
            {slot: {"!=": entity}},
            {slot: {"in": [entity]}},
            {"not": {"or": [{slot: entity}]}},
            {"shop/friend": {slot: entity}},
        ):
            yield "entity.query", {"class": "shop/Item", "where": where}
        yield "entity.validate", {"class": "shop/Item", "attributes": {**ITEM, slot: entity}}
    for operation in writes_about(entity):
        yield "entity.transact", {"operations": [operation]}
        yield "entity.transact", {"operations": [made("shop/Item", ITEM), operation]}
        yield "entity.transact", {"operations": [{"op": "creat"}, operation]}  # beside it: tried
    options = {"dt/range": "dt/Resource", "dt/default": entity}
    yield "schema.define", {"properties": {"shop/new": options}}


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that name the target, by every verb that takes a name, a slot or a class."""
    for entity in LOOKUPS:
        yield from requests_about(entity)
    for operation in of_access("target"):
        class_, slots = operation["class"], operation["slots"]
        yield "entity.validate", {"class": class_, "attributes": slots}
        yield "entity.create", {"class": class_, "attributes": slots}
        yield "entity.validate", {"class": "shop/Item", "attributes": {**ITEM, **slots}}
        yield "entity.update", {"entity": "item/one", "attributes": slots}
        yield "entity.query", {"class": class_, "where": slots}
        yield "entity.query", {"class": "dt/Resource", "where": slots}
        yield "search.text", {"query": "target", "class": class_}
        yield "class.instances", {"class": class_}
        yield "class.validate-all-instances", {"class": class_}
        yield "validation.run", {"class": class_}
        yield "schema.entities", {"classes": [class_]}
    for name in ("auth.role/target", "auth/target"):
        yield "entity.create", {"class": "shop/Item", "attributes": {**ITEM, "db/ident": name}}
        yield "entity.validate", {"class": "shop/Item", "attributes": {**ITEM, "db/ident": name}}
        yield "entity.update", {"entity": "item/one", "attributes": {"db/ident": name}}
        yield "schema.define", {"classes": {name: {"dt/subclass-of": ["dt/Ref"]}}}
        yield "schema.define", {"properties": {name: {"dt/range": "db.type/string"}}}
        yield "schema.define", {"classes": {"shop/New": {"dt/slots": [name]}}}
        yield "schema.define", {"properties": {"shop/new": {"dt/range": name}}}
        yield "workflow.define", {"spec": {**WAY, "name": name}}
        for verb in ("workflow.find", "workflow.stats", "workflow.start-process"):
            yield verb, {"workflow": name}
        yield "workflow.active-processes", {"workflow": name}
        for verb in ("class.describe", "class.slots", "class.instances", "validation.run"):
            yield verb, {"class": name}
        yield "property.range", {"property": name}
        yield "entity.query", {"class": name}
        yield "entity.query", {"class": "shop/Item", "order-by": name, "fields": [name]}
        yield "search.text", {"query": "target", "class": name}
    yield "search.text", {"query": "target"}
    yield "entity.query", {"class": "dt/Resource", "where": {"db/ident": "auth.role/target"}}


def answer(db: sandbar.Database, role: Role, verb: str, given: dict[str, Any]) -> str:
    """What is answered, and nothing stays."""
    caller = Caller("service/mallory", role, db.workspace_name)
    try:
        told: Any = db.call_as(caller, verb, given)
    except Problem as problem:
        told = [problem.code, problem.message, problem.hint, problem.data]
    return steady(msgspec.json.encode(told, enc_hook=str).decode())


def test_a_reader_and_a_writer_learn_nothing_of_who_exists(twins: Twins) -> None:
    apart = []
    count = 0
    for role in ("reader", "writer"):
        for verb, given in requests():
            count += 1
            one, other = (answer(db, role, verb, given) for db in twins)
            if one != other:
                apart.append(f"{role} {verb} {given}: {one[:200]} | {other[:200]}")
    assert not apart, f"{len(apart)} of {count}\n" + "\n".join(apart[:20])


def test_an_admin_tells_the_worlds_apart(twins: Twins) -> None:
    """What the test above asks does tell, where it is allowed to."""
    apart = [
        verb
        for entity in LOOKUPS
        for verb, given in (
            ("entity.find", {"entity": entity}),
            ("entity.history", {"entity": entity}),
        )
        if answer(twins[0], "admin", verb, given) != answer(twins[1], "admin", verb, given)
    ]
    assert len(apart) == 2 * len(LOOKUPS) - 2  # auth/owner is not unique


def foreseen(db: sandbar.Database, role: Role, operation: dict[str, Any]) -> str:
    """What the preview of a write says."""
    try:
        found = db.guarded(Caller("service/mallory", role, db.workspace_name)).preview()
        return repr(found.foresee([operation])[:3])
    except Problem as problem:
        return repr([problem.code, problem.message, problem.hint, problem.data])


def planned(db: sandbar.Database, role: Role, folder: Path) -> str:
    """What the plan of an import says."""
    with RootedFolder.of(folder) as rooted:
        source = choose_source(rooted, built_in_sources("shop/Item"), "files")
        guarded = db.guarded(Caller("service/mallory", role, db.workspace_name))
        done = plan_import(guarded, db.workflows, base_codecs(), rooted, source)
    return steady(msgspec.json.encode(done).decode())


def files_about_the_target(folder: Path) -> Path:
    """Files that name the target wherever a file can name an entity."""
    folder.mkdir()
    texts = [{**ITEM, slot: one} for slot in ("shop/friend", "shop/plain") for one in LOOKUPS]
    texts += [{**ITEM, "db/ident": one} for one in LOOKUPS if isinstance(one, str)]
    texts += [{**ITEM, **operation["slots"]} for operation in of_access("target")]
    for number, text in enumerate(texts):
        (folder / f"{number}.json").write_text(json.dumps(text))
    return folder


def test_a_preview_tells_nothing_either(twins: Twins, tmp_path: Path) -> None:
    for operation in (one for entity in LOOKUPS for one in writes_about(entity)):
        one, other = (foreseen(db, "writer", operation) for db in twins)
        assert one == other, operation
        assert "access.read-only" in foreseen(twins[0], "reader", operation)
    folder = files_about_the_target(tmp_path / "files")
    for role in ("reader", "writer"):
        one, other = (planned(db, role, folder) for db in twins)
        assert one == other, role


def test_an_admin_s_preview_tells_the_worlds_apart(twins: Twins, tmp_path: Path) -> None:
    deletion = {"op": "delete", "entity": "auth.role/target"}
    assert foreseen(twins[0], "admin", deletion) != foreseen(twins[1], "admin", deletion)
    folder = files_about_the_target(tmp_path / "files")
    assert planned(twins[0], "admin", folder) != planned(twins[1], "admin", folder)


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_name_of_access_is_refused_as_such(twins: Twins, role: Role) -> None:
    _, absent = twins
    for verb, given in (
        ("entity.validate", {"class": "auth/Key", "attributes": KEY}),
        ("entity.validate", {"class": "shop/Item", "attributes": {**ITEM, **KEY}}),
        ("entity.find", {"entity": KEY}),
        ("entity.find", {"entity": "auth.role/target"}),
        ("entity.history", {"entity": "auth/nothing"}),
        ("entity.query", {"class": "auth/Nothing"}),
        ("entity.query", {"class": "shop/Item", "where": {"shop/friend": "auth.role/target"}}),
        ("search.text", {"query": "x", "class": "auth/Nothing"}),
    ):
        assert "entity.protected" in answer(absent, role, verb, given), (verb, given)
    # What the classes of access are is documented, and is no secret.
    assert "auth/key-name" in answer(absent, role, "class.describe", {"class": "auth/Key"})
    assert "auth/Key" in answer(absent, role, "entity.find", {"entity": "auth/Key"})
    # Text that looks like a name of access is text.
    text = {"class": "shop/Item", "where": {"shop/name": "auth.role/target"}}
    assert "entity.protected" not in answer(absent, role, "entity.query", text)
    plain = {"class": "shop/Item", "attributes": {"shop/name": "auth.role/target"}}
    assert "entity.protected" not in answer(absent, role, "entity.validate", plain)
