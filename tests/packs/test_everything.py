"""The fixtures of the conformance suites: those that answer, report and change the lists."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib
from typing import Any

import jsonschema
import pytest

from sandbar.access import Caller, Guarded
from sandbar.errors import Forbidden, Incorrect, Unsupported
from sandbar.model import Workspace
from sandbar.packs import code_of, complete_argument, prompts, render_prompt
from sandbar.verbs import Content
from tests.packs.conversations import ScriptedClient, in_context, run

TOOLS = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_reconnection",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "json_schema_2020_12_tool",
    "test_header_parameter",
    "greet",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
]
PROMPTS = [
    "test_simple_prompt",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
    "test_input_required_result_prompt",
]


def text_of(answer: Content) -> str:
    """The text of an answer that is one text."""
    [block] = answer.blocks
    assert block["type"] == "text"
    text: str = block["text"]
    return text


def test_every_fixture_is_there() -> None:
    code = code_of(["everything"])
    assert [verb.name for verb in code.verbs] == TOOLS
    assert [one.uri for one in code.resources] == [
        "test://static-text",
        "test://static-binary",
        "test://watched-resource",
    ]
    assert [one.uri_template for one in code.templates] == ["test://template/{id}/data"]


def test_every_tool_stands_in_the_list_as_the_suites_want_it() -> None:
    for verb in code_of(["everything"]).verbs:
        assert (verb.is_exact, verb.dotted, verb.portable) == (True, verb.name, verb.name)
        assert 0 < len(verb.description) <= 200
        assert verb.input_schema is not None
        jsonschema.Draft202012Validator.check_schema(verb.input_schema)
        assert verb.input_schema["type"] == "object"


def test_the_schema_of_the_schema_tool_is_the_suites() -> None:
    [verb] = [one for one in code_of(["everything"]).verbs if one.name.startswith("json_schema")]
    assert verb.input_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }


def test_the_schema_tool_takes_what_its_schema_allows(everything: Guarded) -> None:
    given = {"contactMethod": "phone", "phone": "1", "address": {"city": "Ulm"}}
    answer = text_of(run(everything, "json_schema_2020_12_tool", **given))
    assert '"contactMethod":"phone"' in answer
    with pytest.raises(Incorrect):
        run(everything, "json_schema_2020_12_tool", fax="1")


def test_simple_text(everything: Guarded) -> None:
    expected = "This is a simple text response for testing."
    assert text_of(run(everything, "test_simple_text")) == expected


def test_a_tool_without_arguments_refuses_some(everything: Guarded) -> None:
    with pytest.raises(Incorrect):
        run(everything, "test_simple_text", verbose=True)


def test_the_image_is_one(everything: Guarded) -> None:
    [block] = run(everything, "test_image_content").blocks
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    image = base64.b64decode(block["data"], validate=True)
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    place, kinds = 8, []
    while place < len(image):
        (size,) = struct.unpack(">I", image[place : place + 4])
        kind_and_data = image[place + 4 : place + 8 + size]
        (checksum,) = struct.unpack(">I", image[place + 8 + size : place + 12 + size])
        assert checksum == zlib.crc32(kind_and_data)
        kinds.append(kind_and_data[:4])
        place += 12 + size
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_the_sound_is_one(everything: Guarded) -> None:
    [block] = run(everything, "test_audio_content").blocks
    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    with wave.open(io.BytesIO(base64.b64decode(block["data"], validate=True))) as sound:
        assert (sound.getnchannels(), sound.getnframes()) == (1, 2)


def test_embedded_resource(everything: Guarded) -> None:
    assert run(everything, "test_embedded_resource").blocks == [
        {
            "type": "resource",
            "resource": {
                "uri": "test://embedded-resource",
                "mimeType": "text/plain",
                "text": "This is an embedded resource content.",
            },
        }
    ]


def test_multiple_content_types(everything: Guarded) -> None:
    [text, image, resource] = run(everything, "test_multiple_content_types").blocks
    assert text == {"type": "text", "text": "Multiple content types test:"}
    assert image["mimeType"] == "image/png"
    assert resource["resource"] == {
        "uri": "test://mixed-content-resource",
        "mimeType": "application/json",
        "text": '{"test":"data","value":123}',
    }


def test_error_handling(everything: Guarded) -> None:
    answer = run(everything, "test_error_handling")
    assert answer.is_error
    assert text_of(answer) == "This tool intentionally returns an error for testing"


@pytest.mark.parametrize("name", ["test_tool_with_logging", "test_logging_tool"])
def test_logging(everything: Guarded, name: str) -> None:
    client = ScriptedClient()
    assert text_of(run(everything, name, client))
    assert client.told == [
        ("log", "info", "Tool execution started"),
        ("log", "info", "Tool processing data"),
        ("log", "info", "Tool execution completed"),
    ]


def test_progress(everything: Guarded) -> None:
    client = ScriptedClient()
    assert text_of(run(everything, "test_tool_with_progress", client))
    assert client.told == [("progress", n, 100) for n in (0, 50, 100)]


def test_reconnection_ends_the_stream_before_it_answers(everything: Guarded) -> None:
    client = ScriptedClient()
    assert text_of(run(everything, "test_reconnection", client))
    assert client.told == [("close",)]


@pytest.mark.parametrize(
    "name", ["test_tool_with_logging", "test_tool_with_progress", "test_reconnection"]
)
def test_reports_need_no_listener(everything: Guarded, name: str) -> None:
    assert text_of(run(everything, name))


@pytest.mark.parametrize("client", [None, ScriptedClient({}), ScriptedClient({"roots": {}})])
def test_a_missing_capability_is_named(everything: Guarded, client: ScriptedClient | None) -> None:
    with pytest.raises(Unsupported) as caught:
        run(everything, "test_missing_capability", client)
    assert caught.value.code == "client.capability-missing"
    assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}


def test_a_declared_capability_is_enough(everything: Guarded) -> None:
    assert text_of(run(everything, "test_missing_capability", ScriptedClient({"sampling": {}})))


def test_the_tool_change_is_a_class(everything: Guarded) -> None:
    before, generation = set(everything.schema().classes()), everything.schema().generation
    for _ in range(2):
        run(everything, "test_trigger_tool_change")
    assert len(set(everything.schema().classes()) - before) == 2
    assert everything.schema().generation == generation + 2


def test_the_prompt_change_is_a_prompt(everything: Guarded) -> None:
    generation = everything.schema().generation
    for _ in range(2):
        run(everything, "test_trigger_prompt_change")
    assert [prompt.name for prompt in prompts(everything)][:5] == PROMPTS
    assert len(prompts(everything)) == 7
    assert everything.schema().generation == generation


@pytest.mark.parametrize("name", ["test_trigger_tool_change", "test_trigger_prompt_change"])
def test_a_reader_triggers_nothing(workspace: Workspace, everything: Guarded, name: str) -> None:
    before = workspace.last_t()
    with pytest.raises(Forbidden):
        run(Guarded(workspace, Caller("r", "reader", "main")), name)
    assert workspace.last_t() == before


def test_greet_and_header_parameter(everything: Guarded) -> None:
    assert text_of(run(everything, "greet", name="Zorp")) == "Hello, Zorp!"
    assert "Hello" in text_of(run(everything, "test_header_parameter", region="Hello"))
    [verb] = [one for one in code_of(["everything"]).verbs if one.name == "test_header_parameter"]
    assert verb.input_schema is not None
    region = verb.input_schema["properties"]["region"]
    assert region == {"type": "string", "x-mcp-header": "Region"}


def test_resources() -> None:
    code = code_of(["everything"])
    expected = ("This is the content of the static text resource.", "text/plain")
    assert code.read("test://static-text") == expected
    binary = code.read("test://static-binary")
    assert binary is not None
    assert isinstance(binary[0], bytes)
    assert binary[1] == "image/png"
    assert code.read("test://watched-resource") is not None


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("test://template/123/data", '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'),
        ('test://template/"/data', '{"id":"\\"","templateTest":true,"data":"Data for ID: \\""}'),
        ("test://template//data", None),
        ("test://template/1/2/data", None),
        ("test://template/1/data/", None),
        ("test://template/1/data\n", None),
        ("test://static-texts", None),
    ],
)
def test_template(uri: str, expected: str | None) -> None:
    answer = code_of(["everything"]).read(uri)
    assert answer == (None if expected is None else (expected, "application/json"))


def test_prompts_are_listed(everything: Guarded) -> None:
    listed = prompts(everything)
    assert [prompt.name for prompt in listed] == PROMPTS
    assert all(prompt.description for prompt in listed)
    [arguments] = [one.arguments for one in listed if one.name == "test_prompt_with_arguments"]
    assert [(one.name, one.required) for one in arguments] == [("arg1", True), ("arg2", True)]


@pytest.mark.parametrize(
    ("name", "arguments", "contents"),
    [
        (
            "test_simple_prompt",
            {},
            [{"type": "text", "text": "This is a simple prompt for testing."}],
        ),
        (
            "test_prompt_with_arguments",
            {"arg1": "hello", "arg2": "world"},
            [{"type": "text", "text": "Prompt with arguments: arg1='hello', arg2='world'"}],
        ),
        (
            "test_prompt_with_embedded_resource",
            {"resourceUri": "test://example-resource"},
            [
                {
                    "type": "resource",
                    "resource": {
                        "uri": "test://example-resource",
                        "mimeType": "text/plain",
                        "text": "Embedded resource content for testing.",
                    },
                },
                {"type": "text", "text": "Please process the embedded resource above."},
            ],
        ),
    ],
)
def test_prompts_say_what_the_suites_want(
    everything: Guarded, name: str, arguments: dict[str, str], contents: list[dict[str, Any]]
) -> None:
    messages = render_prompt(everything, name, arguments).messages
    assert messages == [{"role": "user", "content": content} for content in contents]


def test_the_prompt_with_an_image(everything: Guarded) -> None:
    [image, text] = render_prompt(everything, "test_prompt_with_image", {}).messages
    assert image["content"] == run(everything, "test_image_content").blocks[0]
    assert text["content"]["text"] == "Please analyze the image above."


@pytest.mark.parametrize(
    ("argument", "beginning", "expected"),
    [
        ("arg1", "par", ["paris", "park", "party"]),
        ("arg1", "pari", ["paris"]),
        ("arg1", "test", []),
        ("arg2", "par", []),
    ],
)
def test_completion(
    everything: Guarded, argument: str, beginning: str, expected: list[str]
) -> None:
    _, code = in_context(everything)
    name = "test_prompt_with_arguments"
    assert complete_argument(everything, code, name, argument, beginning) == expected
