"""A database with something of everything in it, made through the API."""

from __future__ import annotations

from typing import Any, NamedTuple

import sandbar
from sandbar.access import Houses, add_account, mint, revoke, sign_in
from sandbar.model import Written
from tests.backup.busy import prepare
from tests.backup.conftest import Site
from tests.workflow.orders import one_step

WHO = "user/anna"
SECRET = "correct horse battery staple"
NOTE: dict[str, dict[str, Any]] = {
    "note/title": {"dt/range": "db.type/string", "db/unique": "value"},
    "note/body": {"dt/range": "db.type/string"},
    "note/size": {"dt/range": "db.type/long", "dt/indexed?": True},
    "note/links": {"dt/range": "note/Note", "db/cardinality": "many"},
    "note/pin": {"dt/range": "db.type/string", "dt/secret?": True},
}


class Filled(NamedTuple):
    """What was put in, and what opens it."""

    token: str
    revoked: str
    chosen: str
    key: str  # an idempotency key
    receipt: Written


def fill(site: Site) -> Filled:
    """Workspaces `main` and `shop`, and one that is gone."""
    return site.made("filled", _fill)


def prepared(site: Site, *workspaces: str) -> None:
    """Workspaces with accounts of a bank, `main` if none is named."""
    names = workspaces or ("main",)

    def make(new: Site) -> None:
        for name in names:
            prepare(new.address, name)

    site.made(" ".join(names), make)


def _fill(site: Site) -> Filled:
    with site.open() as db:
        db.define(
            properties={name: slots for name, slots in NOTE.items() if name != "note/links"},
            classes={"note/Note": {"dt/slots": [name for name in NOTE if name != "note/links"]}},
        )
        db.define(
            properties={"note/links": NOTE["note/links"]},
            classes={"note/Note": {"dt/slots": list(NOTE)}},
        )
        db.workspace.budgets.set_limits({"streams": 7, "entities": 10_000})
        ids = [db.create("note/Note", note(n)).entity_id for n in range(40)]
        _change(db, ids)
        receipt = db.create("note/Note", note(99), idempotency_key="once")
        db.create("note/Note", {"note/title": "äöü 🦊 \\ \" ' \n\t", "note/pin": SECRET})
        token = mint(db.workspace, "laptop").token
        revoked = add_account(db.workspace, "old-program").token
        revoke(db.workspace, "old-program")
        chosen = add_account(db.workspace, "claude", "a-chosen-key-that-is-long-enough").token
        spec = one_step("order/timed", {"after": {"seconds": 3600, "transition": "go"}})
        db.workflows.define(spec, principal=WHO)
        db.workflows.start(spec["name"], principal=WHO)
        db.journal.start_sealing()
        _ask(db, 30)
        caller = sign_in(Houses(db.workspace_now, "main"), token)
        db.journal.used(db.workspace.number, caller.account_id or 0)
        for name in ("shop", "gone"):
            with site.open(name) as other:
                other.load_pack("zorp")
                _ask(other, 3)
        db.neighbours.drop("gone")
    return Filled(token, revoked, chosen, "once", receipt)


def note(n: int) -> dict[str, Any]:
    """The slots of a note."""
    return {"note/title": f"Note {n}", "note/body": f"Words of number {n}. " * 5, "note/size": n}


def _change(db: sandbar.Database, ids: list[int]) -> None:
    for n, id in enumerate(ids[:20]):
        for size in range(3):
            db.update(id, {"note/size": 1000 * size + n}, reason=f"change {size}")
    db.update(ids[0], add={"note/links": ids[1:4]})
    for id in ids[20:24]:
        db.delete(id, reason="no more")
    db.restore(ids[20])
    db.purge(ids[24], reason="the law")


def _ask(db: sandbar.Database, times: int) -> None:
    for n in range(times):
        with db.recorded(f"test.ask-{n}", surface="cli"):
            db.schema.classes()
