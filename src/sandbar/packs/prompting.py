"""The prompts of a workspace: listing them, and filling one in.

A prompt is known by the name part of its ident. Where two have the same, the older keeps it and
the younger is known by its whole ident, which finds any prompt: names in use never change hands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sandbar.access import Guarded
from sandbar.errors import Incorrect, NotFound, Problem
from sandbar.model import Entity, Workspace
from sandbar.packs.coded import PackCode, PromptMessages
from sandbar.packs.messages import PromptArgument, check_messages, fill, parsed_arguments
from sandbar.packs.records import PROMPT, Readable, instances
from sandbar.suggestions import Suggestion, called_now
from sandbar.verbs import Context, NeedsInput, Verbatim

PROMPTS_MAX = 1000  # the oldest are listed
ARGUMENT_MAX_CHARACTERS = 100_000
COMPLETIONS_MAX = 100
_NAMESPACES_MAX = 20  # in which a prompt is looked for that has another name by now


class Prompt(msgspec.Struct, frozen=True):
    """A prompt as it is listed."""

    name: str  # on the wire
    ident: str
    title: str | None
    description: str
    arguments: list[PromptArgument]


def prompts(db: Readable) -> list[Prompt]:
    """The prompts of a workspace, oldest first. One that is malformed is left out."""
    listed = []
    for name, entity in _named(db).items():
        try:
            listed.append(_prompt(name, entity))
        except Problem as problem:
            if problem.code != "prompt.malformed":
                raise
    return listed


def render_prompt(db: Readable, name: str, arguments: Mapping[str, str]) -> PromptMessages:
    """A prompt with its blanks filled in."""
    prompt, entity = _found(db, name)
    values = checked_arguments(prompt, arguments)
    return PromptMessages(fill(entity["prompt/messages"], values), prompt.description)


def get_prompt(
    context: Context, code: PackCode, name: str, arguments: Mapping[str, str]
) -> PromptMessages | NeedsInput | Verbatim:
    """A prompt filled in, by the code that its pack has for it or else from its text."""
    prompt, entity = _found(context.db, name)
    values = checked_arguments(prompt, arguments)
    handler = code.prompt_handlers.get(prompt.ident)
    if handler is not None:
        return handler(context, values)
    return PromptMessages(fill(entity["prompt/messages"], values), prompt.description)


def complete_argument(
    db: Guarded, code: PackCode, name: str, argument: str, beginning: str
) -> list[str]:
    """Values for an argument that begin like this, as far as the code of a pack knows any."""
    prompt, _ = _found(db, name)
    values = code.completions.get((prompt.ident, argument), ())
    return [value for value in values if value.startswith(beginning)][:COMPLETIONS_MAX]


def _named(db: Readable) -> dict[str, Entity]:
    """Every prompt by its name on the wire."""
    named: dict[str, Entity] = {}
    for entity in instances(db, PROMPT, PROMPTS_MAX):
        ident = entity.ident or ""
        short = ident.partition("/")[2]
        named[ident if short in named else short] = entity
    return named


def _found(db: Readable, name: str) -> tuple[Prompt, Entity]:
    named = _named(db)
    entity = named.get(name)
    if entity is None:
        entity = next((one for one in named.values() if one.ident == name), None)
    if entity is None:
        some = ", ".join(sorted(named)[:20])
        known = f"there are: {some}" if some else "this workspace has no prompts: load a pack"
        raise NotFound(
            "prompt.unknown",
            f"there is no prompt {name[:100]}",
            hint=_renamed(db, name, named) or Suggestion(name, named, known),
        )
    return _prompt(name, entity), entity


def _renamed(db: Readable, name: str, named: Mapping[str, Entity]) -> str | None:
    """What a prompt is called that had this name before, whole or without its namespace."""
    if isinstance(db, Workspace):
        return None
    spaces = {(one.ident or "").partition("/")[0] for one in named.values()}
    idents = [name] if "/" in name else [f"{one}/{name}" for one in sorted(spaces)]
    for ident in idents[:_NAMESPACES_MAX]:
        former = db.former(ident)
        now = (one for one, entity in named.items() if former and entity.entity_id == former.id)
        if (found := next(now, None)) is not None:
            return called_now(name, found)
    return None


def _prompt(name: str, entity: Entity) -> Prompt:
    try:
        arguments = parsed_arguments(entity.get("prompt/arguments") or [])
        check_messages(entity["prompt/messages"])
    except ValueError as error:
        raise Incorrect(
            "prompt.malformed",
            f"prompt {entity.ident} is malformed: {error}",
            hint="correct its prompt/arguments and prompt/messages with entity.update",
        ) from error
    title, description = entity.get("prompt/title"), entity.get("db/doc")
    ident = entity.ident or ""
    return Prompt(name, ident, title, description or title or name, arguments)


def checked_arguments(prompt: Prompt, given: Mapping[str, Any]) -> dict[str, str]:
    """A text for every blank; what is optional and not given is empty."""
    known = [argument.name for argument in prompt.arguments]
    takes = f"{prompt.name} takes: {', '.join(known) or 'no arguments'}"
    missing = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if missing:
        names = ", ".join(missing)
        raise Incorrect(
            "prompt.argument-missing",
            f"prompt {prompt.name} needs {names}",
            hint=takes,
            data={"missing": missing},
        )
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(map(str, unknown))[:200]
        raise Incorrect(
            "prompt.argument-unknown", f"prompt {prompt.name} does not take {names}", hint=takes
        )
    wrong = [name for name, value in given.items() if not _is_text(value)]
    if wrong:
        raise Incorrect(
            "prompt.argument-malformed",
            f"{', '.join(wrong)}: arguments of prompts are texts",
            hint=f"of at most {ARGUMENT_MAX_CHARACTERS} characters",
        )
    return {name: given.get(name, "") for name in known}


def _is_text(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > ARGUMENT_MAX_CHARACTERS:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # lone surrogates, which no answer may contain
        return False
    return True
