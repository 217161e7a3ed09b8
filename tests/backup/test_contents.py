"""What is in a backup: every table and column of both stores, or a reason why not."""

from __future__ import annotations

import msgspec
import pytest

from sandbar.errors import Conflict
from sandbar.store.archive import TABLES, Kind, Runs, Table, WorkspaceRow
from sandbar.store.archive_file import rows_decoder
from sandbar.store.numbering import Numbers
from sandbar.store.usage import Counters
from tests.backup.conftest import Site
from tests.backup.raw import DIFFERENT, MADE_ANEW, Columns


def left_out(columns: Columns) -> Columns:
    """Tables, and columns of tables, that a backup does not know."""
    known = {name: {"ws", *table.columns} for name, table in TABLES.items()}
    known["workspace"] = {*WorkspaceRow._fields, *Counters._fields}  # the latter are counted anew
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


def _audited(run: int) -> tuple[object, ...]:
    return tuple(run if column == "run" else None for column in TABLES["audit"].columns)


def test_a_run_that_has_just_begun_is_none_of_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: (1 << bits) - 1)
    last = Numbers().run
    monkeypatch.setattr("secrets.randbits", lambda bits: 0)
    Runs().look_at(TABLES["audit"], [_audited(last)])
    with pytest.raises(Conflict, match="still to come"):
        Runs().look_at(TABLES["audit"], [_audited(last + (64 << 17))])


def test_rows_of_a_backup_that_is_older_than_a_column_have_its_default() -> None:
    columns = {"n": Kind.NUMBER, "class": Kind.TEXT_OR_NONE, "size": Kind.NUMBER}
    rows = msgspec.msgpack.encode([[1, None], [2, "x", 7]])
    read = rows_decoder(Table("rows", "n", columns, later={"size": 0})).decode(rows)
    assert read == [(1, None, 0), (2, "x", 7)]
    for wrong in ([[1]], [[1, None, 0, 0]], [[1, None, None]], [["1", None]]):
        with pytest.raises(msgspec.ValidationError):
            rows_decoder(Table("rows", "n", columns, later={"size": 0})).decode(
                msgspec.msgpack.encode(wrong)
            )
    with pytest.raises(msgspec.ValidationError):  # of a column that was always there
        rows_decoder(Table("rows", "n", columns)).decode(rows)
