"""Projects: a workspace as a folder of files that people can read, and back.

This package is the only door; nobody imports its rooms. Everything goes through `access.Guarded`:
a caller exports what they may see, and imports what they may write.

    with RootedFolder(root, "shop", is_made=True) as folder:
        export_project(db, codecs, FolderTarget(folder))

    with RootedFolder(root, "shop") as folder:
        source = choose_source(folder, [*pack_sources, *built_in_sources()])
        plan_import(db, workflows, codecs, folder, source)
        apply_import(db, workflows, codecs, folder, source, Wishes(mode="atomic"))
"""

from sandbar.projects.built_in import built_in_sources
from sandbar.projects.comparing import Comparison
from sandbar.projects.documents import Document, Documents
from sandbar.projects.exporting import export_project
from sandbar.projects.importing import Wishes, apply_import, plan_import
from sandbar.projects.layout import Placed, placed
from sandbar.projects.results import (
    Exported,
    Imported,
    Mode,
    Planned,
    Prefer,
    Progress,
)
from sandbar.projects.rooted import Found, RootedFolder
from sandbar.projects.sources import Item, Link, Source, choose_source
from sandbar.projects.targets import FolderTarget, Target, ZipTarget

__all__ = [
    "Comparison",
    "Document",
    "Documents",
    "Exported",
    "FolderTarget",
    "Found",
    "Imported",
    "Item",
    "Link",
    "Mode",
    "Placed",
    "Planned",
    "Prefer",
    "Progress",
    "RootedFolder",
    "Source",
    "Target",
    "Wishes",
    "ZipTarget",
    "apply_import",
    "built_in_sources",
    "choose_source",
    "export_project",
    "placed",
    "plan_import",
]
