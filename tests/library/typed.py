"""A program that uses the library as type checkers should see it: not run, only checked.

Each line that is wrong says which error mypy and pyright have to give. If one of them gave none,
its comment would be one too many, which is an error as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import sandbar
from sandbar import Database, Entity, Page, SearchPage, Written

# isort: split
from sandbar import NonsenseName  # type: ignore[attr-defined]  # pyright: ignore


def right(path: str) -> str:
    """What is right needs no comment."""
    db: Database = sandbar.open(path)
    written: Written = db.create("deal/Deal", {"deal/title": "First"})
    entity: Entity = db.get(written.entity_id)
    slots: Mapping[str, object] = entity
    page: Page = db.query("deal/Deal")
    items: Sequence[Entity] = page
    found: SearchPage = db.search("first")
    titles = [one["deal/title"] for one in page if "deal/title" in one]
    plain: dict[str, object] = dict(entity)
    scores: list[float] = [hit.score for hit in found]
    try:
        db.get("deal/none")
    except sandbar.NotFound as problem:
        return problem.code
    first: Entity | None = page[0] if len(page) else None
    rest = page[1:]
    return json.dumps([titles, plain, scores, len(slots), len(items), first is None, len(rest)])


def wrong(db: Database, entity: Entity, page: Page, written: Written) -> None:
    """Every line is refused."""
    sandbar.opne("x")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    sandbar.open(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    db.gett("x")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    _ = entity.title  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    entity["x"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    entity.t = 7  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    _ = page[0].nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    text: str = page[0]  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _ = written.entity  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    assert text == NonsenseName
