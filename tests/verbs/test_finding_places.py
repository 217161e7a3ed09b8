"""One form of finding in every room: its place is a readable path, beside the keys of ever."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import add_account
from sandbar.errors import Incorrect, Problem
from sandbar.findings import (
    FINDINGS_MAX,
    Finding,
    Findings,
    data_of,
    finding_of,
    findings_in,
    moved_data,
)
from sandbar.settings import Settings
from sandbar.suggestions import Suggestion
from tests.house.source import modules
from tests.verbs.conftest import Call, refusal

SOURCE = Path(__file__).parents[2] / "src"
BOOT = "zorp/Boot"
WORKFLOW = {"name": "a/b", "states": [{"name": "s", "initial?": True, "retries": 1, "oops": 2}]}

Told = list[tuple[str, list[str]]]


def told(found: list[dict[str, Any]]) -> Told:
    """The place of each finding, and its other keys that say where."""
    said = {"place", "code", "message", "hint", "unknown"}
    return [(one["place"], [key for key in one if key not in said]) for one in found]


PLACES: list[tuple[dict[str, Any], str]] = [
    ({}, "entity"),
    ({"slot": "footwear/price"}, "slots.footwear/price"),
    ({"at": 3}, "operations[3]"),
    ({"at": 3, "slot": "a/b", "entity": "x/y"}, "operations[3].slots.a/b"),
    ({"argument": "limit"}, "arguments.limit"),
    ({"argument": "where", "slot": "a/b"}, "arguments.where.a/b"),
    ({"argument": ""}, "arguments"),
    ({"at": "states[1].after"}, "states[1].after"),
    ({"at": ""}, "definition"),
    ({"line": 12, "key": "title"}, "line 12 title"),
    ({"line": 12}, "line 12"),
    ({"path": "notes/a.md", "line": 12, "key": "title"}, "notes/a.md:12 title"),
    ({"path": "notes/a.md", "key": "title"}, "notes/a.md title"),
    ({"path": "notes/a.md"}, "notes/a.md"),
    ({"slot": "a\nb"}, r"slots.a\nb"),
    ({"key": "x" * 999, "line": 1}, f"line 1 {'x' * 255}"),
    ({"slot": "a/b", "place": "where.a/b"}, "where.a/b"),
]


@pytest.mark.parametrize(("where", "place"), PLACES)
def test_a_place_is_one_readable_path(where: dict[str, Any], place: str) -> None:
    found = Finding(code="a.b", message="c", **where)
    assert found.place == place
    (data,) = data_of([found])
    assert data == {"place": place, "code": "a.b", "message": "c"} | where | {"place": place}
    assert findings_in(Incorrect("x.y", "z", data={"findings": [data]})) == [found]


def test_a_finding_that_is_moved_has_the_place_where_it_is_now() -> None:
    found = Finding(code="a.b", message="c", slot="a/b", place="where.a/b")
    assert found.moved(argument="where").place == "arguments.where.a/b"
    assert moved_data(data_of([found])[0], at=2)["place"] == "operations[2].slots.a/b"


def test_the_keys_are_told_in_the_order_that_they_had() -> None:
    def order(**where: Any) -> list[str]:
        found = Finding(code="a", message="b", hint="c", **where)
        return [key for key in data_of([found])[0] if key != "place"]

    assert order(slot="s", at=1, entity=2, unknown="u") == [
        *("code", "message", "slot", "hint", "at", "entity", "unknown")
    ]
    assert order(argument="x", slot="s") == ["argument", "code", "message", "slot", "hint"]
    assert order(at="states[0]") == ["at", "code", "message", "hint"]
    assert order(line=1, key="k", row=2) == ["line", "key", "code", "message", "hint", "row"]
    in_file = ["path", "code", "message", "line", "key", "hint"]
    assert order(path="p", line=1, key="k") == in_file


# --- every room ----------------------------------------------------------------------------------


def test_the_findings_of_a_write_have_places(call: Call) -> None:
    wrong = {"footwear/nmae": "x", "boot/vacuum-rated?": 3}
    problem = refusal(call, "entity.create", {"class": BOOT, "slots": wrong})
    assert sorted(told(problem.data["findings"])) == [
        ("slots.boot/vacuum-rated?", ["slot"]),
        ("slots.footwear/name", ["slot"]),
        ("slots.footwear/nmae", ["slot"]),
    ]
    fine = {"op": "create", "class": BOOT, "slots": {"footwear/name": "Fine"}}
    bad = {"op": "create", "class": BOOT, "slots": wrong, "temp": "bad"}
    problem = refusal(call, "entity.transact", {"operations": [fine, bad, {"op": "craete"}]})
    assert (
        told(problem.data["findings"])
        == [
            ("operations[2]", ["at"]),
            ("operations[1].slots.footwear/nmae", ["slot", "at", "entity"]),
            ("operations[1].slots.boot/vacuum-rated?", ["slot", "at", "entity"]),
            ("operations[1].slots.footwear/name", ["slot", "at", "entity"]),
        ]
        or problem.data["findings"]
    )
    answer = call("entity.validate", {"class": BOOT, "attributes": wrong})
    assert ("slots.footwear/nmae", ["slot"]) in told(answer["errors"])


def test_a_name_that_means_nothing_is_told_whatever_its_form(zorp: sandbar.Database) -> None:
    name: Any = {"db/ident": "no/such"}
    with pytest.raises(Problem) as caught:
        zorp.create(name, {})
    (found,) = caught.value.data["findings"]
    assert (found["place"], found["unknown"]) == ("entity", '{"db/ident": "no/such"}')


def test_what_is_kept_from_the_caller_is_a_finding_like_others(
    call: Call, zorp: sandbar.Database
) -> None:
    made = add_account(zorp._workspace, "someone", role="reader").account
    account = {"class": zorp.get(made.entity_id).class_, "attributes": {"db/ident": "account/none"}}
    (found,) = call("entity.validate", account, role="writer")["errors"]
    assert (found["place"], found["code"]) == ("entity", "entity.protected")


def test_the_findings_of_a_call_and_a_query_have_places(call: Call) -> None:
    problem = refusal(call, "entity.query", {"limit": "ten", "clas": BOOT})
    assert sorted(told(problem.data["findings"])) == [
        (f"arguments.{name}", ["argument"]) for name in ("clas", "class", "limit")
    ]
    query = {"class": BOOT, "where": {"footwear/nmae": 1}}
    problem = refusal(call, "entity.query", query)
    assert told(problem.data["findings"]) == [("where.footwear/nmae", ["slot"])]
    problem = refusal(call, "entity.query", {**query, "order-by": "footwear/colr"})
    assert told(problem.data["findings"]) == [
        ("arguments.where.footwear/nmae", ["argument", "slot"]),
        ("arguments.order-by", ["argument"]),
    ]
    problem = refusal(call, "key.mint", {"name": "a b", "role": "king"})
    assert {place for place, _ in told(problem.data["findings"])} >= {"arguments.role"}


def test_the_findings_of_a_workflow_have_places(call: Call) -> None:
    problem = refusal(call, "workflow.define", {"spec": WORKFLOW})
    found = problem.data["findings"]
    assert {one["place"] for one in found} == {one["at"] for one in found}
    assert ("states[0]", ["at"]) in told(found)


def test_the_findings_of_a_document_and_a_folder_have_places(
    call: Call, zorp: sandbar.Database, tmp_path: Path
) -> None:
    text = "---\nclass: zorp/Boot\nname: Fine\nprice: dear\n---\n"
    problem = refusal(call, "entity.create", {"class": BOOT, "source": text, "format": "markdown"})
    assert told(problem.data["findings"]) == [("line 4 price", ["line", "key"])]
    folder = tmp_path / "folder" / "zorp" / "Boot"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(text)
    plan = zorp.call("project.import", {"from": str(tmp_path / "folder")})
    (found,) = plan.findings
    assert (found.place, found.path, found.line) == (f"{found.path}:4 price", found.path, 4)


def test_the_findings_of_settings_have_places() -> None:
    with pytest.raises(Problem) as caught:
        Settings.from_environment({"SANDBAR_PORT": "x", "SANDBAR_LOG_LEVEL": "y"})
    assert told(caught.value.data["findings"]) == [
        ("SANDBAR_PORT", ["at"]),
        ("SANDBAR_LOG_LEVEL", ["at"]),
    ]


def finding_forms(tree: Path) -> list[str]:
    """Classes of findings, and findings that are put together by hand."""
    found = []
    for module in modules(tree):
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and "Finding" in node.name:
                found.append(f"{module.path}: {node.name}")
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)  # a JSON Schema has dicts in it
                said = {ast.unparse(k) for k, v in pairs if k and not isinstance(v, ast.Dict)}
                if said >= {"'code'", "'message'", "'hint'"}:
                    found.append(f"{module.path}: by hand")
    return found


def test_there_is_one_form_of_finding_and_one_collector() -> None:
    ours = ["sandbar/findings.py: Finding", "sandbar/findings.py: Findings"]
    assert finding_forms(SOURCE) == ours


def test_another_form_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('f = {"code": "c", "message": "m", "hint": None, "at": 1}')
    (tmp_path / "b.py").write_text("class RestFinding: pass")
    assert finding_forms(tmp_path) == ["a.py: by hand", "b.py: RestFinding"]


# --- the collector -------------------------------------------------------------------------------


def test_what_is_more_than_is_told_is_counted() -> None:
    findings = Findings()
    for n in range(FINDINGS_MAX + 5):
        findings.add(Finding(code="a.b", message=f"m{n}", hint=f"h{n % 3}"))
    assert findings.is_full
    problem = findings.as_problem("x.y", "wrong: ")
    assert problem.message == f"wrong: m0 (and {FINDINGS_MAX + 4} more)"
    assert (problem.hint, problem.data["left-out"]) == ("h0; h1; h2", 5)
    again = Findings()
    again.adopt(problem, argument="where")
    assert (again.count, again.told[0].place) == (FINDINGS_MAX + 5, "arguments.where")


def test_names_are_compared_for_the_first_few_findings_only() -> None:
    findings = Findings(guesses_max=2)
    for name in ("nmae", "nmae", "naem", "nane"):
        hint = Suggestion(name, ["name"], "look it up")
        findings.note(Incorrect("slot.unknown", "what?", hint=hint), slot=name)
    assert [one.hint for one in findings.told] == [
        *["did you mean name? look it up"] * 3,
        "look it up",
    ]
    assert findings.guess("nmae", ["name"]) is None
    assert [one.unknown for one in findings.told] == ["nmae", "nmae", "naem", "nane"]


def test_a_long_text_is_cut_where_that_is_wanted() -> None:
    findings = Findings(characters_max=5)
    findings.add(finding_of(Incorrect("a.b", "too long", hint="also long"), at="x"))
    assert (findings.told[0].message, findings.told[0].hint) == ("too l…", "also …")
    assert findings.told[0].place == "x"
