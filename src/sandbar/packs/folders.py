"""Finding packs and reading their folders: every file is checked before anything is written."""

from __future__ import annotations

import os
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.findings import moved_data
from sandbar.packs.coded import installed_folder, installed_packs
from sandbar.packs.messages import PromptEntry, parsed_arguments, undeclared
from sandbar.workflow import read_spec

INSTRUCTIONS_MAX_CHARACTERS = 400

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,44}")
_HINT = "see docs/packs.md"

T = TypeVar("T")


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`pack.json`: what the pack is."""

    name: str
    title: str
    description: str = ""
    version: str = "1"
    instructions: str = ""  # what an AI agent should know about the domain
    for_tests: bool = False


class SchemaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`schema.json`: properties and classes by ident."""

    properties: dict[str, dict[str, Any]] = {}
    classes: dict[str, dict[str, Any]] = {}


class SeedEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `entities.json`."""

    class_: str = msgspec.field(name="class")
    slots: dict[str, Any]


class Pack(msgspec.Struct, frozen=True):
    """Everything that the folder of a pack holds."""

    manifest: Manifest
    schema: SchemaFile
    seeds: list[SeedEntity]
    prompts: list[PromptEntry]
    workflows: list[dict[str, Any]]


def built_in_packs(*, for_tests: bool = False) -> list[str]:
    """The names of the packs that come with Sandbar; those made for tests only on request."""
    folders = [one for one in _home().iterdir() if one.joinpath("pack.json").is_file()]
    manifests = [_manifest(folder) for folder in folders]
    return sorted(one.name for one in manifests if for_tests or not one.for_tests)


def available_packs(*, for_tests: bool = False) -> list[Manifest]:
    """What can be loaded by name: the built-in packs, then the installed ones."""
    built_in = [_manifest(_home().joinpath(name)) for name in built_in_packs(for_tests=for_tests)]
    return built_in + [_manifest(installed_folder(name)) for name in installed_packs()]


def _is_pack(folder: Traversable) -> bool:
    try:
        return folder.joinpath("pack.json").is_file()
    except OSError:  # such as a name that is too long for a file
        return False


def _is_there(file: Traversable) -> bool:
    """Whether there is anything of that name, such as a folder, a pipe or a broken link."""
    if isinstance(file, Path):
        return os.path.lexists(file)
    return file.is_dir()


def read_pack(pack: str | Path) -> Pack:
    """A built-in or installed pack by name, or any folder by its path."""
    known = {*built_in_packs(for_tests=True), *installed_packs()}
    is_known = isinstance(pack, str) and pack in known
    if not isinstance(pack, str | Path):
        raise NotFound(
            "pack.unknown",
            "a pack is named by text or by the path of its folder",
            hint=f"built in: {', '.join(built_in_packs())}",
        )
    folder = _known_folder(str(pack)) if is_known else Path(pack)
    if not _is_pack(folder):
        raise NotFound(
            "pack.unknown",
            f"there is no pack {str(pack)[:200]}",
            hint=f"built in: {', '.join(built_in_packs())}; or give a folder that has a pack.json",
        )
    manifest = _manifest(folder)
    if manifest.name in known and not is_known:
        # Its name would bring it the other pack's code.
        raise Conflict(
            "pack.name-taken",
            f"{manifest.name} is the name of a built-in or installed pack",
            hint=f"load that one by its name, or rename the pack in {folder}",
        )
    seeds = _read(folder, "entities.json", list[SeedEntity]) or []
    _check_seeds(seeds)
    prompts = _read(folder, "prompts.json", list[PromptEntry]) or []
    for prompt in prompts:
        _check_prompt(prompt)
    workflows = _read(folder, "workflows.json", list[dict[str, Any]]) or []
    _check_workflows(workflows)
    schema = _read(folder, "schema.json", SchemaFile) or SchemaFile()
    return Pack(manifest, schema, seeds, prompts, workflows)


def system_schema() -> SchemaFile:
    """The classes of packs and prompts, which the first pack of a workspace brings along."""
    schema = _read(_home(), "system.json", SchemaFile)
    assert schema is not None
    return schema


def _home() -> Traversable:
    return resources.files("sandbar.packs")


def _known_folder(name: str) -> Traversable:
    folder = _home().joinpath(name)
    return folder if folder.joinpath("pack.json").is_file() else installed_folder(name)


def _manifest(folder: Traversable) -> Manifest:
    manifest = _read(folder, "pack.json", Manifest)
    if manifest is None:
        raise NotFound("pack.unknown", f"{folder} has no pack.json", hint=_HINT)
    if not _NAME.fullmatch(manifest.name):
        raise Incorrect(
            "pack.malformed",
            f"pack.json: {manifest.name[:100]!r} is no name for a pack",
            hint="begin with a small letter; then letters, digits, - and _, at most 45 in all",
        )
    if len(manifest.instructions) > INSTRUCTIONS_MAX_CHARACTERS:
        raise Incorrect(
            "pack.malformed",
            f"pack.json: instructions are longer than {INSTRUCTIONS_MAX_CHARACTERS} characters",
            hint="say only what an agent cannot find out by itself",
        )
    return manifest


def _check_seeds(seeds: list[SeedEntity]) -> None:
    unnamed = [seed for seed in seeds if not seed.slots.get("db/ident")]
    if unnamed:
        raise Incorrect(
            "pack.unnamed-entity",
            f"{len(unnamed)} seed entities have no db/ident",
            hint="give each one an ident, so that loading the pack twice adds nothing",
        )


def _check_prompt(prompt: PromptEntry) -> None:
    names = [argument.name for argument in parsed_arguments(prompt.arguments)]
    blanks = undeclared(prompt.messages, names)
    if blanks:
        raise Incorrect(
            "pack.malformed",
            f"prompts.json: {prompt.ident} has no argument for {', '.join(blanks)}",
            hint="list it under arguments, or take the blank out of the text",
        )


def _check_workflows(specs: list[dict[str, Any]]) -> None:
    """Everything that is wrong with any of them, each finding with the place of its workflow."""
    names: list[str] = []
    problems: list[tuple[str, Incorrect]] = []
    for number, given in enumerate(specs):
        try:
            names.append(read_spec(given).name)
        except Incorrect as problem:
            problems.append((f"[{number}]", problem))
    if problems:
        findings = [
            moved_data(finding, at=f"{place}.{finding['at']}".rstrip("."))
            for place, problem in problems
            for finding in problem.data["findings"]
        ]
        more = f" (and {len(problems) - 1} more workflows)" if len(problems) > 1 else ""
        place, first = problems[0]
        raise Incorrect(
            "pack.malformed",
            f"workflows.json{place}: {first.message}{more}",
            hint=first.hint,
            data={"findings": findings},
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Incorrect(
            "pack.malformed",
            f"workflows.json: {', '.join(twice)[:200]} is there twice",
            hint="a pack brings the newest version of a workflow only",
        )


def _read(folder: Traversable, name: str, kind: type[T]) -> T | None:
    file = folder.joinpath(name)
    if not file.is_file():
        if not _is_there(file):
            return None
        raise Incorrect("pack.malformed", f"{name} is no file", hint=_HINT)
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise Incorrect("pack.malformed", f"{name}: {error}", hint=_HINT) from error
