"""Every workflow is a prompt: what it is, how it goes, how to start a process and go on with it.

The prompt of `order/fulfillment` is `sandbar.workflow.order.fulfillment`. Names with dots of their
own are told apart by looking: where two workflows would have the same name the first one by ident
has it, and the other one keeps its slash. What nobody can start, a long call, is no prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from sandbar.errors import Incorrect, NotFound
from sandbar.model import Entity
from sandbar.packs.coded import PromptMessages
from sandbar.packs.messages import PromptArgument
from sandbar.packs.prompting import Prompt, checked_arguments
from sandbar.suggestions import did_you_mean
from sandbar.workflow import CALL, VALIDATION, Machine, Workflows, diagram_of, outline_of

PREFIX = "sandbar.workflow."
SUBJECT_ARGUMENT = "subject"
DATA_ARGUMENT = "data"

_DESCRIPTION_MAX = 500
_SCHEMA_MAX_CHARACTERS = 4000
_NAMES_SHOWN = 10
_NAME_MAX = 40

Spell = Callable[[str], str]  # from the name of a verb to that of its tool, as the client sees it

_TEXT = """\
# Workflow `{name}`, version {version}

{description}## States and transitions

```mermaid
{diagram}```

{outline}
## Start a process

Call the tool `{start}` with

```json
{call}
```

{about}
## Go on with it

The call answers at once with a `process-id` and a `task-id`, the handle of whoever started it.

{steps}
"""


def workflow_prompts(workflows: Workflows) -> list[Prompt]:
    """A prompt for the current version of every workflow, by name."""
    return [_prompt(name, entity) for name, entity in _named(workflows).items()]


def workflow_of_prompt(workflows: Workflows, name: str) -> str | None:
    """The workflow whose prompt has this name; None if the name is none of a workflow's."""
    is_ours = name.startswith(PREFIX)
    if not is_ours and "/" not in name:
        return None
    named = _named(workflows)
    idents = {entity.ident or "" for entity in named.values()}
    if name in named:
        return named[name].ident
    whole = name.removeprefix(PREFIX).removeprefix(":")
    if whole in idents:
        return whole
    if is_ours:
        raise NotFound(
            "prompt.unknown",
            f"there is no prompt {name[:100]}",
            hint=did_you_mean(name, named) or "prompts/list shows what there is",
        )
    return None


def render_workflow(
    workflows: Workflows, name: str, arguments: Mapping[str, str], spell: Spell
) -> PromptMessages:
    """The prompt of a workflow; what is given of its arguments stands in the call to make."""
    machine = workflows.find(name)
    spec = workflows.spec(name)
    prompt = Prompt(PREFIX + _dotted(name), name, None, "", _arguments(name, spec))
    given = checked_arguments(prompt, arguments)
    text = _text(machine, _start(machine, spec, given, spell), spell)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return PromptMessages([message], _description(name, machine.description))


# --- names ---------------------------------------------------------------------------------------


def _named(workflows: Workflows) -> dict[str, Entity]:
    """Every workflow by the name of its prompt."""
    named: dict[str, Entity] = {}
    for entity in workflows.definitions():
        ident = entity.ident or ""
        if ident == CALL:
            continue
        short = PREFIX + _dotted(ident)
        named[PREFIX + ident if short in named else short] = entity
    return named


def _dotted(ident: str) -> str:
    return ident.replace("/", ".")


# --- the list ------------------------------------------------------------------------------------


def _prompt(name: str, entity: Entity) -> Prompt:
    ident = entity.ident or ""
    return Prompt(
        name,
        ident,
        f"Workflow {ident}",
        _description(ident, entity.get("db/doc")),
        _arguments(ident, entity["workflow/spec"]),
    )


def _description(ident: str, text: str | None) -> str:
    if not text:
        return f"How the workflow {ident} goes, and how to start it."
    return text if len(text) <= _DESCRIPTION_MAX else f"{text[: _DESCRIPTION_MAX - 1]}…"


def _arguments(workflow: str, spec: Mapping[str, Any]) -> list[PromptArgument]:
    if workflow == VALIDATION:
        return [PromptArgument(SUBJECT_ARGUMENT, "The class whose instances are looked at")]
    names = ", ".join(_data_names(spec))
    data = "What the process knows from the start, as a JSON object"
    return [
        PromptArgument(SUBJECT_ARGUMENT, "What the process is about: an ident or an id"),
        PromptArgument(DATA_ARGUMENT, f"{data}: {names}" if names else data),
    ]


def _data_names(spec: Mapping[str, Any]) -> list[str]:
    """The members of the data, first those that must be there."""
    schema = spec.get("data-schema") or {}
    required, known = schema.get("required", []), schema.get("properties", {})
    names = [*required, *(f"{name}?" for name in known if name not in required)]
    return [name for name in names if len(name) <= _NAME_MAX][:_NAMES_SHOWN]


# --- one prompt ----------------------------------------------------------------------------------


class _Start(NamedTuple):
    """The call that starts a process, and what is to say about it."""

    verb: str
    call: dict[str, Any]
    about: str
    steps: list[str]


def _start(
    machine: Machine, spec: Mapping[str, Any], given: Mapping[str, str], spell: Spell
) -> _Start:
    if machine.name == VALIDATION:
        subject = given[SUBJECT_ARGUMENT].strip().removeprefix(":")
        call = {"class": subject or "<class>"}
        about = f"`{spell('validation.run')}` takes the same and waits for the end.\n"
        return _Start("validation.start", call, about, _steps_of_validation(spell))
    return _Start(
        "workflow.start-process",
        _call(machine, spec, given),
        _about(spec, spell),
        _steps(machine, spell),
    )


def _call(machine: Machine, spec: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the call that starts a process, with blanks for what is not known."""
    subject = given[SUBJECT_ARGUMENT].strip()
    call: dict[str, Any] = {
        "workflow": machine.name,
        "subject": _entity(subject) if subject else "<ident or id of what it is about>",
    }
    data = _data(machine, given[DATA_ARGUMENT]) if given[DATA_ARGUMENT].strip() else _blanks(spec)
    return {**call, "data": data} if data else call


def _entity(text: str) -> int | str:
    is_id = text.isascii() and text.isdigit() and len(text) < 17
    return int(text) if is_id else text.removeprefix(":")


def _data(machine: Machine, text: str) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise Incorrect(
            "prompt.argument-malformed",
            f"data is no JSON object: {str(error)[:200]}",
            hint='for example {"quantity": 2}',
        ) from error
    findings = machine.check_data(data)
    if findings:
        raise Incorrect(
            "prompt.argument-malformed",
            f"data does not fit the schema of {machine.name}: {findings[0]['message']}",
            hint="workflow.find shows the data-schema of the workflow",
            data={"findings": findings},
        )
    return data


def _blanks(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec.get("data-schema") or {}
    known = schema.get("properties", {})
    return {name: _blank(known.get(name)) for name in schema.get("required", [])[:_NAMES_SHOWN]}


def _blank(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return f"<{kind}>" if isinstance(kind, str) else "<value>"


def _text(machine: Machine, start: _Start, spell: Spell) -> str:
    lines = (machine.description or "").splitlines()
    return _TEXT.format(
        name=machine.name,
        version=machine.version,
        description="\n".join(f"> {line}" for line in lines) + "\n\n" if lines else "",
        diagram=diagram_of(machine),
        outline=outline_of(machine),
        start=spell(start.verb),
        call=_shown(start.call, indent=2),
        about=start.about,
        steps="\n".join(f"- {step}" for step in start.steps),
    )


def _steps(machine: Machine, spell: Spell) -> list[str]:
    """What to call next."""
    states = machine.states.values()
    first = machine.leaving(machine.initial.name)[0].name
    by_itself = any(state.activity is not None for state in states)
    name = "<transition>" if machine.initial.activity is not None else first
    steps = [
        f'`{spell("workflow.process-state")}` with `{{"process": <process-id>}}` shows where it '
        "stands and which transitions can be made now.",
        f'`{spell("workflow.transition")}` with `{{"process": <process-id>, "transition": '
        f'"{name}"}}` makes one. Add `reason` where one is needed, and `data` to tell it more.',
        f'`{spell("task.get")}` with `{{"task-id": "<task-id>"}}` follows it to its result; '
        f"`{spell('task.cancel')}` ends it.",
    ]
    if any(state.input is not None for state in states):
        steps.append(
            f'`{spell("workflow.answer")}` with `{{"process": <process-id>, "answers": {{…}}}}` '
            "tells it what it asks."
        )
    if by_itself:
        steps.append("From a state that runs something it goes on by itself.")
    return steps


def _steps_of_validation(spell: Spell) -> list[str]:
    process = '{"process": <process-id>}'
    return [
        f"`{spell('validation.results')}` with `{process}` tells what it has found, also so far.",
        f"`{spell('validation.cancel')}` stops it and keeps what it has found, "
        f"`{spell('validation.retry')}` begins again after a failure.",
        f"`{spell('validation.history')}` lists earlier ones.",
    ]


def _about(spec: Mapping[str, Any], spell: Spell) -> str:
    lines = ["Leave `subject` out if the process is about nothing.\n"]
    schema = spec.get("data-schema")
    if schema is not None:
        shown = _shown(schema, indent=0)
        if len(shown) <= _SCHEMA_MAX_CHARACTERS:
            lines.append(f"`data` fits this JSON Schema:\n\n```json\n{shown}\n```\n")
        else:
            lines.append(f"`data` fits the `data-schema` that `{spell('workflow.find')}` shows.\n")
    return "\n".join(lines)


def _shown(value: Any, *, indent: int) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
