"""`sandbar` with a defect: answers leave before their rows are kept."""

from __future__ import annotations

import asyncio

from sandbar.audit import Note
from sandbar.cli.main import main
from sandbar.edge.recording import Recorder

LATE_S = 0.05


def keep_later(self: Recorder, note: Note) -> asyncio.Future[None]:
    """Say that it is done, and do it a little later."""
    loop = asyncio.get_running_loop()
    kept: asyncio.Future[None] = loop.create_future()
    kept.set_result(None)
    loop.call_later(LATE_S, keep, self, note)
    return kept


if __name__ == "__main__":
    keep = Recorder.keep
    Recorder.keep = keep_later  # type: ignore[method-assign]
    main()
