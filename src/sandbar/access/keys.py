"""Keys: minted ones are random enough to be kept as a plain digest; chosen ones are not."""

from __future__ import annotations

import hashlib
import re
import secrets

from sandbar.errors import Incorrect

KEY_PREFIX = "sk-sand-"
MINTED_START = "sk-"  # whatever the prefix was when a key was minted, it began like this
CHOSEN_KEY_MIN = 8
CHOSEN_KEY_MAX = 255

_MINTED_BYTES = 32
_SHOWN_DIGITS = 6
_PREFIX = re.compile(r"sk-(?:[a-z0-9]+-)*")
_CHOSEN = re.compile(r"[\x21-\x7e]+")
_SECRET = re.compile(r"(?<![A-Za-z0-9])sk-[\w\-]*", re.ASCII)  # task-runner holds none
_DIGITS = re.compile(rf"[0-9a-fA-F]{{{2 * _MINTED_BYTES}}}")


def mint_key(prefix: str = KEY_PREFIX) -> str:
    """A new key of 256 random bits: `sk-sand-` and 64 hexadecimal digits."""
    if _PREFIX.fullmatch(prefix) is None:
        raise Incorrect(
            "key.prefix",
            "minted keys begin with sk-, and small letters, digits and a dash for every word more",
            hint=f"for example {KEY_PREFIX}",
        )
    return prefix + secrets.token_hex(_MINTED_BYTES)


def shown_part(key: str) -> str:
    """How a minted key begins: enough to tell it from others, and no help in guessing it."""
    return key[: -2 * _MINTED_BYTES + _SHOWN_DIGITS]


def secret_in(text: str) -> str | None:
    """The part of a text that is a minted key, or how one begins: as in `claude:sk-sand-…`."""
    found = _SECRET.search(text)
    return None if found is None else found.group()


def holds_secret(text: str) -> bool:
    """Whether a text that should be a name is a key instead, or NAME:KEY: never to be repeated."""
    is_minted = _SECRET.search(text) is not None or _DIGITS.search(text) is not None
    return is_minted or ":" in text.strip()[1:]


def key_digest(key: str) -> bytes:
    """What is kept of a minted key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def check_chosen_key(key: str) -> str:
    """A key chosen by hand, if it can be used in a header and was not minted elsewhere."""
    if key.startswith(MINTED_START):
        raise Incorrect(
            "key.reserved",
            f"only minted keys begin with {MINTED_START}",
            hint="leave the key out, and one is minted; or choose another",
        )
    if not CHOSEN_KEY_MIN <= len(key) <= CHOSEN_KEY_MAX or _CHOSEN.fullmatch(key) is None:
        raise Incorrect(
            "key.malformed",
            f"a key has {CHOSEN_KEY_MIN} to {CHOSEN_KEY_MAX} visible ASCII characters, no spaces",
            hint="leave the key out, and a good one is minted",
        )
    return key
