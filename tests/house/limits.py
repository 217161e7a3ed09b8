"""The figures of the house and what each may be at most.

A limit only ever goes down. A figure that must worsen is changed here, in a commit of its own that
gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.house import categories, figures, imports, repository, rooms
from tests.house.source import Place

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"

LONGEST_FILE_LINES = 400
LONGEST_TEST_FILE_LINES = 500  # a suite that runs unchanged on both stores may be long
LONGEST_FUNCTION_LINES = 70

# Where everything may be caught: the outermost door of a thread or of the program. Path in the
# package → (how many, why).
BROAD_HANDLERS = {
    "sandbar/audit/sealing.py": (
        1,
        "rows that cannot be sealed now are sealed later; the thread goes on, and says so",
    ),
    "sandbar/audit/settling.py": (
        1,
        "a defect is the answer of the requests that it met; the thread goes on with the others",
    ),
    "sandbar/database/duties.py": (
        1,
        "a duty that cannot be done is put off, and says so; those of others have their turn",
    ),
    "sandbar/edge/edge.py": (
        1,
        "whatever no surface has caught leaves as a number; Starlette's own handler did so before",
    ),
    "sandbar/store/answer.py": (
        1,
        "a callback that fails cannot take back an answer, nor withhold the others'",
    ),
    "sandbar/store/batch.py": (
        2,
        "a transaction fails alone, also in a batch: its error is its own caller's answer",
    ),
    "sandbar/mcp/methods.py": (1, "a client is shown the number of a defect, never its text"),
    "sandbar/mcp/subscriptions.py": (
        1,
        "a session that cannot be told ends alone: its task runs beside those of all others",
    ),
    "sandbar/notify/followed.py": (1, "a listener that fails keeps the others from nothing"),
    "sandbar/notify/hub.py": (
        1,
        "the thread that follows commits outlives any defect, and tells that it met one",
    ),
    "sandbar/store/watchers.py": (1, "a commit stands, whatever those make of it who watch"),
    "sandbar/store/writer.py": (1, "the writer's thread outlives any defect in one batch"),
    "sandbar/workflow/driving.py": (
        1,
        "whatever an activity raises is the fate of its process, not of the worker",
    ),
    "sandbar/workflow/moves.py": (
        1,
        "a defect in the code of an effect fails its transition, and is told as a number",
    ),
    "sandbar/workflow/worker.py": (
        2,
        "the worker outlives a store that ails; a process that cannot be served is tried again",
    ),
    "sandbar/verbs/dispatch.py": (1, "a caller is shown the number of a defect, never its text"),
}


# What `mcp` asks `access` for: who calls, and what its lists and resources show to them. Whether
# a call may be made is asked nowhere but in the turnstile.
MCP_ASKS_ACCESS = frozenset(
    {"Caller", "Guarded", "Rights", "local_caller"}
    | {"is_protected", "kept_classes", "protected_classes", "protected_roots"}
)
# What knows HTTP: the edge, its surfaces, and what starts them.
AT_THE_EDGE = frozenset({"app", "cli", "edge", "mcp", "rest", "oauth", "console"})
# Modules of a room that another room enters past its page, and which room that is.
SIDE_DOORS = {
    # The composition root puts the store together; a backup is a file, and no workspace.
    "sandbar.store.sqlite": "sandbar.database",
    "sandbar.store.postgres": "sandbar.database",
    "sandbar.store.archive": "sandbar.database",
    "sandbar.store.archive_file": "sandbar.database",
    "sandbar.store.files": "sandbar.database",
    # Surfaces take the parts of the edge that they need, and the server its connections.
    "sandbar.edge.asgi": "sandbar.mcp",
    "sandbar.edge.runner": "sandbar.mcp",
    "sandbar.edge.streams": "sandbar.mcp",
    "sandbar.edge.capacity": "sandbar.cli",
    "sandbar.edge.connections": "sandbar.cli",  # which needs uvicorn
    "sandbar.edge.proxies": "sandbar.cli",
    "sandbar.mcp.stdio": "sandbar.cli",  # a surface of its own, with a page of its own
    "sandbar.projects.sync": "sandbar.cli",  # likewise, for `sandbar watch`
}
# Where verbs are: ours, and those of the packs that come with Sandbar.
VERBS = (
    "sandbar.verbs",
    *("sandbar.packs.care", "sandbar.packs.everything", "sandbar.packs.memory"),
)


@dataclass(frozen=True)
class Figure:
    """A name, a measurement and its limit; a size is a maximum, otherwise places are counted."""

    name: str
    limit: int
    measure: Callable[[], list[Place]]
    is_size: bool = False

    def value(self) -> int:
        """The figure as a number."""
        places = self.places()
        return max((one.line for one in places), default=0) if self.is_size else len(places)

    def places(self) -> list[Place]:
        """Where it was found, worst first."""
        return _measured(self.measure)


@cache
def _measured(measure: Callable[[], list[Place]]) -> list[Place]:
    return measure()


FIGURES = [
    Figure("longest file", LONGEST_FILE_LINES, lambda: figures.file_lengths(SOURCE), True),
    Figure(
        "longest function", LONGEST_FUNCTION_LINES, lambda: figures.function_lengths(SOURCE), True
    ),
    Figure("longest test file", LONGEST_TEST_FILE_LINES, lambda: figures.file_lengths(TESTS), True),
    Figure(
        "longest test function",
        LONGEST_FUNCTION_LINES,
        lambda: figures.function_lengths(TESTS),
        True,
    ),
    Figure("imports in functions", 0, lambda: imports.imports_in_functions(SOURCE)),
    Figure("modules in import cycles", 0, lambda: imports.modules_in_cycles(SOURCE)),
    Figure(
        "broad handlers",
        sum(number for number, _ in BROAD_HANDLERS.values()),
        lambda: figures.broad_handlers(SOURCE),
    ),
    Figure("categories that a table forgot", 0, lambda: categories.forgotten(SOURCE)),
    Figure("ladders of categories", 1, lambda: categories.ladders(SOURCE)),
    Figure("names that say nothing", 0, lambda: figures.banned_names(SOURCE)),
    Figure("names that say nothing, in tests", 0, lambda: figures.banned_names(TESTS)),
    Figure("clock reads outside clock", 0, lambda: figures.clock_reads(SOURCE)),
    Figure("SQL outside .sql files", 0, lambda: figures.sql_strings(SOURCE)),
    Figure("caches of what changes", 0, lambda: figures.caches_of_what_changes(SOURCE)),
    Figure("coroutines below the edge", 0, lambda: figures.coroutines(SOURCE, AT_THE_EDGE)),
    Figure("imports past a room's door", 0, lambda: rooms.windows(SOURCE, SIDE_DOORS)),
    Figure("workspaces in the hands of verbs", 0, lambda: rooms.bare_workspaces(SOURCE, VERBS)),
    Figure("public names without a docstring", 0, lambda: figures.undocumented(SOURCE)),
    Figure("functions without a return type", 0, lambda: figures.unannotated_returns(SOURCE)),
    Figure("unfinished work", 0, lambda: figures.unfinished(SOURCE)),
    Figure("unfinished work, in tests", 0, lambda: figures.unfinished(TESTS)),
    Figure("skipped or excused tests", 0, lambda: figures.skipped_tests(TESTS)),
    Figure(
        "package registries named",
        0,
        lambda: repository.registry_hosts(repository.repository_files(ROOT)),
    ),
]
