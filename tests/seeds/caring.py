"""Being a caregiver of seed 003: a server with the pack care, a key of one's own, and requests."""

from __future__ import annotations

import re
from typing import Any

from tests.live_server import LiveServer
from tests.seeds.printing import replaced
from tests.seeds.typing_it import Answer, post, rpc

PRINTED_SITE = "https://app.joinsandwich.com"
PRINTED_KEY = "sk-sand-…"
PATH = "/api/mcp"
KEY = re.compile(r"sk-sand-[0-9a-f]{64}")


class Caregiver:
    """Somebody with a key, and the server that knows it."""

    def __init__(self, server: LiveServer, token: str) -> None:
        self.server = server
        self.token = token
        self.address = f"127.0.0.1:{server.port}"

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Answer:
        """The answer to a request."""
        return self.post(rpc(method, params))

    def post(self, body: Any) -> Answer:
        """The answer to a body."""
        return post(self.address, body, token=self.token, path=PATH)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """The answer to a call."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def told(self, tool: str, **arguments: Any) -> Any:
        """What a tool tells."""
        return self.call(tool, **arguments).result()["structuredContent"]

    def filled(self, block: str) -> str:
        """A printed block with the caregiver's own site and key."""
        return replaced(
            replaced(block, PRINTED_SITE, f"http://{self.address}"), PRINTED_KEY, self.token
        )


def minted(server: LiveServer, name: str, *words: str) -> Caregiver:
    """Whoever has a key that is minted now; without a word about limits it has the usual one."""
    shown = server.sandbar("key", "mint", "--name", name, *words)
    (token,) = KEY.findall(shown)
    return Caregiver(server, token)
