"""How an entity is written as a file: in which codec, and the very bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from sandbar.codecs import Codec, Codecs, emit_one, parse_one
from sandbar.errors import Problem
from sandbar.model import Entity, Introspection
from sandbar.projects.accounts import Portable
from sandbar.workflow import DEFINITION

SPEC = "workflow/spec"

_JSON = "json"
_LOOKED_AGAIN = 32 * 1024  # bytes: front matter has a limit, so a long text is read back


class Document(NamedTuple):
    """The text of a file, and how its name ends."""

    suffix: str
    data: bytes


class Documents:
    """Writes entities as an export does: the same entity gives the same bytes."""

    def __init__(
        self, schema: Introspection, codecs: Codecs, portable: Portable | None = None
    ) -> None:
        """`portable` makes of an entity what means the same elsewhere."""
        self._schema = schema
        self._portable = portable or (lambda entity: entity)
        self._codecs = codecs
        self._json = codecs.named(_JSON)

    def of(self, entity: Entity) -> Document:
        """The file of an entity; of a workflow, its spec as `workflow.define` takes it."""
        if entity.class_ == DEFINITION:
            return Document(".json", spec_text(entity[SPEC]))
        entity = self._portable(entity)
        codec = self._codec(entity)
        text = emit_one(codec, entity, self._schema, with_class=codec.format == _JSON)
        is_long = codec is not self._json and len(text) > _LOOKED_AGAIN
        if is_long and not self._reads(codec, text, entity.class_):
            codec = self._json
            text = emit_one(codec, entity, self._schema, with_class=True)
        return Document(codec.suffixes[0], text.encode())

    def _codec(self, entity: Entity) -> Codec:
        """The class's own, if it has one for single files; a number is stated in JSON."""
        if entity.ident is None:
            return self._json
        native = self._codecs.native(self._schema, entity.class_)
        is_fit = not native.is_bulk and native.supports(self._schema, entity.class_)
        return native if is_fit else self._json

    def _reads(self, codec: Codec, text: str, class_: str) -> bool:
        try:
            parse_one(codec, text, self._schema, class_)
        except Problem:
            return False
        return True


def spec_text(spec: Any) -> bytes:
    """A workflow as a file; the order of keys is kept, since forms are shown in it."""
    return msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n"
