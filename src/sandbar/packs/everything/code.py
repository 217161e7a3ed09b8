"""The code of the pack `everything`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from sandbar.packs.coded import PackResource, PackTemplate, PromptHandler, PromptMessages
from sandbar.packs.everything import asking, plain, tasking
from sandbar.packs.everything.media import PNG
from sandbar.packs.everything.requests import ask, is_accepted, question
from sandbar.verbs import Context, Verb, Verbatim

_TEMPLATE = re.compile(r"test://template/([^/?#]{1,200})/data")


def _template_data(uri: str) -> str | None:
    found = _TEMPLATE.fullmatch(uri)
    if found is None:
        return None
    data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
    return msgspec.json.encode(data).decode()


def _prompt_in_context(context: Context, arguments: Mapping[str, str]) -> PromptMessages | Verbatim:
    message = "What context should the prompt use?"
    answers = ask(context, {"user_context": question(message, "context")})
    if isinstance(answers, Verbatim):
        return answers
    answer = answers["user_context"]
    given = answer["content"]["context"] if is_accepted(answer) else "none"
    text = f"Please answer in this context: {given}"
    return PromptMessages([{"role": "user", "content": {"type": "text", "text": text}}])


ACTIVITIES = tasking.ACTIVITIES

VERBS: tuple[Verb, ...] = plain.VERBS + asking.VERBS + tasking.VERBS

RESOURCES = (
    PackResource(
        "test://static-text",
        "static-text",
        "A text that never changes.",
        "text/plain",
        lambda: "This is the content of the static text resource.",
    ),
    PackResource(
        "test://static-binary",
        "static-binary",
        "An image that never changes.",
        "image/png",
        lambda: PNG,
    ),
    PackResource(
        "test://watched-resource",
        "watched-resource",
        "A text to subscribe to.",
        "text/plain",
        lambda: "This is the content of the watched resource.",
    ),
)

TEMPLATES = (
    PackTemplate(
        "test://template/{id}/data",
        "template-data",
        "Data for any id.",
        "application/json",
        _template_data,
    ),
)

PROMPT_HANDLERS: dict[str, PromptHandler] = {
    "everything/test_input_required_result_prompt": _prompt_in_context
}

COMPLETIONS = {
    ("everything/test_prompt_with_arguments", "arg1"): ("paris", "park", "party"),
}
