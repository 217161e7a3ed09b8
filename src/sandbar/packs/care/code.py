"""The code of the pack `care`: the four tools of Sandwich MCP, and the endpoint that has only them.

It is made of what any pack may use. It reads and never writes.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.errors import Forbidden
from sandbar.model import Entity
from sandbar.packs import PackEndpoint
from sandbar.packs.care.families import (
    happened,
    loved_one,
    loved_ones,
    newest_events,
    own_family,
)
from sandbar.verbs import Content, Context, Text, Verb

_EVENTS_MAX = 50
_EVENTS_DEFAULT = 10
_PONG = "pong from sandwich platform — uid={uid} tenant={tenant} via={via}"


def _said(description: str, **more: Any) -> dict[str, Any]:
    return {"description": description, **more}


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which events."""

    loved_one_id: Annotated[
        str | int | None,
        Meta(
            extra_json_schema=_said("An id that list_loved_ones gave; else of all.", type="string")
        ),
    ] = None
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=_EVENTS_MAX,
            extra_json_schema=_said("How many for each loved one.", default=_EVENTS_DEFAULT),
        ),
    ] = _EVENTS_DEFAULT


class Profile(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who is calling; the last two only of somebody who has a family."""

    uid: str
    email: str | None
    tenant_type: str
    workspace_name: str | None = None
    family_member_count: int | None = None


class LovedOne(msgspec.Struct, frozen=True, rename="camel"):
    """Somebody the family cares for."""

    id: str
    name: str


class LovedOneList(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Everybody the family cares for."""

    loved_ones: list[LovedOne]
    more: bool = False


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """Something that happened."""

    id: str
    loved_one_id: str
    loved_one_name: str
    at: str
    kind: str
    summary: str


class EventList(msgspec.Struct, frozen=True, rename="camel"):
    """What happened lately, newest first."""

    events: list[Event]


def ping(context: Context, arguments: Nothing) -> Content:
    """Who we think is calling, from where and how; reads nothing."""
    del arguments
    caller = context.db.caller
    text = _PONG.format(uid=caller.principal, tenant=caller.workspace, via=caller.via)
    return Content([Text(text)])


def get_user_profile(context: Context, arguments: Nothing) -> Profile:
    """The caller's own account, and family if there is one."""
    del arguments
    uid, account = context.db.caller.principal, context.db.own_account()
    email = None if account is None else account.get("auth/email")
    family = own_family(context)
    if family is None:
        return Profile(uid, email, "workspace")
    members = family.get("family/members", [])
    return Profile(uid, email, "family", family["family/name"], len(members))


def list_loved_ones(context: Context, arguments: Nothing) -> LovedOneList:
    """The people whom the caller's family cares for."""
    del arguments
    found = loved_ones(context, _family(context))
    listed = [LovedOne(str(one.entity_id), one["loved-one/name"]) for one in found.entities]
    return LovedOneList(listed, found.more)


def list_care_events(context: Context, arguments: Wanted) -> EventList:
    """What happened lately to one of them, or to each."""
    family = _family(context)
    if arguments.loved_one_id is None:
        wanted = loved_ones(context, family).entities
    else:
        one = loved_one(context, family, arguments.loved_one_id)
        if one is None:
            raise _not_authorized()
        wanted = [one]
    told = [
        (event, one) for one in wanted for event in newest_events(context, one, arguments.limit)
    ]
    told.sort(key=lambda pair: happened(pair[0]), reverse=True)
    return EventList([_shown(event, one) for event, one in told])


def _family(context: Context) -> Entity:
    family = own_family(context)
    if family is None:
        raise Forbidden(
            "care.family-only",
            "not authorized: this tool is for members of a family",
            hint="use the key of a person who is one of the family/members of a care/Family",
        )
    return family


def _not_authorized() -> Forbidden:
    """The same for what is somebody else's and for what does not exist."""
    return Forbidden(
        "care.not-authorized",
        "not authorized",
        hint="list_loved_ones has the ids that may be asked for",
    )


def _shown(event: Entity, loved_one: Entity) -> Event:
    return Event(
        str(event.entity_id),
        str(loved_one.entity_id),
        loved_one["loved-one/name"],
        event["care-event/at"],
        event["care-event/kind"],
        event["care-event/summary"],
    )


VERBS = (
    Verb(
        name="ping",
        title="Ping",
        description="Smoke test: answers pong with the caller's uid, tenant and way of signing in. "
        "Changes and reads nothing.",
        access="read",
        group="care",
        arguments=Nothing,
        result=Content,
        run=ping,
        is_exact=True,
    ),
    Verb(
        name="get_user_profile",
        title="Get user profile",
        description="The caller's own uid, email and tenant type; for members of a family also its "
        "workspace name and how many members it has.",
        access="read",
        group="care",
        arguments=Nothing,
        result=Profile,
        run=get_user_profile,
        is_exact=True,
    ),
    Verb(
        name="list_loved_ones",
        title="List loved ones",
        description="Ids and names of the people whom the caller's family cares for. Only for "
        "members of a family.",
        access="read",
        group="care",
        arguments=Nothing,
        result=LovedOneList,
        run=list_loved_ones,
        is_exact=True,
    ),
    Verb(
        name="list_care_events",
        title="List care events",
        description="Recent care events, newest first: of one loved one (lovedOneId), or of all in "
        "the caller's family, then with the limit for each of them.",
        access="read",
        group="care",
        arguments=Wanted,
        result=EventList,
        run=list_care_events,
        is_exact=True,
    ),
)

ENDPOINTS = (
    PackEndpoint(
        path="/api/mcp",
        name="sandwich",
        title="Sandwich MCP",
        version="1",
        tools=("ping", "get_user_profile", "list_loved_ones", "list_care_events"),
        instructions="Reads what concerns the caller's own family. list_loved_ones first: its ids "
        "are what list_care_events takes as lovedOneId.",
        summary="family-scope read tools",
        expect=_PONG.format(uid="…", tenant="…", via="api-key"),
    ),
)
