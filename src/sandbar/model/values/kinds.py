"""The value types: each name with its decoder, its key and its schema, in one table."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sandbar.model.values import compounds, decimals, instants, keys, scalars, texts
from sandbar.model.values.door import JsonValue
from sandbar.model.values.schemas import SCHEMAS


@dataclass(frozen=True, slots=True)
class ValueType:
    """One `db.type/*` datatype.

    `decode` takes a JSON value or the natural Python value and returns the canonical stored form,
    or raises Incorrect; decoding a stored form gives it back. `order_key` turns a stored value
    into bytes that sort as the values do; `index_key` is the same, or the beginning and a digest
    of one that is longer than 255 bytes. All are fields, not methods, to save a call.
    """

    ident: str
    indexable: bool
    decode: Callable[[object], JsonValue]
    order_key: Callable[[Any], bytes]
    index_key: Callable[[Any], bytes]

    def json_schema(self) -> dict[str, Any]:
        """A fresh JSON Schema 2020-12 fragment that accepts every stored value."""
        return deepcopy(SCHEMAS[self.ident.removeprefix("db.type/")])


def _no_key(stored: object) -> bytes:
    raise AssertionError("tuple and json values have no order: check `indexable` first")


_ORDERED: dict[str, tuple[Callable[[object], JsonValue], Callable[[Any], bytes]]] = {
    "string": (scalars.decode_string, keys.text_key),
    "boolean": (scalars.decode_boolean, keys.boolean_key),
    "long": (scalars.decode_long, keys.long_key),
    "double": (scalars.decode_double, keys.double_key),
    "float": (scalars.decode_double, keys.double_key),
    "bigint": (decimals.decode_bigint, keys.decimal_key),
    "bigdec": (decimals.decode_bigdec, keys.decimal_key),
    "instant": (instants.decode_instant, keys.instant_key),
    "keyword": (texts.decode_keyword, keys.text_key),
    "symbol": (texts.decode_symbol, keys.text_key),
    "uuid": (texts.decode_uuid, keys.uuid_key),
    "uri": (texts.decode_uri, keys.text_key),
    "bytes": (texts.decode_bytes, keys.bytes_key),
    "ref": (scalars.decode_ref, keys.ref_key),
}
_UNORDERED: dict[str, Callable[[object], JsonValue]] = {
    "tuple": compounds.decode_tuple,
    "json": compounds.decode_json,
}


def _table() -> dict[str, ValueType]:
    kinds = [
        ValueType(f"db.type/{name}", True, decode, order_key, keys.index_key_of(order_key))
        for name, (decode, order_key) in _ORDERED.items()
    ]
    kinds += [
        ValueType(f"db.type/{name}", False, decode, _no_key, _no_key)
        for name, decode in _UNORDERED.items()
    ]
    return {kind.ident: kind for kind in kinds}


VALUE_TYPES: dict[str, ValueType] = _table()
"""Every value type by its ident, such as `db.type/string`."""
