"""Documents: JSON objects whose keys are property numbers, so that renaming costs nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

Doc = dict[str, Any]  # property number (as text) to stored value

_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="sorted")

read_doc = _decoder.decode


def write_doc(doc: Doc) -> str:
    """The text of a document, its keys in order of property number: equal documents, equal text."""
    given = tuple(doc)
    keys = _in_order(given)
    return _encoder.encode(doc if keys == given else {key: doc[key] for key in keys}).decode()


@lru_cache(maxsize=4096)
def _in_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Documents of a class have few shapes: to sort each of them is a tenth of a bulk write."""
    return tuple(sorted(keys, key=int))


def exact(value: Any) -> bytes:
    """What tells values apart that Python calls equal: 1, 1.0 and true are three."""
    return _sorting_encoder.encode(value)
