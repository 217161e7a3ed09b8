"""Keywords: `ns/name` strings that name classes, properties and entities.

A leading colon is accepted on the way in and never written on the way out. The letters of an ident
are composed (NFC), so that two spellings of one word are one name; nothing is folded, and keywords
that are values stay as they are. No new ident looks like one of a reserved namespace without being
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar
from unicodedata import category, normalize

from sandbar.errors import Incorrect

T = TypeVar("T")

MAX_BYTES = 255  # an ident must fit an index key whole
# What is named in these is the house's, or is kept from everybody but admins, who alone give such
# names; `sandbar` is the exception: whoever writes may use it, but no name that looks like it.
RESERVED = ("auth", "db", "dt", "pack", "prompt", "sandbar", "workflow")

_NAME = r"[\w*!?$%&=<>.+\-'#]+"
_NAMESPACE = r"[^\W\d][\w.\-]*"
_IDENT = re.compile(rf"{_NAMESPACE}/{_NAME}")
_KEYWORD = re.compile(rf"(?:{_NAMESPACE}/)?{_NAME}")
_MARKS = ("Mn", "Mc")  # vowel signs of Indic scripts, accents: half of what letters are made of
# Marks that nobody sees: two names must not differ in these alone.
_UNSEEN = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_IDENT_HINT = "an ident is written ns/name, for example zorp/Boot"
_KEYWORD_HINT = "a keyword is written name or ns/name, for example status/open"


def parse_ident(text: str) -> str:
    """The canonical form of a name that must have a namespace, such as `zorp/Boot`."""
    return _ident(text) if type(text) is str else _parse(text, _IDENT, _IDENT_HINT)


def parse_keyword(text: str) -> str:
    """The canonical form of a keyword value, whose namespace is optional."""
    return _keyword(text) if type(text) is str else _parse(text, _KEYWORD, _KEYWORD_HINT)


def new_ident(text: str) -> str:
    """The same for a name that somebody gives; refuses one that passes for a reserved one."""
    ident = parse_ident(text)
    meant = _looks_like(ident.partition("/")[0])
    if meant is not None:
        raise Incorrect(
            "ident.look-alike",
            f"{ident[:80]!r} looks like a name of the reserved namespace {meant}, and is none",
            hint=f"choose another namespace, or write {meant} in ASCII if you mean it",
        )
    return ident


def namespace(name: str) -> str:
    """The first part of a name: `auth` of `auth.role/admin`."""
    return name.removeprefix(":").partition("/")[0].partition(".")[0]


def composed(name: str) -> str:
    """A name in the spelling in which it is kept."""
    return name if name.isascii() else normalize("NFC", name)


def spellings(name: str) -> tuple[str, ...]:
    """The forms in which a name may be kept, the given one first.

    Earlier versions kept what they were given, so a name may be there with its letters decomposed.
    """
    plain = name.removeprefix(":")
    if plain.isascii():
        return (plain,)
    return tuple(dict.fromkeys((plain, composed(plain), normalize("NFD", plain))))


def found_among(known: Mapping[str, T], name: str) -> T | None:
    """What is known by a name, in whichever spelling."""
    found = known.get(name)
    if found is None and (not name.isascii() or name.startswith(":")):
        kept = (known[spelled] for spelled in spellings(name) if spelled in known)
        found = next(kept, None)
    return found


# The same few names are written over and over.
@lru_cache(maxsize=4096)
def _ident(text: str) -> str:
    return _parse(text, _IDENT, _IDENT_HINT)


@lru_cache(maxsize=4096)
def _keyword(text: str) -> str:
    return _parse(text, _KEYWORD, _KEYWORD_HINT)


def looks_like_ident(text: str) -> bool:
    """Whether the text could name an entity."""
    return _matches(_IDENT, text.removeprefix(":"))


def _matches(grammar: re.Pattern[str], name: str) -> bool:
    if grammar.fullmatch(name) is not None:
        return True
    return not name.isascii() and grammar.fullmatch(_without_marks(name)) is not None


def _without_marks(name: str) -> str:
    """The name without the marks that belong to a letter: the grammar knows letters only."""
    kept = []
    follows_letter = False
    for char in name:
        if follows_letter and category(char) in _MARKS and _UNSEEN.match(char) is None:
            continue
        kept.append(char)
        follows_letter = char.isalpha()
    return "".join(kept)


def _parse(text: object, grammar: re.Pattern[str], hint: str) -> str:
    if not isinstance(text, str):
        raise Incorrect("keyword.malformed", "a keyword is text", hint=hint)
    name = text.removeprefix(":")
    if grammar is _IDENT and not name.isascii():
        name = composed(name)
    if len(name.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Incorrect("keyword.too-long", f"a keyword has at most {MAX_BYTES} bytes", hint=hint)
    if not _matches(grammar, name):
        raise Incorrect("keyword.malformed", f"{text[:80]!r} is not a keyword", hint=hint)
    return name


# --- what passes for a reserved name -------------------------------------------------------------

# Letters that can be taken for one of those that reserved namespaces are made of, capitals folded:
# Latin ones beyond ASCII, Greek, Cyrillic, Armenian, and two digits. Accents are taken off before.
_ALIKE = {
    "a": "ɑαа4",
    "b": "ƅɓʙβвьҍ",
    "c": "ϲсҫᴄ",
    "d": "ɗɖԁժ",
    "f": "ƒꜰϝғքֆ",
    "h": "ɦʜηнһԋհ",
    "k": "ƙᴋκкқҝ",
    "l": "ɫɭʟιіӏ1i|",
    "m": "ᴍμϻм",
    "n": "ɲɴηνпոռ",
    "o": "ɵᴏοоօσ0",
    "p": "ƥᴘρрր",
    "r": "ɼʀгᴦ",
    "s": "ꜱѕʂ5",
    "t": "ƭʈᴛτтҭ",
    "u": "ʊʋᴜυцս",
    "w": "ɯᴡωѡшԝաչ",
}
_TAKEN_FOR = {
    letter: frozenset(ascii for ascii, others in _ALIKE.items() if letter in others)
    for letter in "".join(_ALIKE.values())
}


@lru_cache(maxsize=4096)
def _looks_like(spaces: str) -> str | None:
    """The reserved namespace that the first of these can be taken for, unless it is one."""
    first = namespace(spaces)
    if first in RESERVED or len(first) > 4 * max(map(len, RESERVED)):  # marks and all
        return None
    folded = normalize("NFKD", normalize("NFKC", first).casefold())
    letters = [letter for letter in folded if category(letter) not in _MARKS]
    return next((name for name in RESERVED if _is_taken_for(letters, name)), None)


def _is_taken_for(letters: list[str], name: str) -> bool:
    if len(letters) != len(name):
        return False
    # Among ASCII letters, one of any other script is there to be taken for one of them.
    is_mixed = any(one.isascii() and one.isalpha() for one in letters)
    return all(
        one == meant or meant in _TAKEN_FOR.get(one, ()) or (is_mixed and not one.isascii())
        for one, meant in zip(letters, name, strict=True)
    )
