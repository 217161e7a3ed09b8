"""Documents: JSON objects whose keys are property numbers, so that renaming costs nothing."""

from __future__ import annotations

from typing import Any

import msgspec

Doc = dict[str, Any]  # property number (as text) to stored value

_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="sorted")

read_doc = _decoder.decode


def write_doc(doc: Doc) -> str:
    """The text of a document, its keys in order of property number: equal documents, equal text."""
    return _encoder.encode({key: doc[key] for key in sorted(doc, key=int)}).decode()


def exact(value: Any) -> bytes:
    """What tells values apart that Python calls equal: 1, 1.0 and true are three."""
    return _sorting_encoder.encode(value)
