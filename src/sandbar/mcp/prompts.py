"""`prompts/list` and `prompts/get`: prompts that packs and users write, and one per workflow."""

from __future__ import annotations

from functools import partial
from typing import Any

import mcp_types as types

from sandbar.errors import Problem
from sandbar.mcp.cursors import read_cursor, write_cursor
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.instructions import tool_name
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.talk import Talk, asked
from sandbar.mcp.wire import complete
from sandbar.packs import (
    Prompt,
    get_prompt,
    prompts,
    render_workflow,
    workflow_of_prompt,
    workflow_prompts,
)
from sandbar.verbs import Call, Context, NeedsInput, Verbatim

PAGE_PROMPTS = 100


class Prompts:
    """The prompts of a workspace."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {
            "prompts/list": Method(types.PaginatedRequestParams, self.list_prompts),
            "prompts/get": Method(types.GetPromptRequestParams, self.get_prompt),
        }

    async def list_prompts(self, exchange: Exchange, params: Params) -> Result:
        """One page of the prompts: those that were written, then those of workflows."""
        start = 0
        if params.get("cursor") is not None:
            start = read_cursor(params["cursor"], "prompts", int)[0]
        found = await self._service.read(exchange, lambda: _all_prompts(exchange))
        end = start + PAGE_PROMPTS
        page: dict[str, Any] = {"prompts": [_prompt(each) for each in found[start:end]]}
        if end < len(found):
            page["nextCursor"] = write_cursor("prompts", end)
        return complete(exchange.version, page, cacheable=True)

    async def get_prompt(self, exchange: Exchange, params: Params) -> Result:
        """A prompt with its arguments filled in."""
        name, arguments = params["name"], dict(params.get("arguments") or {})
        talk = Talk(exchange, params)
        try:
            rendered = await self._service.read(
                exchange, lambda: self._render(exchange, name, arguments, talk)
            )
        except Problem as problem:
            raise exchange.error(problem) from problem
        if isinstance(rendered, Verbatim):
            return rendered.value
        if isinstance(rendered, NeedsInput):
            return asked(rendered)
        result: dict[str, Any] = {"messages": rendered.messages}
        if rendered.description:
            result["description"] = rendered.description
        return complete(exchange.version, result)

    def _render(self, exchange: Exchange, name: str, arguments: dict[str, str], talk: Talk) -> Any:
        offer, workflows = exchange.database.offer, exchange.database.workflows
        workflow = workflow_of_prompt(workflows, name)
        if workflow is not None and _may_see_workflows(exchange):
            return render_workflow(workflows, workflow, arguments, partial(tool_name, exchange))
        db, id = exchange.database, exchange.request_id
        call = Call(exchange.caller, name, arguments, surface="mcp", request_id=id, channel=talk)
        context = Context(call, db.guarded(exchange.caller), db)
        return get_prompt(context, offer.code, name, arguments)


def _all_prompts(exchange: Exchange) -> list[Prompt]:
    written = prompts(exchange.database.guarded(exchange.caller))
    if not _may_see_workflows(exchange):
        return written
    return written + workflow_prompts(exchange.database.workflows)


def _may_see_workflows(exchange: Exchange) -> bool:
    """Whether a key that is limited to some verbs has those of workflows."""
    return exchange.caller.rights.may_call("workflow", "workflow.find", "read")


def _prompt(prompt: Prompt) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": prompt.name}
    if prompt.title:
        shown["title"] = prompt.title
    if prompt.description:
        shown["description"] = prompt.description
    if prompt.arguments:
        shown["arguments"] = [
            {"name": each.name, "description": each.description, "required": each.required}
            for each in prompt.arguments
        ]
    return shown
