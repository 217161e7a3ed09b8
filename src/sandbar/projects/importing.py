"""Importing: read the definitions, survey the names, judge each file, write, set links.

Everything is read again rather than kept, and what has to be known of every file is noted on a
scratch: however many there are, they take no more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import islice

import msgspec

from sandbar.access import Guarded
from sandbar.codecs import Codecs
from sandbar.errors import Incorrect
from sandbar.projects.accounts import portable_accounts
from sandbar.projects.built_in import PROJECT, first_classes
from sandbar.projects.defining import Definitions
from sandbar.projects.documents import Documents
from sandbar.projects.findings import REFUSALS
from sandbar.projects.foresight import Foresight
from sandbar.projects.judging import Judge, Verdict
from sandbar.projects.linking import linked
from sandbar.projects.making import Making
from sandbar.projects.names import LOOKED_UP, Names
from sandbar.projects.passes import Passes, Scene
from sandbar.projects.reading import suffix_of
from sandbar.projects.results import Imported, Mode, Prefer, Progress, counted
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sources import Item, Source
from sandbar.projects.sums import composed, read_sums
from sandbar.projects.tally import Tally, Told
from sandbar.scratch import Scratch, Table
from sandbar.workflow import DEFINITION, Workflows

ATOMIC_FILES_MAX = 10_000
ATOMIC_BYTES_MAX = 64 << 20


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """How an import is to go about."""

    prefer: Prefer = "nobody"  # whose word counts in a conflict
    delete_missing: bool = False  # delete what has lost its file since the export
    mode: Mode = "per-file"
    reason: str | None = None
    progress: Progress | None = None
    each: Told | None = None  # is told of every file but the unchanged


def plan_import(
    db: Guarded,
    workflows: Workflows,
    codecs: Codecs,
    folder: RootedFolder,
    source: Source,
    wishes: Wishes | None = None,
) -> Imported:
    """What importing would do; nothing is written."""
    with Scratch() as scratch:
        return _Import(db, workflows, codecs, folder, source, wishes or Wishes(), scratch).plan()


def apply_import(
    db: Guarded,
    workflows: Workflows,
    codecs: Codecs,
    folder: RootedFolder,
    source: Source,
    wishes: Wishes | None = None,
) -> Imported:
    """Import a folder: all of it or nothing (`atomic`), or each file as it is (`per-file`)."""
    with Scratch() as scratch:
        return _Import(db, workflows, codecs, folder, source, wishes or Wishes(), scratch).apply()


class _Import:
    def __init__(
        self,
        db: Guarded,
        workflows: Workflows,
        codecs: Codecs,
        folder: RootedFolder,
        source: Source,
        wishes: Wishes,
        scratch: Scratch,
    ) -> None:
        self._db = db
        self._scratch = scratch
        self._codecs = codecs
        self._folder = folder
        self._source = source
        self._wishes = wishes
        self._tell = wishes.progress or (lambda done, total, message: None)
        self._reason = (wishes.reason or f"import of {source.name}")[:1_900]
        self._definitions = Definitions(db, workflows, self._reason)
        self._base: Table[str] = scratch.table()  # digests as of the export, by path
        if source.name == PROJECT:
            read_sums(folder, self._base)
        self._is_based = len(self._base) > 0
        self._schema = db.schema()
        self._names = Names(db, scratch)
        self._greatest = 0  # of the numbers that new entities are to have
        self._seen: Table[None] = scratch.table()  # the paths that there are
        self._files = 0
        self._entities = 0
        self._making = Making(scratch)

    def plan(self) -> Imported:
        """The whole way, with previews for writes."""
        tally = Tally(self._wishes.each)
        verdicts = self._read_definitions()
        sound, self._schema = self._definitions.sound(_of_schema(verdicts))
        self._survey()
        tally.entities = self._entities
        for verdict in verdicts:
            if verdict.is_write and _is_workflow(verdict):
                self._definitions.check_workflow(verdict)
            tally.add(verdict)
        foresight = Foresight(self._definitions, sound, self._making, self._names, self._greatest)
        foresight.make(tally)
        Passes(self._scene(tally)).try_out(foresight)
        return tally.result(self._source.name, applied=False)

    def apply(self) -> Imported:
        """The same with writes."""
        verdicts = self._read_definitions()
        sound, self._schema = self._definitions.sound(_of_schema(verdicts))
        self._survey()
        if self._wishes.mode == "per-file":
            tally = Tally(self._wishes.each)
            self._write(tally, verdicts, sound, self._items)
            return tally.result(self._source.name, applied=True, t=self._db.last_t())
        kept = self._kept_items()
        return self._apply_at_once(verdicts, sound, kept)

    def _write(
        self,
        tally: Tally,
        verdicts: list[Verdict],
        sound: list[Verdict],
        items: Callable[[Container[str] | None], Iterator[Item]],
    ) -> None:
        tally.entities = self._entities
        if self._greatest:
            self._db.reserve_ids(self._greatest)
        self._definitions.write(sound)
        for verdict in verdicts:
            if verdict.is_write and _is_workflow(verdict):
                self._write_workflow(verdict)
            if verdict.is_write and verdict.name is not None:
                self._names.made(verdict.name)
            tally.add(verdict)
        self._schema = self._db.schema()
        transact = partial(self._db.transact, reason=self._reason)
        self._making.write(transact, self._names, tally)
        Passes(msgspec.structs.replace(self._scene(tally), items=items)).write()

    def _write_workflow(self, verdict: Verdict) -> None:
        self._definitions.check_workflow(verdict)
        if verdict.is_write:
            try:
                self._definitions.write_workflow(verdict)
            except REFUSALS as problem:
                verdict.refuse(problem)

    # --- all at once -------------------------------------------------------------------------

    def _kept_items(self) -> list[Item]:
        """All items, which must be few: they are written as one transaction."""
        kept, size = [], 0
        for item in self._items(None):
            kept.append(item)
            size += item.size
            if len(kept) > ATOMIC_FILES_MAX or size > ATOMIC_BYTES_MAX:
                raise Incorrect(
                    "project.too-much",
                    f"at once, at most {ATOMIC_FILES_MAX:,} files of "
                    f"{ATOMIC_BYTES_MAX >> 20} MiB together are imported",
                    hint="import per file; what was imported stays when it is run again",
                )
        return kept

    def _apply_at_once(
        self, verdicts: list[Verdict], sound: list[Verdict], kept: list[Item]
    ) -> Imported:
        """One transaction, which ends without a trace if anything is refused or in conflict."""
        results: list[Imported] = []

        def items(only: Container[str] | None) -> Iterator[Item]:
            return (item for item in kept if only is None or item.path in only)

        def work() -> None:
            # It may be run more than once, and on another thread: nobody is told from in here.
            self._tell = _silent
            self._names = self._names.again()
            tally = Tally()
            self._write(tally, [_copy(verdict) for verdict in verdicts], sound, items)
            results.append(tally.result(self._source.name, applied=True))
            if not results[-1].is_clean:
                raise _Refused

        tell = self._tell
        try:
            self._db.run(work, reason=self._reason)
        except _Refused:
            results.append(msgspec.structs.replace(results[-1], applied=False))
        tell(3 * self._files or 1, 3 * self._files or 1, "done")
        result = msgspec.structs.replace(results[-1], t=self._db.last_t())
        for planned in result.entries if self._wishes.each is not None else ():
            self._wishes.each(planned)  # type: ignore[misc]
        return result

    # --- looking -----------------------------------------------------------------------------

    def _documents(self) -> Documents:
        schema = self._db.schema()
        return Documents(schema, self._codecs, portable_accounts(self._db, schema))

    def _judge(self, names: Names, is_linking: bool = False) -> Judge:
        prefer = self._wishes.prefer
        why = self._why_ignored
        judge = Judge(self._schema, self._documents(), names, self._base, prefer, why)
        judge.is_linking = is_linking
        return judge

    def _why_ignored(self, path: str) -> str:
        """Why a file is no part of this."""
        suffix = suffix_of(path)
        if self._codecs.of_suffix(suffix) is None:
            return f"no codec reads {suffix} files" if suffix else "no codec reads it: no suffix"
        if self._source.name == PROJECT:
            example = f"CLASS/IDENT{suffix}, such as bed/Plant/plant/moss{suffix}"
            return f"in a project, an entity is at {example}; or import this file by itself"
        return f"{self._source.name} reads no {suffix} files"

    def _items(self, only: Container[str] | None) -> Iterator[Item]:
        """The items that are no definitions."""
        for item in self._source.items(self._folder, self._schema, self._codecs, only=only):
            if not item.is_definition:
                yield linked(item, self._schema, self._names) if item.links else item

    def _read_definitions(self) -> list[Verdict]:
        """The verdicts on what comes first; again, if that tells of more that does."""
        while True:
            items = []
            for item in self._source.items(self._folder, self._schema, self._codecs):
                if not item.is_definition:
                    break
                items.append(item)
            judge = self._judge(self._names)
            self._note(judge, items)
            verdicts = list(judge.judge_all(items))
            known = first_classes(self._schema)
            _, foreseen = self._definitions.sound([_copy(v) for v in _of_schema(verdicts)])
            if first_classes(foreseen) == known:
                self._entities = len(items)
                return verdicts
            self._schema = foreseen

    def _survey(self) -> None:
        """Look at every file once: which names they state, and which numbers."""
        self._files = sum(1 for _ in self._folder.files())
        judge = self._judge(self._names)
        items = self._items(None)
        while some := list(islice(items, LOOKED_UP)):
            self._note(judge, some)
            self._making.note(some)
            self._entities += len(some)
            self._files = max(self._files, self._entities)  # a bulk file holds many
            # Three times, each of them is looked at: the bar of a client only ever grows.
            done = min(self._entities, self._files)
            self._tell(done, 3 * self._files, counted("reading", done, self._files))
        self._making.settle(self._names)
        self._entities += len(self._making)

    def _note(self, judge: Judge, items: list[Item]) -> None:
        """Note the names that items state, and that their paths are there."""
        names = [name for item in items if (name := judge.name_if_any(item))]
        self._names.expect(names)
        for name in names:
            if isinstance(name, int) and name > self._greatest and not self._names.is_there(name):
                self._greatest = name
        for item in items if self._is_based else ():
            self._seen[composed(item.path)] = None

    def _scene(self, tally: Tally) -> Scene:
        return Scene(
            db=self._db,
            scratch=self._scratch,
            schema=self._schema,
            names=self._names,
            tally=tally,
            items=self._items,
            judge=self._judge,
            documents=self._documents,
            reason=self._reason,
            tell=self._tell,
            files=self._files,
            base=self._base,
            seen=self._seen,
            delete_missing=self._wishes.delete_missing,
        )


class _Refused(Exception):
    """Ends a transaction of which nothing is to stay."""


def _silent(done: int, total: int, message: str) -> None:
    """Tells nobody."""


def _copy(verdict: Verdict) -> Verdict:
    return msgspec.structs.replace(verdict)


def _is_workflow(verdict: Verdict) -> bool:
    return verdict.item.parsed is not None and verdict.item.parsed.class_ == DEFINITION


def _of_schema(verdicts: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if not _is_workflow(verdict)]
