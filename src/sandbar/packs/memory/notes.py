"""The source `notes`: a folder of Markdown notes as people have them, such as an Obsidian vault.

Nothing of a note is dropped: its text stays as it is, keys of its front matter become slots or stay
in memory/extra, and what could not be understood is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator

from sandbar.codecs import Codecs, Parsed, UnclassedDocument
from sandbar.errors import Problem
from sandbar.model import Introspection
from sandbar.packs.memory.answers import MEMORY
from sandbar.packs.memory.note_head import ALIAS_KEYS, read_note, stated_by, tags_of, words_of
from sandbar.packs.memory.note_slots import Noted
from sandbar.packs.memory.note_text import references_of
from sandbar.packs.memory.vault import TAG, Vault, is_note
from sandbar.projects import Item, RootedFolder
from sandbar.scratch import Scratch

_SIGNS_OF_A_VAULT = ("app", "appearance", "core-plugins", "workspace")


class NotesSource:
    """A folder of notes."""

    name = "notes"

    def recognises(self, folder: RootedFolder) -> bool:
        """Whether Obsidian has opened the folder; other folders of Markdown are named."""
        return any(folder.has(f".obsidian/{sign}.json") for sign in _SIGNS_OF_A_VAULT)

    def items(
        self,
        folder: RootedFolder,
        schema: Introspection,
        codecs: Codecs,
        *,
        only: Container[str] | None = None,
    ) -> Iterator[Item]:
        """First the tags, then every file."""
        with Scratch() as scratch:
            vault = _vault_of(folder, schema, scratch)
            yield from _tags(vault, only)
            for found in folder.files():
                if only is not None and found.path not in only:
                    continue
                if found.problem is not None or not is_note(found.path):
                    yield Item(path=found.path, problem=found.problem)
                    continue
                yield _item(folder, schema, vault, found.path)


def _tags(vault: Vault, only: Container[str] | None) -> Iterator[Item]:
    for tag in vault.tags():
        path = f"#{tag.names[0]}"
        if only is None or path in only:
            slots = {
                "db/ident": tag.ident,
                "tag/name": tag.names[0],
                "tag/aliases": tag.names[1:] or None,
                "tag/parent": tag.parent,
            }
            yield Item(path=path, parsed=Parsed(class_=TAG, slots=slots), is_whole=False)


def _item(folder: RootedFolder, schema: Introspection, vault: Vault, path: str) -> Item:
    try:
        data = folder.read(path)
        document = read_note(data)
    except Problem as problem:
        return Item(path=path, problem=problem)
    found = references_of(document.body)
    if not vault.has_note(path):  # it was unreadable a moment ago
        _take_in(vault, path, document)
        vault.settle()
    noted = Noted(schema, vault, path, document)
    noted.take_keys(document.body)
    noted.take_references(document, found)
    return Item(
        path=path,
        parsed=Parsed(class_=MEMORY, slots=noted.slots, lines=noted.lines),
        digest=hashlib.sha256(data).hexdigest(),
        size=len(data),
        is_whole=False,
        notes=tuple(noted.notes),
        links=tuple(noted.links),
    )


def _vault_of(folder: RootedFolder, schema: Introspection, scratch: Scratch) -> Vault:
    """Look at every note once, for what the others may call it."""
    vault = Vault(schema, scratch)
    for found in folder.files():
        if found.problem is not None:
            continue
        if not is_note(found.path):
            vault.add_other(found.path)
            continue
        try:
            document = read_note(folder.read(found.path))
        except Problem:
            continue  # its item will say what is wrong with it
        _take_in(vault, found.path, document)
    vault.settle()
    return vault


def _take_in(vault: Vault, path: str, document: UnclassedDocument) -> None:
    mentions = references_of(document.body).tags
    tags = [*tags_of(document), *(mention.tag for mention in mentions)]
    vault.add_note(path, words_of(document, *ALIAS_KEYS), tags, stated_by(document))
