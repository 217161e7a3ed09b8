"""What a surface brings to the edge: an application, and how it says what went wrong."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sandbar.edge.asgi import App, Headers
from sandbar.errors import Conflict, Problem

Id = int | str | None


class Refusal(msgspec.Struct, frozen=True):
    """What a surface may say of a refusal besides the problem itself."""

    status: int
    headers: Headers = []  # of the request: a revision of a protocol may have words of its own
    id: Id = None  # by which the client knows its request
    request_id: str | None = None  # by which the log does; None: there was no request yet


Say = Callable[[Problem, Refusal], tuple[bytes, bytes]]  # the body, and its content type


class Surface(msgspec.Struct, frozen=True):
    """One way to talk to the server."""

    name: str  # what the audit calls it
    app: App
    say: Say
    id_in: Callable[[bytes], Id] | None = None  # the client's own id of a request, in its body
    is_open: bool = False  # anybody may ask, and nothing is recorded


class Routes(dict[str, Surface]):
    """Which path leads to which surface: exact paths, each taken once."""

    def add(self, surface: Surface, *paths: str, whose: str) -> None:
        """Let these paths lead to a surface; `whose` says in a refusal who wants them."""
        for path in paths:
            if path in self:
                raise Conflict(
                    "route.taken",
                    f"{whose} wants the path {path}, which is taken",
                    hint="give it a path of its own, or leave that pack out",
                    data={"path": path},
                )
            self[path] = surface
