"""One round of a watch: look at both sides, decide pair by pair, carry it out, write it down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from sandbar.access import Guarded
from sandbar.clock import monotonic_s
from sandbar.codecs import Codecs, Place, stated_ident
from sandbar.errors import Conflict, Problem, Unavailable
from sandbar.model import Standing as WorkspaceStanding
from sandbar.projects.sync import events
from sandbar.projects.sync.carrying import Carrying
from sandbar.projects.sync.deleting import Deleting
from sandbar.projects.sync.desk import Desk
from sandbar.projects.sync.entities import Entities
from sandbar.projects.sync.home import Home
from sandbar.projects.sync.journal import Owner
from sandbar.projects.sync.looking import Folder, Seen
from sandbar.projects.sync.meaning import Meaning
from sandbar.projects.sync.pairing import Look, Pairing
from sandbar.projects.sync.paths import CONFLICT, Paths
from sandbar.projects.sync.placing import Files
from sandbar.projects.sync.rewriting import Rewriting
from sandbar.projects.sync.table import state_of

_CHUNK = 500
_FORMAT = "markdown"
_GONE_S = 0.3  # a file counts as deleted when it was missing for so long
_MASS_MIN = 10
_MASS_WINDOW_S = 30.0

Tell = Callable[[events.Event], None]


class Sync:
    """A folder and the instances of a class, kept in step. One thread uses it."""

    def __init__(
        self,
        db: Guarded,
        standing: Callable[[], WorkspaceStanding],
        codecs: Codecs,
        folder: Path,
        class_: str,
        tell: Tell,
        *,
        state: Path,
    ) -> None:
        """`state` is a folder of the user's own, outside: there lies what proves the journal."""
        self._db = db
        schema = db.schema()
        self._class = schema.ident(class_)
        self._codec = codecs.named(_FORMAT)
        home_space = schema.document(self._class).ident_in or self._class.partition("/")[0]
        self._paths = Paths(home_space, self._codec.suffixes)
        self._tell = tell = events.in_plain_text(tell)
        root = folder.resolve()
        owner = self._owner(standing().epoch)
        self._home = Home(root, state, owner)
        self._folder = Folder(root, self._home.folder, self._paths)
        try:
            self._begin_journal(owner)
            self._entities = Entities(db, standing, self._class)
            files = Files(self._folder, self._home, self._paths, self._keep_late)
            files.begin()
        except BaseException:
            self._home.close()
            raise
        self._files = files
        self._pairing = Pairing(self._home.journal, self._entities, self._paths)
        self._note_renamed()
        self._seen: dict[str, Seen] = {}
        self._present: set[str] = set()
        self._missing: dict[str, float] = {}  # agreed on and not there: since when
        self._deleted: list[float] = []  # when entities were deleted because files were
        self._desk = Desk(
            db, self._home.journal, files, self._pairing, self._entities, self._paths, tell
        )
        self._rewriting = Rewriting(self._desk)
        self._carrying = Carrying(self._desk, self._rewriting)
        self._deleting = Deleting(self._desk, self._rewriting)
        self._again: set[str] = set()  # files that somebody was writing
        self._ids: set[int] = set(self._entities.known)  # entities to look at

    def close(self) -> None:
        """Let go of the folder."""
        self._files.look_again(is_last=True)
        self._home.close()

    @property
    def root(self) -> Path:
        """The folder."""
        return self._folder.root

    @property
    def is_waiting(self) -> bool:
        """Whether something is to be looked at again soon."""
        return bool(self._again or self._missing or self._ids)

    def standing(self) -> events.Standing:
        """What there is on both sides, before anything is done."""
        agreements = self._home.journal.agreements
        there = self._folder.all()
        changed = 0
        for path in agreements.keys() & there.keys():
            found = self._folder.read(path)
            changed += found is not None and found[0].sha != agreements[path].sha
        known = self._entities.known
        agreed = {one.entity: one.t for one in agreements.values()}
        return events.Standing(
            files=len(there),
            entities=len(known),
            agreed=len(agreements),
            files_new=len(there.keys() - agreements.keys()),
            files_changed=changed,
            files_gone=len(agreements.keys() - there.keys()),
            entities_new=len(known.keys() - agreed.keys()),
            entities_changed=sum(id in known and known[id].t != t for id, t in agreed.items()),
            entities_gone=len(agreed.keys() - known.keys()),
            conflict_files=self._conflict_files(),
        )

    def relative(self, path: str) -> str | None:
        """The path of a file that something has happened to; None if it may be a whole folder."""
        inside = self._folder.relative(path)
        if inside is None or Path(path).is_dir():
            return None
        return inside if "." in inside.rpartition("/")[2] else None

    def round(self, touched: Iterable[str] | None = None) -> None:
        """Look at these files (or all) and at what is new in the workspace, and act on it."""
        if not self._home.journal.is_in_place():
            raise Conflict(
                "watch.folder-gone",
                f"{self.root} is not what it was: it was moved, emptied or unmounted",
                hint="nothing was deleted in the workspace; put it back and start again",
            )
        try:
            self._round(touched)
        except OSError as error:
            self._ids |= self._entities.known.keys()
            self._seen = {}
            raise Unavailable(
                "watch.disk",
                events.plain(f"{error.filename or self.root}: {error.strerror or error}"),
                hint="look at the disk and at the rights of the folder; nothing was lost",
            ) from error

    def _round(self, touched: Iterable[str] | None) -> None:
        self._ids |= self._entities.news()
        dirty = self._look(touched)
        dirty |= self._desk.refusals.due_again(self._entities.names, is_any=bool(dirty))
        ids, self._ids = self._ids, set()
        if dirty or ids or self._missing:
            self._act(dirty, ids)
        self._files.look_again()

    def _act(self, dirty: set[str], ids: set[int]) -> None:
        schema = self._db.schema()
        meaning = Meaning(
            schema, self._codec, self._class, self._paths, self._ident_of, self._place
        )
        self._desk.begin(meaning, self._present)
        self._carrying.begin()
        paths = dirty | {self._pairing.path_of[id] for id in ids if id in self._pairing.path_of}
        lone = {id for id in ids if id not in self._pairing.path_of}
        for chunk in _chunks(sorted(paths & self._present)):
            lone |= self._present_files(chunk, dirty, meaning)
        for _ in range(len(paths) + 1):
            if not self._carrying.retry():
                break
        self._vanished()
        self._rewriting.write_lone(lone & self._entities.known.keys())
        self._desk.finish()
        self._ids |= self._desk.again
        self._again |= self._desk.again_paths
        self._ids |= self._stale()

    # --- looking -----------------------------------------------------------------------------

    def _look(self, touched: Iterable[str] | None) -> set[str]:
        """The files whose content is to be looked at: of those that may have changed."""
        agreements = self._home.journal.agreements
        if touched is not None:
            asked = {*touched, *self._again}
            there = self._folder.statuses(asked)
            if any(path in agreements for path in asked - there.keys()):
                touched = None  # perhaps it was only moved, and where to is not known
            else:
                self._present = (self._present - asked) | there.keys()
        if touched is None:
            there = self._folder.all()
            asked = {*there, *self._present, *agreements}
            self._present = set(there)
        self._again = set()
        now = monotonic_s()
        for path in asked - there.keys():
            self._seen.pop(path, None)
            if path in agreements:
                self._missing.setdefault(path, now)
        for path in there.keys() & self._missing.keys():
            del self._missing[path]
        return {path for path, status in there.items() if not self._is_known(path, status)}

    def _is_known(self, path: str, status: tuple[int, int, int, int]) -> bool:
        seen = self._seen.get(path)
        return seen is not None and seen.status == status and not seen.is_fresh

    def _present_files(self, chunk: list[str], dirty: set[str], meaning: Meaning) -> set[int]:
        """Act on files that are there."""
        looks: list[Look] = []
        same: list[str] = []
        agreements = self._home.journal.agreements
        settled = dict(self._folder.settled(path for path in chunk if path in dirty))
        for path in chunk:
            if path not in dirty and (found := self._folder.read(path)) is not None:
                settled[path] = found
        for path in chunk:
            if path not in settled:
                if path in self._folder.unreadable:
                    self._desk.refusals.unreadable(path, self._folder.unreadable[path])
                else:
                    self._again.add(path)
                continue
            seen, data = settled[path]
            self._seen[path] = seen
            agreement = agreements.get(path)
            if agreement is not None and agreement.sha == seen.sha:
                same.append(path)
                continue
            look = Look(path, seen, data)
            self._read(look, meaning)
            looks.append(look)
        orphans = self._pairing.pair(looks, self._present)
        for path in {look.moved_from for look in looks if look.moved_from}:
            self._missing.pop(path, None)
        self._carrying.carry(looks, {path: settled[path] for path in same})
        return orphans

    def _read(self, look: Look, meaning: Meaning) -> None:
        agreement = self._home.journal.agreements.get(look.path)
        entity = None if agreement is None else self._entities.load(agreement.entity)
        try:
            class_ = None if entity is None else entity.class_
            look.stated = meaning.of_file(look.path, look.data, class_)
            look.said = look.stated.ident
        except Problem as problem:
            look.problem = problem
            look.said = _said(look.path, look.data)

    def _place(self, path: str) -> Place:
        has = self._present.__contains__
        return Place(path, stated=self._ident_at, has=has, keeps_misfits=True)

    def _ident_at(self, path: str) -> str | None:
        """The ident of the entity of a file: the one that it has, or that the file states."""
        agreement = self._home.journal.agreements.get(path)
        known = None if agreement is None else self._entities.known.get(agreement.entity)
        if known is not None:
            return known.ident
        found = self._folder.read(path) if path in self._present else None
        return None if found is None else _said(path, found[1])

    def _ident_of(self, named: int | str) -> str | None:
        """The ident of an entity, if there is one of that number or name."""
        known = self._entities.known.get(named) if isinstance(named, int) else None
        if known is not None:
            return known.ident
        try:
            return self._db.get(named).ident
        except Problem:
            return None  # whoever writes it is told that there is no such entity

    def _stale(self) -> set[int]:
        """Entities whose files name others by idents that those have no more."""
        renamed, self._entities.renamed = self._entities.renamed, set()
        stale = set(self._entities.referring(renamed)) if renamed else set()
        self._desk.stale |= stale
        return stale

    # --- what is gone ------------------------------------------------------------------------

    def _vanished(self) -> None:
        """Act on files that are gone, once it is clear that they were deleted."""
        agreements = self._home.journal.agreements
        self._missing = {
            path: since
            for path, since in self._missing.items()
            if path in agreements and path not in self._present
        }
        now = monotonic_s()
        if not self._missing or now - max(self._missing.values()) < _GONE_S:
            return
        there = self._folder.statuses(self._missing)
        gone = [path for path in sorted(self._missing) if path not in there]
        self._again |= there.keys()
        dying = [p for p in gone if self._state(p) == "same"]
        self._refuse_masses(len(dying), now)
        self._deleted += [now] * len(dying)
        self._deleting.carry(gone)
        self._missing = {}

    def _state(self, path: str) -> str:
        agreement = self._home.journal.agreements[path]
        known = self._entities.known.get(agreement.entity)
        return state_of(None if known is None else known.t, agreement.t)

    def _refuse_masses(self, count: int, now: float) -> None:
        """Stop rather than delete most of a workspace because a disk was unmounted."""
        self._deleted = [at for at in self._deleted if now - at < _MASS_WINDOW_S]
        gone = count + len(self._deleted)
        of = len(self._home.journal.agreements) + len(self._deleted)
        if of >= _MASS_MIN and gone * 2 > of and count:
            raise Conflict(
                "watch.mass-disappearance",
                f"{gone} of {of} files are gone at once; their entities were not deleted",
                hint="put the files back and start again; or remove the folder .sandbar, and they"
                " are written anew; or delete the entities themselves",
            )

    # --- beginning ---------------------------------------------------------------------------

    def _owner(self, epoch: int) -> Owner:
        first = self._db.changes(since=0, limit=1)
        origin = first[0].instant if first else ""
        return Owner(self._db.caller.workspace, origin, epoch, self._class)

    def _begin_journal(self, owner: Owner) -> None:
        before = self._home.journal.owner
        if before is not None and (before.origin, before.class_) != (owner.origin, self._class):
            raise Conflict(
                "watch.other-workspace",
                f"{self.root} is kept in step with {events.plain(before.class_)} of"
                + (" this" if before.origin == owner.origin else " another")
                + f" workspace ({events.plain(before.workspace)})",
                hint="look at --database, --workspace and --class; if it is to change sides, remove"
                " the folder .sandbar in it: then both sides are compared, and nothing is deleted",
            )
        self._home.journal.begin(owner)

    def _note_renamed(self) -> None:
        """Idents that have changed while nobody watched."""
        known = self._entities.known
        for agreement in self._home.journal.agreements.values():
            now = known.get(agreement.entity)
            if now is not None and now.ident != agreement.ident:
                self._entities.renamed.add(agreement.entity)

    def _conflict_files(self) -> int:
        suffix = self._codec.suffixes[0]
        found = self.root.rglob(f"*.conflict-*{suffix}")
        return sum(bool(CONFLICT.search(path.name.removesuffix(suffix))) for path in found)

    def _keep_late(self, path: str, kept: str) -> None:
        self._tell(
            events.Event(
                kind="conflict",
                path=path,
                kept=kept,
                reason="somebody was still writing to the version that was replaced",
            )
        )


def _said(path: str, data: bytes) -> str | None:
    """The ident that a file states, whatever else is wrong with it."""
    return stated_ident(data.decode(errors="replace"), f".{path.rpartition('.')[2]}")


def _chunks(paths: list[str]) -> Iterable[list[str]]:
    rest = iter(paths)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk
