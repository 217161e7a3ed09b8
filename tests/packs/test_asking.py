"""The fixtures that ask the client: live in a session, by the result without one."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.access import Guarded
from sandbar.errors import Incorrect, Unsupported
from sandbar.packs import PromptMessages, get_prompt, load_pack
from sandbar.verbs import Verbatim
from tests.packs.conversations import ScriptedClient, in_context, run
from tests.packs.test_everything import text_of

RESULT = "test_input_required_result"
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Paris."}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///test/root", "name": "Test Root"}]}

# Every tool that asks: its arguments, and the answers of a live client by method.
ASKING: list[tuple[str, dict[str, Any], list[str]]] = [
    ("test_sampling", {"prompt": "Say something"}, ["sampling/createMessage"]),
    ("test_elicitation", {"message": "Who are you?"}, ["elicitation/create"]),
    ("test_elicitation_sep1034_defaults", {}, ["elicitation/create"]),
    ("test_elicitation_sep1330_enums", {}, ["elicitation/create"]),
    ("test_streaming_elicitation", {}, ["elicitation/create"]),
    (f"{RESULT}_elicitation", {}, ["elicitation/create"]),
    (f"{RESULT}_sampling", {}, ["sampling/createMessage"]),
    (f"{RESULT}_list_roots", {}, ["roots/list"]),
    (f"{RESULT}_request_state", {}, ["elicitation/create"]),
    (f"{RESULT}_tampered_state", {}, ["elicitation/create"]),
    (
        f"{RESULT}_multiple_inputs",
        {},
        ["elicitation/create", "sampling/createMessage", "roots/list"],
    ),
    (f"{RESULT}_multi_round", {}, ["elicitation/create", "elicitation/create"]),
    (
        f"{RESULT}_capabilities",
        {},
        ["elicitation/create", "sampling/createMessage", "roots/list"],
    ),
]
FORM = {
    "name": "Alice",
    "color": "blue",
    "ok": True,
    "username": "alice",
    "email": "alice@example.org",
}
LIVE: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": FORM},
    "sampling/createMessage": SAMPLED,
    "roots/list": ROOTS,
}


def requests_of(answer: Any) -> dict[str, Any]:
    """What a result asks for, by key."""
    assert isinstance(answer, Verbatim)
    assert answer.value["resultType"] == "input_required"
    requests: dict[str, Any] = answer.value["inputRequests"]
    return requests


def state_of(answer: Verbatim) -> str | None:
    """What comes back with the answers."""
    return answer.value.get("requestState")


def accept(**content: Any) -> dict[str, Any]:
    """A form that the user has filled in."""
    return {"action": "accept", "content": content}


@pytest.mark.parametrize(("name", "arguments", "methods"), ASKING)
def test_a_live_client_is_asked_and_answers(
    everything: Guarded, name: str, arguments: dict[str, Any], methods: list[str]
) -> None:
    client = ScriptedClient(live=LIVE)
    assert text_of(run(everything, name, client, **arguments))
    assert [told[1] for told in client.told if told[0] == "ask"] == methods


@pytest.mark.parametrize(("name", "arguments", "methods"), ASKING)
def test_without_a_session_the_same_is_asked_for_in_rounds(
    everything: Guarded, name: str, arguments: dict[str, Any], methods: list[str]
) -> None:
    asked: list[str] = []
    client = ScriptedClient()
    while isinstance(answer := run(everything, name, client, **arguments), Verbatim):
        asked += [request["method"] for request in requests_of(answer).values()]
        assert len(asked) <= len(methods)
        responses = {key: LIVE[one["method"]] for key, one in requests_of(answer).items()}
        assert client.state_is_new(state_of(answer))
        client = ScriptedClient(responses=responses, state=state_of(answer))
    assert asked == methods
    assert text_of(answer)


@pytest.mark.parametrize(("name", "arguments", "methods"), ASKING)
@pytest.mark.parametrize("is_live", [True, False])
def test_what_the_client_has_not_declared_is_not_asked(
    everything: Guarded, name: str, arguments: dict[str, Any], methods: list[str], is_live: bool
) -> None:
    if name.endswith("_capabilities"):
        assert "not declared" in text_of(run(everything, name, ScriptedClient({})))
        return
    client = ScriptedClient({}, live=LIVE if is_live else None)
    with pytest.raises(Unsupported) as caught:
        run(everything, name, client, **arguments)
    assert caught.value.code == "client.capability-missing"
    names = {method.partition("/")[0] for method in methods}
    assert caught.value.data == {"requiredCapabilities": {one: {} for one in names}}
    assert not [told for told in client.told if told[0] == "ask"]


def test_without_any_conversation_asking_is_unsupported(everything: Guarded) -> None:
    with pytest.raises(Unsupported):
        run(everything, "test_sampling", prompt="x")


def test_sampling_asks_as_the_suite_wants(everything: Guarded) -> None:
    client = ScriptedClient(live=LIVE)
    assert text_of(run(everything, "test_sampling", client, prompt="Hi")) == "LLM response: Paris."
    message = {"role": "user", "content": {"type": "text", "text": "Hi"}}
    params = {"messages": [message], "maxTokens": 100}
    assert client.told == [("ask", "sampling/createMessage", params)]


def test_elicitation_asks_as_the_suite_wants(everything: Guarded) -> None:
    client = ScriptedClient(live=LIVE)
    answer = text_of(run(everything, "test_elicitation", client, message="Who?"))
    assert answer.startswith("User response: action=accept, content={")
    [(_, _, params)] = client.told
    assert params == {
        "message": "Who?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            },
            "required": ["username", "email"],
        },
    }


def asked_fields(db: Guarded, name: str) -> dict[str, Any]:
    """The fields of the form that a tool shows."""
    client = ScriptedClient(live=LIVE)
    answer = text_of(run(db, name, client))
    assert answer.startswith("Elicitation completed: action=accept, content={")
    [(_, _, params)] = client.told
    fields: dict[str, Any] = params["requestedSchema"]["properties"]
    return fields


def test_the_defaults_are_the_suites(everything: Guarded) -> None:
    fields = asked_fields(everything, "test_elicitation_sep1034_defaults")
    assert {name: (one["type"], one["default"]) for name, one in fields.items()} == {
        "name": ("string", "John Doe"),
        "age": ("integer", 30),
        "score": ("number", 95.5),
        "status": ("string", "active"),
        "verified": ("boolean", True),
    }
    assert fields["status"]["enum"] == ["active", "inactive", "pending"]


def test_the_choices_are_the_suites(everything: Guarded) -> None:
    fields = asked_fields(everything, "test_elicitation_sep1330_enums")
    options = ["option1", "option2", "option3"]
    assert fields["untitledSingle"] == {"type": "string", "enum": options}
    assert fields["titledSingle"]["oneOf"][0] == {"const": "value1", "title": "First Option"}
    assert fields["legacyEnum"] == {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    }
    expected = {"type": "array", "items": {"type": "string", "enum": options}}
    assert fields["untitledMulti"] == expected
    choices = fields["titledMulti"]["items"]["anyOf"]
    assert choices[2] == {"const": "value3", "title": "Third Choice"}


def test_the_name_is_asked_for_under_its_key(everything: Guarded) -> None:
    answer = run(everything, f"{RESULT}_elicitation", ScriptedClient())
    assert requests_of(answer) == {
        "user_name": {
            "method": "elicitation/create",
            "params": {
                "message": "What is your name?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                },
            },
        }
    }


@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"wrong_key": accept(data="wrong")},
        {"user_name": 12345},
        {"user_name": None},
        {"user_name": []},
        {"user_name": {}},
        {"user_name": {"action": "accept"}},
        {"user_name": {"action": "accept", "content": "Alice"}},
        {"user_name": accept(name=5)},
        {"user_name": accept(nmae="Alice")},
        {"user_name": {"action": "maybe", "content": {"name": "Alice"}}},
    ],
)
def test_a_wrong_answer_is_asked_for_again(everything: Guarded, responses: dict[str, Any]) -> None:
    answer = run(everything, f"{RESULT}_elicitation", ScriptedClient(responses=responses))
    assert isinstance(answer, Verbatim)
    assert list(requests_of(answer)) == ["user_name"]


def test_the_right_answer_is_taken_whatever_else_comes_along(everything: Guarded) -> None:
    responses = {"user_name": accept(name="Alice"), "unknown_extra_key": accept(foo="bar")}
    answer = run(everything, f"{RESULT}_elicitation", ScriptedClient(responses=responses))
    assert text_of(answer) == "Hello, Alice!"


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_no_is_an_answer(everything: Guarded, action: str) -> None:
    declined = {"action": action}
    client = ScriptedClient(responses={"user_name": declined})
    assert text_of(run(everything, f"{RESULT}_elicitation", client)) == "No name was given."
    live = ScriptedClient(live={"elicitation/create": declined})
    assert "somebody" in text_of(run(everything, f"{RESULT}_multi_round", live))


def test_the_state_must_come_back(everything: Guarded) -> None:
    name = f"{RESULT}_request_state"
    first = run(everything, name, ScriptedClient())
    assert isinstance(first, Verbatim)
    answers = {"confirm": accept(ok=True)}
    right = ScriptedClient(responses=answers, state=state_of(first))
    assert "state-ok" in text_of(run(everything, name, right))
    without = run(everything, name, ScriptedClient(responses=answers))
    assert without == first
    with pytest.raises(Incorrect) as caught:
        run(
            everything, name, ScriptedClient(responses=answers, state=f"{state_of(first)}-TAMPERED")
        )
    assert caught.value.code == "client.state-unknown"


def test_the_second_round_carries_the_first(everything: Guarded) -> None:
    name = f"{RESULT}_multi_round"
    first = run(everything, name, ScriptedClient())
    client = ScriptedClient(responses={"step1": accept(name="Alice")}, state=state_of(first))
    second = run(everything, name, client)
    assert list(requests_of(second)) == ["step2"]
    assert state_of(second) != state_of(first)
    client = ScriptedClient(responses={"step2": accept(color="blue")}, state=state_of(second))
    assert text_of(run(everything, name, client)) == "Alice's favorite color: blue"


def test_only_what_is_declared_is_asked_for(everything: Guarded) -> None:
    answer = run(everything, f"{RESULT}_capabilities", ScriptedClient({"sampling": {}}))
    assert [one["method"] for one in requests_of(answer).values()] == ["sampling/createMessage"]


def test_progress_comes_before_the_question(everything: Guarded) -> None:
    client = ScriptedClient()
    assert isinstance(run(everything, "test_streaming_elicitation", client), Verbatim)
    assert client.told == [("progress", 1, 2)]


def test_a_prompt_can_ask_first(everything: Guarded) -> None:
    name = f"{RESULT}_prompt"
    context, code = in_context(everything, ScriptedClient())
    first = get_prompt(context, code, name, {})
    assert isinstance(first, Verbatim)
    params = requests_of(first)["user_context"]["params"]
    assert params["message"] == "What context should the prompt use?"
    assert params["requestedSchema"]["required"] == ["context"]
    client = ScriptedClient(responses={"user_context": accept(context="a test")})
    second = get_prompt(in_context(everything, client)[0], code, name, {})
    assert isinstance(second, PromptMessages)
    assert "a test" in second.messages[0]["content"]["text"]


def test_a_prompt_without_code_is_filled_in_from_its_text(everything: Guarded) -> None:
    context, code = in_context(everything)
    answer = get_prompt(context, code, "test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    assert isinstance(answer, PromptMessages)
    assert "arg1='a'" in answer.messages[0]["content"]["text"]
    with pytest.raises(Incorrect):
        get_prompt(context, code, "test_prompt_with_arguments", {})


def test_a_users_prompt_does_not_get_the_code_of_a_packs(workspace: Any, zorp: Guarded) -> None:
    """A prompt of that name was there first; the pack's code belongs to the pack's own."""
    message = {"role": "user", "content": {"type": "text", "text": "mine"}}
    slots = {"db/ident": f"my/{RESULT}_prompt", "prompt/messages": [message]}
    zorp.transact([{"op": "create", "class": "prompt/Prompt", "slots": slots}])
    load_pack(workspace, "everything")
    context, code = in_context(zorp, ScriptedClient())
    answer = get_prompt(context, code, f"{RESULT}_prompt", {})
    assert isinstance(answer, PromptMessages)
    assert answer.messages == [message]
    other = get_prompt(context, code, f"everything/{RESULT}_prompt", {})
    assert isinstance(other, Verbatim)
