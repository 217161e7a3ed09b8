"""Loading packs: all but further seeds is one transaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from sandbar.access import install_access, is_protected
from sandbar.model import (
    Create,
    Operation,
    Outcome,
    Workspace,
    definition_operations,
    definition_parts,
)
from sandbar.packs.coded import code_of
from sandbar.packs.folders import Pack, SeedEntity, read_pack, system_schema
from sandbar.packs.messages import PromptEntry
from sandbar.packs.parting import in_parts
from sandbar.packs.records import PACK, PROMPT, ensured, loaded_packs, record_operations
from sandbar.workflow import Workflows

Progress = Callable[[int, int], None]


class PackReport(msgspec.Struct, frozen=True):
    """What loading a pack did."""

    name: str
    title: str
    definitions: int
    entities: int
    created: int
    prompts: int = 0
    workflows: int = 0
    changed: int = 0  # of all these: how many are new, or other than before
    is_new: bool = False  # the workspace did not have the pack before


def load_pack(
    workspace: Workspace, pack: str | Path, progress: Progress | None = None
) -> PackReport:
    """Load a pack: a built-in or installed one by name, or any folder by its path.

    `progress` is told, after each transaction, how many of how many seed entities are in.
    """
    tell = progress or (lambda done, total: None)
    read = read_pack(pack)
    manifest = read.manifest
    loaded = loaded_packs(workspace)
    names = sorted({*loaded, manifest.name})
    code_of(names)  # refuses code that clashes before anything is written
    if _speaks_of_access(read):
        install_access(workspace)
    principal = f"pack/{manifest.name}"
    first, *rest = [_creations(part) for part in in_parts(read.seeds)]
    before = _definitions(workspace, read)
    prompts = [operation for prompt in read.prompts for operation in _prompt_operations(prompt)]
    after = [*first, *_records(workspace, read, names), *prompts]
    described, written, workflows = _write(workspace, read, before, after, principal)
    outcomes = written[: len(first)]
    described += written[len(after) - len(prompts) :]
    tell(len(outcomes), len(read.seeds))
    for part in rest:
        outcomes += workspace.transact(part, principal=principal).outcomes
        tell(len(outcomes), len(read.seeds))
    return PackReport(
        manifest.name,
        manifest.title,
        len(read.schema.properties) + len(read.schema.classes),
        len(read.seeds),
        sum(outcome.created for outcome in outcomes),
        len(read.prompts),
        len(read.workflows),
        _changed(described + outcomes) + workflows,
        manifest.name not in loaded,
    )


def _changed(outcomes: list[Outcome]) -> int:
    return len({one.entity_id for one in outcomes if one.created or one.changed})


def _creations(seeds: list[SeedEntity]) -> list[Operation]:
    return [Create(class_=seed.class_, slots=seed.slots) for seed in seeds]


def _speaks_of_access(pack: Pack) -> bool:
    """Whether it brings roles, people or references to them: then their classes must be there."""
    named = [seed.class_ for seed in pack.seeds]
    named += [str(slots.get("dt/range", "")) for slots in pack.schema.properties.values()]
    return any(is_protected(name) for name in named)


def _write(
    workspace: Workspace,
    pack: Pack,
    definitions: list[Operation],
    after: list[Operation],
    principal: str,
) -> tuple[list[Outcome], list[Outcome], int]:
    """Everything but further seeds, in one transaction: workflows may name what comes before.

    Returns what became of the definitions and of the others, and how many workflows are new.
    """
    workflows = Workflows(workspace)
    # A workflow that was defined just so before has been changed since: that is somebody's will.
    new = [spec for spec in pack.workflows if not workflows.was_defined(spec)]
    schema = workspace.schema()
    parts = [[op for _, op in part] for part in definition_parts(schema, definitions)]
    if len(parts) == 1 and len(definitions) + len(after) <= schema.bounds.definitions_at_once:
        parts = [definitions + after]
    else:
        parts.append(after)

    def work() -> list[Outcome]:
        written = [workspace.transact(part, principal=principal).outcomes for part in parts]
        for spec in new:
            workflows.define(spec, principal=principal)
        return [outcome for outcomes in written for outcome in outcomes]

    written = workspace.run(work, principal=principal, alone=True)
    defined = len(written) - len(after)
    return written[:defined], written[defined:], len(new)


def _definitions(workspace: Workspace, pack: Pack) -> list[Operation]:
    return definition_operations(workspace.schema(), pack.schema.properties, pack.schema.classes)


def _records(workspace: Workspace, pack: Pack, names: list[str]) -> list[Operation]:
    """The classes of packs and prompts, and the pack's record."""
    system = system_schema()
    # The metamodel's generation is what every cache of a workspace hangs on, code of packs
    # included: so a class names the packs, and a pack without definitions changes it, too.
    doc = f"{system.classes[PACK]['db/doc']} Loaded: {', '.join(names)}."
    classes = {**system.classes, PACK: {**system.classes[PACK], "db/doc": doc}}
    operations = definition_operations(workspace.schema(), system.properties, classes)
    return operations + record_operations(pack.manifest)


def _prompt_operations(prompt: PromptEntry) -> list[Operation]:
    slots = {
        "db/doc": prompt.description,
        "prompt/title": prompt.title,
        "prompt/arguments": prompt.arguments or None,
        "prompt/messages": prompt.messages,
    }
    return ensured(PROMPT, prompt.ident, slots)
