"""What signing in needs of a workspace: hashes and digests to compare with, never to show."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from sandbar.errors import NotFound
from sandbar.model import core
from sandbar.model.naming import as_keys
from sandbar.model.placing import last_changes_inside
from sandbar.model.secrets import matches_secret
from sandbar.model.writes import Latest, Writes
from sandbar.store import Store, Token

_HOLDER = core.CLASS  # every workspace has it
_UNSHOWN = 0  # no property has this number: what is kept under it is in no document


class Credentials:
    """The secrets and minted keys of one workspace."""

    def __init__(self, store: Store, ws: int, writes: Writes, latest: Latest) -> None:
        self._store = store
        self._ws = ws
        self._writes = writes
        self._latest = latest

    def hash_of(self, entity_id: int, slot: str) -> str | None:
        """The hash that a secret slot keeps."""
        property = self._latest(False).property_named(slot)
        return self._store.secret(self._ws, entity_id, property.id)

    def holder_of(self, slot: str, value: str) -> int | None:
        """Who has this value of a unique slot: that nobody has it is found out as quickly."""
        try:
            property, (key, *_) = as_keys(self._latest(False), {slot: value})
        except NotFound:
            property, (key, *_) = as_keys(self._latest(True), {slot: value})
        _, row = self._store.point_by_key(self._ws, property.id, key)
        return None if row is None else row.id

    def last_changes(self, ids: Collection[int]) -> dict[int, int]:
        """When each of these entities last changed (its t), in one look; who is gone has none.

        Inside `run` as the open transaction sees it.
        """
        unit = self._writes.open_unit()
        if unit is not None:
            return last_changes_inside(unit, ids)
        with self._store.snapshot(self._ws) as snapshot:
            return {row.id: row.t for row in snapshot.entities(list(ids))}

    @staticmethod
    def matches(hashed: str, candidate: str) -> bool:
        """Whether the candidate is what was hashed; costs tens of milliseconds by intent."""
        return matches_secret(hashed, candidate)

    def token(self, digest: bytes) -> Token | None:
        """The minted key with this digest: the one look that reaches into every workspace."""
        return self._store.token(digest)

    def owns(self, token: Token) -> bool:
        """Whether the key was minted in this workspace."""
        return token.ws == self._ws

    def keep_token(self, entity_id: int, digest: bytes) -> None:
        """Inside `run`: a minted key, by its digest, signs in as this entity from now on."""
        self._writes.open_transaction().keep_token(entity_id, digest)

    def revoke_token(self, entity_id: int, digest: bytes) -> None:
        """Inside `run`: this minted key of the entity counts no more."""
        self._writes.open_transaction().revoke_token(entity_id, digest)

    def revoke_tokens(self, entity_id: int) -> None:
        """Inside `run`: none of the keys minted for the entity so far counts any more."""
        self._writes.open_transaction().revoke_tokens(entity_id)

    def uses(self) -> dict[int, int]:
        """When each key signed in last, in microseconds: about a second behind, and no history."""
        return self._store.key_uses.uses(self._ws)

    def shared_key(self) -> bytes:
        """A key that all servers of this workspace share, drawn when it is first wanted.

        It seals what clients are given to bring back. It is no hash: whoever reads the file has it.
        """
        kept = self._store.secret(self._ws, _HOLDER, _UNSHOWN)
        if kept is None:
            kept = self._writes.run(self._draw_key, "local", "a key that our servers share")
        return bytes.fromhex(kept)

    def keep_note(self, entity_id: int, text: str) -> None:
        """Inside `run`: note something about an entity that no answer ever shows."""
        self._writes.open_transaction().keep_secret(entity_id, _UNSHOWN, text)

    def note_of(self, entity_id: int) -> str | None:
        """What was noted about an entity; inside `run` as the open transaction sees it."""
        unit = self._writes.open_unit()
        if unit is not None:
            return unit.tx.secret(entity_id, _UNSHOWN)
        return self._store.secret(self._ws, entity_id, _UNSHOWN)

    def _draw_key(self) -> str:
        tx = self._writes.open_transaction()
        kept = tx.secret(_HOLDER, _UNSHOWN)  # another server may have been quicker
        if kept is None:
            kept = secrets.token_hex(32)
            tx.keep_secret(_HOLDER, _UNSHOWN, kept)
        return kept
