"""Asking: a `Question` or a `Search` is one value, passed on whole; here is how it is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

from sandbar.model.moments import Moment
from sandbar.model.queries import LIMIT_DEFAULT, Question
from sandbar.model.results import Page, SearchPage
from sandbar.model.searching import Search


class Askable(ABC):
    """What answers questions and searches."""

    @abstractmethod
    def ask(self, question: Question) -> Page:
        """One page of the instances of a class that satisfy a filter."""

    @abstractmethod
    def look_for(self, search: Search) -> SearchPage:
        """One page of what is found by words or a question, best first."""

    def query(
        self,
        class_: Any,
        where: Any = None,
        *,
        order_by: str | None = None,
        fields: Sequence[str] | None = None,
        limit: int = LIMIT_DEFAULT,
        cursor: str | None = None,
        as_of: Moment | None = None,
        hidden: Collection[str] = (),
    ) -> Page:
        """The same, written down; instances of `hidden` classes are left out."""
        return self.ask(Question(class_, where, order_by, fields, limit, cursor, as_of, hidden))

    def search(
        self,
        query: str,
        *,
        class_: Any = None,
        limit: int = 20,
        cursor: str | None = None,
        as_of: Moment | None = None,
        hidden_classes: Collection[Any] = (),
    ) -> SearchPage:
        """The same, written down; instances of `hidden_classes` are left out."""
        return self.look_for(Search(query, class_, limit, cursor, as_of, hidden_classes))
