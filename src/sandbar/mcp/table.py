"""A row of the table of methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import mcp_types as types

from sandbar.mcp.exchange import Exchange

Params = dict[str, Any]
Result = dict[str, Any]


class Method(NamedTuple):
    """A method of the protocol: what its params are checked against, and what answers it."""

    params: type[types.RequestParams]
    run: Callable[[Exchange, Params], Awaitable[Result]]
