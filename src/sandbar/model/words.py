"""Words: how text is parted and folded for searching, once for both stores.

A word is a run of letters, digits and marks. Case and accents do not count, compatible forms (such
as ligatures) are one, and each Chinese or Japanese character is a word of its own, since nothing
parts them. Whatever else there is parts words and is otherwise ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unicodedata import category, normalize

from sandbar.model.documents import Doc
from sandbar.model.schema import Class
from sandbar.store import GAP

WORD_CHARACTERS_MAX = 255
"""A longer word counts by its beginning."""

ENTITY_WORDS_MAX = 10_000
ENTITY_BYTES_MAX = 512 * 1024
WORD_TIMES_MAX = 255
"""More often, and PostgreSQL loses places: then a phrase would be found in one store only."""

_SEPARATOR = "\x1f"  # stands between values, and becomes a gap
_BETWEEN = f" {_SEPARATOR} "
_ALONE = (
    range(0x3040, 0x3100),  # Hiragana, Katakana
    range(0x31F0, 0x3200),
    range(0x3400, 0x4DC0),  # Han
    range(0x4E00, 0xA000),
    range(0x20000, 0x32000),
)
_ACCENTS = (range(0x0300, 0x0370), range(0x3099, 0x309B))


class _Folding(dict[int, str | None]):
    """What becomes of each character; known ones are kept."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        folded: str | None = " "
        if any(code in accents for accents in _ACCENTS):
            folded = None
        elif category(letter)[0] in "LNM":
            folded = f" {letter} " if any(code in alone for alone in _ALONE) else letter
        self[code] = folded
        return folded


_FOLDING = _Folding(dict.fromkeys(range(128), " "))
_FOLDING.update({ord(c): c.lower() for c in map(chr, range(128)) if c.isalnum()})
_FOLDING[ord(_SEPARATOR)] = GAP
_FOLDING_OF_ASCII = "".join(str(_FOLDING[code]) for code in range(128)).encode() + bytes(128)


def fold(text: str) -> str:
    """The text as words with blanks between them."""
    if text.isascii():  # several times quicker than by the character
        return text.encode().translate(_FOLDING_OF_ASCII).decode()
    return normalize("NFKD", normalize("NFKD", text).casefold()).translate(_FOLDING)


def words_in(text: str) -> list[str]:
    """The words of a text."""
    return [word[:WORD_CHARACTERS_MAX] for word in fold(text).split() if word != GAP]


ALONE, WITHIN = "a", "w"
"""In an outline: a character that is a word of its own, and one that is part of a word."""


class _Outline(dict[int, str]):
    """What kind of character each one is; known ones are kept."""

    def __missing__(self, code: int) -> str:
        kind = " "
        if any(code in accents for accents in _ACCENTS) or words_in(chr(code)):
            kind = ALONE if any(code in alone for alone in _ALONE) else WITHIN
        self[code] = kind
        return kind


_OUTLINE = _Outline()


def outline(text: str) -> str:
    """The text with a letter for each character that says where words are; as long as the text."""
    return text.translate(_OUTLINE)


def entity_words(cls: Class, doc: Doc) -> list[str]:
    """What an entity is searched by: the words of its text slots."""
    texts: list[str] = []
    for key, many in cls.text_slots:
        stored = doc.get(key)
        if stored is None:
            continue
        if many:
            texts += stored
        else:
            texts.append(stored)
    if not texts:
        return texts
    text = _BETWEEN.join(texts)
    words = fold(text).split()
    return _bounded(words) if len(text) > WORD_CHARACTERS_MAX else words


def _bounded(words: list[str]) -> list[str]:
    if len(max(words, key=len, default="")) > WORD_CHARACTERS_MAX:
        words = [word[:WORD_CHARACTERS_MAX] for word in words]
    if len(words) <= WORD_TIMES_MAX:
        return words
    return list(_rare(words[:ENTITY_WORDS_MAX]))


def _rare(words: Iterable[str]) -> Iterator[str]:
    """The words, with gaps for those that come too often, and no more than there is room for."""
    times: dict[str, int] = {}
    room = ENTITY_BYTES_MAX
    for word in words:
        room -= len(word.encode()) + 1
        if room < 0:
            return
        times[word] = seen = times.get(word, 0) + 1
        yield word if seen <= WORD_TIMES_MAX else GAP
