"""JSON Schemas of arguments and results: 2020-12, object roots, no references, no root unions."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

from sandbar.verbs.arguments import ordered_fields
from sandbar.verbs.content import Content

_PLAIN: dict[type[inspect.Type], dict[str, Any]] = {
    inspect.AnyType: {},
    inspect.BoolType: {"type": "boolean"},
    inspect.NoneType: {"type": "null"},
    inspect.FloatType: {"type": "number"},
}


def arguments_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """What a verb takes."""
    return _struct(_info(arguments), is_input=True)


def shown_fields(arguments: type[msgspec.Struct], *names: str) -> dict[str, Any]:
    """The schema of some arguments: of a verb that has more than are worth listing."""
    schema = _struct(_info(arguments), is_input=True)
    properties = schema["properties"]
    return {**schema, "properties": {name: properties[name] for name in names}}


def result_schema(result: Any) -> dict[str, Any] | None:
    """What a verb answers; None if that is no object of one form."""
    if result is Content or not _is_struct(result):
        return None
    return _struct(_info(result), is_input=False)


def class_arguments(arguments: type[msgspec.Struct]) -> list[str]:
    """The arguments whose schema a surface may fill with the names of concrete classes."""
    names = []
    for field in msgspec.structs.fields(arguments):
        info = inspect.type_info(field.type)
        if isinstance(info, inspect.Metadata) and (info.extra or {}).get("fill") == "classes":
            names.append(field.encode_name)
    return names


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _info(kind: type[msgspec.Struct]) -> inspect.StructType:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


def _struct(
    info: inspect.StructType, *, is_input: bool, inside: tuple[type, ...] = ()
) -> dict[str, Any]:
    if info.cls in inside:
        return {"type": "object"}  # of the same form as what it is in: there are no references
    inside = (*inside, info.cls)
    fields = list(info.fields)
    if is_input:
        order = [field.encode_name for field in ordered_fields(info.cls)]
        fields.sort(key=lambda field: order.index(field.encode_name))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            field.encode_name: _schema(field.type, is_input=is_input, inside=inside)
            for field in fields
        },
    }
    required = [field.encode_name for field in fields if field.required]
    if not is_input and not info.cls.__struct_config__.omit_defaults:
        required = [field.encode_name for field in fields]
    if required:
        schema["required"] = required
    return schema


def _schema(info: inspect.Type, *, is_input: bool, inside: tuple[type, ...] = ()) -> dict[str, Any]:
    if isinstance(info, inspect.Metadata):
        extra = info.extra_json_schema or {}
        return _schema(info.type, is_input=is_input, inside=inside) | extra
    if isinstance(info, inspect.UnionType):
        return _union(info, is_input=is_input, inside=inside)
    if isinstance(info, inspect.StructType):
        return _struct(info, is_input=is_input, inside=inside)
    if isinstance(info, inspect.ListType | inspect.CollectionType | inspect.VarTupleType):
        items = _schema(info.item_type, is_input=is_input, inside=inside)
        return {"type": "array", "items": items} if items else {"type": "array"}
    if isinstance(info, inspect.DictType):
        values = _schema(info.value_type, is_input=is_input, inside=inside)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if isinstance(info, inspect.IntType):
        bounds = {"minimum": info.ge, "maximum": info.le}
        return {"type": "integer"} | {name: n for name, n in bounds.items() if n is not None}
    if isinstance(info, inspect.StrType):
        return {"type": "string"}
    if isinstance(info, inspect.LiteralType):
        return {"type": "string", "enum": list(info.values)}
    return dict(_PLAIN[type(info)])


def _union(info: inspect.UnionType, *, is_input: bool, inside: tuple[type, ...]) -> dict[str, Any]:
    """One schema for all of them: the kinds as a list of types. Optional arguments go without."""
    parts = [
        _schema(part, is_input=is_input, inside=inside)
        for part in info.types
        if not (is_input and isinstance(part, inspect.NoneType))
    ]
    if len(parts) == 1:
        return parts[0]
    merged: dict[str, Any] = {}
    for part in parts:
        merged |= part
    return merged | {"type": sorted({part["type"] for part in parts}, key=_ORDER.index)}


_ORDER = ["string", "integer", "number", "boolean", "object", "array", "null"]
