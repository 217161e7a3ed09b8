"""What is in a backup: every table and column of both stores, or a reason why not."""

from __future__ import annotations

from sandbar.store.archive import TABLES, WorkspaceRow
from tests.backup.conftest import Site
from tests.backup.raw import DIFFERENT, MADE_ANEW, Columns


def left_out(columns: Columns) -> Columns:
    """Tables, and columns of tables, that a backup does not know."""
    known = {name: {"ws", *table.columns} for name, table in TABLES.items()}
    known["workspace"] = {*WorkspaceRow._fields}
    found = {}
    for table, names in columns.items():
        if table not in MADE_ANEW:
            missing = {*names} - known.get(table, set()) - DIFFERENT.get(table, set())
            found[table] = sorted(missing)
    return {table: names for table, names in found.items() if names}


def test_no_table_and_no_column_is_left_out(own: Site) -> None:
    own.open().close()
    columns = own.raw.columns()
    assert left_out(columns) == {}
    assert TABLES.keys() < columns.keys()
    for name, table in TABLES.items():
        assert {*table.columns} < {*columns[name]}, name


def test_a_column_that_comes_later_is_noticed(own: Site) -> None:
    own.open().close()
    columns = own.raw.columns()
    columns["tx"].append("colour")
    columns["news"] = ["ws", "text"]
    assert left_out(columns) == {"tx": ["colour"], "news": ["text", "ws"]}
