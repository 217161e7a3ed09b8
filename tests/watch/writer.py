"""A second process that changes the workspace at random while a watch runs.

Every token that was committed is a line of the log.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import sandbar
from sandbar.errors import Conflict, Incorrect, NotFound
from tests.watch.notes import CLASS


def act(db: sandbar.Database, rng: random.Random, token: str, made: list[str]) -> None:
    """One random change."""
    living = [entity.entity_id for entity in db.each(CLASS)]
    chance = rng.random()
    if chance < 0.15 or not living:
        name = f"w{len(made)}"
        made.append(name)
        slots = {"db/ident": f"mm/{name}", "memory/name": name, "memory/body": f"{token}\n"}
        db.create(CLASS, slots, reason="writer")
        return
    id = rng.choice(living)
    if chance < 0.23:
        db.update(id, {"memory/status": token}, reason="writer")
        db.delete(id, reason="writer")
        return
    entity = db.get(id)
    body = "" if chance < 0.6 else str(entity.get("memory/body", ""))
    db.update(id, {"memory/body": f"{body}{token}\n"}, expect=entity.t, reason="writer")


def change_at_random(
    address: str, workspace: str, seed: str, count: int, pause_ms: int, log: Path
) -> None:
    """Change the workspace as often as was asked for."""
    rng = random.Random(f"{seed} workspace")
    made: list[str] = []
    with sandbar.open(address, workspace) as db, log.open("a", encoding="utf-8") as told:
        for number in range(count):
            token = f"tok-w{number}-{rng.getrandbits(32):08x}"
            try:
                act(db, rng, token, made)
            except (Conflict, NotFound, Incorrect):
                continue  # somebody else was first: then nothing was written
            told.write(f"{token}\n")
            told.flush()
            time.sleep(rng.random() * 2 * pause_ms / 1000)
