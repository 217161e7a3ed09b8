"""The JSON Schema 2020-12 fragment of each value type, as a model or a form should see it.

A schema never refuses what the door stores, and beyond that says what can be said exactly. It is
silent where JSON Schema has no words: 5.0 is an integer to it, and 64 bits cannot be asked of an
integer alone where other numbers are allowed. `format` is an annotation, for forms and models.

Plain keywords only: no references and no combinators, because many clients support neither.
A pattern must mean the same in ECMAScript and in Python, hence `[^\\u0000-\\u007f]` for "any
letter that is not ASCII" (slightly wider than the grammar; the door decides).
"""

from __future__ import annotations

from typing import Any

from sandbar.model.values.compounds import MAX_ITEMS
from sandbar.model.values.decimals import MAX_DIGITS
from sandbar.model.values.door import MAX_BYTES, MAX_LONG, MIN_LONG
from sandbar.model.values.instants import MAX_CHARACTERS
from sandbar.model.values.scalars import MAX_REF
from sandbar.model.values.texts import MAX_BASE64, MAX_URI_BYTES

_NAME = r"(?:[A-Za-z0-9_*!?$%&=<>.+\-'#]|[^\u0000-\u007f])+"
_NAMESPACE = r"(?:[A-Za-z_]|[^\u0000-\u007f])(?:[A-Za-z0-9_.\-]|[^\u0000-\u007f])*"

_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = "(?:[01][0-9]|2[0-4]):[0-5][0-9]:[0-5][0-9]"
_OFFSET = r"(?:[Zz]|[+\-][0-9]{2}:[0-9]{2})"

_SIX_BITS = "[A-Za-z0-9+/]"
_FOUR_BITS = "[AEIMQUYcgkosw048]"  # before a padding the last bits are zero

# White space as Python has it; \s of ECMAScript has one character more.
_URI_BAD = r"\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

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
        "pattern": r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?0{0,8}[0-6]?[0-9]{1,3})?$",
        "maxLength": MAX_DIGITS + 12,
        "description": 'An exact decimal number, best written as a string such as "299.99".',
    },
    "instant": {
        "type": "string",
        "format": "date-time",
        "pattern": rf"^{_DAY}(?:[Tt ]{_TIME}(?:\.[0-9]{{1,6}}0*)?{_OFFSET})?$",
        "maxLength": MAX_CHARACTERS,
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
        "pattern": rf"^[A-Za-z][A-Za-z0-9+.\-]*:[^{_URI_BAD}]+$",
        "maxLength": MAX_URI_BYTES,
        "description": "An absolute URI such as https://example.org/boots/1.",
    },
    "bytes": {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": f"^(?:{_SIX_BITS}{{4}})*(?:{_SIX_BITS}[AQgw]==|{_SIX_BITS}{{2}}{_FOUR_BITS}=)?$",
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
