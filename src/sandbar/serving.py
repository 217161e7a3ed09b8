"""What a server can be told: one value, read once by `settings` and passed on as it is.

Whoever needs a part of it reads it where it counts. So a new knob is a field here, which the
environment and the settings file have from then on, and the line that reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

ToolListing = Literal["default", "core", "full", "classes", "all"]


class Serving(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Where a server listens and on what, whom it lets in, and what it shows."""

    database: str = "sandbar.db"
    workspace: str = "main"
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    packs: tuple[str, ...] = ()
    public_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()  # addresses or networks
    tools: ToolListing = "default"  # what `tools/list` shows unless the URL asks for more or less
