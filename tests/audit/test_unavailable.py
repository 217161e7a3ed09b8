"""No room for a row: the request is refused by name, and all is well when space returns."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.audit import Journal, Note, verify
from sandbar.audit.sealing import Sealer
from sandbar.errors import Unavailable
from sandbar.store.sqlite.store import SqliteStore
from tests.fault.test_full_disk import SmallDisk, few_pages, small_file_system
from tests.store.conftest import new_workspace

WAIT_S = 30.0
ROWS_MAX = 100_000


@pytest.fixture(params=[small_file_system, few_pages])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """Little room; who may not mount has it in the second way only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    can_mount = os.geteuid() == 0 and shutil.which("mount") is not None
    with (request.param if can_mount else few_pages)(folder) as disk:
        yield disk


def test_a_request_that_cannot_be_noted_is_refused(disk: SmallDisk) -> None:
    store = SqliteStore(disk.folder / "audit.db")
    ws, journal = new_workspace(store), Journal(store)
    kept, refused = fill(journal, ws)
    assert kept > 100, "there was hardly any room at all"
    assert refused.code == "audit.unavailable"
    assert refused.data == {"because": "store.full"}
    for settle in (
        lambda note: journal.settle_at_once([note]),
        lambda note: journal.settle_later(note).result(WAIT_S),
    ):
        with pytest.raises(Unavailable) as again:
            settle(opened(journal, ws))
        assert again.value.code == "audit.unavailable"
    assert len(store.trail.rows(ws, limit=5)) == 5, "reading goes on"
    disk.make_room()
    journal.settle(opened(journal, ws))
    journal.close()
    verdict = verify(store.trail, ws)
    assert (verdict.broken, verdict.rows) == ([], kept + 1)
    store.close()
    adopt(disk.folder / "audit.db")


def adopt(path: Path) -> None:
    """Seal what the run left open, because a commit that failed may have been kept after all."""
    store = SqliteStore(path)
    sealer = Sealer(store, lambda: None, adopt_after_s=0)
    sealer.adopt()
    sealer.adopt()
    ((ws, _),) = store.workspaces()
    verdict = verify(store.trail, ws)
    assert (verdict.broken, verdict.unsealed) == ([], 0)
    store.close()


def opened(journal: Journal, ws: int) -> Note:
    return journal.open(ws, "user/anna", surface="mcp", method="tools/call", verb="entity.get")


def fill(journal: Journal, ws: int) -> tuple[int, Unavailable]:
    """Note requests until not even one more fits; many at a time first, else it takes a minute."""
    kept = 0
    for size in (256, 1):
        refused = None
        while refused is None and kept < ROWS_MAX:
            answers = [journal.settle_later(opened(journal, ws)) for _ in range(size)]
            errors = [answer.exception(WAIT_S) for answer in answers]
            kept += errors.count(None)
            refused = errors[-1]
    assert isinstance(refused, Unavailable), refused
    return kept, refused
