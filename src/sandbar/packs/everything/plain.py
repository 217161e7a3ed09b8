"""The tools that only answer, report on the way, or change the lists."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from sandbar.clock import pause_s
from sandbar.errors import Unsupported
from sandbar.model import Create
from sandbar.packs.everything.declaring import NoArguments, text, tool
from sandbar.packs.everything.media import PNG, WAV
from sandbar.packs.everything.requests import client_of
from sandbar.verbs import Attached, Audio, Content, Context, File, Image, Text, Verb

_BETWEEN_REPORTS_S = 0.05
_BEFORE_RECONNECTION_S = 0.1

_IMAGE = Image(PNG, "image/png")


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to greet."""

    name: str


class Region(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that travels in a header as well."""

    region: str


class Contact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The arguments of the tool whose schema is the point."""

    name: str | None = None
    address: dict[str, Any] | None = None
    contact_method: str | None = None
    phone: str | None = None
    email: str | None = None


_CONTACT_SCHEMA: dict[str, Any] = {
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


def _simple_text(context: Context, arguments: NoArguments) -> Content:
    return text("This is a simple text response for testing.")


def _image(context: Context, arguments: NoArguments) -> Content:
    return Content([_IMAGE])


def _audio(context: Context, arguments: NoArguments) -> Content:
    return Content([Audio(WAV, "audio/wav")])


def _embedded_resource(context: Context, arguments: NoArguments) -> Content:
    words = "This is an embedded resource content."
    return Content([Attached(File("test://embedded-resource", "text/plain", words))])


def _multiple_content_types(context: Context, arguments: NoArguments) -> Content:
    words = '{"test":"data","value":123}'
    file = File("test://mixed-content-resource", "application/json", words)
    return Content([Text("Multiple content types test:"), _IMAGE, Attached(file)])


def _error_handling(context: Context, arguments: NoArguments) -> Content:
    return text("This tool intentionally returns an error for testing", is_error=True)


def _with_logging(context: Context, arguments: NoArguments) -> Content:
    context.log("info", "Tool execution started")
    pause_s(_BETWEEN_REPORTS_S)
    context.log("info", "Tool processing data")
    pause_s(_BETWEEN_REPORTS_S)
    context.log("info", "Tool execution completed")
    return text("Three messages were logged at level info.")


def _with_progress(context: Context, arguments: NoArguments) -> Content:
    context.progress(0, 100)
    pause_s(_BETWEEN_REPORTS_S)
    context.progress(50, 100)
    pause_s(_BETWEEN_REPORTS_S)
    context.progress(100, 100)
    return text("Progress was reported at 0, 50 and 100.")


def _reconnection(context: Context, arguments: NoArguments) -> Content:
    client = client_of(context)
    if client is not None:
        client.close_stream()
    pause_s(_BEFORE_RECONNECTION_S)
    return text("Reconnection test completed.")


def _missing_capability(context: Context, arguments: NoArguments) -> Content:
    client = client_of(context)
    if client is None or client.client_capabilities.get("sampling") is None:
        raise Unsupported(
            "client.capability-missing",
            "this needs a client that declares sampling",
            hint="call it from such a client",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return text("The client declares sampling.")


def _trigger_tool_change(context: Context, arguments: NoArguments) -> Content:
    name = f"everything/Fixture-{uuid.uuid4().hex}"
    context.db.define({}, {name: {"db/doc": "A class that a test has made."}})
    return text(f"Class {name} was defined.")


def _trigger_prompt_change(context: Context, arguments: NoArguments) -> Content:
    name = f"everything/fixture-{uuid.uuid4().hex}"
    message = {"role": "user", "content": {"type": "text", "text": "A test has made this prompt."}}
    slots = {
        "db/ident": name,
        "db/doc": "A prompt that a test has made.",
        "prompt/messages": [message],
    }
    context.db.transact([Create(class_="prompt/Prompt", slots=slots)])
    return text(f"Prompt {name} was created.")


def _json_schema(context: Context, arguments: Contact) -> Content:
    return text(f"Called with {msgspec.json.encode(arguments).decode()}")


def _header_parameter(context: Context, arguments: Region) -> Content:
    return text(f"The region is {arguments.region}.")


def _greet(context: Context, arguments: Person) -> Content:
    return text(f"Hello, {arguments.name}!")


VERBS: tuple[Verb, ...] = (
    tool("test_simple_text", "Answers with one text.", _simple_text),
    tool("test_image_content", "Answers with an image.", _image),
    tool("test_audio_content", "Answers with a sound.", _audio),
    tool("test_embedded_resource", "Answers with a resource.", _embedded_resource),
    tool(
        "test_multiple_content_types",
        "Answers with a text, an image and a resource.",
        _multiple_content_types,
    ),
    tool("test_error_handling", "Always answers with an error.", _error_handling),
    tool("test_tool_with_logging", "Logs three messages while it runs.", _with_logging),
    tool("test_logging_tool", "Logs as well, for clients that did not ask for it.", _with_logging),
    tool("test_tool_with_progress", "Reports its progress while it runs.", _with_progress),
    tool("test_reconnection", "Ends its stream before it answers.", _reconnection),
    tool("test_missing_capability", "Needs a client with sampling.", _missing_capability),
    tool(
        "test_trigger_tool_change",
        "Defines a class, which changes the list of tools.",
        _trigger_tool_change,
        access="write",
    ),
    tool(
        "test_trigger_prompt_change",
        "Creates a prompt, which changes the list of prompts.",
        _trigger_prompt_change,
        access="write",
    ),
    tool(
        "json_schema_2020_12_tool",
        "Tool with JSON Schema 2020-12 features",
        _json_schema,
        Contact,
        schema=_CONTACT_SCHEMA,
    ),
    tool(
        "test_header_parameter",
        "Takes an argument that clients repeat in a header.",
        _header_parameter,
        Region,
        schema={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
            "additionalProperties": False,
        },
    ),
    tool(
        "greet",
        "Greets somebody.",
        _greet,
        Person,
        schema={
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ),
)
