"""Planning a write ends with the patience of its caller, however large the write is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sandbar.database import Database
from sandbar.errors import Interrupted
from sandbar.patience import Patience, limited

DEADLINE_S = 0.02
LATE_S_MAX = 1.0


def creates(count: int) -> list[dict[str, Any]]:
    return [
        {"op": "create", "class": "shop/Maker", "slots": {"maker/name": f"Ann {n}"}}
        for n in range(count)
    ]


def definitions(count: int) -> list[dict[str, Any]]:
    return [
        {
            "op": "create",
            "class": "dt/Property",
            "slots": {"db/ident": f"late/p{n}", "dt/range": "db.type/string"},
        }
        for n in range(count)
    ]


@pytest.mark.parametrize(("make", "count"), [(creates, 9_000), (definitions, 1_000)])
def test_a_large_write_ends_soon_after_its_deadline(shop: Database, make: Any, count: int) -> None:
    operations = make(count)[1:]
    before = shop.transact(definitions(1)).receipt.t
    began_s = time.monotonic()
    with pytest.raises(Interrupted) as refused, limited(Patience(DEADLINE_S)):
        shop.transact(operations)
    assert refused.value.code == "request.deadline"
    assert time.monotonic() - began_s < LATE_S_MAX
    after = shop.transact(make(count + 1)[count:]).receipt.t
    assert after == before + 1, "nothing of it was kept"
