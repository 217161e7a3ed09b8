"""`project.export` and `project.import`: a workspace as a folder of files, and back."""

from __future__ import annotations

import io
import re
import threading
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.errors import Forbidden, Incorrect, Unavailable, Unsupported
from sandbar.projects import (
    FolderTarget,
    Imported,
    Mode,
    Prefer,
    RootedFolder,
    Source,
    Wishes,
    ZipTarget,
    apply_import,
    built_in_sources,
    choose_source,
    export_project,
    plan_import,
)
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Reason

EXPORT_URI = "mcp://sandbar/project/export/"
ZIP = "application/zip"
ZIP_BYTES_MAX = 64 << 20

_zipping = threading.BoundedSemaphore(2)  # each holds a whole workspace in memory
# Sources of packs that come with Sandbar, for whoever has not loaded them.
_BROUGHT_BY = {"notes": "memory", "server-memory": "memory"}
_STRANGE = re.compile(r"[^\w.-]")


class ExportArguments(Arguments, frozen=True, kw_only=True):
    """What of the workspace, and where to."""

    to: Annotated[
        str | None,
        Meta(description="folder on the server; else the answer names a zip to read"),
    ] = None
    classes: Annotated[list[str] | None, Meta(description="only their instances")] = None


class ExportAnswer(Answer, frozen=True, kw_only=True):
    """What was written, or where it can be read."""

    t: int
    files: int | None = None
    entities: int | None = None
    classes: dict[str, int] = msgspec.field(default_factory=dict)
    digest: str | None = None
    removed: int = 0
    edited: int = 0
    edited_paths: list[str] = msgspec.field(default_factory=list)
    uri: str | None = None
    mime_type: str | None = None


class ImportArguments(Arguments, frozen=True, kw_only=True):
    """Which files, and what to do with them."""

    from_: Annotated[str, Meta(description="folder or file on the server")] = msgspec.field(
        name="from"
    )
    apply: Annotated[bool, Meta(description="do it")] = False
    source: Annotated[
        str | None, Meta(description="kind: project, files, notes …; else recognised")
    ] = None
    class_: Annotated[str | None, Meta(description="of files that name none")] = msgspec.field(
        default=None, name="class"
    )
    mode: Annotated[Mode, Meta(description="atomic: all or nothing")] = "per-file"
    prefer: Annotated[Prefer, Meta(description="who wins a conflict")] = "nobody"
    delete_missing: Annotated[bool, Meta(description="delete what an export no longer has")] = False
    reason: Reason = None


def export(context: Context, arguments: ExportArguments) -> ExportAnswer:
    """Write the workspace to a folder, or say where it can be read."""
    classes = [context.db.schema().ident(name) for name in arguments.classes or ()]
    if arguments.to is None:
        if len(classes) > 1:
            raise Incorrect(
                "project.one-class",
                "a zip holds everything, or the instances of one class",
                hint="name one class, or a folder to write to",
            )
        uri = EXPORT_URI + (classes[0] if classes else "all")
        return ExportAnswer(t=context.db.last_t(), uri=uri, mime_type=ZIP)
    if not context.db.may_create:
        raise Forbidden(
            "project.read-only",
            "whoever only reads does not write folders either",
            hint="leave `to` out and read the zip that the answer names",
        )
    with _folder(context, arguments.to, is_made=True) as folder:
        done = export_project(
            context.db,
            context.services.codecs,
            FolderTarget(folder),
            classes=classes,
            progress=context.progress,
        )
    return ExportAnswer(**msgspec.structs.asdict(done))


def zipped(context: Context, arguments: ExportArguments) -> bytes:
    """The workspace, or the instances of some classes, as the bytes of a zip file."""
    if not _zipping.acquire(blocking=False):
        raise Unavailable(
            "project.zips-busy", "other zips are being made right now", hint="try again soon"
        )
    try:
        file = _Bounded()
        target = ZipTarget(file)
        classes = arguments.classes or []
        export_project(context.db, context.services.codecs, target, classes=classes)
        return file.getvalue()
    finally:
        _zipping.release()


class _Bounded(io.BytesIO):
    """A file in memory that does not grow without end."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > ZIP_BYTES_MAX:
            raise Incorrect(
                "project.too-large",
                f"the zip has more than {ZIP_BYTES_MAX:,} bytes",
                hint="export one class at a time, or to a folder with `to`",
            )
        return super().write(data)


def import_(context: Context, arguments: ImportArguments) -> Imported:
    """Read files into the workspace, or tell what that would do."""
    wishes = Wishes(
        prefer=arguments.prefer,
        delete_missing=arguments.delete_missing,
        mode=arguments.mode,
        reason=arguments.reason,
        progress=context.progress,
    )
    run = apply_import if arguments.apply else plan_import
    with _folder(context, arguments.from_) as folder:
        sources = _sources(context, arguments.class_)
        kind = _kind(arguments)
        _check_pack(kind, sources)
        source = choose_source(folder, sources, kind)
        return run(context.db, context.workflows, context.services.codecs, folder, source, wishes)


def _sources(context: Context, cls: str | None) -> tuple[Source, ...]:
    """An export first, what packs recognise next, any folder of files last."""
    project, files = built_in_sources(cls)
    return project, *context.services.sources, files


def _kind(arguments: ImportArguments) -> str | None:
    """A class is named for files that are nothing but files."""
    return "files" if arguments.source is None and arguments.class_ else arguments.source


def _check_pack(kind: str | None, sources: tuple[Source, ...]) -> None:
    """A source that is known, but not here: its pack has to be loaded first."""
    pack = None if kind is None else _BROUGHT_BY.get(kind)
    if pack is not None and kind not in [source.name for source in sources]:
        raise Unsupported(
            "project.unknown-source",
            f"the source {kind} comes with the pack {pack}, which this workspace does not have",
            hint=f"`sandbar pack add {pack}` loads it; then import once more",
        )


def _folder(context: Context, path: str, *, is_made: bool = False) -> RootedFolder:
    """The folder that is meant: anywhere for who sits at this machine, else below the root."""
    if context.db.caller.is_at_machine:
        return RootedFolder(Path(path), is_made=True) if is_made else RootedFolder.of(Path(path))
    if context.services.projects is None:
        raise Forbidden(
            "project.no-folder",
            "this server lets nobody export to folders or import from them",
            hint="its operator allows it with `sandbar serve --projects FOLDER`; project.export "
            "without `to` offers a zip",
        )
    if context.db.is_scoped:
        # Files know nothing of classes: in a folder, others' exports would be read and replaced.
        raise Forbidden(
            "project.narrow-key",
            "a key that is narrowed to classes reads and writes no folders",
            hint="project.export without `to` offers a zip of what it may see",
        )
    home = project_home(context.services.projects, context.db.caller.workspace, context.db.number)
    return RootedFolder(home, path, is_made=is_made, within=home.name)


def project_home(root: Path, workspace: str, number: int) -> Path:
    """The folder below the root that is a workspace's own; it is made if it is not there.

    A workspace that comes after another of the same name has another one: hence the number.
    """
    home = root / f"{_STRANGE.sub('_', workspace)[:80]}-{number}"
    RootedFolder(home, is_made=True).close()
    return home


VERBS = (
    Verb(
        name="project.export",
        title="Export the workspace",
        description="Write the workspace to a folder of files (Markdown, JSON), or offer a zip. "
        "One entity as a document: entity.find with format.",
        access="read",
        arguments=ExportArguments,
        result=ExportAnswer,
        run=export,
        writes_files=True,
        is_long=True,
        examples=(
            Example("As a zip to read", {}),
            Example("Only boots", {"classes": ["zorp/Boot"]}),
        ),
    ),
    Verb(
        name="project.import",
        title="Import files",
        description="Plan the import of files (an export, notes, JSON Lines, CSV, server-memory), "
        "or with apply do it. Tells what is new, changed, in conflict, refused.",
        access="write",
        arguments=ImportArguments,
        result=Imported,
        run=import_,
        is_destructive=True,
        is_long=True,
        is_idempotent=True,
        aliases={"persist": "apply"},
        examples=(Example("What an export would change", {"from": "<exported folder>"}),),
    ),
)

# What `project.export` names when it offers a zip: doors read it, and nobody calls it by a name.
AS_ZIP = msgspec.structs.replace(VERBS[0], run=zipped, result=bytes)
