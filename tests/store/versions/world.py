"""What a kept database holds: a little of everything that a later version must still understand."""

from __future__ import annotations

from typing import Any

from sandbar.access import add_account
from sandbar.database import Database

HOME, OTHER, DROPPED = "main", "other", "dropped"

PROPERTIES: dict[str, dict[str, Any]] = {
    "note/title": {"dt/range": "db.type/string", "dt/indexed?": True},
    "note/rank": {"dt/range": "db.type/long", "dt/indexed?": True},
    "note/code": {"dt/range": "db.type/string", "db/unique": "identity"},
    "note/next": {"dt/range": "note/Note"},
    "note/tags": {"dt/range": "db.type/string", "db/cardinality": "many"},
    "note/pin": {"dt/range": "db.type/string", "dt/secret?": True},
}
CLASSES: dict[str, dict[str, Any]] = {"note/Note": {"dt/slots": [*PROPERTIES]}}
PIN = "0000"
TITLES = ["moonwalker boots", "moonwalker sandals", "mud lord"]  # of the first note, one by one

WORKFLOW: dict[str, Any] = {
    "name": "note/review",
    "states": [
        {"name": "open", "initial?": True, "after": {"seconds": 300_000_000, "transition": "drop"}},
        {"name": "done", "terminal?": True, "terminal-kind": "success"},
    ],
    "transitions": [
        {"name": "finish", "from": "open", "to": "done"},
        {"name": "drop", "from": "open", "to": "done"},
    ],
}


def fill(db: Database) -> None:
    """All of it."""
    write_notes(db)
    forget_one(db)
    mint_key(db)
    run_processes(db)
    keep_audit(db)


def write_notes(db: Database) -> None:
    """Entities with a past, one that was deleted, and one that refers to another."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    slots = {"note/rank": 1, "note/code": "c1", "note/tags": ["a", "b"], "note/pin": PIN}
    first = db.create(
        "note/Note",
        {"db/ident": "note/first", "note/title": TITLES[0], **slots},
        idempotency_key="once",
    )
    db.create("note/Note", {"db/ident": "note/second", "note/next": first.entity_id})
    for rank, title in enumerate(TITLES[1:], 2):
        db.update("note/first", {"note/title": title, "note/rank": rank}, reason=f"rank {rank}")
    db.create("note/Note", {"db/ident": "note/deleted", "note/title": "a sunken ship"})
    db.delete("note/deleted")


def forget_one(db: Database) -> None:
    """One that was purged."""
    db.create("note/Note", {"db/ident": "note/purged", "note/title": "forget me"})
    purged = db.purge("note/purged", reason="asked to")
    db.create("note/Note", {"db/ident": "note/tomb", "note/rank": purged.entity_ids[0]})


def mint_key(db: Database) -> None:
    """A key, which a note tells: there is no other way to know it."""
    key = add_account(db.workspace, "keeper").token
    db.create("note/Note", {"db/ident": "note/key", "note/title": key})


def run_processes(db: Database) -> None:
    """A process that has ended, and one that waits."""
    db.workflows.define(WORKFLOW, principal="ann")
    one, two = (db.workflows.start("note/review", principal="ann") for _ in range(2))
    db.workflows.transition(one.process_id, "finish", principal="ann")
    db.create("note/Note", {"db/ident": "note/waiting", "note/rank": two.process_id})


def keep_audit(db: Database) -> None:
    """Rows with and without a transaction; they are sealed when the database is closed."""
    for number in range(3):
        with db.recorded("tests", surface="cli"):
            db.create("note/Note", {"note/rank": 100 + number})
        with db.recorded("tests", surface="cli"):
            db.get("note/first")
