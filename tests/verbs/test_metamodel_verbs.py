"""What the verbs about classes and properties say, on both stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

import sandbar
from sandbar.verbs import Call as VerbCall
from sandbar.workflow import Question, Reply
from tests.verbs.conftest import Call, caller_of, refusal


def test_describe_says_all_about_a_class(call: Call) -> None:
    told = call("class.describe", {"class": ":zorp/Boot"})
    assert told["class"] == "zorp/Boot"
    assert told["abstract?"] is False
    assert told["parents"] == ["zorp/Footwear"]
    assert told["ancestors"] == ["dt/Ref", "dt/Resource", "zorp/Footwear"]
    assert told["subclasses"] == ["zorp/MoonBoot", "zorp/SpaceBoot"]
    slots = {slot["property"]: slot for slot in told["slots"]}
    assert slots["footwear/name"]["required?"] is True
    assert slots["footwear/name"]["range"] == "db.type/string"
    assert slots["boot/vacuum-rated?"]["cardinality"] == "one"
    jsonschema.validate({"footwear/name": "X"}, told["json-schema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, told["json-schema"])
    assert call("class.describe", {"class": "zorp/Footwear"})["abstract?"] is True


def test_describe_is_bounded(zorp: sandbar.Database, call: Call) -> None:
    parent = {"dt/subclass-of": ["zorp/Boot"]}
    zorp.define(classes={f"many/C{n}": parent for n in range(150)})
    told = call("class.describe", {"class": "zorp/Boot"})
    assert (len(told["subclasses"]), told["subclass-count"]) == (100, 152)


def test_slots_relatives_and_kinds(call: Call) -> None:
    boot = {"class": "zorp/Boot"}
    assert call("class.direct-slots", boot)["slots"] == [
        "boot/temperature-range",
        "boot/vacuum-rated?",
    ]
    assert call("class.required-slots", boot)["slots"] == ["footwear/name"]
    assert len(call("class.slots", boot)["slots"]) == 12
    assert call("class.subclasses", boot)["subclasses"] == ["zorp/MoonBoot", "zorp/SpaceBoot"]
    parents = call("class.parents", {"class": "zorp/MoonBoot"})
    assert (parents["parents"], "zorp/Footwear" in parents["ancestors"]) == (["zorp/Boot"], True)
    kinds = [
        ("types.instance-of", {"class": "zorp/Footwear", "id": "product/mud-lord"}, True),
        ("types.instance-of", {"class": "zorp/Sandal", "id": "product/mud-lord"}, False),
        ("types.subclass-of", {"parent": "zorp/Footwear", "child": ":zorp/Boot"}, True),
        ("types.subclass-of", {"parent": "zorp/Boot", "child": "zorp/Footwear"}, False),
    ]
    for verb, arguments, expected in kinds:
        assert call(verb, arguments)[f"{verb.partition('.')[2]}?"] is expected


def test_properties(call: Call) -> None:
    price = {"property": ":footwear/price"}
    assert call("property.domain", price) == {
        "property": "footwear/price",
        "domain": ["zorp/Footwear"],
    }
    assert call("property.range", price)["range"] == "db.type/bigdec"
    assert call("property.cardinality", price)["cardinality"] == "one"
    assert call("property.cardinality", {"property": "dt/slots"})["cardinality"] == "many"


def test_the_metamodel_has_a_past(zorp: sandbar.Database, call: Call) -> None:
    t = zorp.t
    zorp.define(classes={"new/Thing": {"dt/subclass-of": ["dt/Ref"]}})
    assert "new/Thing" in call("schema.classes", {"limit": 1000})["classes"]
    assert "new/Thing" not in call("schema.classes", {"limit": 1000, "as-of": t})["classes"]
    problem = refusal(call, "class.describe", {"class": "new/Thing", "as-of": t})
    assert problem.code == "class.unknown"


def test_entities_are_grouped_by_their_own_class(call: Call) -> None:
    whole = call("schema.entities")
    assert whole["total-entities"] == 12
    assert len(whole["by-class"]["zorp/FlipFlop"]) == 2
    assert not [cls for cls in whole["by-class"] if not cls.startswith("zorp/")]
    some = call("schema.entities", {"classes": ["zorp/Boot", ":zorp/SpaceBoot"]})
    assert {cls: len(members) for cls, members in some["by-class"].items()} == {
        "zorp/Boot": 1,
        "zorp/MoonBoot": 2,
        "zorp/SpaceBoot": 2,
    }
    assert (some["total-classes"], some["total-entities"]) == (3, 5)
    assert "zorp/Boot" in [
        one["ident"]
        for one in call("schema.entities", {"classes": ["dt/Class"], "limit": 1000})["by-class"][
            "dt/Class"
        ]
    ]
    assert refusal(call, "schema.entities", {"classes": ["zorp/Bot"]}).code == "class.unknown"


def test_an_entity_of_two_roots_is_shown_once(zorp: sandbar.Database, call: Call) -> None:
    both = {"dt/subclass-of": ["zorp/Boot", "zorp/Sandal"]}
    zorp.define(classes={"odd/Both": both})
    zorp.create("odd/Both", {"footwear/name": "Boot and sandal"})
    found = call("schema.entities", {"classes": ["zorp/Boot", "zorp/Sandal"]})
    assert found["total-entities"] == 9
    assert len(found["by-class"]["odd/Both"]) == 1


# --- schema.define -----------------------------------------------------------------------------

PLANET: dict[str, Any] = {
    "properties": {"planet/name": {"dt/range": "db.type/string"}},
    "classes": {"astro/Planet": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["planet/name"]}},
}


def test_define_makes_updates_and_repeats(call: Call) -> None:
    made = call("schema.define", PLANET)
    assert [(one["ident"], one["created"]) for one in made["defined"]] == [
        ("planet/name", True),
        ("astro/Planet", True),
    ]
    again = call("schema.define", PLANET)
    assert [one["changed"] for one in again["defined"]] == [False, False]
    more = {"properties": {"planet/name": {"dt/required?": True}}}
    assert call("schema.define", more)["defined"][0]["changed"] is True
    assert call("class.required-slots", {"class": "astro/Planet"})["slots"] == ["planet/name"]


def test_a_retried_define_is_recognised(call: Call) -> None:
    given = PLANET | {"idempotency-key": "planets"}
    first, second = call("schema.define", given), call("schema.define", given)
    assert second == first | {"replayed": True}
    other = {"classes": PLANET["classes"], "idempotency-key": "planets"}
    assert refusal(call, "schema.define", other).code == "idempotency.mismatch"


def test_define_refuses_what_would_break(call: Call) -> None:
    strict = {"properties": {"footwear/color": {"dt/range": "db.type/long"}}}
    problem = refusal(call, "schema.define", strict)
    assert problem.code == "schema.would-break"
    assert problem.data["broken"] == 12
    assert refusal(call, "schema.define").code == "define.malformed"


# --- class.validate-all-instances --------------------------------------------------------------


class Listener:
    """A door that notes what it is told, and cannot be asked."""

    native = None

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str | None]] = []

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.told.append((done, total, message))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        raise AssertionError("nothing is logged here")

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        raise AssertionError("nobody is asked here")


def test_all_instances_are_checked_with_progress(zorp: sandbar.Database) -> None:
    zorp.transact(
        [
            {"op": "create", "class": "zorp/Boot", "slots": {"footwear/name": f"B{n}"}}
            for n in range(450)
        ]
    )
    listener = Listener()
    given = {"class": "zorp/Footwear"}
    call = VerbCall(caller_of(zorp), "class.validate-all-instances", given, channel=listener)
    answer = zorp.perform(call)
    assert (answer.report.checked, answer.report.invalid) == (462, 0)
    assert [done for done, _, _ in listener.told] == [200, 400, 462]


def test_what_became_invalid_is_reported(zorp: sandbar.Database, call: Call) -> None:
    break_boots(zorp)
    answer = call("class.validate-all-instances", {"class": "zorp/Footwear"})
    assert answer["class"] == "zorp/Footwear"
    report = answer["report"]
    assert (report["checked"], report["valid"], report["invalid"]) == (12, 7, 5)
    assert {one["class"] for one in report["entities"]} == {
        "zorp/Boot",
        "zorp/MoonBoot",
        "zorp/SpaceBoot",
    }
    errors = [error for one in report["entities"] for error in one["errors"]]
    assert {error["code"] for error in errors} == {"class.validator"}
    assert call("class.validate-all-instances", {"class": "zorp/Sandal"})["report"]["invalid"] == 0


def break_boots(db: sandbar.Database) -> None:
    """Give boots a rule that none of them keeps, past the checks that would refuse it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbar.model.impact.report_on", lambda *_: None)
        db.update("zorp/Boot", {"dt/validator": '"db/doc" in this'})


def test_the_core_is_valid(call: Call) -> None:
    for cls in ("dt/Class", "dt/Property"):
        report = call("class.validate-all-instances", {"class": cls})["report"]
        assert (report["invalid"], report["checked"] > 10) == (0, True)
