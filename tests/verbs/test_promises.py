"""What the descriptions of arguments promise, tried out: a caller knows nothing else."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

import sandbar
from sandbar.verbs import base_catalogue, base_verbs
from tests.verbs.conftest import Call, refusal
from tests.verbs.placeholders import filled

SHOPS: dict[str, Any] = {
    "properties": {
        "shop/name": {"dt/range": "db.type/string", "dt/required?": True, "dt/indexed?": True},
        "shop/stars": {"dt/range": "db.type/long"},
        "shop/tags": {"dt/range": "db.type/string", "db/cardinality": "many"},
        "shop/code": {"dt/range": "db.type/string", "db/unique": "identity", "db/doc": "Short."},
        "shop/partner": {"dt/range": "shop/Shop"},
    },
    "classes": {
        "shop/Place": {"dt/abstract?": True, "dt/subclass-of": ["dt/Ref"]},
        "shop/Shop": {
            "dt/subclass-of": ["shop/Place"],
            "dt/slots": ["shop/name", "shop/stars", "shop/tags", "shop/code", "shop/partner"],
            "db/doc": "Where one buys.",
        },
    },
}
ANN = {"shop/name": "Ann", "shop/stars": 1, "shop/tags": ["a", "b"], "shop/code": "A"}
BOB = {"shop/name": "Bob", "shop/stars": 2, "shop/partner": "ann"}
CLEO = {"shop/name": "Cleo", "shop/stars": 3, "shop/partner": "bob"}


@pytest.fixture
def shops(call: Call) -> Call:
    """Three shops, made by what the descriptions of schema.define and entity.transact say."""
    call("schema.define", SHOPS)
    operations = [
        {"op": "create", "class": "shop/Shop", "slots": slots, "temp": temp}
        for temp, slots in (("ann", ANN), ("bob", BOB), ("cleo", CLEO))
    ]
    call("entity.transact", {"operations": operations})
    return call


def described(verb: str, argument: str) -> str:
    """The description of an argument."""
    found = base_catalogue().find(verb)
    assert found is not None
    return str(found.takes["properties"][argument]["description"])


FILTERS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("{slot: value}", {"shop/name": "Ann"}, ["Ann"]),
    ("=", {"shop/stars": {"=": 2}}, ["Bob"]),
    ("!=", {"shop/stars": {"!=": 2}}, ["Ann", "Cleo"]),
    ("<", {"shop/stars": {"<": 2}}, ["Ann"]),
    ("<=", {"shop/stars": {"<=": 2}}, ["Ann", "Bob"]),
    (">", {"shop/stars": {">": 2}}, ["Cleo"]),
    (">=", {"shop/stars": {">=": 2}}, ["Bob", "Cleo"]),
    ("in", {"shop/stars": {"in": [1, 3]}}, ["Ann", "Cleo"]),
    ("exists", {"shop/tags": {"exists": True}}, ["Ann"]),
    ("starts-with", {"shop/name": {"starts-with": "Cl"}}, ["Cleo"]),
    ("contains", {"shop/name": {"contains": "o"}}, ["Bob", "Cleo"]),
    ("{ref: {slot: value}}", {"shop/partner": {"shop/name": "Ann"}}, ["Bob"]),
    (
        "{ref: {slot: value}}",
        {"shop/partner": {"shop/partner": {"shop/stars": {"<": 2}}}},
        ["Cleo"],
    ),
    ("and", {"and": [{"shop/stars": {">": 1}}, {"shop/name": "Bob"}]}, ["Bob"]),
    ("or: [filter]", {"or": [{"shop/name": "Ann"}, {"shop/name": "Bob"}]}, ["Ann", "Bob"]),
    ("not: filter", {"not": {"shop/partner": {"shop/name": "Ann"}}}, ["Ann", "Cleo"]),
]


def test_filters_do_what_is_said_of_them(shops: Call) -> None:
    text = described("entity.query", "where")
    for said, where, names in FILTERS:
        assert said in text
        asked = {"class": "shop/Shop", "where": where, "order-by": "shop/name"}
        found = shops("entity.query", asked)["entities"]
        assert [one["slots"]["shop/name"] for one in found] == names, where


def test_every_operator_that_is_named_has_been_tried() -> None:
    text = described("entity.query", "where")
    listed = re.search(r"ops ([^;]+);", text)
    assert listed is not None
    tried = {said for said, _, _ in FILTERS}
    assert set(listed[1].split()) <= tried
    assert "a/b.c/d" not in text


def test_a_path_with_a_point_is_refused_as_no_slot(shops: Call) -> None:
    where = {"shop/partner.shop/name": "Ann"}
    problem = refusal(shops, "entity.query", {"class": "shop/Shop", "where": where})
    assert problem.code == "filter.invalid"


def test_order_by_takes_what_class_describe_shows_as_indexed(shops: Call) -> None:
    assert "class.describe shows indexed?" in described("entity.query", "order-by")
    slots = shops("class.describe", {"class": "shop/Shop"})["slots"]
    for slot in slots:
        asked = {"class": "shop/Shop", "order-by": f"-{slot['property']}"}
        if slot.get("indexed?") and slot["cardinality"] == "one":
            assert len(shops("entity.query", asked)["entities"]) == 3
        else:
            assert refusal(shops, "entity.query", asked).code == "query.order"
    down = shops("entity.query", {"class": "shop/Shop", "order-by": "-shop/name"})["entities"]
    assert [one["slots"]["shop/name"] for one in down] == ["Cleo", "Bob", "Ann"]


def test_the_words_of_definitions_are_slots_of_the_metamodel(zorp: sandbar.Database) -> None:
    for argument, cls in (("properties", "dt/Property"), ("classes", "dt/Class")):
        words = set(re.findall(r"\bd[bt]/[a-z?-]+", described("schema.define", argument)))
        assert len(words) >= 4
        assert words <= set(zorp.schema.slots(cls))


def test_who_may_define_what(shops: Call) -> None:
    new = {"properties": {"shop/new": {"dt/range": "db.type/string"}}}
    assert shops("schema.define", new, role="writer")["defined"][0]["created"] is True
    change = {"properties": {"shop/stars": {"dt/indexed?": True}}}
    assert refusal(shops, "schema.define", change, role="writer").code == "schema.admin-only"
    assert shops("schema.define", change)["defined"][0]["changed"] is True
    shops("entity.query", {"class": "shop/Shop", "order-by": "shop/stars"})


@pytest.mark.parametrize("verb", base_verbs(), ids=lambda verb: verb.name)
def test_every_limit_says_its_bounds(call: Call, verb: Any) -> None:
    limit = verb.takes["properties"].get("limit")
    if limit is not None:
        bounds = f"{limit['minimum']} to {limit['maximum']}"
        assert limit["description"] == f"per page, {bounds}"
        example = filled(call, verb.examples[0].arguments)
        call(verb.name, example | {"limit": limit["maximum"]})
        over = refusal(call, verb.name, example | {"limit": limit["maximum"] + 1})
        assert over.code == "arguments.invalid"


def test_an_ident_that_the_schema_accepts_is_accepted(call: Call) -> None:
    schema = call("class.describe", {"class": "zorp/Boot"})["json-schema"]
    for ident, is_right in [
        ("test/boot", True),
        (":test/boot-2", True),
        ("boot", False),
        ("/boot", False),
        ("test/", False),
        ("test/a b", False),
        ("größe/maß", True),
    ]:
        slots = {"footwear/name": "x", "db/ident": ident}
        if is_right:
            jsonschema.validate(slots, schema)
            assert call("entity.create", {"class": "zorp/Boot", "slots": slots})["created"]
        else:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(slots, schema)
            problem = refusal(call, "entity.create", {"class": "zorp/Boot", "slots": slots})
            assert problem.code == "keyword.malformed"


def test_objects_may_come_as_text(shops: Call) -> None:
    """The reference says so of every argument that takes an object."""
    by_code = {"entity": '{"shop/code": "A"}'}
    assert shops("entity.find", by_code)["entity"]["slots"]["shop/name"] == "Ann"
    assert shops("entity.update", by_code | {"set": '{"shop/stars": 5}'})["changed"] is True
    assert len(shops("entity.history", by_code)["history"]) == 2


def test_a_snippet_shows_text_rather_than_the_ident(shops: Call) -> None:
    slots = {"db/ident": "shop/umbrella-land", "shop/name": "Umbrella Land"}
    shops("entity.create", {"class": "shop/Shop", "slots": slots})
    (hit,) = shops("search.text", {"query": "umbrella"})["hits"]
    assert hit["snippet"] == "**Umbrella** Land"
    slots = {"db/ident": "shop/galosh", "shop/name": "Rubber"}
    shops("entity.create", {"class": "shop/Shop", "slots": slots})
    (hit,) = shops("search.text", {"query": "galosh"})["hits"]
    assert "galosh" in hit["snippet"]
