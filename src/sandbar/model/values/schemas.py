"""The JSON Schema 2020-12 fragment of each value type, as a model or a form should see it.

Plain keywords only: no references and no combinators, because many clients support neither.
A pattern must mean the same in ECMAScript and in Python, hence `[^\\u0000-\\u007f]` for "any
letter that is not ASCII" (slightly wider than the grammar; the door decides).
"""

from __future__ import annotations

from typing import Any

from sandbar.model.values.compounds import MAX_ITEMS
from sandbar.model.values.decimals import MAX_DIGITS
from sandbar.model.values.door import MAX_BYTES, MAX_LONG, MIN_LONG
from sandbar.model.values.scalars import MAX_REF
from sandbar.model.values.texts import MAX_BASE64, MAX_URI_BYTES

_NAME = r"(?:[A-Za-z0-9_*!?$%&=<>.+\-'#]|[^\u0000-\u007f])+"
_NAMESPACE = r"(?:[A-Za-z_]|[^\u0000-\u007f])(?:[A-Za-z0-9_.\-]|[^\u0000-\u007f])*"

_DOUBLE: dict[str, Any] = {"type": "number"}

IDENT_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": rf"^:?{_NAMESPACE}/{_NAME}$",
    "maxLength": 256,
    "description": "An ident such as zorp/Boot.",
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string", "maxLength": MAX_BYTES},
    "boolean": {"type": "boolean"},
    "long": {"type": "integer", "minimum": MIN_LONG, "maximum": MAX_LONG},
    "double": _DOUBLE,
    "float": _DOUBLE,
    "bigint": {
        "type": ["string", "integer"],
        "pattern": rf"^-?[0-9]{{1,{MAX_DIGITS}}}$",
        "description": "A whole number of any size, written as a string of digits.",
    },
    "bigdec": {
        "type": ["string", "number"],
        "pattern": r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]{1,5})?$",
        "maxLength": MAX_DIGITS + 12,
        "description": 'An exact decimal number, best written as a string such as "299.99".',
    },
    "instant": {
        "type": "string",
        "format": "date-time",
        "description": "RFC 3339 with an offset, for example 2026-11-15T12:00:00Z.",
    },
    "keyword": {
        "type": "string",
        "pattern": rf"^:?(?:{_NAMESPACE}/)?{_NAME}$",
        "maxLength": 256,
        "description": "A keyword such as status/open.",
    },
    "symbol": {
        "type": "string",
        "pattern": rf"^(?:{_NAMESPACE}/)?{_NAME}$",
        "maxLength": 255,
        "description": "A symbol such as core/inc.",
    },
    "uuid": {
        "type": "string",
        "format": "uuid",
        "pattern": "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    },
    "uri": {
        "type": "string",
        "format": "iri",
        "pattern": r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\s\u0000-\u001f\u007f-\u009f]+$",
        "maxLength": MAX_URI_BYTES,
        "description": "An absolute URI such as https://example.org/boots/1.",
    },
    "bytes": {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        "maxLength": MAX_BASE64,
    },
    "tuple": {
        "type": "array",
        "items": {"type": ["string", "number", "boolean", "null"]},
        "maxItems": MAX_ITEMS,
    },
    "json": {"description": "Any JSON value."},
    "ref": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_REF,
        "description": "The id of an entity.",
    },
}
