"""One request as the methods see it: who asks, for what, by which road, in which spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import parse_qs

import msgspec

from sandbar.access import Caller
from sandbar.audit import Note
from sandbar.database import Database
from sandbar.edge import state_of
from sandbar.edge.asgi import Scope
from sandbar.errors import Problem
from sandbar.mcp.client import Client
from sandbar.mcp.recording import Record
from sandbar.mcp.wire import RefusedError, protocol_error
from sandbar.serving import ToolListing
from sandbar.verbs import Call, Channel, Verb

Road = Literal["bare", "session", "modern", "stdio"]
Spelling = Literal["seed", "portable"]

SMALL_BYTES_MAX = 64 * 1024

LISTINGS = frozenset({"default", "core", "full", "classes", "all"})
_SPELLINGS = frozenset({"seed", "portable"})


class Exchange(msgspec.Struct, frozen=True):
    """A request, its caller and the caller's workspace."""

    caller: Caller
    database: Database
    road: Road
    version: str
    spelling: Spelling
    listing: ToolListing
    client: Client
    request_id: str | None = None  # of the HTTP request
    record: Record | None = None
    id: int | str | None = None  # by which the client knows its request
    called: str | None = None  # the tool that it calls, by its verb's name if it has one
    verb: Verb | None = None  # that verb, if it is one of ours and not of a pack
    is_small: bool = False  # so that planning what it asks for keeps nobody waiting

    @property
    def note(self) -> Note | None:
        """Its row in the audit, if somebody else keeps that."""
        return None if self.record is None else self.record.note

    def error(self, problem: Problem, *, code: int | None = None) -> RefusedError:
        """A problem as an error of its revision, which bears its id."""
        return protocol_error(problem, self.version, self.request_id, code=code)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        channel: Channel | None = None,
        *,
        verb: Verb | None = None,
        is_later: bool = False,
    ) -> Call:
        """The call that this request makes of a verb or a tool.

        Given a `verb` it is a method of another name, by which the audit knows it.
        """
        return Call(
            self.caller,
            name,
            arguments,
            verb or self.verb,
            "mcp",
            self.request_id,
            note=self.note,
            channel=channel,
            is_later=is_later,
            names_row=verb is None,
        )


def spelling_of(road: Road, query: dict[str, list[str]]) -> Spelling:
    """Bare requests are the seeds' own; every client with an envelope gets portable names."""
    wish = query.get("names", [""])[0]
    if wish in _SPELLINGS:
        return wish  # type: ignore[return-value]
    return "seed" if road == "bare" else "portable"


def listing_of(query: dict[str, list[str]], usual: ToolListing) -> ToolListing:
    """Which tools the endpoint's URL asks for, or the server lists as a rule."""
    wish = query.get("tools", [""])[0]
    return wish if wish in LISTINGS else usual  # type: ignore[return-value]


def what_is_wrong_with(query: dict[str, list[str]]) -> str | None:
    """Why the query of the endpoint's URL cannot be served."""
    for name, allowed in (("tools", LISTINGS), ("names", _SPELLINGS)):
        if any(wish not in allowed for wish in query.get(name, ())):
            return f"?{name}= is one of {', '.join(sorted(allowed))}"
    return None


def query_of(scope: Any) -> dict[str, list[str]]:
    """The query of the endpoint's URL; most have none."""
    given = scope.get("query_string", b"")
    return parse_qs(given.decode("latin-1")) if given else {}


def called_in(database: Database, method: object, params: object) -> tuple[str | None, Verb | None]:
    """The tool that a request calls, by its verb's name if it is one; and that verb, if ours."""
    name = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    if not isinstance(name, str):
        return None, None
    verb = database.catalogue.at_hand(name)
    return (name, None) if verb is None else (verb.name, verb)


def exchange_in(
    scope: Scope,
    service: Any,
    road: Road,
    version: str,
    message: dict[str, Any] | None = None,
    size: int = 0,
) -> Exchange:
    """A request as an endpoint has read it: its message, if there is one, and how long that is."""
    state = state_of(scope)
    caller = state.caller
    assert caller is not None, "whoever calls this has signed in"
    database, query = service.database(caller), query_of(scope)
    id, called, verb = None, None, None
    if message is not None:
        id = message.get("id")
        called, verb = called_in(database, message.get("method"), message.get("params"))
    return Exchange(
        caller,
        database,
        road,
        version,
        spelling_of(road, query),
        listing_of(query, service.listing),
        Client(),
        state.request_id,
        state.record,
        id if type(id) in (int, str) else None,
        called,
        verb,
        size <= SMALL_BYTES_MAX,
    )
