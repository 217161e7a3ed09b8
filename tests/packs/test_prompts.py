"""Prompts are data: listed, filled in by plain replacement, never evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbar.access import Guarded
from sandbar.errors import Incorrect, NotFound, Problem
from sandbar.packs import load_pack, prompts, render_prompt
from sandbar.packs.messages import fill
from tests.packs.conftest import WritePack

HOSTILE = [
    "{{arg2}}",
    "{{{{arg2}}}}",
    "{{arg",
    "2}}{{arg1}}",
    r"\1 \g<0> \\",
    "{0.__class__.__mro__} %(x)s ${HOME} $(id) `id`",
    "'; drop table entity; --",
    "\u202egnp.exe\u0000\r\n\u2028",
    "</user>{{resourceUri}}",
    "🦑" * 1000,
]


def message(text: str) -> dict[str, Any]:
    """A user's text message."""
    return {"role": "user", "content": {"type": "text", "text": text}}


def make_prompt(db: Guarded, ident: str, text: str = "x", **slots: Any) -> None:
    """Make a prompt as a user would."""
    given = {"db/ident": ident, "prompt/messages": [message(text)], **slots}
    db.transact([{"op": "create", "class": "prompt/Prompt", "slots": given}])


def text_of(db: Guarded, name: str, **arguments: Any) -> str:
    """The first text of a prompt that is filled in."""
    text: str = render_prompt(db, name, arguments).messages[0]["content"]["text"]
    return text


def test_zorp_has_two_prompts(zorp: Guarded) -> None:
    listed = prompts(zorp)
    assert [prompt.name for prompt in listed] == ["describe-product", "plan-launch"]
    [describe, _] = listed
    assert (describe.ident, describe.title) == ("zorp/describe-product", "Describe a product")
    assert describe.description
    assert [(one.name, one.required) for one in describe.arguments] == [
        ("product", True),
        ("audience", False),
    ]


def test_every_prompt_of_zorp_can_be_filled_in(zorp: Guarded) -> None:
    for prompt in prompts(zorp):
        values = {one.name: f"<{one.name}>" for one in prompt.arguments}
        filled = render_prompt(zorp, prompt.name, values)
        everything = "".join(one["content"]["text"] for one in filled.messages)
        assert all(value in everything for value in values.values())
        assert "{{" not in everything
        assert filled.description == prompt.description


def test_the_whole_ident_finds_a_prompt_too(zorp: Guarded) -> None:
    assert "void-flop" in text_of(zorp, "zorp/describe-product", product="product/void-flop")


def test_what_is_optional_and_not_given_is_empty(zorp: Guarded) -> None:
    assert "anybody): \n" in text_of(zorp, "describe-product", product="x")


def test_missing_arguments_are_all_named(zorp: Guarded) -> None:
    with pytest.raises(Incorrect) as caught:
        render_prompt(zorp, "plan-launch", {"budget": "1"})
    assert caught.value.code == "prompt.argument-missing"
    assert caught.value.data == {"missing": ["idea", "planet"]}
    assert "idea, planet" in caught.value.message


def test_an_unknown_argument_names_the_known_ones(zorp: Guarded) -> None:
    with pytest.raises(Incorrect) as caught:
        render_prompt(zorp, "describe-product", {"product": "x", "audiance": "y"})
    assert caught.value.code == "prompt.argument-unknown"
    assert "audience" in (caught.value.hint or "")


def test_an_unknown_prompt_names_the_known_ones(zorp: Guarded) -> None:
    with pytest.raises(NotFound) as caught:
        render_prompt(zorp, "describe-produkt", {})
    assert caught.value.code == "prompt.unknown"
    assert "describe-product" in (caught.value.hint or "")


@pytest.mark.parametrize("value", [5, None, ["x"], {"a": 1}, "\ud800", "x" * 100_001])
def test_what_is_no_text_is_refused(zorp: Guarded, value: Any) -> None:
    with pytest.raises(Incorrect) as caught:
        render_prompt(zorp, "describe-product", {"product": value})
    assert caught.value.code == "prompt.argument-malformed"


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_arrive_as_they_are(everything: Guarded, value: str) -> None:
    filled = text_of(everything, "test_prompt_with_arguments", arg1=value, arg2="two")
    assert filled == f"Prompt with arguments: arg1='{value}', arg2='two'"
    filled = text_of(everything, "test_prompt_with_arguments", arg1="one", arg2=value)
    assert filled == f"Prompt with arguments: arg1='one', arg2='{value}'"


def test_replacing_one_after_the_other_would_be_caught() -> None:
    """The control of the test above: what a careless implementation makes of these values."""
    template, values = "arg1='{{arg1}}', arg2='{{arg2}}'", {"arg1": "{{arg2}}", "arg2": "two"}
    careless = template
    for name, value in values.items():
        careless = careless.replace("{{" + name + "}}", value)
    careful = fill([message(template)], values)[0]["content"]["text"]
    assert careless == "arg1='two', arg2='two'"
    assert careful == "arg1='{{arg2}}', arg2='two'"


@given(st.text(), st.text(), st.text())
def test_any_values_arrive_as_they_are(first: str, second: str, between: str) -> None:
    between = between.replace("{", "(")
    filled = fill([message("{{a}}" + between + "{{b}}")], {"a": first, "b": second})
    assert filled == [message(first + between + second)]


def test_blanks_are_filled_in_texts_only() -> None:
    block = {"type": "resource", "resource": {"uri": "{{a}}", "{{a}}": ["{{a}}", 1, None, True]}}
    [filled] = fill([{"role": "user", "content": block}], {"a": "x"})
    assert filled["content"]["resource"] == {"uri": "x", "{{a}}": ["x", 1, None, True]}


def test_filling_in_leaves_the_stored_prompt_alone(everything: Guarded) -> None:
    before = everything.get("everything/test_prompt_with_arguments")
    text_of(everything, "test_prompt_with_arguments", arg1="1", arg2="2")
    assert everything.get("everything/test_prompt_with_arguments") == before


def test_a_small_prompt_cannot_grow_without_bound(zorp: Guarded) -> None:
    arguments = [{"name": "a", "required": True}]
    make_prompt(zorp, "my/bomb", "{{a}}" * 10_000, **{"prompt/arguments": arguments})
    assert len(text_of(zorp, "bomb", a="x" * 100)) == 1_000_000
    with pytest.raises(Incorrect) as caught:
        render_prompt(zorp, "bomb", {"a": "x" * 101})
    assert caught.value.code == "prompt.too-large"


def test_of_two_prompts_with_one_name_the_older_keeps_it(zorp: Guarded) -> None:
    make_prompt(zorp, "my/describe-product", "mine")
    assert [prompt.name for prompt in prompts(zorp)] == [
        "describe-product",
        "plan-launch",
        "my/describe-product",
    ]
    assert text_of(zorp, "my/describe-product") == "mine"
    assert text_of(zorp, "describe-product", product="x") != "mine"
    zorp.transact([{"op": "delete", "entity": "zorp/describe-product"}])
    assert text_of(zorp, "describe-product") == "mine"


@pytest.mark.parametrize("ident", ["my/what now", "my/why?", "my/" + "x" * 46, "my/a.b", None])
def test_a_prompt_whose_name_a_client_may_not_take_is_refused(
    zorp: Guarded, ident: str | None
) -> None:
    with pytest.raises(Problem):
        make_prompt(zorp, ident, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "messages", [[], {}, "x", [1], [message("x") | {"role": "system"}], [{"role": "user"}]]
)
def test_what_is_no_message_cannot_be_stored(zorp: Guarded, messages: Any) -> None:
    with pytest.raises(Problem):
        make_prompt(zorp, "my/wrong", **{"prompt/messages": messages})


@pytest.mark.parametrize(
    "slots",
    [
        {"prompt/arguments": "product"},
        {"prompt/arguments": [{"nmae": "product"}]},
        {"prompt/messages": [{"role": "user", "content": {"type": "video"}}]},
        {"prompt/messages": [{"role": "user", "content": {"type": "resource", "resource": {}}}]},
    ],
)
def test_a_malformed_prompt_does_not_break_the_list(zorp: Guarded, slots: dict[str, Any]) -> None:
    make_prompt(zorp, "my/wrong", **slots)
    make_prompt(zorp, "my/right")
    assert [prompt.name for prompt in prompts(zorp)][-1] == "right"
    assert "wrong" not in [prompt.name for prompt in prompts(zorp)]
    with pytest.raises(Incorrect) as caught:
        render_prompt(zorp, "wrong", {})
    assert caught.value.code == "prompt.malformed"


def test_a_prompt_always_has_a_description(zorp: Guarded) -> None:
    make_prompt(zorp, "my/bare")
    make_prompt(zorp, "my/titled", **{"prompt/title": "A title"})
    assert [prompt.description for prompt in prompts(zorp)][-2:] == ["bare", "A title"]


def test_blanks_without_an_argument_stay(zorp: Guarded) -> None:
    make_prompt(zorp, "my/mustache", "A {{blank}} and a {{ spaced }} one.")
    assert text_of(zorp, "mustache") == "A {{blank}} and a {{ spaced }} one."


def test_a_pack_may_bring_prompts_of_every_content(
    workspace: Any, write_pack: WritePack, zorp: Guarded
) -> None:
    contents = [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a://b", "blob": "AA=="}},
        {"type": "resource_link", "uri": "a://b", "name": "b"},
    ]
    messages = [{"role": "assistant", "content": one} for one in contents]
    entry = {"ident": "tea/all", "description": "All.", "messages": messages}
    load_pack(workspace, write_pack("tea", prompts=[entry]))
    assert render_prompt(zorp, "all", {}).messages == messages
