"""What a note becomes: slots of a memory, and what is to be told about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from sandbar.codecs import Key, Section, UnclassedDocument, meant_by, sections_of
from sandbar.errors import Problem
from sandbar.findings import Finding
from sandbar.keywords import looks_like_ident
from sandbar.model import Introspection
from sandbar.packs.memory.links import LINK_SLOTS, RELATED
from sandbar.packs.memory.note_head import ALIAS_KEYS, IDENT_KEYS, TAG_KEYS, stated_by, tags_of
from sandbar.packs.memory.note_text import Link, References, wiki_links
from sandbar.packs.memory.vault import Vault, is_note
from sandbar.projects import Link as Wished

_TEXTS = {
    "description": "db/doc",
    "scope": "memory/scope",
    "status": "memory/status",
    "entity-type": "memory/entity-type",
}
_LISTS = {"observations": "memory/observations", **dict.fromkeys(ALIAS_KEYS, "memory/aliases")}
_OTHER_FILE = re.compile(r".*\.[A-Za-z0-9]{1,8}")


class Noted:
    """A note on its way into slots: every key becomes a slot or is kept in memory/extra."""

    def __init__(
        self, schema: Introspection, vault: Vault, path: str, document: UnclassedDocument
    ) -> None:
        self._schema = schema
        self._vault = vault
        self._path = path
        self._keys = dict(document.keys)  # those that no slot has taken yet
        self._mentioned: dict[str, None] = {}  # idents that the note refers to, in order
        self.notes: list[Finding] = []
        self.links: list[Wished] = []  # to what may be in the workspace, and is no note
        self.lines: dict[str, int] = {"memory/body": document.body_line}
        # What a note decides alone is stated even where it says nothing: None clears it.
        self.slots: dict[str, Any] = {
            "db/ident": vault.ident_of(path),
            "memory/body": document.body or None,
            "memory/imported-from": path,
        }
        stated = stated_by(document)
        if stated is not None and vault.is_named_by(path, stated):
            self._keys = {key: kept for key, kept in self._keys.items() if key not in IDENT_KEYS}
        if document.trouble is not None:
            trouble = document.trouble
            told = f"the front matter was taken as text: {trouble.message}"
            self._remark("note.front-matter", told, trouble.line, hint=trouble.hint)

    def take_keys(self, body: str) -> None:
        """Give what the front matter says to the slots that it fits."""
        for key in ("name", "title"):
            self._take_text(key, "memory/name")
        self.slots.setdefault("memory/name", _name_of(body, self._path))
        for key, slot in _TEXTS.items():
            self._take_text(key, slot)
        for key, slot in _LISTS.items():
            self._take_list(key, slot)
        self._take_type()
        self._take_created()

    def take_references(self, document: UnclassedDocument, found: References) -> None:
        """Give links and tags, of the front matter and of the text, to the slots for them."""
        for key, slot in LINK_SLOTS.items():
            self._take_links(key, slot)
        for key, kept in self._keys.items():
            for target in _links_in(kept.value) if key not in LINK_SLOTS else ():
                self._mention(target, kept.line, key)
        for link in found.links:
            self._follow(link, document.body_line - 1 + link.line)
        named = [ident for slot in LINK_SLOTS.values() for ident in self.slots.get(slot) or ()]
        for ident in (*named, self.slots["db/ident"]):
            self._mentioned.pop(ident, None)
        related = [*(self.slots.get(RELATED) or ()), *self._mentioned]
        self.slots[RELATED] = related or None
        tags = [*tags_of(document), *(mention.tag for mention in found.tags)]
        self._check_tag_keys()
        self.slots["memory/tags"] = list(dict.fromkeys(map(self._vault.add_tag, tags))) or None
        self.slots.setdefault("memory/aliases", None)
        self.slots["memory/extra"] = {key: kept.value for key, kept in self._keys.items()} or None

    # --- keys ------------------------------------------------------------------------------------

    def _take_text(self, key: str, slot: str) -> None:
        found = self._keys.get(key)
        if found is None or slot in self.slots:
            return
        if found.words is not None and len(found.words) == 1 and not isinstance(found.value, list):
            self._take(key, slot, found.words[0])
        elif found.value is not None:
            self._keep(key, found, f"{slot} takes one text")

    def _take_list(self, key: str, slot: str) -> None:
        """Texts in a list, or one alone; a slot holds each once, so others are kept whole."""
        found = self._keys.get(key)
        if found is None or found.value is None or slot in self.slots:
            return
        words = list(found.words or ())
        distinct = list(dict.fromkeys(words))
        if not words:
            self._keep(key, found, f"{slot} takes texts")
            return
        self._take(key, slot, distinct)
        if slot in self.slots and len(distinct) < len(words):
            self._keys[key] = found
            self._keep(key, found, f"{slot} holds each text once")

    def _take_type(self) -> None:
        found = self._keys.get("type")
        if found is None or found.value is None:
            return
        word = found.words[0] if found.words and len(found.words) == 1 else ""
        self._take("type", "memory/type", meant_by("keyword", word))

    def _take_created(self) -> None:
        """The moment that it names; `date` is somebody's own key and stays beside it."""
        for key in ("created", "date"):
            found = self._keys.get(key)
            if found is None or found.value is None or "memory/created" in self.slots:
                continue
            word = found.words[0].strip() if found.words and len(found.words) == 1 else ""
            meant = meant_by("instant", word)
            if meant != word:
                told = f"{key} has no offset and was taken as UTC: {meant}"
                self._remark("note.no-offset", told, found.line, key)
            self._take(key, "memory/created", meant)
            if key == "date":
                self._keys[key] = found

    def _take(self, key: str, slot: str, value: Any) -> None:
        found = self._keys[key]
        try:
            self.slots[slot] = self._schema.stored(slot, value)
        except Problem as problem:
            self._keep(key, found, problem.message)
            return
        self.lines[slot] = found.line
        del self._keys[key]

    def _keep(self, key: str, found: Key, why: str) -> None:
        """Leave a key where it is, which is memory/extra in the end, and say so."""
        self._remark("note.kept", f"{key} is kept in memory/extra: {why}", found.line, key)

    def _check_tag_keys(self) -> None:
        for key in TAG_KEYS:
            found = self._keys.get(key)
            if found is None:
                continue
            if found.words is None:
                self._keep(key, found, "memory/tags takes texts")
            else:
                del self._keys[key]
                self.lines.setdefault("memory/tags", found.line)

    # --- links -----------------------------------------------------------------------------------

    def _take_links(self, key: str, slot: str) -> None:
        """References that are stated by their kind; what leads nowhere is kept as it is."""
        found = self._keys.get(key)
        if found is None or not found.value:
            return
        if found.words is None:
            # `- [[Target]]` without quotes is a list in a list, as YAML reads it.
            words = [f"[[{name}]]" for name in _nested_names(found.value)]
        else:
            words = list(found.words)
        notes = [self._note_named(word) for word in words]
        idents = list(dict.fromkeys(self._vault.ident_of(note) for note in notes if note))
        if idents:
            self.slots[slot] = idents
            self.lines[slot] = found.line
        if words and all(notes):
            del self._keys[key]
        else:
            missing = [word for word, note in zip(words, notes, strict=True) if not note]
            for word in missing:
                self._wish(next(iter(wiki_links(word)), word.strip()), slot, found.line, key)
            others = [word for word in missing if not _ident_in(word)]
            if others or not missing:
                what = ", ".join(others)[:200] or "what it says"
                self._keep(key, found, f"{what} leads to no note of the folder")

    def _note_named(self, word: str) -> str | None:
        """The note that a word of front matter means: `[[Name]]`, `Name`, or a path."""
        target = next(iter(wiki_links(word)), word.strip())
        for name in dict.fromkeys((target, unquote(target))):
            found = self._vault.note_of_name(name, self._path)
            if found := found or self._vault.note_at(name, self._path):
                return found
        return self._vault.note_called(target)

    def _mention(self, target: str, line: int, key: str | None = None) -> None:
        note = self._vault.note_of_name(target, self._path)
        if note is not None:
            self._mentioned[self._vault.ident_of(note)] = None
        elif not self._wish(target, RELATED, line, key):
            self._report(target, line, key)

    def _wish(self, target: str, slot: str, line: int, key: str | None) -> bool:
        """Link to an entity of the workspace, if it is there: `[[product/mud-lord]]`."""
        ident = _ident_in(target)
        if ident is None or self._vault.has_other(target):
            return False
        told = f"{target[:200]} leads to no note of the folder, and to no entity"
        missing = self._told_of("note.unresolved-link", told, line, key)
        self.links.append(Wished(slot, ident, missing))
        return True

    def _follow(self, link: Link, line: int) -> None:
        if not link.is_path:
            self._mention(link.target, line)
            return
        note = self._vault.note_at(link.target, self._path)
        if note is None:
            self._report(link.target, line, None)
        else:
            self._mentioned[self._vault.ident_of(note)] = None

    def _report(self, target: str, line: int, key: str | None) -> None:
        shown = target[:200]
        if self._vault.has_other(target):
            told = f"{shown} is no note and was not imported; the text keeps the link"
            self._remark("note.attachment", told, line, key)
        elif _OTHER_FILE.fullmatch(target) and not is_note(target):
            told = f"{shown} is no note, and no file of the folder; the text keeps the link"
            self._remark("note.attachment", told, line, key)
        else:
            told = f"{shown} leads to no note of the folder; the text keeps the link"
            self._remark("note.unresolved-link", told, line, key)

    def _remark(
        self,
        code: str,
        message: str,
        line: int | None,
        key: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.notes.append(self._told_of(code, message, line, key, hint))

    def _told_of(
        self, code: str, message: str, line: int | None, key: str | None, hint: str | None = None
    ) -> Finding:
        return Finding(path=self._path, code=code, message=message, line=line, key=key, hint=hint)


def _ident_in(target: str) -> str | None:
    """The ident that a link names, if it looks like one and not like a file."""
    ident = (next(iter(wiki_links(target)), target)).strip().removeprefix(":")
    is_name = ident.count("/") == 1 and looks_like_ident(ident)
    return ident if is_name and not _OTHER_FILE.fullmatch(ident) else None


def _name_of(body: str, path: str) -> str:
    """What a note is called that does not say it: its first heading of level 1, or its file."""
    headings = (one.title for one in _in_order(sections_of(body)) if one.level == 1)
    file = path.rpartition("/")[2]
    return next(filter(None, headings), None) or file.rpartition(".")[0] or file


def _in_order(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _in_order(section.children)


def _links_in(value: Any) -> Iterator[str]:
    """The `[[targets]]` anywhere in a value of front matter."""
    if isinstance(value, str):
        yield from wiki_links(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _links_in(item)
    elif isinstance(value, list):
        yield from _nested_names(value)
        for item in value:
            yield from _links_in(item)


def _nested_names(value: Any) -> Iterator[str]:
    """`[[Name]]` without quotes, which YAML reads as a list with a list in it."""
    items = value if isinstance(value, list) else []
    for item in (value, *items):
        if isinstance(item, list) and len(item) == 1:
            inner = item[0]
            if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str):
                yield inner[0].partition("|")[0].partition("#")[0].strip()
