"""Every error that a caller can see, in one tree.

    Problem(code, message, *, hint, data)
    ├─ the caller's:  Incorrect  Unauthenticated  Forbidden  NotFound
    │                 Conflict   Unsupported      TooMany
    └─ ours:          Unavailable  Interrupted  Fault

The class is the category. Each surface maps categories to its wire form in a dict that names all of
them; `category_of` finds the one that a problem is of.
`code` is a stable dotted string, `hint` says what to try next, `data` is safe to print as JSON.
Programmer errors are assertions, never Problems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class LateHint(Protocol):
    """A hint that takes work to find, which is done when somebody reads it.

    Most problems are caught, or are one of thousands: then there is only what is plain.
    """

    @property
    def plain(self) -> str:
        """What can be said without that work."""

    def __call__(self) -> str:
        """The whole hint."""


class Problem(Exception):
    """What went wrong, said so that a person or an agent can act on it."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | LateHint | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(_fit_to_show(message))
        self.code = code
        self.message: str = _fit_to_show(message)
        self.late_hint: LateHint | None = None
        self._hint: str | None = None
        if hint is None or isinstance(hint, str):
            self._hint = _fit_to_show(hint)
        else:
            self.late_hint = hint
        self._data: dict[str, Any] = _fit_to_show(data or {})
        self._better: Callable[[], None] | None = None

    @property
    def hint(self) -> str | None:
        """What to try next."""
        self.settle()
        if self._hint is None and self.late_hint is not None:
            self._hint = _fit_to_show(self.late_hint())
        return self._hint

    @property
    def data(self) -> dict[str, Any]:
        """Details, as plain JSON."""
        self.settle()
        return self._data

    def better_when_read(self, better: Callable[[], None]) -> None:
        """Let `better` improve the hint and the data, once, if somebody reads one of them."""
        self._better = better

    def settle(self) -> None:
        """Find now what is otherwise found when it is read."""
        better, self._better = self._better, None
        if better is not None:
            better()

    def advise(self, hint: str) -> None:
        """Say better what to try next: who asks is known by now, and what they are shown."""
        self._hint = _fit_to_show(hint)

    def __str__(self) -> str:
        return f"{self.message} ({self.code}){' Hint: ' + self.hint if self.hint else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.code, self.message, self.hint, self.data)


def _fit_to_show(value: Any) -> Any:
    """The same without lone surrogates, which a wrong request may contain and no answer may."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_fit_to_show(key): _fit_to_show(item) for key, item in value.items()}
    return [_fit_to_show(item) for item in value] if isinstance(value, list) else value


def _rebuild(
    kind: type[Problem], code: str, message: str, hint: str | None, data: dict[str, Any]
) -> Problem:
    return kind(code, message, hint=hint, data=data)


class Incorrect(Problem):
    """The request is wrong as it stands; repeating it cannot help."""


class Unauthenticated(Problem):
    """Nobody we know is asking."""


class Forbidden(Problem):
    """We know who is asking, and the answer is no."""


class NotFound(Problem):
    """The thing named does not exist (or must look as if it did not)."""


class Conflict(Problem):
    """The request was overtaken by, or contradicts, what is stored."""


class Unsupported(Problem):
    """A sensible wish that this system does not grant."""


class TooMany(Problem):
    """Within one's rights, but too often or too much."""


class Unavailable(Problem):
    """We cannot do it now; the same request may work later."""


class Interrupted(Problem):
    """Stopped before the end: deadline, cancellation or shutdown."""


class Fault(Problem):
    """A defect of ours."""


def category_of(problem: Problem) -> type[Problem]:
    """The category of a problem, which may be of a class below it; of none: a defect."""
    return next((kind for kind in type(problem).__mro__ if kind.__base__ is Problem), Fault)
