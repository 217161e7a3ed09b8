"""Resources: every named entity is one, under `mcp://sandbar/<class>/<ident>`."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from sandbar.access import Guarded, is_protected, protected_classes, protected_roots
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.mcp.cursors import read_cursor, write_cursor
from sandbar.mcp.exchange import Exchange, exchange_of
from sandbar.mcp.service import Service
from sandbar.mcp.streams import Watched
from sandbar.mcp.wire import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    complete,
    is_modern,
    json_encode,
    protocol_error,
)
from sandbar.model import Entity, Page

SCHEME = "mcp://sandbar/"
TEMPLATE = "mcp://sandbar/{ns}/{class}/{+ident}"
PAGE_RESOURCES = 100

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

    # --- listing -----------------------------------------------------------------------------

    async def list_resources(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        """One page of the named entities: data first, workflows and the metamodel last."""
        exchange = exchange_of(ctx, self._service)
        phase, inner = 0, ""
        if params.cursor is not None:
            phase, inner = read_cursor(params.cursor, "resources", int, str)
        page = await self._service.read(exchange, lambda: self._page(exchange, phase, inner))
        return complete(exchange.version, page, cacheable=True)

    def _page(self, exchange: Exchange, phase: int, inner: str) -> dict[str, Any]:
        db = exchange.database.guarded(exchange.caller)
        found: list[dict[str, Any]] = []
        if phase == 0 and not inner:
            found += [_pack_resource(each) for each in exchange.database.offer.code.resources]
        classes = ("dt/Resource", *_LAST)
        schema = db.schema()
        last = [cls for cls in _LAST if cls in schema.classes()]
        while phase < len(classes):
            is_late = phase > 0 and classes[phase] not in last  # workflows come with the first
            if is_late or not db.shows_any(classes[phase]):
                phase, inner = phase + 1, ""
                continue
            hidden = [*last, *protected_roots(schema)] if phase == 0 else ()
            room = max(PAGE_RESOURCES - len(found), 1)
            page = named(db, classes[phase], hidden=hidden, limit=room, cursor=inner or None)
            kept = protected_classes(schema)
            found += [_resource(one) for one in page.items if not _is_access(one, kept)]
            if page.cursor is not None:
                return {
                    "resources": found,
                    "nextCursor": write_cursor("resources", phase, page.cursor),
                }
            phase, inner = phase + 1, ""
            if len(found) >= PAGE_RESOURCES and phase < len(classes):
                return {"resources": found, "nextCursor": write_cursor("resources", phase, "")}
        return {"resources": found}

    async def list_templates(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        """The one template that covers every entity, and those of packs."""
        exchange = exchange_of(ctx, self._service)
        if params.cursor is not None:
            read_cursor(params.cursor, "templates")  # there is one page, so any cursor is wrong
        code = await self._service.read(exchange, lambda: exchange.database.offer.code)
        templates = [
            {
                "uriTemplate": TEMPLATE,
                "name": "entity",
                "title": "Any entity",
                "description": "An entity by class and ident (or id), as JSON.",
                "mimeType": "application/json",
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

    async def read_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> dict[str, Any]:
        """The content of one resource."""
        exchange = exchange_of(ctx, self._service)
        uri = str(params.uri)
        contents = await self._service.read(exchange, lambda: self._contents(exchange, uri))
        return complete(exchange.version, {"contents": contents}, cacheable=True)

    def _contents(self, exchange: Exchange, uri: str) -> list[dict[str, Any]]:
        if uri.startswith(SCHEME):
            entity = self.find(exchange, uri)
            text = json_encode(entity).decode()
            return [{"uri": uri, "mimeType": "application/json", "text": text}]
        for each in exchange.database.offer.code.resources:
            if each.uri == uri:
                return [_content(uri, each.mime_type, each.read())]
        for template in exchange.database.offer.code.templates:
            matched = template.match(uri)
            if matched is not None:
                return [_content(uri, template.mime_type, matched)]
        raise missing(exchange, uri)

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


def missing(exchange: Exchange, uri: str) -> MCPError:
    """Nothing to be found under this URI."""
    code = INVALID_PARAMS if is_modern(exchange.version) else RESOURCE_NOT_FOUND
    problem = NotFound(
        "resource.unknown",
        "Resource not found",
        hint="resources/list shows what there is",
        data={"uri": uri[:2000]},
    )
    return protocol_error(problem, exchange.version, exchange.request_id, code=code)


def _unreadable(exchange: Exchange, uri: str, problem: Problem) -> MCPError:
    """A URI that names nothing is missing; anything else is said as it is."""
    if problem.code.startswith(("entity.", "ident.", "keyword.", "value.", "reference.")):
        return missing(exchange, uri)
    return protocol_error(problem, exchange.version, exchange.request_id)


def _resource(entity: Entity) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "uri": uri_of(entity.class_, entity.ident, entity.entity_id),
        "name": entity.ident or str(entity.entity_id),
        "mimeType": "application/json",
    }
    if entity.get("dt/label"):
        shown["title"] = entity["dt/label"]
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
