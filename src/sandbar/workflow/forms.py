"""Forms: the flat object schemas in which MCP elicitation asks people for input.

Only what every client can show: texts, numbers, yes or no, and one or several of a few texts.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.findings import Findings
from sandbar.workflow.data_schemas import schema_of
from sandbar.workflow.findings import shown
from sandbar.workflow.schema_checks import check_schema

FIELDS_MAX = 50
_NAME_CHARACTERS_MAX = 64
_FORMATS = ("email", "uri", "date", "date-time")
_COMMON = frozenset({"type", "title", "description", "default"})
_OPTION = frozenset({"const", "title"})
_KEYWORDS = {
    "string": _COMMON | {"minLength", "maxLength", "format", "enum", "enumNames", "oneOf"},
    "number": _COMMON | {"minimum", "maximum"},
    "integer": _COMMON | {"minimum", "maximum"},
    "boolean": _COMMON,
    "array": _COMMON | {"items", "minItems", "maxItems"},
}
_HINT = (
    "a form has fields of type string (also enum, or oneOf with const and title), number, integer, "
    'boolean, or array of {"type": "string", "enum": […]}; nothing is nested'
)


def check_form(schema: dict[str, Any], at: str, findings: Findings) -> None:
    """Put everything that keeps a schema from being a form into the findings."""
    before = findings.count
    for keyword in schema.keys() - {"type", "properties", "required", "$schema"}:
        _refuse(findings, at, f"a form has no {shown(keyword)}")
    if schema.get("type") != "object":
        _refuse(findings, at, f'a form is of type "object", not {shown(schema.get("type"))}')
    fields = schema.get("properties")
    if not isinstance(fields, dict) or len(fields) > FIELDS_MAX:
        _refuse(findings, at, f"properties are an object of at most {FIELDS_MAX} fields")
        return
    for name, field in fields.items():
        _check_field(name, field, f"{at}.properties.{name[:80]}", findings)
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if not isinstance(name, str) or name not in fields:
            _refuse(findings, f"{at}.required", f"there is no field {shown(name)}")
    if findings.count == before:
        check_schema(schema, at, findings)
    if findings.count == before:
        _check_defaults(fields, at, findings)


def _refuse(findings: Findings, at: str, message: str) -> None:
    findings.complain("workflow.input-schema", at, message, _HINT)


def _check_field(name: str, field: Any, at: str, findings: Findings) -> None:
    if not 0 < len(name) <= _NAME_CHARACTERS_MAX:
        _refuse(findings, at, f"a field's name has 1 to {_NAME_CHARACTERS_MAX} characters")
    kind = field.get("type") if isinstance(field, dict) else None
    known = _KEYWORDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        _refuse(findings, at, f"a form has no field like {shown(field)} of type {shown(kind)}")
        return
    for keyword in field.keys() - known:
        _refuse(findings, at, f"a field of type {kind} has no {shown(keyword)}")
    if "format" in field and field["format"] not in _FORMATS:
        _refuse(findings, at, f"the formats are {', '.join(_FORMATS)}")
    if "oneOf" in field and not _are_options(field["oneOf"]):
        _refuse(findings, at, "oneOf lists objects with const and title, both texts")
    if "enum" in field and not _are_texts(field["enum"]):
        _refuse(findings, at, "enum lists texts")
    if kind == "array":
        _check_choice(field.get("items"), at, findings)


def _check_choice(items: Any, at: str, findings: Findings) -> None:
    """Several of a few texts: named plainly, or each with a title."""
    plain = isinstance(items, dict) and items.keys() == {"type", "enum"}
    titled = isinstance(items, dict) and items.keys() == {"anyOf"}
    fits = (plain and items["type"] == "string" and _are_texts(items["enum"])) or (
        titled and _are_options(items["anyOf"])
    )
    if not fits:
        _refuse(findings, at, "an array is a choice of texts")


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) for v in values)


def _are_options(values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(one, dict) and one.keys() == _OPTION for one in values)
        and all(isinstance(text, str) for one in values for text in one.values())
    )


def _check_defaults(fields: dict[str, Any], at: str, findings: Findings) -> None:
    for name, field in fields.items():
        if "default" in field:
            schema = schema_of(msgspec.json.encode(field))
            for finding in schema.check(field["default"], "default")[:1]:
                _refuse(findings, f"{at}.properties.{name}", f"the default: {finding['message']}")
