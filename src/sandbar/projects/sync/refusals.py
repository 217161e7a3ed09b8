"""Files that were refused: told once, and tried again when there is reason to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sandbar.errors import Conflict, Problem
from sandbar.model import Entity
from sandbar.projects.sync.events import Event
from sandbar.projects.sync.pairing import Look

Tell = Callable[[Event], None]

_FINDINGS_SHOWN = 5


class Refusals:
    """What was refused, and why."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._known: dict[str, tuple[str, int | None]] = {}  # path to the hash, and the entity's t
        self._told: dict[str, set[tuple[str, str]]] = {}
        self._waiting: dict[str, tuple[Look, Problem]] = {}
        self._forced: set[str] = set()
        self._entities: dict[str, int | None] = {}  # whose files they would be
        self._names = 0

    def __len__(self) -> int:
        return len(self._known)

    def is_known(self, look: Look, t: int | None) -> bool:
        """Whether this content was refused for this state of its entity."""
        return look.path not in self._forced and self._known.get(look.path) == (look.seen.sha, t)

    def add(self, look: Look, t: int | None, problem: Problem) -> None:
        """Keep a refusal; it is told at the end of the round unless it was overcome."""
        self._known[look.path] = (look.seen.sha, t)
        self._waiting[look.path] = (look, problem)
        self._entities[look.path] = look.entity
        self._forced.add(look.path)  # within the round it may be tried again

    def forget(self, path: str) -> None:
        """A file is in order."""
        self._known.pop(path, None)
        self._waiting.pop(path, None)
        self._entities.pop(path, None)

    def due_again(self, names: int, *, is_any: bool) -> set[str]:
        """What to try again: all, if any file has changed, or entities came or have new idents.

        Files may refer to each other in a circle, and only together they can be taken.
        """
        if names == self._names and not is_any:
            return set()
        self._forced = set(self._known)
        return set(self._known)

    def settle(self, present: set[str], names: int) -> None:
        """Tell what was refused in this round, each content and reason once."""
        for path, (look, problem) in self._waiting.items():
            reason = reason_of(look, problem)
            told = self._told.setdefault(path, set())
            if (look.seen.sha, reason) not in told:
                told.add((look.seen.sha, reason))
                self._tell(_refused(path, problem, reason))
        for path in self._known.keys() - present:
            del self._known[path]
            self._entities.pop(path, None)
        self._waiting = {}
        self._forced = set()
        self._names = names

    def unreadable(self, path: str, reason: str) -> None:
        """Tell of a file that cannot be read; once."""
        told = self._told.setdefault(path, set())
        if ("", reason) not in told:
            told.add(("", reason))
            hint = "look at the rights of the file"
            self._tell(
                Event(kind="refused", path=path, code="watch.disk", reason=reason, hint=hint)
            )

    def is_refused(self, path: str) -> bool:
        """Whether a file was refused as it is now."""
        return path in self._known

    def is_waited_for(self, id: int) -> bool:
        """Whether an entity has a file that was refused."""
        return id in self._entities.values()

    def tell_entity(self, path: str, entity: Entity, problem: Problem) -> None:
        """Tell of an entity that cannot be written as a file; once for each of its states."""
        told = self._told.setdefault(path, set())
        if (str(entity.t), problem.code) not in told:
            told.add((str(entity.t), problem.code))
            reason = f"{entity.ident or entity.entity_id} cannot be written: {problem.message}"
            self._tell(_refused(path, problem, reason))


def reason_of(look: Look, problem: Problem) -> str:
    """Why a file was refused: with the line and the key of each finding, as far as known."""
    findings = list(_findings(look, problem))
    more = (
        f" (and {len(findings) - _FINDINGS_SHOWN} more)" if len(findings) > _FINDINGS_SHOWN else ""
    )
    return "; ".join(findings[:_FINDINGS_SHOWN]) + more if findings else problem.message


def _findings(look: Look, problem: Problem) -> Iterator[str]:
    lines = {} if look.stated is None else look.stated.lines
    found = problem.data.get("findings")
    for finding in found if isinstance(found, list) else []:
        key = finding.get("key") or finding.get("slot")
        line = finding.get("line") or lines.get(str(finding.get("slot")))
        where = ", ".join(filter(None, [f"line {line}" if line else "", str(key) if key else ""]))
        yield f"{where}: {finding.get('message')}" if where else str(finding.get("message"))


def _refused(path: str, problem: Problem, reason: str) -> Event:
    return Event(kind="refused", path=path, code=problem.code, reason=reason, hint=problem.hint)


def other_class(stated: str, entity: Entity) -> Conflict:
    """The refusal of a file that says that its entity is of another class."""
    name = entity.ident or entity.entity_id
    return Conflict(
        "watch.other-class",
        f"{name} is a {entity.class_}, and the file says that it is a {stated}",
        hint="an entity keeps its class: give the file another name, and it is a new one",
    )
