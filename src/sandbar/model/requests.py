"""What is asked of a workspace must be well-formed before anything is looked up."""

from __future__ import annotations

from sandbar.errors import Incorrect
from sandbar.model.values import door_check
from sandbar.model.values.refusals import shown
from sandbar.model.values.scalars import MAX_REF

HISTORY_LIMIT_MAX = 1000
WORKSPACE_NAME_MAX = 255
IDEMPOTENCY_KEY_MAX = 255
REASON_MAX = 2000


def check_window(what: str, after: object, limit: object) -> None:
    """A window of transactions: so many after some t."""
    if type(limit) is not int or not 1 <= limit <= HISTORY_LIMIT_MAX:
        raise Incorrect(
            f"{what}.limit",
            f"limit is from 1 to {HISTORY_LIMIT_MAX}",
            hint="go on after the last t",
        )
    if type(after) is not int or not 0 <= after <= MAX_REF:
        raise Incorrect(
            f"{what}.after", "begin after a transaction number", hint="0 is the beginning"
        )


def check_work(work: object) -> None:
    """What is to run as one transaction."""
    if not callable(work):
        raise Incorrect(
            "run.no-function",
            f"run takes a function, got {shown(work)}",
            hint="give it as it is, not what it answers: db.run(work), not db.run(work())",
        )


def check_name(name: object) -> None:
    """The name of a workspace."""
    if not isinstance(name, str) or not 1 <= len(name) <= WORKSPACE_NAME_MAX:
        raise Incorrect(
            "workspace.name",
            f"a workspace has a name of at most {WORKSPACE_NAME_MAX} characters",
            hint="for example main",
        )
    door_check(name)


def check_request(principal: object, reason: object, key: object) -> None:
    """Who writes, why, and the key by which a retry is known."""
    _check_text("principal", principal, 255)
    if reason is not None:
        _check_text("reason", reason, REASON_MAX)
    if key is not None:
        _check_text("idempotency-key", key, IDEMPOTENCY_KEY_MAX)


def _check_text(name: str, text: object, most: int) -> None:
    if not isinstance(text, str) or len(text) > most:
        raise Incorrect(
            "request.malformed", f"{name} is text of at most {most} characters", hint="shorten it"
        )
    door_check(text)
