"""`workspace.*`: seeing to the workspaces of a database, for operators."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sandbar import clock
from sandbar.access import (
    WorkspaceView,
    budgets_of,
    create_workspace,
    delete_workspace,
    suspend_workspace,
    views_of,
    workspace_names,
)
from sandbar.model import LIMIT_NAMES
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Paged, Reason
from sandbar.verbs.paging import page_of_names

_PAGE = 100  # each of them is looked into

Name = Annotated[str, Meta(description="name of the workspace")]


class UsageArguments(Arguments, frozen=True, kw_only=True):
    """A workspace."""

    name: Annotated[str | None, Meta(description="workspace; operators name any")] = None


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How much is used, and how much may be."""

    used: int
    limit: int | None  # null: as much as there is room for


class UsageAnswer(Answer, frozen=True, kw_only=True):
    """The budgets by name; those that are used up, and how many processes wait for them."""

    workspace: str
    budgets: dict[str, Budget]
    over_budget: list[str]
    waiting: int
    waiting_since: str | None = None


class CreateArguments(Arguments, frozen=True, kw_only=True):
    """A new workspace and its owner."""

    name: Name
    owner: Annotated[str | None, Meta(description="person it belongs to, e.g. anna")] = None
    email: Annotated[str | None, Meta(description="the owner's")] = None
    title: Annotated[str | None, Meta(description="name for people")] = None


class WorkspaceAnswer(Answer, frozen=True, kw_only=True):
    """The workspace as it is now."""

    workspace: WorkspaceView


class WorkspaceList(Answer, frozen=True, kw_only=True):
    """Workspaces by name; for whoever is no operator, their own."""

    workspaces: list[WorkspaceView]
    cursor: str | None = None


class SuspendArguments(Arguments, frozen=True, kw_only=True):
    """A workspace, and whether it is to go on instead."""

    name: Name
    resume: Annotated[bool, Meta(description="let everybody sign in again")] = False
    reason: Reason = None


class DeleteArguments(Arguments, frozen=True, kw_only=True):
    """A workspace, and its name once more."""

    name: Name
    confirm: Annotated[str, Meta(description="the name once more; there is no way back")]


class Deleted(Answer, frozen=True, kw_only=True):
    """The workspace as it was."""

    deleted: WorkspaceView


def create(context: Context, arguments: CreateArguments) -> WorkspaceAnswer:
    """Make a workspace."""
    made = create_workspace(
        context.services.neighbours,
        context.db.caller,
        arguments.name,
        owner=arguments.owner,
        email=arguments.email,
        title=arguments.title,
    )
    return WorkspaceAnswer(workspace=made)


def usage(context: Context, arguments: UsageArguments) -> UsageAnswer:
    """What a workspace uses, and may use."""
    caller = context.db.caller
    budgets = budgets_of(context.services.neighbours, caller, arguments.name)
    name = arguments.name or caller.workspace
    account, waiting = budgets.account(), budgets.waiting()
    now = account.usage.at(account.now_us, account.limits)
    used = {**now._asdict(), "streams": context.services.count_streams(name)}
    found = {}
    for limit in LIMIT_NAMES:
        field = limit.replace("-", "_")
        found[f"limit/{limit}"] = Budget(
            used=round(used[field]), limit=getattr(account.limits, field) or None
        )
    is_over = [one for one, each in found.items() if each.limit and each.used >= each.limit]
    since_us = waiting.since_us
    return UsageAnswer(
        workspace=name,
        budgets=found,
        over_budget=is_over,
        waiting=waiting.processes,
        waiting_since=None if since_us is None else clock.instant_text(since_us),
    )


def list_all(context: Context, arguments: Paged) -> WorkspaceList:
    """The workspaces that the caller sees."""
    neighbours = context.services.neighbours
    names = workspace_names(neighbours, context.db.caller)
    limit = arguments.limit or _PAGE
    page, cursor = page_of_names(names, limit, arguments.cursor, "workspace.list")
    return WorkspaceList(workspaces=list(views_of(neighbours, page)), cursor=cursor)


def suspend(context: Context, arguments: SuspendArguments) -> WorkspaceAnswer:
    """Close a workspace for now, or open it again."""
    seen = suspend_workspace(
        context.services.neighbours,
        context.db.caller,
        arguments.name,
        resume=arguments.resume,
        reason=arguments.reason,
    )
    return WorkspaceAnswer(workspace=seen)


def delete(context: Context, arguments: DeleteArguments) -> Deleted:
    """Erase a workspace."""
    seen = delete_workspace(
        context.services.neighbours, context.db.caller, arguments.name, confirm=arguments.confirm
    )
    return Deleted(deleted=seen)


VERBS = (
    Verb(
        name="workspace.create",
        title="Create a workspace",
        description="Make a workspace: a database of its own, with its own classes, data, people "
        "and keys, and an owner. For operators; keys for it: sandbar key mint --workspace NAME.",
        access="admin",
        arguments=CreateArguments,
        result=WorkspaceAnswer,
        run=create,
        is_housekeeping=True,
        examples=(
            Example(
                "A second shop",
                {"name": "<new workspace>", "owner": "anna", "email": "anna@example.com"},
            ),
        ),
    ),
    Verb(
        name="workspace.list",
        title="List workspaces",
        description="Workspaces with owner, number of entities, last t, keys and whether they are "
        "suspended. Operators see all, other admins their own.",
        access="admin",
        arguments=Paged,
        result=WorkspaceList,
        run=list_all,
        is_housekeeping=True,
        examples=(Example("The first", {}),),
    ),
    Verb(
        name="workspace.usage",
        title="Usage and budgets",
        description="How much the workspace uses of each budget: bytes, history, entities, "
        "processes, what timers and activities do in a minute, streams; and what waits for room.",
        access="read",
        arguments=UsageArguments,
        result=UsageAnswer,
        run=usage,
        aliases={"workspace": "name"},
        is_housekeeping=True,
        examples=(Example("This workspace", {}),),
    ),
    Verb(
        name="workspace.suspend",
        title="Suspend a workspace",
        description="Let nobody sign in to a workspace from the next request on, until it is "
        "called with resume. Its data stays. For operators.",
        access="admin",
        arguments=SuspendArguments,
        result=WorkspaceAnswer,
        run=suspend,
        aliases={"workspace": "name"},
        is_destructive=True,
        is_idempotent=True,
        is_housekeeping=True,
        examples=(
            Example("A customer who left", {"name": "<workspace>", "reason": "unpaid"}),
            Example("They came back", {"name": "<workspace>", "resume": True}),
        ),
    ),
    Verb(
        name="workspace.delete",
        title="Delete a workspace",
        description="Erase a workspace with all its data, past, people and keys, for good. For "
        "operators. To close it for a while use workspace.suspend.",
        access="admin",
        arguments=DeleteArguments,
        result=Deleted,
        run=delete,
        aliases={"workspace": "name"},
        is_destructive=True,
        is_housekeeping=True,
        examples=(Example("For good", {"name": "<workspace>", "confirm": "<workspace>"}),),
    ),
)
