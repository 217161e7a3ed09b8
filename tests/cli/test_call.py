"""`sandbar call`: any verb, JSON out, every finding on stderr."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sandbar
from tests.cli.program import run_here, run_well_here, serving


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder whose sandbar.db is the tutorial's shop."""
    with sandbar.open(tmp_path / "sandbar.db") as db:
        db.load_pack("zorp")
    return tmp_path


def call(folder: Path, *words: str) -> Any:
    """The answer of a verb."""
    text = run_well_here("call", *words, cwd=folder)
    assert text.count("\n") == 1, "compact, one line, when nobody looks"
    return json.loads(text)


def test_text_and_json_arguments(shop: Path) -> None:
    made = call(
        shop,
        "entity.create",
        "class=zorp/SpaceBoot",
        'attributes:={"db/ident": "product/x", "footwear/name": "X", "footwear/price": 5}',
    )
    found = call(shop, "entity.find", "entity=product/x")
    assert found["entity"]["entity-id"] == made["entity-id"]
    assert (
        call(shop, "entity.find", f"entity:={made['entity-id']}")["entity"]["ident"] == "product/x"
    )


def test_a_number_needs_no_colon_where_the_verb_takes_no_text(shop: Path) -> None:
    page = call(shop, "entity.query", "class=zorp/Footwear", "limit=2")
    assert page == call(shop, "entity.query", "class=zorp/Footwear", "limit:=2")
    assert page["cursor"] is not None


def test_arguments_as_one_object_and_words_on_top(shop: Path) -> None:
    whole = json.dumps({"class": "zorp/Boot", "limit": 1})
    page = call(shop, "entity.query", "--json", whole, "class=zorp/Footwear", "limit:=3")
    assert page == call(shop, "entity.query", "class=zorp/Footwear", "limit:=3")


@pytest.mark.parametrize(
    "name", ["schema.classes", "sandbar.schema.classes", "sandbar_schema_classes"]
)
def test_every_spelling_of_a_verb(shop: Path, name: str) -> None:
    assert "zorp/Boot" in json.dumps(call(shop, name, "limit=200"))


def test_class_tools_are_called_by_name(shop: Path) -> None:
    slots = json.dumps({"footwear/name": "Moon Boot Pro", "footwear/price": 299.99})
    assert call(shop, "class.zorp.SpaceBoot", "--json", slots)["entity-id"]


def test_every_finding_comes_with_its_advice(shop: Path) -> None:
    slots = json.dumps({"footwear/nmae": "X", "footwear/price": -1})
    answer = run_here("call", "entity.create", "class=zorp/Boot", f"attributes:={slots}", cwd=shop)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "footwear/nmae" in answer.stderr
    assert "footwear/price" in answer.stderr
    assert "did you mean" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_an_unknown_verb_is_a_problem(shop: Path) -> None:
    near = run_here("call", "entity.craete", cwd=shop)
    assert near.returncode == 1
    assert "try: did you mean entity.create" in near.stderr
    far = run_here("call", "nothing-like-it", cwd=shop)
    assert "there are: " in far.stderr
    assert "entity.create" in far.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("entity.query", "class"),
        ("entity.query", "=x"),
        ("entity.query", "limit:=x"),
        ("entity.query", "class=a", "class=b"),
        ("entity.query", "--json", "[1]"),
        ("entity.query", "--json", "{"),
        (),
    ],
)
def test_wrong_usage(shop: Path, words: tuple[str, ...]) -> None:
    answer = run_here("call", *words, cwd=shop)
    assert (answer.returncode, answer.stdout) == (2, "")


def test_it_works_beside_a_server(shop: Path) -> None:
    with serving(cwd=shop):
        assert call(shop, "entity.query", "class=zorp/Footwear", "limit=1")


def test_in_a_wrong_folder_it_makes_nothing(tmp_path: Path) -> None:
    answer = run_here("call", "schema.classes", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "store.no-database" in answer.stderr
    assert str(tmp_path / "sandbar.db") in answer.stderr
    assert "sandbar pack add" in answer.stderr
    assert list(tmp_path.iterdir()) == []


# --- what others have to do --------------------------------------------------------------------


def test_work_that_nobody_does_is_not_left_unsaid(shop: Path) -> None:
    answer = run_here("call", "validation.start", "class=zorp/Boot", cwd=shop)
    assert (answer.returncode, answer.stdout.count("\n")) == (0, 1)
    assert json.loads(answer.stdout)["state"] == "validation/pending"
    assert "sandbar serve" in answer.stderr
    assert "validation.run" in answer.stderr
    process = json.loads(answer.stdout)["process-id"]
    looked = run_here("call", "workflow.process-state", f"process={process}", cwd=shop)
    assert looked.stderr == "", "whoever only looks is told nothing"
    paused = run_here("call", "workflow.pause", f"process={process}", cwd=shop)
    assert paused.stderr == "", "nobody has to do anything"
    assert run_here("call", "validation.run", "class=zorp/Boot", cwd=shop).stderr == ""


def test_a_timer_is_told_of_and_what_waits_for_people_is_not(shop: Path) -> None:
    order = json.dumps({"subject": "product/mud-lord", "data": {"quantity": 1}})
    words = ("workflow.start-process", "workflow=order/fulfillment", "--json", order)
    answer = run_here("call", *words, cwd=shop)
    assert "fires the timer: start one with sandbar serve" in answer.stderr
    assert "validation.run" not in answer.stderr
    process = json.loads(answer.stdout)["process-id"]
    moved = run_here(
        "call", "workflow.transition", f"process={process}", "transition=confirm", cwd=shop
    )
    assert (moved.returncode, moved.stderr) == (0, "")


def test_nothing_is_said_where_a_server_does_the_work(shop: Path) -> None:
    with serving(cwd=shop):
        answer = run_here("call", "validation.start", "class=zorp/Boot", cwd=shop)
        assert (answer.returncode, answer.stderr) == (0, "")
