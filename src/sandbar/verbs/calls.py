"""A call as a value: who asks for which verb with what, by which door, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sandbar.access import Caller
from sandbar.audit import Note
from sandbar.patience import Patience
from sandbar.verbs.catalogue import Verb
from sandbar.verbs.channel import Channel


class Call(msgspec.Struct, frozen=True):
    """One call of one verb, for `Database.perform`."""

    caller: Caller
    name: str  # of a verb, or of a class's tool, in any spelling
    arguments: Mapping[str, Any] = {}
    verb: Verb | None = None  # if the door has found it already
    surface: str = "library"  # library, cli, mcp, task, …
    request_id: str | None = None
    deadline: Patience | None = None  # None: that of the thread, if it has one
    note: Note | None = None  # its row in the audit, if the door keeps it; else it gets its own
    channel: Channel | None = None  # to its client
    is_later: bool = False  # in the background: the answer is the task that was begun
    retry_key: str | None = None  # of a call that may be made twice: finds what it did before
    names_row: bool = True  # whether that row names the verb: not if its method says it all
