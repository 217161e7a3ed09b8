"""Documents: JSON objects whose keys are property numbers, so that renaming costs nothing."""

from __future__ import annotations

from typing import Any

import msgspec

Doc = dict[str, Any]  # property number (as text) to stored value

_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()

read_doc = _decoder.decode


def write_doc(doc: Doc) -> str:
    """The text of a document, its keys in order of property number: equal documents, equal text."""
    return _encoder.encode(dict(sorted(doc.items(), key=_number))).decode()


def _number(item: tuple[str, Any]) -> int:
    return int(item[0])
