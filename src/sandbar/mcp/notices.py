"""What is due to a stream, in the protocol's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbar.edge.streams import PROMPTS, RESOURCES, TOOLS, Due

UPDATED = "notifications/resources/updated"
LIST_CHANGED = {
    TOOLS: "notifications/tools/list_changed",
    PROMPTS: "notifications/prompts/list_changed",
    RESOURCES: "notifications/resources/list_changed",
}

Notice = tuple[str, dict[str, Any] | None]


def said(due: Iterable[Due]) -> list[Notice]:
    """The notifications that tell it."""
    return [
        (LIST_CHANGED[one.kind], None) if one.uri is None else (UPDATED, {"uri": one.uri})
        for one in due
    ]
