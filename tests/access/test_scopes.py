"""A key that is limited to classes or verbs reaches no further by any road."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Guarded, add_account, caller_again, remembered, revoke_key
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.mcp.tool_lists import ToolLists
from tests.access.limited import account, key, make_role, opened

CANARY = "canary7311"  # stands in every slot of whatever is out of reach
OUTSIDE = "access.out-of-scope"

PROPERTIES: dict[str, dict[str, Any]] = {
    "person/name": {"dt/range": "db.type/string"},
    "person/email": {"dt/range": "db.type/string", "db/unique": "identity"},
    "order/customer": {"dt/range": "person/Person", "dt/indexed?": True},
    "order/note": {"dt/range": "db.type/string"},
    "order/code": {"dt/range": "db.type/string", "db/unique": "identity"},
    "order/parts": {"dt/range": "dt/Resource", "dt/component?": True, "db/cardinality": "many"},
    "person/orders": {
        "dt/range": "order/Order",
        "dt/inverse-of": "order/customer",
        "db/cardinality": "many",
    },
}
CLASSES: dict[str, dict[str, Any]] = {
    "person/Person": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": ["person/name", "person/email", "person/orders", "order/code"],
    },
    "order/Order": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": ["order/customer", "order/note", "order/code", "order/parts"],
    },
}


class Shop:
    """Orders, which the key may touch, and the people behind them, whom it may not."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db
        db.define(properties=PROPERTIES, classes=CLASSES)
        self.person = db.create(
            "person/Person",
            {
                "db/ident": "person/ann",
                "person/name": CANARY,
                "person/email": f"{CANARY}@example.com",
                "order/code": f"{CANARY}-code",
            },
            reason=CANARY,
        ).entity_id
        self.order = db.create(
            "order/Order",
            {"db/ident": "order/one", "order/customer": self.person, "order/note": "wool"},
        ).entity_id
        self.admin = account(db, "ada", "admin")
        self.key = key(db, "orders", "ada", classes=["order/Order"])

    def copied(self, db: sandbar.Database) -> Shop:
        """The same shop in a copy of its database."""
        other = copy(self)
        other.db = db
        return other

    def call(self, verb: str, caller: Caller | None = None, /, **arguments: Any) -> Any:
        """What the limited key is answered, as plain JSON."""
        given = {name.rstrip("_").replace("_", "-"): value for name, value in arguments.items()}
        answer = self.db.call_as(caller or self.key, verb, given)
        return msgspec.json.decode(msgspec.json.encode(answer))

    def refused(self, verb: str, /, **arguments: Any) -> Problem:
        """How it is refused; the refusal tells nothing either."""
        with pytest.raises(Problem) as caught:
            self.call(verb, **arguments)
        assert CANARY not in f"{caught.value} {caught.value.data}" or CANARY in str(arguments)
        return caught.value


@pytest.fixture(scope="module")
def made_shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Shop]:
    """A shop in a file that each test copies."""
    path = tmp_path_factory.mktemp("scopes") / "made.db"
    with opened(path) as db:
        return path, Shop(db)


@pytest.fixture
def shop(tmp_path: Path, made_shop: tuple[Path, Shop]) -> Iterator[Shop]:
    path, made = made_shop
    with sandbar.open(shutil.copy(path, tmp_path / "scopes.db")) as db:
        yield made.copied(db)


def test_within_its_classes_the_key_does_all_that_its_owner_may(shop: Shop) -> None:
    made = shop.call("entity.create", class_="order/Order", attributes={"order/note": "x"})
    assert shop.call("entity.update", entity=made["entity-id"], attributes={"order/note": "y"})
    assert shop.call("entity.history", entity=made["entity-id"])["history"]
    assert shop.call("entity.find", entity={"db/ident": "order/one"})
    tool = shop.db.call_as(shop.key, "sandbar.class.order.Order", {"order/note": "z"})
    assert tool.created
    assert shop.call("entity.delete", entity=made["entity-id"])
    assert shop.call("entity.restore", entity=made["entity-id"])
    assert shop.call("entity.purge", entity=made["entity-id"], confirm=made["entity-id"])
    assert shop.call("search.text", query="wool")["hits"]
    orders = shop.call("entity.query", class_="order/Order", where={"order/customer": shop.person})
    assert [one["ident"] for one in orders["entities"]] == ["order/one"]


ROADS: dict[str, Callable[[Shop], Any]] = {
    "by id": lambda s: s.call("entity.find", entity=s.person),
    "by ident": lambda s: s.call("entity.find", entity="person/ann"),
    "by digits": lambda s: s.call("entity.find", entity=str(s.person)),
    "as of the past": lambda s: s.call("entity.find", entity=s.person, as_of=s.db.t),
    "by a unique slot": lambda s: s.call(
        "entity.find", entity={"person/email": f"{CANARY}@example.com"}
    ),
    "history": lambda s: s.call("entity.history", entity=s.person),
    "diff": lambda s: s.call("entity.diff", entity=s.person, from_=0),
    "query": lambda s: s.call("entity.query", class_="person/Person"),
    "query of the past": lambda s: s.call("entity.query", class_="person/Person", as_of=s.db.t),
    "instances": lambda s: s.call("class.instances", class_="person/Person"),
    "search in its class": lambda s: s.call("search.text", query=CANARY, class_="person/Person"),
    "type": lambda s: s.call("types.instance-of", entity=s.person, class_="dt/Ref"),
    "a filter through a reference": lambda s: s.call(
        "entity.query",
        class_="order/Order",
        where={"order/customer": {"person/name": {"starts-with": "canary"}}},
    ),
    "a lookup in a filter": lambda s: s.call(
        "entity.query",
        class_="order/Order",
        where={"order/customer": {"=": {"person/email": f"{CANARY}@example.com"}}},
    ),
    "update": lambda s: s.call("entity.update", entity=s.person, attributes={"person/name": "x"}),
    "update by nothing": lambda s: s.call("entity.update", entity=s.person, attributes={}),
    "delete": lambda s: s.call("entity.delete", entity=s.person, mode="detach"),
    "delete by cascade": lambda s: s.call("entity.delete", entity=s.person, mode="cascade"),
    "restore": lambda s: s.call("entity.restore", entity=s.person, to=s.db.t - 1),
    "purge": lambda s: s.call("entity.purge", entity=s.person, confirm=s.person),
    "create": lambda s: s.call("entity.create", class_="person/Person", attributes={}),
    "create an existing one": lambda s: s.call(
        "entity.create",
        class_="person/Person",
        attributes={"db/ident": "person/ann", "person/name": "?"},
    ),
    "transact": lambda s: s.call(
        "entity.transact",
        operations=[
            {"op": "create", "class": "order/Order", "slots": {}},
            {"op": "update", "entity": s.person, "set": {"dt/label": "x"}},
        ],
    ),
    "a lookup in an operation": lambda s: s.call(
        "entity.create",
        class_="order/Order",
        attributes={"order/customer": {"person/email": f"{CANARY}@example.com"}},
    ),
    "the tool of its class": lambda s: s.db.call_as(s.key, "sandbar.class.person.Person", {}),
    "validate": lambda s: s.call("entity.validate", class_="person/Person", attributes={}),
    "validate all": lambda s: s.call("class.validate-all-instances", class_="person/Person"),
    "a validation": lambda s: s.call("validation.start", class_="person/Person"),
    "a class": lambda s: s.call("entity.find", entity="person/Person"),
    "a subject": lambda s: s.call(
        "workflow.start-process",
        workflow="order/fulfillment",
        subject=s.person,
        data={"quantity": 1},
    ),
    "an effect": lambda s: s.call(
        "workflow.define",
        spec={
            "name": "order/leak",
            "states": [
                {"name": "leak/a", "initial?": True},
                {"name": "leak/b", "terminal?": True, "terminal-kind": "success"},
            ],
            "transitions": [
                {
                    "name": "go",
                    "from": "leak/a",
                    "to": "leak/b",
                    "effects": [{"create": {"class": "person/Person", "slots": {}}}],
                }
            ],
        },
    ),
    "a new heir": lambda s: s.call(
        "schema.define",
        classes={"order/Heir": {"dt/subclass-of": ["order/Order", "person/Person"]}},
    ),
    "all processes": lambda s: s.call("workflow.stats", workflow="order/fulfillment"),
}


@pytest.mark.parametrize("road", ROADS)
def test_no_road_leads_out_of_the_scope(shop: Shop, road: str) -> None:
    t = shop.db.t
    assert OUTSIDE in _codes(shop, road)
    assert shop.db.t == t, "something was written"


@pytest.mark.parametrize("road", ROADS)
def test_each_road_is_one_for_who_is_not_limited(shop: Shop, road: str) -> None:
    """The negative control: the roads exist, so that it is the scope that closes them."""
    shop.key = shop.admin
    assert not _codes(shop, road) & {OUTSIDE, "verb.forbidden", "entity.protected"}


def _codes(shop: Shop, road: str) -> set[str]:
    """The codes of all that is wrong with a road."""
    try:
        answer = ROADS[road](shop)
    except Problem as problem:
        return {problem.code, *(one["code"] for one in problem.data.get("findings", ()))}
    return {one["code"] for one in answer["errors"]} if road == "validate" else set()


def test_hints_name_nobody_outside(shop: Shop) -> None:
    """Neither by a name that somebody had before, nor by what somebody says."""
    for now in ("person/anna", f"person/{CANARY}"):
        shop.db.update(shop.person, {"db/ident": now})
    by_name = {"order/customer": "person/anna"}
    by_value = {"order/customer": f"{CANARY} "}  # which is no ident, and what the person is called
    ways: list[tuple[str, dict[str, Any]]] = [
        ("entity.find", {"entity": "person/ann"}),
        ("entity.find", {"entity": "person/anna"}),
        ("entity.update", {"entity": "person/anna"}),
        ("entity.create", {"class_": "order/Order", "attributes": by_name}),
        ("entity.create", {"class_": "order/Order", "attributes": by_value}),
        ("entity.query", {"class_": "order/Order", "where": by_name}),
        ("entity.query", {"class_": "order/Order", "where": by_value}),
    ]
    for verb, arguments in ways:
        refused = shop.refused(verb, **arguments)
        told = f"{refused} {refused.data}"
        assert f"person/{CANARY}" not in told
        assert str(shop.person) not in told
        with pytest.raises(Problem) as caught:
            shop.call(verb, shop.admin, **arguments)
        assert f"person/{CANARY}" in str(caught.value.hint)


def test_lists_leave_out_what_is_outside(shop: Shop) -> None:
    everything = [
        shop.call("entity.query", class_="dt/Resource", limit=500),
        shop.call("entity.query", class_="dt/Resource", limit=500, as_of=shop.db.t - 1),
        shop.call("search.text", query=CANARY),
        shop.call("schema.entities"),
        shop.call("class.instances", class_="dt/Ref"),
        shop.call("entity.find", entity="order/one"),
        shop.call("entity.history", entity="order/one"),
        shop.call("class.validate-all-instances", class_="dt/Ref"),
        shop.call("task.list", all=True),
    ]
    assert CANARY not in str(everything)
    found = {one["class"] for one in everything[0]["entities"]}
    assert found == {"order/Order"}
    assert everything[7]["report"]["checked"] == 1
    # The control: an admin is shown the canary by the same.
    assert CANARY in str(shop.call("entity.query", shop.admin, class_="dt/Resource", limit=500))
    assert CANARY in str(shop.call("search.text", shop.admin, query=CANARY))


def test_changes_tell_neither_ids_nor_reasons_from_outside(shop: Shop) -> None:
    def told(caller: Caller) -> Any:
        return shop.db.guarded(caller).changes(since=0, limit=500)

    assert CANARY in str(told(shop.admin))
    assert CANARY not in str(told(shop.key))
    ids = {id for entry in told(shop.key) for id in entry.entity_ids}
    assert shop.order in ids
    assert shop.person not in ids


def test_a_value_outside_is_not_there_even_if_the_slot_is(shop: Shop) -> None:
    """`order/code` is a slot of both: whoever asks by it learns nothing of the other class."""
    there = shop.refused("entity.find", entity={"order/code": f"{CANARY}-code"})
    nowhere = shop.refused("entity.find", entity={"order/code": "canary7312-code"})
    for one in (there, nowhere):
        assert (type(one), one.code) == (NotFound, "entity.unknown")
    told = [f"{one.message} {one.hint} {one.data}" for one in (there, nowhere)]
    assert told[0].replace(CANARY, "canary7312") == told[1]


def test_what_an_entity_owns_does_not_go_with_it(shop: Shop) -> None:
    shop.db.update(shop.order, {"order/parts": [shop.person]})
    assert shop.refused("entity.delete", entity=shop.order).code == OUTSIDE
    assert shop.refused("entity.purge", entity=shop.order, confirm=shop.order).code == OUTSIDE
    assert shop.db.get(shop.person).ident == "person/ann"


def test_a_subclass_that_is_made_later_is_within(shop: Shop) -> None:
    assert shop.refused("entity.query", class_="zorp/Boot").code == OUTSIDE
    shop.db.define(classes={"order/Rush": {"dt/subclass-of": ["order/Order"]}})
    made = shop.call("entity.create", class_="order/Rush", attributes={"order/note": "now"})
    assert shop.call("entity.find", entity=made["entity-id"])["entity"]["class"] == "order/Rush"
    shop.db.define(
        classes={"order/Rush": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["order/note"]}}
    )
    for verb in ("entity.find", "entity.history"):
        assert shop.refused(verb, entity=made["entity-id"]).code == OUTSIDE


def test_a_cursor_shows_nothing_of_a_class_that_is_gone_by_now(shop: Shop) -> None:
    shop.db.define(classes={"secret/Thing": {"dt/subclass-of": ["dt/Ref"]}})
    shop.db.create("secret/Thing", {"db/ident": "secret/one", "dt/label": CANARY})
    shop.db.create("order/Order", {"order/note": "two"})
    first = shop.call("entity.query", class_="dt/Ref", limit=1)
    for ident in ("secret/one", "secret/Thing"):
        shop.db.delete(ident)
    rest = shop.call("entity.query", class_="dt/Ref", limit=500, cursor=first["cursor"])
    assert {one["class"] for one in rest["entities"]} == {"order/Order"}


# --- doors that show entities by themselves ------------------------------------------------------


def test_doors_are_closed_to_who_has_not_the_verbs_of_entities(shop: Shop) -> None:
    def door(**narrowing: Any) -> Guarded:
        name = f"k-{len(narrowing)}-{shop.db.t}"
        return shop.db.guarded(key(shop.db, name, "ada", **narrowing))

    assert door(verbs=["entity.*"]).sees("order/Order")
    assert door(verbs=["entity"]).get(shop.order).ident == "order/one"
    for verbs in (["search.text"], ["entity.find"], ["workflow.*"]):
        db = door(verbs=verbs)
        assert not db.sees("order/Order")
        assert not db.shows_any("dt/Resource")
        with pytest.raises(Forbidden):
            db.get(shop.order)
        with pytest.raises(Forbidden):
            db.query("order/Order")
        with pytest.raises(Forbidden):
            db.transact([{"op": "create", "class": "order/Order", "slots": {}}])
    scoped = door(classes=["order/Order"])
    assert [scoped.sees(cls) for cls in ("order/Order", "person/Person", "dt/Class")] == [1, 0, 0]
    assert scoped.shows_any("dt/Ref")
    assert not scoped.shows_any("dt/Class")


def test_a_key_for_one_verb_has_that_verb(shop: Shop) -> None:
    caller = key(shop.db, "finder", "ada", verbs=["entity.find", "entity.create"])
    assert shop.call("entity.find", caller, entity=shop.person)
    assert shop.db.call_as(caller, "sandbar.class.order.Order", {}).created
    for verb in ("entity.query", "entity.update", "schema.define", "task.list"):
        with pytest.raises(Forbidden) as caught:
            shop.call(verb, caller)
        assert caught.value.code == "verb.forbidden"


def test_tools_are_listed_by_rights(shop: Shop) -> None:
    lists = ToolLists(shop.db)

    def names(caller: Caller, listing: Any) -> set[str]:
        return {tool["name"] for tool in lists.tools(caller, listing, "seed")}

    finder = key(shop.db, "finder", "ada", verbs=["entity.find", "key.*"])
    assert names(finder, "default") == {"sandbar.entity.find"}
    assert names(finder, "full") == {"sandbar.entity.find"}
    assert names(finder, "all") >= {"sandbar.key.list", "sandbar.key.mint", "sandbar.entity.find"}
    classes = names(shop.key, "classes")
    assert classes == {"sandbar.class.order.Order"}
    assert names(finder, "classes") == set()
    assert names(shop.admin, "classes") > classes
    assert "sandbar.key.mint" not in names(shop.admin, "default")
    create = next(
        tool
        for tool in lists.tools(shop.key, "default", "seed")
        if tool["name"] == "sandbar.entity.create"
    )
    assert create["inputSchema"]["properties"]["class"]["enum"] == ["order/Order"]


# --- processes and tasks -------------------------------------------------------------------------


def _order(shop: Shop, caller: Caller, subject: Any) -> Any:
    given = {"workflow": "order/fulfillment", "subject": subject, "data": {"quantity": 1}}
    return shop.db.call_as(caller, "workflow.start-process", given)


def test_processes_are_seen_by_their_subjects(shop: Shop) -> None:
    outside, inside = _order(shop, shop.admin, shop.person), _order(shop, shop.admin, shop.order)
    for verb in ("workflow.process-state", "workflow.process-history", "workflow.pause"):
        assert shop.refused(verb, process=outside.process_id).code == OUTSIDE
        assert shop.call(verb, process=inside.process_id)
    # The same principal's handle, shown by another of its keys.
    assert shop.refused("task.get", task_id=outside.task_id).code == "task.unknown"
    assert shop.call("task.get", task_id=inside.task_id)
    for listed in (
        shop.call("task.list")["tasks"],
        shop.call("workflow.active-processes")["processes"],
    ):
        assert [one["process-id"] for one in listed] == [inside.process_id]
    listed = shop.db.call_as(shop.admin, "task.list", {}).tasks
    assert {one.process_id for one in listed} == {outside.process_id, inside.process_id}


def test_long_calls_of_another_key_are_nobodys_business(shop: Shop) -> None:
    wide = shop.db.call_later(shop.admin, "class.validate-all-instances", {"class": "dt/Ref"})
    mine = shop.db.call_later(shop.key, "class.validate-all-instances", {"class": "order/Order"})
    assert shop.refused("task.get", task_id=wide.task_id).code == "task.unknown"
    assert shop.call("task.get", task_id=mine.task_id)
    with pytest.raises(NotFound):
        shop.db.tasks(shop.key).find(wide.task_id)
    assert shop.db.tasks(shop.key).find(mine.task_id).process_id == mine.process_id
    eyes = key(shop.db, "eyes", "ada", verbs=["entity.*"])
    own = shop.db.call_later(
        key(shop.db, "slow", "ada", verbs=["class.*"]),
        "class.validate-all-instances",
        {"class": "dt/Ref"},
    )
    with pytest.raises(NotFound):
        shop.db.tasks(eyes).find(own.task_id)


def test_whoever_asked_is_narrowed_again_as_it_is_now(shop: Shop) -> None:
    def again(caller: Caller) -> Caller:
        kept = msgspec.json.decode(msgspec.json.encode(remembered(caller)))
        return caller_again(shop.db.workspace, "main", caller.principal, kept)

    for caller in (shop.key, shop.admin):
        assert again(caller).rights == caller.rights
        assert again(caller).key_id == caller.key_id
    assert shop.key.key is not None
    shop.db.update({"auth/key-name": shop.key.key}, {"auth/read-only?": True})
    assert again(shop.key).rights.is_read_only
    revoke_key(shop.db.workspace, shop.key.key)
    with pytest.raises(Forbidden) as caught:
        again(shop.key)
    assert caught.value.code == "access.no-longer"
    assert again(shop.admin).role == "admin"


def test_a_validation_is_seen_by_its_class(shop: Shop) -> None:
    outside = shop.db.call_as(shop.admin, "validation.run", {"class": "person/Person"}).process_id
    inside = shop.call("validation.run", class_="order/Order")["process-id"]
    assert shop.refused("validation.results", process=outside).code == OUTSIDE
    assert shop.call("validation.results", process=inside)["valid"] == 1
    listed = shop.call("validation.history")["validations"]
    assert [one["process-id"] for one in listed] == [inside]


def test_scopes_of_roles_and_keys_must_both_hold(shop: Shop) -> None:
    make_role(
        shop.db,
        "sales",
        {"group": "*", "access": "write", "classes": ["order/Order", "zorp/Footwear"]},
    )
    add_account(shop.db.workspace, "sam", role="sales")
    caller = key(shop.db, "sams", "sam", classes=["zorp/Boot", "person/Person"])
    assert shop.call("entity.find", caller, entity="product/mud-lord")
    for entity in ("product/comet-low", "order/one", "person/ann"):
        with pytest.raises(Forbidden):
            shop.call("entity.find", caller, entity=entity)
    narrowed = key(shop.db, "both", "ada", role="sales", classes=["zorp/Boot"])
    assert shop.call("entity.find", narrowed, entity="product/mud-lord")
    with pytest.raises(Forbidden):
        shop.call("entity.find", narrowed, entity="order/one")
