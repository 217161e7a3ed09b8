"""Telling the log of a defect: its kind and where it arose, and nothing that was in hand.

The values of users stand in the frames and the messages of exceptions, so neither is written. The
library itself prints nothing: whoever wants to hear of defects listens to the logger `sandbar`.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import uuid_utils

_log = logging.getLogger("sandbar")
_log.addHandler(logging.NullHandler())  # else Python prints what nobody listens to


def log_fault(what: str, error: BaseException) -> str:
    """Log an unexpected error; returns the id under which the log has it."""
    fault_id = str(uuid_utils.uuid7())
    _log.error("%s %s\n%s", what, fault_id, "\n".join(_outline(error)))
    return fault_id


def _outline(error: BaseException) -> Iterator[str]:
    """The kinds of an error and of those behind it, each with the lines that it came through."""
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        seen.add(id(behind))
        yield f"{type(behind).__module__}.{type(behind).__qualname__}"
        for frame, line in traceback.walk_tb(behind.__traceback__):
            yield f"  {frame.f_code.co_filename}:{line} {frame.f_code.co_qualname}"
        behind = behind.__cause__ or behind.__context__
