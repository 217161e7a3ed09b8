"""Orders that take from a stock, for threads and for processes of their own."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sandbar
from sandbar.access import Authority
from sandbar.errors import Problem
from sandbar.model import Update
from sandbar.workflow import Handlers, Happening, Workflows

WHO = "buyer"

PROPERTIES: dict[str, dict[str, Any]] = {"shop/stock": {"dt/range": "db.type/long"}}
CLASSES: dict[str, dict[str, Any]] = {"shop/Shelf": {"dt/slots": ["shop/stock"]}}


def _spec(name: str, guard: str | None) -> dict[str, Any]:
    take = {"name": "take", "from": f"{name}-new", "to": f"{name}-taken", "handler": "shop/take"}
    return {
        "name": name,
        "states": [
            {"name": f"{name}-new", "initial?": True},
            {"name": f"{name}-taken", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [take if guard is None else {**take, "guard": guard}],
    }


ONE = 'subject["shop/stock"] > 0'
# Two workflows over the same stock; and one that looks at nothing, to show that it matters.
SPECS = [_spec("shop/order", ONE), _spec("shop/gift", ONE), _spec("shop/careless", None)]


def _take(happening: Happening) -> None:
    shelf = happening.process.subject
    stock: int = happening.get(shelf)["shop/stock"]
    happening.transact([Update(entity=shelf, set={"shop/stock": stock - 1})])


def open_workflows(db: sandbar.Database) -> Workflows:
    """The workflows of a database, with the code that they call."""
    known = Handlers(effects={"shop/take": _take})
    return Workflows(db.workspace, lambda: known, Authority(db.workspace, db.workspace_name))


def prepare(db: sandbar.Database, stock: int) -> int:
    """The schema, the workflows and a shelf."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    for spec in SPECS:
        db.workflows.define(spec, principal=WHO)
    return db.create("shop/Shelf", {"shop/stock": stock}).entity_id


def take(workflows: Workflows, process_id: int) -> str:
    """Take one; the answer is `taken` or the code of the refusal."""
    try:
        workflows.transition(process_id, "take", principal=WHO)
    except Problem as problem:
        return problem.code
    return "taken"


def take_all(db: sandbar.Database, ids: list[int], threads: int = 8) -> list[str]:
    """Take one for each, as many at once as there are threads."""
    workflows = open_workflows(db)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda id: take(workflows, id), ids))


def take_in_child(address: str, workspace: str, ids: list[int], go: str, out: str) -> None:
    """The same in a process of its own, once the file `go` is there."""
    db = sandbar.open(address, workspace)
    Path(f"{out}.ready").touch()
    while not Path(go).exists():
        time.sleep(0.001)
    answers = take_all(db, ids)
    Path(out).write_text("\n".join(answers))
    db.close()
