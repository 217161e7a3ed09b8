"""Packs bring workflows as data: checked whole, defined with the rest or not at all."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sandbar.errors import Problem
from sandbar.model import Workspace
from sandbar.packs import load_pack, loaded_packs
from sandbar.workflow import Workflows
from tests.packs.conftest import WritePack

TEA: dict[str, Any] = {
    "name": "tea/brewing",
    "description": "Tea, from leaf to cup.",
    "states": [
        {"name": "tea/steeping", "initial?": True},
        {"name": "tea/ready", "terminal?": True, "terminal-kind": "success"},
    ],
    "transitions": [{"name": "pour", "from": "tea/steeping", "to": "tea/ready"}],
}
STRONG = {**TEA, "description": "Tea, from leaf to cup, strong."}
NO_INITIAL: dict[str, Any] = copy.deepcopy(TEA) | {"name": "tea/never"}
del NO_INITIAL["states"][0]["initial?"]
NOWHERE: dict[str, Any] = copy.deepcopy(TEA) | {"name": "tea/nowhere"}
NOWHERE["transitions"][0]["to"] = "tea/raedy"


def versions(workspace: Workspace, name: str = "tea/brewing") -> list[int]:
    """The versions of a workflow that there are."""
    page = workspace.query("workflow/Definition", {"workflow/name": name})
    return sorted(entity["workflow/version"] for entity in page.items)


def test_a_pack_brings_a_workflow(either: Workspace, write_pack: WritePack) -> None:
    report = load_pack(either, write_pack("tea", workflows=[TEA]))
    assert (report.workflows, report.definitions, report.prompts) == (1, 0, 0)
    workflows = Workflows(either)
    assert workflows.find("tea/brewing").description == TEA["description"]
    view = workflows.start("tea/brewing", principal="somebody")
    assert workflows.transition(view.process_id, "pour", principal="somebody").kind == "success"
    assert either.history("tea/brewing")[0].principal == "pack/tea"


def test_loading_again_changes_nothing(either: Workspace, write_pack: WritePack) -> None:
    folder = write_pack("tea", workflows=[TEA])
    load_pack(either, folder)
    before = either.last_t()
    assert load_pack(either, folder).workflows == 1
    assert (either.last_t(), versions(either)) == (before, [1])


def test_a_newer_pack_brings_a_newer_version(workspace: Workspace, write_pack: WritePack) -> None:
    load_pack(workspace, write_pack("tea", workflows=[TEA]))
    running = Workflows(workspace).start("tea/brewing", principal="somebody")
    load_pack(workspace, write_pack("tea", workflows=[STRONG]))
    workflows = Workflows(workspace)
    assert workflows.find("tea/brewing").version == 2
    assert workflows.view(running.process_id).version == 1


def test_what_somebody_has_changed_since_stays_changed(
    workspace: Workspace, write_pack: WritePack
) -> None:
    """A server loads its packs at every start: that must not undo what was done in between."""
    folder = write_pack("tea", workflows=[TEA])
    load_pack(workspace, folder)
    Workflows(workspace).define(STRONG, principal="somebody")
    load_pack(workspace, folder)
    assert Workflows(workspace).find("tea/brewing").description == STRONG["description"]
    assert versions(workspace) == [1, 2]


def test_a_pinned_version_is_not_defined_twice(workspace: Workspace, write_pack: WritePack) -> None:
    folder = write_pack("tea", workflows=[{**TEA, "version": 7}])
    load_pack(workspace, folder)
    load_pack(workspace, folder)
    Workflows(workspace).define(STRONG, principal="somebody")
    load_pack(workspace, folder)
    assert versions(workspace) == [7, 8]


def test_every_finding_of_every_workflow_is_told_and_nothing_is_loaded(
    workspace: Workspace, write_pack: WritePack
) -> None:
    schema = {"properties": {"tea/leaf": {"dt/range": "db.type/string"}}}
    folder = write_pack("tea", schema=schema, workflows=[TEA, NO_INITIAL, NOWHERE])
    before = workspace.last_t()
    with pytest.raises(Problem) as caught:
        load_pack(workspace, folder)
    assert caught.value.code == "pack.malformed"
    assert caught.value.message.startswith("workflows.json[1]: workflow tea/never is not sound")
    places = {(one["at"], one["code"]) for one in caught.value.data["findings"]}
    assert ("[1].states", "workflow.no-initial") in places
    assert ("[2].transitions[0]", "workflow.unknown-state") in places
    assert not any(at.startswith("[0]") for at, _ in places)
    assert workspace.last_t() == before
    assert loaded_packs(workspace) == []


@pytest.mark.parametrize("workflows", [{"name": "tea/brewing"}, [5], "tea", [TEA, STRONG]], ids=str)
def test_what_is_no_list_of_workflows_is_refused(
    workspace: Workspace, write_pack: WritePack, workflows: Any
) -> None:
    before = workspace.last_t()
    with pytest.raises(Problem) as caught:
        load_pack(workspace, write_pack("tea", workflows=workflows))
    assert (caught.value.code, workspace.last_t()) == ("pack.malformed", before)
    assert "workflows.json" in caught.value.message


def test_a_name_that_is_taken_keeps_the_whole_pack_out(
    either: Workspace, write_pack: WritePack
) -> None:
    """The definitions before it and the seeds are part of the same transaction."""
    schema = {"classes": {"tea/Leaf": {"dt/subclass-of": "dt/Resource"}}}
    seeds = [{"class": "tea/Leaf", "slots": {"db/ident": "leaf/one"}}]
    load_pack(either, write_pack("taken", schema=schema, entities=seeds))
    more = {"classes": {"tea/Cup": {"dt/subclass-of": "dt/Resource"}}}
    entry = {**TEA, "name": "leaf/one"}
    with pytest.raises(Problem) as caught:
        load_pack(either, write_pack("tea", schema=more, workflows=[entry]))
    assert caught.value.code == "workflow.name-taken"
    assert loaded_packs(either) == ["taken"]
    assert not {"tea/Cup", "workflow/Definition"} & set(either.schema().classes())
    load_pack(either, write_pack("tea", schema=more, workflows=[TEA]))
    assert Workflows(either).start("tea/brewing", principal="somebody").state == "tea/steeping"


def test_a_pack_without_workflows_brings_no_metamodel_of_workflows(
    workspace: Workspace, write_pack: WritePack
) -> None:
    load_pack(workspace, write_pack("plain"))
    assert "workflow/Definition" not in workspace.schema().classes()
    load_pack(workspace, write_pack("tea", workflows=[TEA]))
    assert "workflow/Definition" in workspace.schema().classes()
