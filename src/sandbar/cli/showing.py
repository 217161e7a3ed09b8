"""How a command shows that a verb is at work: a bar on the terminal, and nothing in a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from sandbar.verbs import nobody_to_ask
from sandbar.workflow import Question, Reply


class Showing:
    """The channel of a verb to a terminal: it hears how far the work is, and is not asked.

    Use it in a `with` statement; the bar is gone at its end.
    """

    native = None

    def __init__(self, what: str) -> None:
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

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """A command has its arguments and asks nothing else."""
        raise nobody_to_ask()
