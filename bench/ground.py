"""The copy of a population that creates go into, so that a size remains what it claims to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from bench.population import Population


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)


class Ground(Generic[T]):
    """A contestant's own copy, open; one that outgrows its size is made anew before each round."""

    def __init__(
        self,
        population: Population,
        name: str,
        *,
        connect: Callable[[str], T],
        warm: Callable[[T], object],
        outgrows: bool,
    ) -> None:
        """`warm` writes a little to what was just opened. Nobody may have the population open."""
        self._place, self._model, self._name = population.place, population.target, name
        self._connect, self._warm, self._outgrows = connect, warm, outgrows
        self._target = ""
        self._open: T | None = None

    @property
    def it(self) -> T:
        """The contestant, at its copy."""
        assert self._open is not None, "renew comes first"
        return self._open

    def renew(self) -> None:
        """Before a round, while no clock runs."""
        if self._open is not None and not self._outgrows:
            return
        self.drop()
        self._target = self._place.copy(self._model, self._name)
        self._open = self._connect(self._target)
        self._warm(self._open)

    def drop(self) -> None:
        """Remove the copy, if there is one."""
        if self._open is not None:
            self._open.close()
            self._place.drop(self._target)
            self._open = None
