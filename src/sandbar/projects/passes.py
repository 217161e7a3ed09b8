"""The passes of an import over the files: try or write, wait, set links, delete."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

import msgspec

from sandbar.access import Guarded
from sandbar.errors import Incorrect
from sandbar.model import Delete, Introspection, Operation, Written
from sandbar.projects.comparing import facts_of, references
from sandbar.projects.documents import Documents
from sandbar.projects.findings import REFUSALS
from sandbar.projects.foresight import Foresight
from sandbar.projects.judging import Judge, Verdict, dangling
from sandbar.projects.keys import Keys
from sandbar.projects.layout import placed
from sandbar.projects.names import Names
from sandbar.projects.results import Progress, counted
from sandbar.projects.sources import Item
from sandbar.projects.sums import digest_of
from sandbar.projects.tally import Tally
from sandbar.projects.writing import BATCH, Write, Writer
from sandbar.scratch import Scratch, Table

_WAITING_AT_ONCE = 2_000  # what waits for each other is written together, up to here


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """All that the passes of one import share."""

    db: Guarded
    scratch: Scratch
    schema: Introspection
    names: Names
    tally: Tally
    items: Callable[[Container[str] | None], Iterator[Item]]
    judge: Callable[[Names, bool], Judge]
    documents: Callable[[], Documents]
    reason: str
    tell: Progress
    files: int
    base: Table[str]
    seen: Container[str]
    delete_missing: bool


class Passes:
    """Goes over the files as often as it takes."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._doing = "importing"

    def try_out(self, foresight: Foresight) -> None:
        """Find out what would be written and what refused; nothing is written."""

        def tried(operations: Sequence[Operation], reason: str) -> None:
            foresight.try_out(operations)

        self._doing = "comparing"
        self._pass(self._writer(tried, self._keys(), self._keys(), is_plan=True))
        for verdict, _ in self._missing():
            self._scene.tally.count(verdict.action)
            self._scene.tally.tell(verdict.planned())

    def write(self) -> None:
        """Write everything that can be."""
        waiting, links = self._keys(), self._keys()
        self._pass(self._writer(self._written, waiting, links))
        self._wait(waiting, links)
        self._set_links(links)
        self._delete_missing()
        self._scene.tell(3 * self._scene.files or 1, 3 * self._scene.files or 1, "done")

    def _keys(self) -> Keys:
        return Keys(self._scene.scratch)

    def _writer(
        self,
        write: Write,
        waiting: Keys,
        links: Keys,
        *,
        is_plan: bool = False,
        size: int = BATCH,
    ) -> Writer:
        scene = self._scene
        return Writer(
            scene.schema,
            scene.names,
            scene.tally,
            write,
            scene.reason,
            waiting=waiting,
            links=links,
            is_plan=is_plan,
            size=size,
        )

    def _written(self, operations: Sequence[Operation], reason: str) -> Written:
        return self._scene.db.transact(operations, reason=reason)

    def _pass(self, writer: Writer) -> None:
        scene = self._scene
        judge = scene.judge(scene.names, False)
        for done, verdict in enumerate(judge.judge_all(scene.items(None))):
            writer.add(verdict)
            if done % 100 == 0:
                so_far = scene.files + min(done, scene.files)
                message = counted(self._doing, min(done, scene.files), scene.files)
                scene.tell(so_far, 3 * scene.files, message)
        writer.flush()

    # --- those that wait ---------------------------------------------------------------------

    def _wait(self, waiting: Keys, links: Keys) -> None:
        """Write what waited, round by round; those whose links follow get into `links`."""
        left, some = self._keys(), self._keys()
        is_backwards = True  # along the paths is how they came to wait
        while count := len(waiting):
            for _ in waiting.slices(_WAITING_AT_ONCE, some, is_backwards=is_backwards):
                writer = self._writer(self._written, left, links, size=_WAITING_AT_ONCE)
                for verdict in self._judged(some):
                    writer.add(verdict)
                writer.flush()
            waiting.clear()
            waiting, left, is_backwards = left, waiting, not is_backwards
            if len(waiting) == count:
                self._refuse_waiting(waiting)
                return

    def _judged(self, keys: Keys, *, is_linking: bool = False) -> Iterator[Verdict]:
        """The verdicts on these items, as things are now; what has lost its file is refused."""
        scene = self._scene
        judge = scene.judge(scene.names, is_linking)
        wanted = (item for item in scene.items(keys.paths) if keys.take(item))
        yield from judge.judge_all(wanted)
        for path in keys.left():
            gone = Verdict(item=Item(path=path), action="refused")
            gone.refuse(
                Incorrect(
                    "project.changed",
                    "the file was changed or removed while it was being imported",
                    hint="import once more",
                )
            )
            yield gone

    def _refuse_waiting(self, keys: Keys) -> None:
        for verdict in self._judged(keys):
            if verdict.is_write:
                self._refuse_dangling(verdict)
            self._scene.tally.add(verdict)

    def _refuse_dangling(self, verdict: Verdict) -> None:
        parsed = verdict.item.parsed
        assert parsed is not None
        facts = facts_of(self._scene.schema, parsed.class_)
        found = [
            dangling(slot, name)
            for slot, name in references(facts, verdict.changes)
            if not self._scene.names.is_there(name)
        ]
        verdict.refuse_for(found or [dangling("", str(verdict.name))])

    # --- links -------------------------------------------------------------------------------

    def _set_links(self, links: Keys) -> None:
        """Set the references that were left out when their targets were not there yet."""
        scene = self._scene
        made = LinkTally(scene.tally)
        count, waiting = len(links), self._keys()
        writer = Writer(
            scene.schema,
            scene.names,
            made,
            self._written,
            scene.reason,
            waiting=waiting,
            links=self._keys(),
        )
        for done, verdict in enumerate(self._judged(links, is_linking=True) if count else ()):
            writer.add(verdict)
            if done % 100 == 0:
                so_far = 2 * scene.files + scene.files * done // count
                scene.tell(so_far, 3 * scene.files, counted("linking", done, count))
        writer.flush()
        for verdict in self._judged(waiting, is_linking=True) if len(waiting) else ():
            if verdict.is_write:
                self._refuse_dangling(verdict)
            made.add(verdict)

    # --- what has lost its file --------------------------------------------------------------

    def _missing(self) -> Iterator[tuple[Verdict, Operation | None]]:
        """Entities that were exported and whose files are gone, and what deletes them."""
        scene = self._scene
        documents = scene.documents()
        for path, digest in scene.base.items():
            at = None if path in scene.seen else placed(path)
            name = None if at is None else at.ident or at.number
            found = None
            if name is not None and not scene.names.is_coming(name):
                found = scene.names.find(name)
            if found is None or at is None or found.class_ != at.class_:
                continue
            verdict = Verdict(item=Item(path=path), action="missing", name=name, entity=found)
            verdict.why = "its file is gone"
            if not scene.delete_missing:
                yield verdict, None
            elif digest_of(documents.of(found).data) == digest:
                verdict.action = "delete"
                yield verdict, Delete(entity=found.entity_id, expect=found.t)
            else:
                verdict.action = "conflict"
                verdict.why = "its file is gone, and the workspace has changed since the export"
                yield verdict, None

    def _delete_missing(self) -> None:
        """Delete them, one by one; those first to which nobody refers."""
        scene = self._scene
        left = []
        for verdict, deletion in self._missing():
            if deletion is None:
                scene.tally.count(verdict.action)
                scene.tally.tell(verdict.planned())
            else:
                left.append((verdict, deletion))
        is_progress = True
        while left and is_progress:
            held = [(v, d) for v, d in left if not self._deleted(v, d)]
            is_progress = len(held) < len(left)
            left = held
        for verdict, _ in left:
            scene.tally.count(verdict.action)
            scene.tally.tell(verdict.planned())

    def _deleted(self, verdict: Verdict, deletion: Operation) -> bool:
        """Whether it could be deleted; if not, the verdict says why."""
        scene = self._scene
        verdict.action, verdict.findings = "delete", []
        try:
            scene.db.transact([deletion], reason=scene.reason)
        except REFUSALS as problem:
            verdict.refuse(problem)
            return False
        scene.tally.count(verdict.action)
        scene.tally.tell(verdict.planned())
        return True


class LinkTally(Tally):
    """Counts nothing that was counted before; but what turns out to lack its links is refused."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._all = tally

    def add(self, verdict: Verdict) -> None:
        """Note the last word on the links of an item."""
        if verdict.action == "refused":
            self._all.take_back("create")
            verdict.why = f"it is there, but not all that it refers to: {verdict.why}"
            self._all.add(verdict)
