"""A workspace knows its packs, and a pack comes whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.model import Workspace
from sandbar.packs import (
    available_packs,
    built_in_packs,
    load_pack,
    loaded_packs,
    pack_records,
    prompts,
)
from tests.packs.conftest import WritePack

TEA = {"tea/name": {"dt/range": "db.type/string"}}


def tea_prompt(text: str = "Brew {{tea}}.") -> dict[str, Any]:
    """A prompt with one argument."""
    return {
        "ident": "tea/brew",
        "description": "How to brew it.",
        "arguments": [{"name": "tea", "required": True}],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def test_a_workspace_without_packs_has_none(workspace: Workspace) -> None:
    assert (loaded_packs(workspace), prompts(workspace)) == ([], [])


def test_loading_is_one_transaction_of_everything(either: Workspace) -> None:
    before = either.last_t()
    report = load_pack(either, "zorp")
    assert (either.last_t(), report.created, report.prompts) == (before + 1, 12, 2)
    ids = set(either.changes(since=before)[0].entity_ids)
    written = ["zorp/Footwear", "product/mud-lord", "pack/Pack", "pack/zorp", "zorp/plan-launch"]
    assert ids >= {either.get(ident).entity_id for ident in written}


def test_loading_twice_changes_nothing(either: Workspace) -> None:
    for pack in ("zorp", "everything"):
        load_pack(either, pack)
    before = either.last_t()
    assert [load_pack(either, pack).created for pack in ("zorp", "everything")] == [0, 0]
    assert either.last_t() == before


def test_the_record_says_what_was_loaded(either: Workspace) -> None:
    load_pack(either, "zorp")
    [record] = pack_records(either)
    assert (record.name, record.title, record.version) == ("zorp", "Zorp's Galactic Footwear", "1")
    assert "zorp/Footwear" in record.instructions
    assert either.get("pack/zorp").class_ == "pack/Pack"


def test_the_record_is_brought_up_to_date(workspace: Workspace, write_pack: WritePack) -> None:
    load_pack(workspace, write_pack("tea", version="1", description="Old.", instructions="Boil."))
    load_pack(workspace, write_pack("tea", version="2"))
    [record] = pack_records(workspace)
    assert (record.version, record.description, record.instructions) == ("2", "", "")


def test_each_pack_changes_the_generation(workspace: Workspace, write_pack: WritePack) -> None:
    generations = [workspace.schema().generation]
    for pack in ("zorp", "everything", write_pack("empty"), write_pack("emptier")):
        load_pack(workspace, pack)
        generations.append(workspace.schema().generation)
    assert generations == sorted(set(generations))
    load_pack(workspace, "zorp")
    assert workspace.schema().generation == generations[-1]
    assert loaded_packs(workspace) == ["emptier", "empty", "everything", "zorp"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"entities": [{"class": "tea/Cup", "slots": {"db/ident": "cup/a", "tea/nmae": "x"}}]},
        {"entities": [{"class": "tea/Cup", "slots": {"tea/name": "x"}}]},
        {"entities": {}},
        {"prompts": [{**tea_prompt(), "ident": "tea/brew it!"}]},
        {"prompts": [{**tea_prompt(), "ident": "tea/brew?"}]},
        {"prompts": [{**tea_prompt(), "ident": "brew"}]},
        {"prompts": [tea_prompt("Brew {{coffee}}.")]},
        {"prompts": [{**tea_prompt(), "messages": []}]},
        {"prompts": [{**tea_prompt(), "messages": [{"role": "system", "content": {}}]}]},
        {"prompts": [{**tea_prompt(), "arguments": [{"name": "tea"}, {"name": "tea"}]}]},
        {"prompts": [{**tea_prompt(), "code": "os.system"}]},
        {"instructions": "x" * 401},
        {"name": "Tea"},
        {"name": "tea/../zorp"},
        {"name": "t" * 46},
        {"module": "os"},
    ],
)
def test_a_wrong_pack_leaves_no_trace(
    workspace: Workspace, write_pack: WritePack, wrong: dict[str, Any]
) -> None:
    classes = {"tea/Cup": {"dt/slots": ["tea/name"]}}
    before = workspace.last_t()
    folder = write_pack("tea", schema={"properties": TEA, "classes": classes}, **wrong)
    with pytest.raises(Problem) as caught:
        load_pack(workspace, folder)
    assert caught.value.hint
    assert workspace.last_t() == before
    assert loaded_packs(workspace) == []


def test_the_same_pack_without_the_mistake_loads(
    workspace: Workspace, write_pack: WritePack
) -> None:
    """The control of the test above."""
    classes = {"tea/Cup": {"dt/slots": ["tea/name"]}}
    entities = [{"class": "tea/Cup", "slots": {"db/ident": "cup/a", "tea/name": "x"}}]
    folder = write_pack(
        "tea",
        schema={"properties": TEA, "classes": classes},
        entities=entities,
        prompts=[tea_prompt()],
        instructions="x" * 400,
    )
    assert load_pack(workspace, folder).created == 1


def test_many_seeds_come_in_parts_and_are_counted_once(
    workspace: Workspace, write_pack: WritePack
) -> None:
    classes = {"tea/Cup": {"dt/slots": ["tea/name"]}}
    seeds = [{"class": "tea/Cup", "slots": {"db/ident": f"cup/n{n}"}} for n in range(2100)]
    folder = write_pack("tea", schema={"properties": TEA, "classes": classes}, entities=seeds)
    before = workspace.last_t()
    assert load_pack(workspace, folder).created == 2100
    assert workspace.last_t() == before + 3
    assert load_pack(workspace, folder).created == 0
    assert workspace.last_t() == before + 3


def test_a_prompt_is_brought_up_to_date(workspace: Workspace, write_pack: WritePack) -> None:
    load_pack(workspace, write_pack("tea", prompts=[{**tea_prompt(), "title": "Brew"}]))
    load_pack(workspace, write_pack("tea", prompts=[tea_prompt("Steep {{tea}}.")]))
    prompt = workspace.get("tea/brew")
    assert prompt["prompt/messages"][0]["content"]["text"] == "Steep {{tea}}."
    assert "prompt/title" not in prompt.slots


def test_a_folder_cannot_take_the_name_of_a_built_in_pack(
    workspace: Workspace, write_pack: WritePack
) -> None:
    with pytest.raises(Conflict) as caught:
        load_pack(workspace, write_pack("everything"))
    assert caught.value.code == "pack.name-taken"


def test_an_ident_of_another_class_is_not_overwritten(
    workspace: Workspace, write_pack: WritePack
) -> None:
    load_pack(workspace, "zorp")
    stolen = {**tea_prompt(), "ident": "product/mud-lord"}
    with pytest.raises(Problem) as caught:
        load_pack(workspace, write_pack("tea", prompts=[stolen]))
    assert caught.value.code in ("ident.taken", "entity.invalid")
    assert workspace.get("product/mud-lord").class_ == "zorp/Boot"


def test_the_pack_for_tests_is_listed_only_on_request() -> None:
    assert "everything" not in built_in_packs()
    assert {"everything", "zorp"} <= set(built_in_packs(for_tests=True))
    assert "everything" not in [pack.name for pack in available_packs()]
    assert "everything" in [pack.name for pack in available_packs(for_tests=True)]


def test_instructions_are_short(workspace: Workspace) -> None:
    for pack in available_packs(for_tests=True):
        assert 0 < len(pack.instructions) <= 400, pack.name


def test_an_unknown_pack_does_not_advertise_the_one_for_tests(workspace: Workspace) -> None:
    with pytest.raises(Problem) as caught:
        load_pack(workspace, "everythin")
    assert "zorp" in (caught.value.hint or "")
    assert "everything" not in (caught.value.hint or "")


def test_too_long_instructions_cannot_be_written_by_hand_either(workspace: Workspace) -> None:
    load_pack(workspace, "zorp")
    with pytest.raises(Incorrect):
        workspace.transact(
            [{"op": "update", "entity": "pack/zorp", "set": {"pack/instructions": "x" * 401}}],
            principal="test",
        )
