"""The one turnstile: every call of every surface passes here, and only Problems come out.

Find the verb, ask whether the caller may, read the arguments, run, answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from sandbar.access import Access, give_leads
from sandbar.audit import accompanied, nameable
from sandbar.errors import Fault, Forbidden, Incorrect, NotFound, Problem, TooMany
from sandbar.faults import log_fault
from sandbar.suggestions import called_now, did_you_mean
from sandbar.verbs.base.writing import Created, create_entity, with_entity
from sandbar.verbs.catalogue import PREFIX, Ready, Verb
from sandbar.verbs.class_tools import (
    class_in,
    class_of_tool,
    is_class_tool_name,
    names_like,
    read_class_call,
    spelled_like,
)
from sandbar.verbs.context import Context
from sandbar.verbs.tasks import Started
from sandbar.workflow import CALL

_SHOWN_MAX = 80
_NAMES_SHOWN = 8
_KEY = "idempotency-key"
CLASS_TOOLS = ("entity", "entity.create")  # what the tool of a class is another spelling of
CALLS_OF_ONE_CALLER = 12  # long calls that are under way at once


def dispatch(context: Context, name: str, arguments: Mapping[str, Any]) -> Any:
    """Call a verb under any of its spellings, or a class's tool."""
    ready = context.catalogue.ready(name)
    if ready is not None:
        _name(context, ready.verb.name)
    try:
        # The row of the audit goes with what the call writes; if it writes nothing, the door that
        # has opened the row keeps it before the answer leaves.
        with accompanied(context.note):
            if ready is None:
                return _call_class_tool(context, name, arguments)
            return _call(context, ready, arguments)
    except Problem as problem:
        give_leads(context.db, problem)
        raise
    except Exception as error:
        fault_id = log_fault("verb.failed", error)
        raise Fault(
            "verb.failed",
            f"something went wrong; the log has it as {fault_id}",
            hint="retry; if it happens again, report the id",
            data={"id": fault_id},
        ) from error


def _name(context: Context, name: str) -> None:
    """Say in the audit which verb it is, unless its door has said it already."""
    if context.note is not None and context.note.verb is None:
        context.note.verb = name


def _call(context: Context, ready: Ready, arguments: Mapping[str, Any]) -> Any:
    verb = ready.verb
    if not verb.may_be_called_by(context.db.caller):
        raise _forbidden(context, verb.name, verb.group, verb.name, verb.access)
    return verb.run(context, ready.read(arguments))


def dispatch_later(context: Context, name: str, arguments: Mapping[str, Any]) -> Started:
    """Call a verb that takes long in the background; what is wrong with the call is said now."""
    ready = context.catalogue.ready(name)
    if ready is None:
        raise _unknown(context, name)
    verb = ready.verb
    if not verb.may_be_called_by(context.db.caller):
        raise _forbidden(context, verb.name, verb.group, verb.name, verb.access)
    _refuse_short(verb)
    ready.read(arguments)
    _refuse_many(context)
    data = {"verb": verb.name, "arguments": dict(arguments)}
    _name(context, verb.name)
    with accompanied(context.note):
        return context.tasks.started(context.tasks.start(CALL, None, data))


def dispatch_again(context: Context, name: str, arguments: Mapping[str, Any], key: str) -> Any:
    """The call that was asked for by `dispatch_later`, perhaps for the second time."""
    ready = context.catalogue.ready(name)
    if ready is None:
        raise _unknown(context, name)
    _refuse_short(ready.verb)
    takes_key = any(
        field.encode_name == _KEY for field in msgspec.structs.fields(ready.verb.arguments)
    )
    given = {_KEY: key, **arguments} if takes_key else arguments
    return dispatch(context, name, given)


def _refuse_many(context: Context) -> None:
    """A caller has only so many calls under way: others want to be served as well."""
    principal = context.db.caller.principal
    under_way, _ = context.workflows.active(CALL, started_by=principal, limit=CALLS_OF_ONE_CALLER)
    if len(under_way) >= CALLS_OF_ONE_CALLER:
        raise TooMany(
            "task.too-many",
            f"{CALLS_OF_ONE_CALLER} long calls of yours are under way",
            hint="wait for one of them, or end it with task.cancel; task.list shows them",
        )


def _refuse_short(verb: Verb) -> None:
    if not verb.is_long:
        raise Incorrect(
            "verb.not-long",
            f"{verb.name} is not made to be called in the background",
            hint="call it and wait for its answer",
        )


def _call_class_tool(context: Context, name: str, arguments: Mapping[str, Any]) -> Created:
    cls = class_of_tool(context.db.schema(), name) if is_class_tool_name(name) else None
    _name(context, name if cls is not None or nameable(name) else "?")
    if cls is None:
        raise _unknown(context, name)
    if not context.db.caller.rights.may_call(*CLASS_TOOLS, "write"):
        raise _forbidden(context, name, *CLASS_TOOLS, "write")
    call = read_class_call(context.db.schema(), cls, arguments)
    created = create_entity(context, cls, call.slots, call.reason, call.idempotency_key)
    return with_entity(context, created)


def _forbidden(context: Context, called: str, group: str, name: str, access: Access) -> Forbidden:
    """What only the key may not is told otherwise than what its owner may not."""
    rights, shown = context.db.caller.rights, called[:_SHOWN_MAX]
    obstacle = rights.obstacle(group, name, access)
    if obstacle == "owner" or (obstacle == "classes" and rights.classes is None):
        message = f"a {rights.of_owner.role} may not call {shown}"
        hint = f"it takes {access} access; ask an admin for another role"
    else:
        reasons = {
            "read-only": "this key only reads",
            "verbs": f"this key may call only {_listed(rights.verbs)}",
            "role": "this key is narrowed to a role that may not",
            "classes": f"this key sees only {_listed(rights.classes)}",
        }
        message = f"{reasons[obstacle or 'role']}: {shown} is beyond it"
        hint = "use another key; an admin can mint one that may"
    return Forbidden("verb.forbidden", message, hint=hint, data={"verb": shown, "needs": access})


def _listed(names: Collection[str] | None) -> str:
    found = sorted(names or ())
    return ", ".join(found[:_NAMES_SHOWN]) + (" …" if len(found) > _NAMES_SHOWN else "")


def _unknown(context: Context, name: str) -> NotFound:
    """The refusal names the verbs in the spelling that the caller uses."""
    visible = context.catalogue.visible_to(context.db.caller)
    if name.startswith(f"{PREFIX}_"):
        available = [verb.portable for verb in visible]
    elif name.startswith(f"{PREFIX}."):
        available = [verb.dotted for verb in visible]
    else:
        available = [verb.name for verb in visible]
    candidates = list(available)
    renamed = None
    if is_class_tool_name(name):
        candidates += names_like(context.db.schema(), name)
        renamed = _renamed_tool(context, name)
    return NotFound(
        "verb.unknown",
        f"there is no verb {name[:_SHOWN_MAX]}",
        hint=renamed or did_you_mean(name, candidates) or "data.available lists the verbs",
        data={"available": available},
    )


def _renamed_tool(context: Context, name: str) -> str | None:
    """The tool of a class that has another name by now."""
    former = None if context.db.is_inside else context.db.former(class_in(name))
    if former is None or not former.is_living or former.ident is None:
        return None
    now = spelled_like(name, former.ident)
    is_tool = class_of_tool(context.db.schema(), now) == former.ident
    return called_now(name[:_SHOWN_MAX], now) if is_tool else None
