"""Making a workspace ready for use: its metamodel, and the index of what was there before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sandbar.errors import Incorrect
from sandbar.model import core
from sandbar.model.bootstrap import grow_core, install_metamodel
from sandbar.model.core import Entry
from sandbar.model.schema import Schema
from sandbar.model.searching import build_index
from sandbar.model.writes import refuse_in_event_loop
from sandbar.store import Store


def make_ready(
    store: Store,
    ws: int,
    entries: list[Entry] | None,
    schema_of: Callable[[int, int], Schema],
) -> None:
    """Give a new workspace the core or these entries, an older one what it lacks.

    A process that is killed here leaves it to the next one: each step asks what there is.
    """
    with store.snapshot(ws) as snapshot:
        is_empty = snapshot.state.t == 0
        is_unbuilt = snapshot.unsearched() is not None
        is_old = snapshot.entity(core.LAST_ID) is None
    if entries is not None and not is_empty:
        raise Incorrect("workspace.not-empty", "this workspace has a metamodel already")
    if is_old:
        refuse_in_event_loop()
        work = partial(install_metamodel, entries=entries or core.CORE) if is_empty else grow_core
        store.submit(ws, work, alone=True).result()
    if is_unbuilt:
        refuse_in_event_loop()
        build_index(store, ws, schema_of)
