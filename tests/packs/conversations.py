"""A scripted client: what it declares and answers, and a record of what it was told and asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbar.access import Guarded
from sandbar.packs import PackCode, code_of, loaded_packs
from sandbar.verbs import Call, Catalogue, Context
from sandbar.workflow import Question, Reply
from tests.bare_services import BareServices

ALL_CAPABILITIES: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}


class ScriptedClient:
    """A `Channel` of MCP: live if it has answers by method, else by what comes with the request."""

    def __init__(
        self,
        capabilities: dict[str, Any] | None = None,
        *,
        live: dict[str, dict[str, Any]] | None = None,
        responses: dict[str, Any] | None = None,
        state: str | None = None,
    ) -> None:
        self.client_capabilities = ALL_CAPABILITIES if capabilities is None else capabilities
        self.input_responses = responses
        self.request_state = state
        self.can_ask = live is not None
        self._live = live or {}
        self.told: list[tuple[Any, ...]] = []

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Note how far the work has come."""
        self.told.append(("progress", done, total))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Note what is going on."""
        self.told.append(("log", level, data))

    @property
    def native(self) -> ScriptedClient:
        """What MCP has besides."""
        return self

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """The fixtures ask in the words of MCP."""
        raise AssertionError(f"nobody asks like this: {list(questions)}")

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Note the question and answer it from the script."""
        self.told.append(("ask", method, params))
        return self._live[method]

    def state_is_new(self, state: str | None) -> bool:
        """Whether a round brings another state than the one before, if it brings any."""
        return state is None or state != self.request_state

    def close_stream(self) -> None:
        """Note that the stream has ended."""
        self.told.append(("close",))


def in_context(db: Guarded, client: ScriptedClient | None = None) -> tuple[Context, PackCode]:
    """A call's context in a workspace, and the code of its packs."""
    code = code_of(loaded_packs(db))
    call = Call(db.caller, "test", surface="test", request_id="1", channel=client)
    return Context(call, db, services_of(db)), code


def services_of(db: Guarded) -> BareServices:
    """The verbs of the workspace's packs and nothing else."""
    return BareServices(db, Catalogue(code_of(loaded_packs(db)).verbs))


def run(db: Guarded, name: str, client: ScriptedClient | None = None, /, **arguments: Any) -> Any:
    """Call a tool of the workspace's packs through the turnstile."""
    return services_of(db).perform(Call(db.caller, name, arguments, channel=client))
