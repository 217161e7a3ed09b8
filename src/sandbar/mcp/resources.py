"""Resources: every named entity is one, under `mcp://sandbar/<class>/<ident>`."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types

from sandbar.access import Guarded, is_protected, protected_classes, protected_roots
from sandbar.codecs import Codec, Codecs, emit_one
from sandbar.edge.streams import Watched
from sandbar.errors import Forbidden, Incorrect, NotFound, Problem
from sandbar.mcp.cursors import read_cursor, write_cursor
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.wire import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    RefusedError,
    complete,
    is_modern,
    json_encode,
)
from sandbar.model import Entity, Introspection, Page
from sandbar.verbs import EXPORT_URI, ZIP

SCHEME = "mcp://sandbar/"
TEMPLATE = "mcp://sandbar/{ns}/{class}/{+ident}"
PAGE_RESOURCES = 100
_JSON = "application/json"

# Workflows and the metamodel come last: whoever lists resources looks for data first.
_LAST = ("workflow/Definition", "dt/Class", "dt/Property")
_DESCRIPTION_MAX = 300


def named(
    db: Guarded,
    cls: str,
    *,
    begun: str = "",
    hidden: Collection[str] = (),
    limit: int = PAGE_RESOURCES,
    cursor: str | None = None,
) -> Page:
    """The named instances of a class, by ident: a walk along the index of names."""
    where = {"db/ident": {"starts-with": begun}}
    return db.query(cls, where, order_by="db/ident", limit=limit, cursor=cursor, hidden=hidden)


def uri_of(cls: str, ident: str | None, id: int) -> str:
    """The address of an entity."""
    return f"{SCHEME}{cls}/{quote(ident, safe='/.:-_*+!?') if ident is not None else id}"


class Resources:
    """Entities as resources, and whatever packs bring besides."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {
            "resources/list": Method(types.PaginatedRequestParams, self.list_resources),
            "resources/templates/list": Method(types.PaginatedRequestParams, self.list_templates),
            "resources/read": Method(types.ReadResourceRequestParams, self.read_resource),
        }

    # --- listing -----------------------------------------------------------------------------

    async def list_resources(self, exchange: Exchange, params: Params) -> Result:
        """One page of the named entities: data first, workflows and the metamodel last."""
        root, inner = "", ""
        if params.get("cursor") is not None:
            root, inner = read_cursor(params["cursor"], "resources", str, str)
            root = root or "?"  # every page but the first says where it begins
        page = await self._service.read(exchange, lambda: self._page(exchange, root, inner))
        return complete(exchange.version, page, cacheable=True)

    def _page(self, exchange: Exchange, root: str, inner: str) -> dict[str, Any]:
        """A page that begins with instances of `root`, after those that `inner` remembers."""
        db = exchange.database.guarded(exchange.caller)
        schema = db.schema()
        found: list[dict[str, Any]] = []
        if not root:
            found += [_pack_resource(each) for each in exchange.database.offer.code.resources]
        shown = _Shown(schema, exchange.database.offer.codecs)
        for cls, hidden in _walks(schema, root):
            if db.shows_any(cls):
                room = max(PAGE_RESOURCES - len(found), 1)
                page = named(db, cls, hidden=hidden, limit=room, cursor=inner or None)
                kept = protected_classes(schema)
                found += [shown.listed(one) for one in page.items if not _is_access(one, kept)]
                if page.cursor is not None or len(found) >= PAGE_RESOURCES:
                    place = (cls, page.cursor) if page.cursor is not None else _after(schema, cls)
                    return {"resources": found} | _continued(place)
            inner = ""
        return {"resources": found}

    async def list_templates(self, exchange: Exchange, params: Params) -> Result:
        """The one template that covers every entity, and those of packs."""
        if params.get("cursor") is not None:
            read_cursor(params["cursor"], "templates")  # there is one page, so any cursor is wrong
        code = await self._service.read(exchange, lambda: exchange.database.offer.code)
        templates = [
            {
                "uriTemplate": TEMPLATE,
                "name": "entity",
                "title": "Any entity",
                "description": "An entity by class and ident (or id), in the format of its class.",
            }
        ]
        templates += [
            {
                "uriTemplate": each.uri_template,
                "name": each.name,
                "description": each.description,
                "mimeType": each.mime_type,
            }
            for each in code.templates
        ]
        return complete(exchange.version, {"resourceTemplates": templates}, cacheable=True)

    # --- reading -----------------------------------------------------------------------------

    async def read_resource(self, exchange: Exchange, params: Params) -> Result:
        """The content of one resource."""
        uri = params["uri"]
        contents = await self._service.read(exchange, lambda: self._contents(exchange, uri))
        return complete(exchange.version, {"contents": contents}, cacheable=True)

    def _contents(self, exchange: Exchange, uri: str) -> list[dict[str, Any]]:
        if uri.startswith(EXPORT_URI):
            return [_content(uri, ZIP, self._export(exchange, uri))]
        if uri.startswith(SCHEME):
            entity = self.find(exchange, uri)
            schema = exchange.database.guarded(exchange.caller).schema()
            shown = _Shown(schema, exchange.database.offer.codecs)
            return [
                {"uri": uri, "mimeType": shown.mime_type(entity.class_), "text": shown.text(entity)}
            ]
        for each in exchange.database.offer.code.resources:
            if each.uri == uri:
                return [_content(uri, each.mime_type, each.read())]
        for template in exchange.database.offer.code.templates:
            matched = template.match(uri)
            if matched is not None:
                return [_content(uri, template.mime_type, matched)]
        raise missing(exchange, uri)

    def _export(self, exchange: Exchange, uri: str) -> bytes:
        """The workspace, or the instances of a class, as a zip."""
        name = unquote(uri.removeprefix(EXPORT_URI))
        schema = exchange.database.guarded(exchange.caller).schema()
        if name != "all" and name not in schema.classes():
            raise missing(exchange, uri)
        try:
            return exchange.database.exported(
                exchange.caller, None if name == "all" else name, exchange.note
            )
        except Problem as problem:
            raise exchange.error(problem) from problem

    def find(self, exchange: Exchange, uri: str) -> Entity:
        """The entity behind a URI; its class must be the one that the URI names."""
        db = exchange.database.guarded(exchange.caller)
        parts = uri.removeprefix(SCHEME).split("/", 2)
        if len(parts) == 3 and parts[2]:
            cls = f"{unquote(parts[0])}/{unquote(parts[1])}"
            for name in _names(unquote(parts[2])):
                try:
                    entity = db.get(name)
                except (NotFound, Forbidden):
                    continue
                except Problem as problem:
                    raise _unreadable(exchange, uri, problem) from problem
                if entity.class_ == cls or _is_kind(db, entity.class_, cls):
                    return entity
        raise missing(exchange, uri)

    def watched(self, exchange: Exchange, uri: str) -> Watched:
        """What to watch for a subscription; nothing for a resource that never changes."""
        if uri.startswith(SCHEME):
            entity = self.find(exchange, uri)
            identifier = unquote(uri.removeprefix(SCHEME).split("/", 2)[2])
            is_named = isinstance(_names(identifier)[0], str)
            return entity.entity_id, entity.ident if is_named else None
        self._contents(exchange, uri)
        return None, None


def _is_access(entity: Entity, protected: frozenset[str]) -> bool:
    """Accounts and their definitions are nobody's resources, not even an admin's."""
    return (
        entity.class_ in protected or entity.ident in protected or is_protected(entity.ident or "")
    )


def _is_kind(db: Any, cls: str, parent: str) -> bool:
    schema = db.schema()
    return parent in schema.classes() and schema.is_kind(cls, parent)


def _names(identifier: str) -> Sequence[int | str]:
    """What the last part of a URI may mean: an id, `ns/name`, or the dotted spelling of it."""
    if identifier.isascii() and identifier.isdigit() and len(identifier) < 17:
        return [int(identifier)]
    if "/" in identifier:
        return [identifier]
    return [f"{left}/{right}" for left, dot, right in [identifier.rpartition(".")] if dot]


def missing(exchange: Exchange, uri: str) -> RefusedError:
    """Nothing to be found under this URI."""
    code = INVALID_PARAMS if is_modern(exchange.version) else RESOURCE_NOT_FOUND
    problem = NotFound(
        "resource.unknown",
        "Resource not found",
        hint="resources/list shows what there is",
        data={"uri": uri[:2000]},
    )
    return exchange.error(problem, code=code)


def _unreadable(exchange: Exchange, uri: str, problem: Problem) -> RefusedError:
    """A URI that names nothing is missing; anything else is said as it is."""
    if problem.code.startswith(("entity.", "ident.", "keyword.", "value.", "reference.")):
        return missing(exchange, uri)
    return exchange.error(problem)


def _natives(schema: Introspection) -> list[str]:
    """The topmost classes that declare a format: their instances are documents."""
    having = {cls for cls in schema.classes() if schema.native_codec(cls) is not None}
    return sorted(cls for cls in having if not having & set(schema.ancestors(cls)))


def _walks(schema: Introspection, root: str) -> list[tuple[str, Sequence[str]]]:
    """The classes to walk from `root` on, each with what it leaves to others."""
    natives = schema.derived("native roots", lambda: _natives(schema))
    last = [cls for cls in _LAST if cls in schema.classes()]
    protected = sorted(protected_roots(schema))
    walks: list[tuple[str, Sequence[str]]] = [(cls, protected) for cls in natives]
    walks.append(("dt/Resource", [*natives, *last, *protected]))
    walks += [(cls, ()) for cls in last]
    names = [cls for cls, _ in walks]
    if not root:
        return walks
    if root not in names:
        raise Incorrect(
            "list.cursor",
            "the classes have changed since this cursor was made",
            hint="begin without a cursor",
        )
    return walks[names.index(root) :]


def _after(schema: Introspection, cls: str) -> tuple[str, str] | None:
    """Where the walk goes on after all instances of a class."""
    rest = _walks(schema, cls)[1:]
    return (rest[0][0], "") if rest else None


def _continued(place: tuple[str, str] | None) -> dict[str, Any]:
    return {} if place is None else {"nextCursor": write_cursor("resources", *place)}


class _Shown:
    """How entities are shown: those of a class with a format of its own as documents."""

    def __init__(self, schema: Introspection, codecs: Codecs) -> None:
        self._schema = schema
        self._codecs = codecs

    def _codec(self, cls: str) -> Codec | None:
        return (
            None
            if self._schema.native_codec(cls) is None
            else self._codecs.native(self._schema, cls)
        )

    def mime_type(self, cls: str) -> str:
        """What the text of an instance is."""
        codec = self._codec(cls)
        return _JSON if codec is None else codec.media_types[0]

    def text(self, entity: Entity) -> str:
        """An entity as its class wants it, or as all that is known of it."""
        codec = self._codec(entity.class_)
        if codec is None:
            return json_encode(entity).decode()
        return emit_one(codec, entity, self._schema)

    def listed(self, entity: Entity) -> dict[str, Any]:
        """An entity in a list."""
        shown: dict[str, Any] = {
            "uri": uri_of(entity.class_, entity.ident, entity.entity_id),
            "name": entity.ident or str(entity.entity_id),
            "mimeType": self.mime_type(entity.class_),
        }
        name_slot = self._schema.document(entity.class_).ident_from
        title = entity.get("dt/label") or (name_slot and entity.get(name_slot))
        if title:
            shown["title"] = title
        if entity.get("db/doc"):
            shown["description"] = entity["db/doc"][:_DESCRIPTION_MAX]
        return shown


def _pack_resource(resource: Any) -> dict[str, Any]:
    return {
        "uri": resource.uri,
        "name": resource.name,
        "description": resource.description,
        "mimeType": resource.mime_type,
    }


def _content(uri: str, mime_type: str, content: str | bytes) -> dict[str, Any]:
    if isinstance(content, bytes):
        return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(content).decode()}
    return {"uri": uri, "mimeType": mime_type, "text": content}
