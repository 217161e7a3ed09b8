"""The schemas keep the rules that real clients break without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args

import jsonschema
import msgspec
import pytest
from msgspec import Meta

from sandbar.model import Operation
from sandbar.verbs import (
    Arguments,
    Content,
    Verb,
    base_catalogue,
)
from sandbar.verbs.answers import Answer
from sandbar.verbs.catalogue import DESCRIPTION_MAX

VERBS = list(base_catalogue())
KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,45}")
CORE = {
    "schema.classes",
    "class.describe",
    "entity.create",
    "entity.find",
    "entity.query",
    "entity.update",
    "entity.delete",
    "entity.history",
    "search.text",
}
ALL = [
    "schema.classes",
    "schema.properties",
    "schema.datatypes",
    "schema.entities",
    "schema.define",
    "class.describe",
    "class.slots",
    "class.direct-slots",
    "class.required-slots",
    "class.instances",
    "class.subclasses",
    "class.parents",
    "class.validate-all-instances",
    "types.instance-of",
    "types.subclass-of",
    "property.domain",
    "property.range",
    "property.cardinality",
    "entity.create",
    "entity.find",
    "entity.update",
    "entity.validate",
    "entity.query",
    "entity.delete",
    "entity.restore",
    "entity.transact",
    "entity.history",
    "entity.diff",
    "entity.purge",
    "codec.list",
    "project.export",
    "project.import",
    "search.text",
    "workflow.define",
    "workflow.find",
    "workflow.start-process",
    "workflow.transition",
    "workflow.process-state",
    "workflow.process-history",
    "workflow.active-processes",
    "workflow.stats",
    "workflow.pause",
    "workflow.resume",
    "workflow.answer",
    "task.get",
    "task.list",
    "task.cancel",
    "validation.start",
    "validation.run",
    "validation.cancel",
    "validation.retry",
    "validation.results",
    "validation.history",
    "audit.list",
    "key.mint",
    "key.list",
    "key.rotate",
    "key.revoke",
    "workspace.create",
    "workspace.list",
    "workspace.suspend",
    "workspace.usage",
    "workspace.delete",
]
MOVING_ON = {
    "workflow.define",
    "workflow.start-process",
    "workflow.transition",
    "workflow.pause",
    "workflow.resume",
    "workflow.answer",
    "validation.start",
    "validation.run",
    "validation.retry",
}


ENDING = {"key.rotate", "key.revoke", "workspace.suspend", "workspace.delete"}
# What is asked for besides: a list has no reason, and of a workspace that begins or ends no
# history could keep one.
REASONLESS = {"audit.list", "key.list", "workspace.create", "workspace.list", "workspace.delete"}
KEYED = {"key.mint", "key.rotate"}
KEYLESS = {"project.import"}  # a second one finds that everything is there


def offences(schema: dict[str, Any]) -> list[str]:
    """Everything in an input schema that some client does not accept."""
    found = []
    if schema.get("type") != "object":
        found.append("the root is no object")
    found += [f"{word} at the root" for word in ("oneOf", "anyOf", "allOf") if word in schema]
    found += [f"key {key}" for key in schema.get("properties", {}) if not KEY.fullmatch(key)]
    found += [f"{key} is there" for key in _keys(schema) if key in ("$ref", "$defs")]
    if "'null'" in str(schema.get("properties")):
        found.append("null noise")
    return found


def _keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
        for value in schema.values():
            yield from _keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _keys(value)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_inputs_are_what_every_client_accepts(verb: Verb) -> None:
    schema = verb.takes
    jsonschema.Draft202012Validator.check_schema(schema)
    assert offences(schema) == []
    assert TOOL_NAME.fullmatch(verb.portable)
    described = [slot.get("description", "") for slot in schema["properties"].values()]
    assert all(0 < len(text) <= 160 for text in described)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_outputs_are_plain_objects(verb: Verb) -> None:
    schema = verb.gives
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not {"$ref", "$defs"} & set(_keys(schema))
    assert not {"oneOf", "anyOf", "allOf"} & schema.keys()


def test_an_offence_is_caught() -> None:
    assert offences({"type": "object", "properties": {"limit": {"type": "integer"}}}) == []
    assert offences({"type": "array"}) == ["the root is no object"]
    assert offences({"type": "object", "oneOf": []}) == ["oneOf at the root"]
    wrong = {"type": "object", "properties": {"boot/size?": {"$ref": "#/x"}}}
    assert offences(wrong) == ["key boot/size?", "$ref is there"]
    noisy = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}
    assert offences(noisy) == ["null noise"]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_descriptions_are_for_a_model(verb: Verb) -> None:
    assert 20 <= len(verb.description) <= DESCRIPTION_MAX
    assert verb.description.endswith(".")
    named = re.findall(r"\b[a-z]+\.[a-z-]+\b", verb.description)
    assert [name for name in named if name not in (*ALL, "e.g")] == []


def test_all_verbs_are_there_and_the_core_is_marked() -> None:
    assert sorted(verb.name for verb in VERBS) == sorted(ALL)
    assert {verb.name for verb in VERBS if verb.is_core} == CORE
    assert [verb.name for verb in VERBS if verb.is_point_read] == ["entity.find"]


def test_annotations_fit_what_verbs_do() -> None:
    destructive = {verb.name for verb in VERBS if verb.is_destructive}
    assert (
        destructive
        == {
            "schema.define",
            "entity.update",
            "entity.delete",
            "entity.transact",
            "entity.restore",
            "entity.purge",
            "project.import",
            "task.cancel",
            "validation.cancel",
        }
        | ENDING
    )
    admins = {verb.name for verb in VERBS if verb.access == "admin"}
    # For all, if not in every list.
    quiet = {"workflow.pause", "workflow.resume", "workflow.stats", "workspace.usage"}
    assert admins == {verb.name for verb in VERBS if verb.is_housekeeping} - quiet
    writers = {verb.name for verb in VERBS if verb.access == "write"}
    assert writers == (destructive | MOVING_ON | {"entity.create"}) - admins


def test_every_write_takes_a_reason_and_a_key_and_every_list_is_paged() -> None:
    for verb in VERBS:
        keys = verb.takes["properties"].keys()
        is_reasoned = verb.access != "read" and verb.name not in REASONLESS
        assert ("reason" in keys) == is_reasoned, verb.name
        is_keyed = (verb.access == "write" and verb.name not in KEYLESS) or verb.name in KEYED
        assert ("idempotency-key" in keys) == is_keyed, verb.name
        answers = verb.gives
        assert answers is not None
        assert ("cursor" in keys) == ("cursor" in answers["properties"]), verb.name


def told_of(verb: str, argument: str) -> str:
    """What a model is told of an argument."""
    found = next(one for one in VERBS if one.name == verb)
    return str(found.takes["properties"][argument]["description"])


def test_a_model_is_told_of_all_that_it_may_write() -> None:
    told = told_of("entity.transact", "operations")
    for operation in get_args(Operation):
        name = f'"{operation.__struct_config__.tag}"'
        part = told.partition(name)[2].partition(";")[0]
        fields = {one.encode_name for one in msgspec.structs.fields(operation)} - {"id"}
        before = {"entity", "expect"} if "expect" in fields else set()
        assert fields - before <= set(re.findall(r"[a-z]+", part)), name
        assert not before or "with entity and expect" in told.partition(name)[0], name
    rules = {"dt/one-of", "dt/pattern", "dt/min", "dt/max", "dt/default", "dt/required?"}
    assert rules <= set(re.findall(r"[a-z]+/[a-z?-]+", told_of("schema.define", "properties")))
    (define,) = (verb for verb in VERBS if verb.name == "workflow.define")
    states = define.takes["properties"]["spec"]["properties"]["states"]
    told = states["description"]
    assert "after: {seconds, transition}" in told
    assert "input: {message, schema, accept, decline" in told


def test_the_list_is_small() -> None:
    """The whole of it must stay below 32 kB with the verbs that are to come; the core below 8."""
    listed = [verb for verb in VERBS if not verb.is_housekeeping]
    tools = [
        {
            "name": verb.portable,
            "title": verb.title,
            "description": verb.description,
            "inputSchema": verb.takes,
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for verb in listed
    ]
    core = [tool for tool, verb in zip(tools, listed, strict=True) if verb.is_core]
    assert len(msgspec.json.encode(tools)) < 29_500
    assert len(msgspec.json.encode(core)) < 6_500


class Everything(Arguments, frozen=True, kw_only=True):
    """One argument of each kind."""

    needed: Annotated[str, Meta(description="text")]
    cls: Annotated[str, Meta(description="a class", extra={"fill": "classes"})] = ""
    flag: bool = False
    number: float | None = None
    some: list[int] | None = None
    deep: dict[str, dict[str, Any]] = {}  # noqa: RUF012
    anything: Any = None


def verb_with(**more: Any) -> Verb:
    """A verb of a pack."""
    facts = {"arguments": Everything, "result": Content, **more}
    return Verb(
        name="thing.do",
        title="Do",
        description="Do it.",
        access="read",
        run=lambda context, arguments: None,
        **facts,
    )


def test_every_kind_of_argument_has_a_schema() -> None:
    verb = verb_with()
    assert verb.takes == {
        "type": "object",
        "properties": {
            "needed": {"type": "string", "description": "text"},
            "cls": {"type": "string", "description": "a class"},
            "flag": {"type": "boolean"},
            "number": {"type": "number"},
            "some": {"type": "array", "items": {"type": "integer"}},
            "deep": {"type": "object", "additionalProperties": {"type": "object"}},
            "anything": {},
        },
        "required": ["needed"],
    }
    assert verb.class_arguments == ["cls"]
    assert verb.gives is None


def test_the_class_of_create_is_marked_for_the_surface() -> None:
    marked = {verb.name: verb.class_arguments for verb in VERBS if verb.class_arguments}
    assert marked == {"entity.create": ["class"]}


def test_a_verb_may_bring_its_own_schema_and_nobody_can_spoil_it() -> None:
    own = {"type": "object", "properties": {"x": {"type": "string"}}}
    verb = verb_with(input_schema=own)
    verb.takes["properties"].clear()
    assert verb.takes == own


class Branch(Answer, frozen=True, kw_only=True):
    """Something that has more of its kind in it."""

    name: str
    branches: list[Branch]


def test_a_type_that_contains_itself_ends_where_it_begins_again() -> None:
    verb = msgspec.structs.replace(VERBS[0], result=Branch)
    answers = verb.gives
    assert answers is not None
    inner = answers["properties"]["branches"]["items"]
    assert inner == {"type": "object"}
