"""How a command shows that a verb is at work: a bar on the terminal, and nothing in a pipe."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Showing:
    """The conversation of a verb with a terminal: it hears how far the work is, and is not asked.

    Use it in a `with` statement; the bar is gone at its end.
    """

    input_responses: dict[str, Any] | None = None
    request_state: str | None = None
    can_ask = False

    def __init__(self, what: str) -> None:
        self.client_capabilities: dict[str, Any] = {}
        console = Console(stderr=True, highlight=False, markup=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),  # how many files it is at, the message says
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> Showing:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Move the bar."""
        if message:
            self._bar.update(self._task, description=message)
        self._bar.update(self._task, completed=done, total=total)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Leave it to the answer."""

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Never called: `can_ask` says no."""
        raise AssertionError(f"nobody can be asked: {method}")

    def close_stream(self) -> None:
        """There is none."""
