"""What both stores agree on about workspaces that are gone."""

from __future__ import annotations

from sandbar.errors import NotFound


def no_workspace(which: int | str) -> NotFound:
    """What to raise for a number or a name that is no workspace's."""
    return NotFound(
        "store.no-workspace",
        f"there is no workspace {which}",
        hint="`sandbar workspace list` names those that there are",
    )
