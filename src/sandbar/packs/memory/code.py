"""What the memory pack does: three verbs, and the import of what people have today."""

from __future__ import annotations

from sandbar.packs.memory.backlinks import Backlinks, BacklinksArguments, backlinks
from sandbar.packs.memory.changes import Changes, ChangesArguments, changes
from sandbar.packs.memory.notes import NotesSource
from sandbar.packs.memory.sections import Sections, SectionsArguments, sections
from sandbar.packs.memory.server_memory import ServerMemorySource
from sandbar.verbs import Verb

_ALIASES = {"entity": "memory", "id": "memory", "ident": "memory", "entity-id": "memory"}

VERBS = (
    Verb(
        name="memory.backlinks",
        title="What refers to a memory",
        description="List what refers to a memory, by which slot and with names.",
        access="read",
        arguments=BacklinksArguments,
        result=Backlinks,
        run=backlinks,
        aliases=_ALIASES,
    ),
    Verb(
        name="memory.sections",
        title="Sections of a memory",
        description="The headings of a memory as a tree, with line, anchor and length. "
        "With store they become mm/Section entities, which search.text finds.",
        access="write",
        arguments=SectionsArguments,
        result=Sections,
        run=sections,
        is_housekeeping=True,
        aliases=_ALIASES,
        is_idempotent=True,
    ),
    Verb(
        name="memory.changes",
        title="Memories since a moment",
        description="List memories made or changed since a moment, oldest first: who and when.",
        access="read",
        arguments=ChangesArguments,
        result=Changes,
        run=changes,
    ),
)
SOURCES = (NotesSource(), ServerMemorySource())
