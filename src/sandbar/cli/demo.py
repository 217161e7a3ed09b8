"""`sandbar demo`: a short tour that runs for real, in a file of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from sandbar.database import Database


def demo() -> None:
    """Take a tour: a schema, a few writes, a mistake, a query, and a look into the past."""
    from rich.console import Console

    from sandbar.database import open_database

    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="sandbar-demo-") as folder:
        path = Path(folder) / "shop.db"
        with open_database(path, principal="you") as db:
            _tour(console, db)
    console.print("\n[bold]That was all real.[/] Now in Python: [cyan]import sandbar[/]")


def _tour(console: Console, db: Database) -> None:
    _say(console, "A pack brings classes and data", 'db.load_pack("zorp")')
    report = db.load_pack("zorp")
    console.print(f"{report.title}: {report.definitions} definitions, {report.entities} products\n")
    _classes(console, db)
    _write(console, db)
    _mistake(console, db)
    _query(console, db)
    _past(console, db)


def _classes(console: Console, db: Database) -> None:
    _say(console, "Classes are data too", 'db.schema.subclasses("zorp/Footwear")')
    console.print(", ".join(db.schema.subclasses("zorp/Footwear")))
    kind = db.get("dt/Class")
    console.print(f"{kind.ident} is an instance of {kind.class_}\n")


def _write(console: Console, db: Database) -> None:
    code = 'db.create("zorp/SpaceBoot", {"db/ident": "product/star-strider",\n'
    code += '    "footwear/name": "Star Strider", "footwear/price": 329.5})'
    _say(console, "A write answers with a receipt", code)
    slots: dict[str, Any] = {"db/ident": "product/star-strider", "footwear/name": "Star Strider"}
    written = db.create("zorp/SpaceBoot", {**slots, "footwear/price": 329.5})
    console.print(f"entity {written.entity_id}, t={written.t}, {written.receipt.instant}\n")


def _mistake(console: Console, db: Database) -> None:
    from sandbar.errors import Problem

    code = 'db.create("zorp/SpaceBoot", {"footwear/nmae": "Oops", "footwear/price": "-1"})'
    _say(console, "Mistakes come back all at once, with advice", code)
    try:
        db.create("zorp/SpaceBoot", {"footwear/nmae": "Oops", "footwear/price": "-1"})
    except Problem as problem:
        for finding in problem.data["findings"]:
            console.print(
                f"[red]{finding['slot']}[/]: {finding['message']} → {finding.get('hint', '')}"
            )
    console.print()


def _query(console: Console, db: Database) -> None:
    from rich.table import Table

    code = 'db.query("zorp/Footwear", {"footwear/price": {"<": 200}, "footwear/tentacle-count":\n'
    code += '    {">=": 4}}, order_by="-footwear/price")'
    _say(console, "Queries are plain JSON and use the indexes", code)
    where = {"footwear/price": {"<": 200}, "footwear/tentacle-count": {">=": 4}}
    table = Table("class", "name", "price", "tentacles")
    for item in db.query("zorp/Footwear", where, order_by="-footwear/price").items:
        shown = (item["footwear/name"], item["footwear/price"], item["footwear/tentacle-count"])
        table.add_row(item.class_, *map(str, shown))
    console.print(table)


def _past(console: Console, db: Database) -> None:
    code = 'db.update("product/star-strider", {"footwear/price": 299}, reason="spring sale")'
    _say(console, "Nothing is overwritten", code)
    before = db.t
    db.update("product/star-strider", {"footwear/price": 299}, reason="spring sale")
    for entry in db.history("product/star-strider")[1:]:
        for change in entry.changes:
            console.print(
                f"t={entry.t} {entry.principal}: {change.slot} {change.removed} → {change.added}"
                f" ({entry.reason})"
            )
    old = db.get("product/star-strider", as_of=before)
    console.print(f"as of t={before} the price still is {old['footwear/price']}")


def _say(console: Console, title: str, code: str) -> None:
    from rich.syntax import Syntax

    console.print(f"[bold blue]{title}[/]")
    console.print(Syntax(code, "python", background_color="default", word_wrap=True))
