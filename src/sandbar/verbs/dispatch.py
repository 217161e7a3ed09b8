"""The one turnstile: every call of every surface passes here, and only Problems come out.

Find the verb, ask whether the caller may, read the arguments, run, answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from sandbar.access import Guarded, give_leads
from sandbar.audit import Note, accompany, nameable
from sandbar.errors import Fault, Forbidden, Incorrect, NotFound, Problem, TooMany
from sandbar.faults import log_fault
from sandbar.model import Answer, Written
from sandbar.patience import current, limit
from sandbar.suggestions import called_now, did_you_mean
from sandbar.verbs.base.operators import operators_catalogue
from sandbar.verbs.calls import Call
from sandbar.verbs.catalogue import PREFIX, Permission, Verb
from sandbar.verbs.class_tools import (
    class_in,
    class_of_tool,
    is_class_tool_name,
    names_like,
    spelled_like,
)
from sandbar.verbs.class_verbs import CLASS_TOOLS
from sandbar.verbs.context import Context, Services, TakesLongError, Write
from sandbar.verbs.tasks import Started
from sandbar.workflow import CALL

_SHOWN_MAX = 80
_NAMES_SHOWN = 8
_KEY = "idempotency-key"
CALLS_OF_ONE_CALLER = 12  # long calls that are under way at once


def dispatch(services: Services, call: Call, note: Note, *, is_on_loop: bool = False) -> Any:
    """Perform a call; its row of the audit goes with what it writes.

    If it writes nothing, whoever has opened the row keeps it before the answer leaves.

    On an event loop, only for point writes, the answer is `Begun`: None if the call may take a
    while, and belongs in a thread. What goes wrong there is left to `explain`.
    """
    outer_note, outer_patience = accompany(note), current()
    db: Guarded | None = None
    try:
        if call.deadline is not None:
            limit(call.deadline)
        verb = call.verb or services.catalogue.find(call.name)
        if verb is None and call.caller.is_at_machine:
            verb = operators_catalogue().find(call.name)
        permission = CLASS_TOOLS if verb is None else verb.permission
        db = services.guarded(call.caller, permission)
        if note.verb is None and call.names_row:
            note.verb = _nameable(call.name) if verb is None else verb.name
        if verb is None:
            raise _unknown(services, db, call.name)
        if not (call.caller.rights.may_call(*permission) or verb.is_open):
            raise _forbidden(db, verb.name, permission)
        if call.is_later:
            return _begun(Context(call, db, services), verb)
        given = call.arguments if call.retry_key is None else _again(call, verb)
        found = verb.run(Context(call, db, services, is_on_loop), verb.read(given))
        if type(found) is not Write:
            return found
        reason, key = found.reason, found.idempotency_key
        if is_on_loop:
            queued = db.submit(found.operations, reason=reason, idempotency_key=key)
            return None if queued is None else Begun(queued, found.answer)
        return found.answer(db.transact(found.operations, reason=reason, idempotency_key=key))
    except TakesLongError:
        return None
    except Problem as problem:
        if db is not None and not is_on_loop:
            give_leads(db, problem)
        raise
    except Exception as error:
        raise _fault(error) from error
    finally:
        accompany(outer_note)
        limit(outer_patience)


class Begun(NamedTuple):
    """A write that is queued, and what the verb answers once it is committed."""

    written: Answer[Written]
    answer: Callable[[Written], Any]


def explain(services: Services, call: Call, error: BaseException) -> Problem:
    """What to raise for what a write that was begun came to; may take a while."""
    if not isinstance(error, Problem):
        return _fault(error)
    assert call.verb is not None
    give_leads(services.guarded(call.caller, call.verb.permission), error)
    return error


def _fault(error: BaseException) -> Fault:
    fault_id = log_fault("verb.failed", error)
    return Fault(
        "verb.failed",
        f"something went wrong; the log has it as {fault_id}",
        hint="retry; if it happens again, report the id",
        data={"id": fault_id},
    )


def _nameable(name: str) -> str:
    """What the audit calls a verb that nobody knows."""
    return name if nameable(name) else "?"


def _begun(context: Context, verb: Verb) -> Started:
    """Call a verb that takes long in the background; what is wrong with the call is said now."""
    _refuse_short(verb)
    verb.read(context.call.arguments)
    _refuse_many(context)
    data = {"verb": verb.name, "arguments": dict(context.call.arguments)}
    return context.tasks.started(context.tasks.start(CALL, None, data))


def _again(call: Call, verb: Verb) -> Mapping[str, Any]:
    """The arguments of a call that was begun in the background, perhaps for the second time."""
    _refuse_short(verb)
    takes_key = any(field.encode_name == _KEY for field in msgspec.structs.fields(verb.arguments))
    return {_KEY: call.retry_key, **call.arguments} if takes_key else call.arguments


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


def _forbidden(db: Guarded, called: str, permission: Permission) -> Forbidden:
    """What only the key may not is told otherwise than what its owner may not."""
    rights, shown, access = db.caller.rights, called[:_SHOWN_MAX], permission.access
    obstacle = rights.obstacle(*permission)
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


def _unknown(services: Services, db: Guarded, name: str) -> NotFound:
    """The refusal names the verbs in the spelling that the caller uses."""
    visible = services.catalogue.visible_to(db.caller)
    if name.startswith(f"{PREFIX}_"):
        available = [verb.portable for verb in visible]
    elif name.startswith(f"{PREFIX}."):
        available = [verb.dotted for verb in visible]
    else:
        available = [verb.name for verb in visible]
    candidates = list(available)
    renamed = None
    if is_class_tool_name(name):
        candidates += names_like(db.schema(), name)
        renamed = _renamed_tool(db, name)
    return NotFound(
        "verb.unknown",
        f"there is no verb {name[:_SHOWN_MAX]}",
        hint=renamed or did_you_mean(name, candidates) or "data.available lists the verbs",
        data={"available": available},
    )


def _renamed_tool(db: Guarded, name: str) -> str | None:
    """The tool of a class that has another name by now."""
    former = None if db.is_inside else db.former(class_in(name))
    if former is None or not former.is_living or former.ident is None:
        return None
    now = spelled_like(name, former.ident)
    is_tool = class_of_tool(db.schema(), now) == former.ident
    return called_now(name[:_SHOWN_MAX], now) if is_tool else None
