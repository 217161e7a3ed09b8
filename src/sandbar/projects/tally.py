"""Counting what an import makes of its files: counts are exact, lists have an end."""

from __future__ import annotations

from collections.abc import Callable

from sandbar.findings import Finding
from sandbar.projects.judging import Verdict
from sandbar.projects.results import LISTED_MAX, Action, Imported, Planned

Told = Callable[[Planned], None]

_BESIDES = ("missing", "delete")  # not of files that there are


class Tally:
    """What has become of the items so far."""

    def __init__(self, each: Told | None = None) -> None:
        self.counts: dict[str, int] = {}
        self.entities = 0
        self._each = each
        self._entries: list[Planned] = []
        self._ignored: list[Planned] = []  # listed last: pictures must not hide what is refused
        self._findings: list[Finding] = []
        self._findings_count = 0

    def add(self, verdict: Verdict) -> None:
        """Note the last word on an item."""
        self.count(verdict.action)
        if verdict.action == "unchanged":
            self._note(verdict.findings)
        else:
            self.tell(verdict.planned())

    def count(self, action: Action) -> None:
        """Count one of them."""
        self.counts[action] = self.counts.get(action, 0) + 1

    def tell(self, planned: Planned) -> None:
        """List an entry and its findings, if there is room, and tell whoever wants to know all."""
        entries = self._ignored if planned.action == "ignored" else self._entries
        if len(entries) < LISTED_MAX:
            entries.append(planned)
        self._note(planned.findings)
        if self._each is not None:
            self._each(planned)

    def _note(self, findings: list[Finding]) -> None:
        self._findings_count += len(findings)
        self._findings += findings[: LISTED_MAX - len(self._findings)]

    def take_back(self, action: Action) -> None:
        """What was counted as done turned out not to be."""
        self.counts[action] -= 1

    def result(self, source: str, *, applied: bool, t: int | None = None) -> Imported:
        """All of it."""
        counted = sum(n for action, n in self.counts.items() if action not in _BESIDES)
        return Imported(
            source=source,
            applied=applied,
            entities=self.entities,
            counts={action: n for action, n in sorted(self.counts.items()) if n},
            reconciled=counted == self.entities,
            entries=(self._entries + self._ignored)[:LISTED_MAX],
            findings=self._findings,
            findings_count=self._findings_count,
            t=t,
        )
