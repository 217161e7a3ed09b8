"""The proof that a journal is ours: a secret, where no clone and no archive can put one.

The folder that is watched may have been made by somebody else, with a journal in it that says what
they like. So each line is signed with a secret of this user, for this folder and this workspace.
"""

from __future__ import annotations

import os
import secrets
import stat
from hashlib import sha256
from hmac import compare_digest, digest
from pathlib import Path

from sandbar.errors import Unavailable
from sandbar.projects.sync.spots import NEW, READ, write_all

_SECRET_BYTES = 32
_END_BYTES = len(',"proof":""}\n') + 64


class Proofs:
    """Signs lines one after the other: each vouches for all that came before it, too."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._last = b""

    def anew(self) -> Proofs:
        """The same for another file: the next line is a first one."""
        return Proofs(self._secret)

    def signed(self, body: bytes) -> bytes:
        """The next line: a JSON object with its proof."""
        end = self._end(body[:-1])
        self._last = end
        return body[:-1] + end

    def is_next(self, line: bytes) -> bool:
        """Whether we wrote this line after those before it."""
        end = self._end(line[:-_END_BYTES])
        if not compare_digest(end, line[-_END_BYTES:]):
            return False
        self._last = end
        return True

    def _end(self, begin: bytes) -> bytes:
        proof = digest(self._secret, self._last + begin, "sha256").hex()
        return f',"proof":"{proof}"}}\n'.encode()


def secret_of(state: Path, folder: Path, origin: str) -> bytes:
    """The secret for a folder and a workspace, made if there is none."""
    name = sha256(b"\0".join([os.fsencode(folder), origin.encode()])).hexdigest()
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _read(state / name) or _make(state / name)
    except OSError as error:
        raise Unavailable(
            "watch.state",
            f"{error.filename or state} cannot be used: {error.strerror}",
            hint="the watch keeps a secret there; give it another place with XDG_STATE_HOME",
        ) from error


def _read(path: Path) -> bytes | None:
    try:
        file = os.open(path, READ)
    except FileNotFoundError:
        return None
    try:
        is_ours = stat.S_ISREG(os.fstat(file).st_mode) and os.fstat(file).st_uid == os.geteuid()
        found = os.read(file, _SECRET_BYTES + 1) if is_ours else b""
    finally:
        os.close(file)
    return found if len(found) == _SECRET_BYTES else None


def _make(path: Path) -> bytes:
    secret = secrets.token_bytes(_SECRET_BYTES)
    fresh = path.with_suffix(f".{secrets.token_hex(4)}")
    file = os.open(fresh, NEW, 0o600)
    try:
        write_all(file, secret)
        os.fsync(file)
    finally:
        os.close(file)
    fresh.replace(path)
    return secret
