"""Exporting: every entity that the caller is shown becomes a file, all as of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sandbar.access import Guarded, is_protected, kept_classes, protected_classes
from sandbar.codecs import Codecs, parse_one
from sandbar.errors import Problem
from sandbar.model import FIRST_FREE_ID, Entity, Introspection
from sandbar.projects.accounts import portable_accounts
from sandbar.projects.comparing import Comparison
from sandbar.projects.documents import SPEC, Documents
from sandbar.projects.judging import is_same_workflow
from sandbar.projects.layout import Layout
from sandbar.projects.names import found
from sandbar.projects.places import Places
from sandbar.projects.reading import suffix_of
from sandbar.projects.results import Exported, Progress, counted
from sandbar.projects.sources import Item
from sandbar.projects.sums import digest_of, write_sums
from sandbar.projects.targets import Target, in_the_way
from sandbar.workflow import CALL, DEFINITION, OWN_DEFINITIONS, VALIDATION

_PAGE = 500
_SORTED_HERE_MAX = 1_000
_METACLASSES = frozenset({"dt/Class", "dt/Property"})
_OWN_WORKFLOWS = frozenset({CALL, VALIDATION})


def export_project(
    db: Guarded,
    codecs: Codecs,
    target: Target,
    *,
    classes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Exported:
    """Write the workspace, or the instances of some classes, to a folder or an archive.

    Not written: accounts, processes and their history, secrets, and whatever every workspace has.
    """
    try:
        return _Export(db, codecs, target, progress).run(classes)
    finally:
        target.close()


def is_exported(schema: Introspection, entity: Entity) -> bool:
    """Whether an entity has a file of its own."""
    if entity.class_ == DEFINITION:
        return entity.ident is not None and entity.ident not in _OWN_WORKFLOWS
    if entity.entity_id < FIRST_FREE_ID or entity.class_ not in exported_classes(schema):
        return False
    is_definition = any(schema.is_kind(entity.class_, meta) for meta in _METACLASSES)
    name = entity.ident or ""
    return not (is_definition and (is_protected(name) or name in OWN_DEFINITIONS))


def exported_classes(schema: Introspection) -> frozenset[str]:
    """The classes whose instances are written; of definitions of workflows, the current ones."""

    def make() -> frozenset[str]:
        kept = protected_classes(schema) | kept_classes(schema)
        own = {DEFINITION} & set(schema.classes())
        return frozenset(c for c in schema.classes() if not schema.is_abstract(c)) - kept | own

    return schema.derived("project.classes", make)


class _Export:
    def __init__(
        self, db: Guarded, codecs: Codecs, target: Target, progress: Progress | None
    ) -> None:
        self._db = db
        self._target = target
        self._tell = progress or (lambda done, total, message: None)
        self._t = db.last_t()
        self._schema = db.schema(self._t)
        portable = portable_accounts(db, self._schema, self._t)
        self._documents = Documents(self._schema, codecs, portable)
        self._codecs = codecs
        self._comparison = Comparison(self._schema, partial(found, db))
        self._places = Places(self._schema)
        self._strays: dict[str, Item] = {}  # by ident: what files say that no export has written
        self._sums: list[tuple[str, bytes]] = []
        self._counts: dict[str, int] = {}

    def run(self, classes: Sequence[str]) -> Exported:
        chosen = self._chosen(classes)
        total = sum(self._db.instance_count(cls) for cls in self._tops(chosen))
        everything = exported_classes(self._schema)
        # Of all of them: so the path of an entity does not depend on what else is chosen.
        layout = Layout(sorted(everything))
        self._target.begin()
        for item in self._target.strays(self._schema, self._codecs):
            if item.parsed is not None and item.digest is not None:
                self._strays.setdefault(item.parsed.slots.get("db/ident", ""), item)
        self._tell(0, max(total, 1), counted("exporting", 0, total))
        for cls in chosen:
            layout.enter(cls, self._idents(cls))
            for entity in self._instances(cls):
                self._write(layout, entity, total)
        files = len(self._sums)
        scope = None if everything <= set(chosen) else frozenset(chosen)
        kept = self._target.settle((path for path, _ in self._sums), scope)
        self._sums += [(path, bytes.fromhex(digest)) for path, digest in kept.items()]
        sums = write_sums(self._sums)
        left = self._target.finish(sums, len(self._sums))
        self._tell(max(total, files, 1), max(total, files, 1), "exported")
        return Exported(
            files=files,
            entities=files,
            classes={cls: count for cls, count in sorted(self._counts.items()) if count},
            t=self._t,
            digest=digest_of(sums),
            removed=left.removed,
            edited=left.edited,
            edited_paths=left.edited_paths,
        )

    def _chosen(self, classes: Sequence[str]) -> list[str]:
        """The classes to be written that the caller is shown, by name."""
        schema = self._schema
        exported = exported_classes(schema)
        if classes:
            exported &= schema.below([schema.ident(cls) for cls in classes])
        return sorted(cls for cls in exported if self._db.sees(cls))

    def _tops(self, chosen: list[str]) -> list[str]:
        """Those of them that are below no other: a count holds what is below."""
        known = set(chosen)
        return [cls for cls in chosen if known.isdisjoint(self._schema.ancestors(cls))]

    def _write(self, layout: Layout, entity: Entity, total: int) -> None:
        suffix, data = self._documents.of(entity)
        path = layout.path(entity.ident, entity.entity_id, suffix)
        stray = self._stray(entity, path)
        digest = self._target.put(path, data, partial(self._says_same, entity, path))
        self._sums.append((path, bytes.fromhex(digest)))
        if stray is not None:
            self._target.take_away(stray)
        self._counts[entity.class_] = self._counts.get(entity.class_, 0) + 1
        done = len(self._sums)
        if done % 100 == 0:
            total = max(total, done)
            self._tell(done, total, counted("exporting", done, total))

    def _stray(self, entity: Entity, path: str) -> str | None:
        """The file that somebody made for an entity elsewhere: it was imported, or is in the way.

        Two files about one entity could not be imported any more.
        """
        item = self._strays.get(entity.ident or "")
        if item is None or item.parsed is None or item.path == path:
            return None
        if item.parsed.class_ != entity.class_ or entity.class_ == DEFINITION:
            return None
        if self._comparison.differences(item.parsed, entity, is_exact=False, is_whole=True):
            raise in_the_way(item.path)
        return item.path

    def _says_same(self, entity: Entity, path: str, data: bytes, is_exact: bool) -> bool:
        """Whether a file says what the entity is, in other words: it was edited, then imported."""
        codec = self._codecs.of_suffix(suffix_of(path))
        if codec is None:
            return False
        try:
            if entity.class_ == DEFINITION:
                return is_same_workflow(data.decode(), entity[SPEC])
            place = self._places.of(path)
            parsed = parse_one(codec, data.decode(), self._schema, entity.class_, place=place)
            name = parsed.slots.get("db/ident", parsed.id)
            changes = self._comparison.differences(parsed, entity, is_exact=is_exact, is_whole=True)
        except (Problem, UnicodeDecodeError):
            return False
        return name == (entity.ident or entity.entity_id) and not changes

    # --- looking -----------------------------------------------------------------------------

    def _idents(self, cls: str) -> Iterator[str]:
        """The names of the direct instances of a class, in any order."""
        for entity in self._each(cls, fields=["db/ident"]):
            if entity.ident is not None:
                yield entity.ident

    def _instances(self, cls: str) -> Iterator[Entity]:
        """The direct instances to be written, by ident, then by number: always in this order."""
        if self._db.instance_count(cls) <= _SORTED_HERE_MAX:
            few = [one for one in self._each(cls) if is_exported(self._schema, one)]
            yield from sorted(few, key=lambda one: (one.ident is None, one.ident, one.entity_id))
            return
        for entity in self._each(cls, order_by="db/ident"):
            if is_exported(self._schema, entity):
                yield entity

    def _each(
        self, cls: str, *, order_by: str | None = None, fields: list[str] | None = None
    ) -> Iterator[Entity]:
        below = self._schema.subclasses(cls, direct=True)
        cursor = None
        while True:
            page = self._db.query(
                cls,
                order_by=order_by,
                fields=fields,
                limit=_PAGE,
                cursor=cursor,
                as_of=self._t,
                hidden=below,
            )
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return
