"""The tools that ask the client something before they answer."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.packs.everything.declaring import NoArguments, text, tool
from sandbar.packs.everything.requests import (
    Request,
    ask,
    client_of,
    elicitation,
    input_required,
    is_accepted,
    is_declared,
    question,
    roots,
    sampling,
)
from sandbar.verbs import Content, Context, Verb, Verbatim

_SECOND_ROUND = "second:"


class SamplingArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ask the client's model."""

    prompt: str


class ElicitationArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ask the user."""

    message: str


_DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {
        "type": "string",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "default": True},
}


def _titled(noun: str) -> list[dict[str, str]]:
    ordinals = ("First", "Second", "Third")
    return [{"const": f"value{n}", "title": f"{word} {noun}"} for n, word in enumerate(ordinals, 1)]


_OPTIONS = ["option1", "option2", "option3"]
_ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _titled("Option")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _form_answer(lead: str, answer: dict[str, Any]) -> Content:
    return text(f"{lead}: action={answer.get('action')}, content={_json(answer.get('content'))}")


def _sampled(answer: dict[str, Any]) -> str:
    """The text that the client's model has said."""
    content = answer.get("content")
    blocks = content if isinstance(content, list) else [content]
    return " ".join(
        str(block.get("text", "")) for block in blocks if isinstance(block, dict)
    ).strip()


def _sampling(context: Context, arguments: SamplingArguments) -> Content | Verbatim:
    answers = ask(context, {"response": sampling(arguments.prompt, 100)})
    if isinstance(answers, Verbatim):
        return answers
    return text(f"LLM response: {_sampled(answers['response'])}")


def _elicitation(context: Context, arguments: ElicitationArguments) -> Content | Verbatim:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = ask(context, {"user": elicitation(arguments.message, fields, list(fields))})
    if isinstance(answers, Verbatim):
        return answers
    return _form_answer("User response", answers["user"])


def _form(context: Context, message: str, fields: dict[str, Any]) -> Content | Verbatim:
    answers = ask(context, {"form": elicitation(message, fields, [])})
    if isinstance(answers, Verbatim):
        return answers
    return _form_answer("Elicitation completed", answers["form"])


def _defaults(context: Context, arguments: NoArguments) -> Content | Verbatim:
    return _form(context, "Please review the form; every field has a default.", _DEFAULTS)


def _enums(context: Context, arguments: NoArguments) -> Content | Verbatim:
    return _form(context, "Please choose from every kind of list.", _ENUMS)


def _streaming(context: Context, arguments: NoArguments) -> Content | Verbatim:
    context.progress(1, 2)
    return _by_name(context, arguments)


def _by_name(context: Context, arguments: NoArguments) -> Content | Verbatim:
    answers = ask(context, {"user_name": question("What is your name?", "name")})
    if isinstance(answers, Verbatim):
        return answers
    user = answers["user_name"]
    return text(f"Hello, {user['content']['name']}!" if is_accepted(user) else "No name was given.")


def _capital(context: Context, arguments: NoArguments) -> Content | Verbatim:
    answers = ask(context, {"capital_question": sampling("What is the capital of France?", 100)})
    if isinstance(answers, Verbatim):
        return answers
    return text(_sampled(answers["capital_question"]))


def _client_roots(context: Context, arguments: NoArguments) -> Content | Verbatim:
    answers = ask(context, {"client_roots": roots()})
    if isinstance(answers, Verbatim):
        return answers
    return text(f"The client's roots: {_json(answers['client_roots']['roots'])}")


def _confirmed(context: Context, arguments: NoArguments) -> Content | Verbatim:
    answers = ask(
        context, {"confirm": question("Please confirm", "ok", "boolean")}, state="awaiting-confirm"
    )
    if isinstance(answers, Verbatim):
        return answers
    return text(f"state-ok: {_json(answers['confirm'])}")


def _multiple(context: Context, arguments: NoArguments) -> Content | Verbatim:
    requests = {
        "user_name": question("What is your name?", "name"),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    }
    answers = ask(context, requests, state="awaiting-three")
    if isinstance(answers, Verbatim):
        return answers
    return text(f"All inputs were received: {_json(answers)}")


def _two_rounds(context: Context, arguments: NoArguments) -> Content | Verbatim:
    client = client_of(context)
    state = None if client is None else client.request_state
    if state is not None and state.startswith(_SECOND_ROUND):
        return _second_round(context, state)
    answers = ask(context, {"step1": question("Step 1: What is your name?", "name")}, "first")
    if isinstance(answers, Verbatim):
        return answers
    first = answers["step1"]
    name = first["content"]["name"] if is_accepted(first) else "somebody"
    return _second_round(context, _SECOND_ROUND + name)


def _second_round(context: Context, state: str) -> Content | Verbatim:
    request = question("Step 2: What is your favorite color?", "color")
    client = client_of(context)
    assert client is not None
    if not client.can_ask and client.request_state != state:
        return input_required({"step2": request}, state)
    answers = ask(context, {"step2": request}, state)
    if isinstance(answers, Verbatim):
        return answers
    second = answers["step2"]
    color = second["content"]["color"] if is_accepted(second) else "none"
    return text(f"{state.removeprefix(_SECOND_ROUND)}'s favorite color: {color}")


def _declared_only(context: Context, arguments: NoArguments) -> Content | Verbatim:
    offered: dict[str, Request] = {
        "user_name": question("What is your name?", "name"),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    }
    requests = {key: one for key, one in offered.items() if is_declared(context, one)}
    if not requests:
        return text("The client has not declared anything that it could be asked.")
    answers = ask(context, requests)
    return answers if isinstance(answers, Verbatim) else text(f"Answers: {_json(answers)}")


def _text_schema(name: str, description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


_RESULT = "test_input_required_result"
VERBS: tuple[Verb, ...] = (
    tool(
        "test_sampling",
        "Asks the client's model.",
        _sampling,
        SamplingArguments,
        schema=_text_schema("prompt", "The prompt to send to the LLM"),
    ),
    tool(
        "test_elicitation",
        "Asks the user for a name and an address.",
        _elicitation,
        ElicitationArguments,
        schema=_text_schema("message", "The message to show the user"),
    ),
    tool("test_elicitation_sep1034_defaults", "Asks with a default in every field.", _defaults),
    tool("test_elicitation_sep1330_enums", "Asks with every kind of choice.", _enums),
    tool("test_streaming_elicitation", "Reports progress, then asks the user.", _streaming),
    tool(f"{_RESULT}_elicitation", "Asks the user for a name.", _by_name),
    tool(f"{_RESULT}_sampling", "Asks the client's model for a capital.", _capital),
    tool(f"{_RESULT}_list_roots", "Asks for the client's roots.", _client_roots),
    tool(f"{_RESULT}_request_state", "Asks, and checks the state that comes back.", _confirmed),
    tool(f"{_RESULT}_tampered_state", "Asks with a state that must not change.", _confirmed),
    tool(f"{_RESULT}_multiple_inputs", "Asks for three things at once.", _multiple),
    tool(f"{_RESULT}_multi_round", "Asks twice, one after the other.", _two_rounds),
    tool(f"{_RESULT}_capabilities", "Asks for what the client can answer.", _declared_only),
)
