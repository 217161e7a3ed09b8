"""History replays to the present, and what was read of the past stays as it was."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbar import Database, NotFound
from tests.model.shop import item, problem_of, slots_of


def replay(db: Database, id: int, until: int | None = None) -> dict[str, list[Any]]:
    """The slots that an entity's history adds up to."""
    slots: dict[str, list[Any]] = {}
    for entry in db.history(id):
        if until is not None and entry.t > until:
            break
        for change in entry.changes:
            left = slots.get(change.slot, [])
            assert all(value in left for value in change.removed)
            slots[change.slot] = [v for v in left if v not in change.removed] + change.added
    return {slot: values for slot, values in slots.items() if values}


def flat(slots: dict[str, Any]) -> dict[str, list[Any]]:
    """Slots in the same form, as lists."""
    return {slot: value if isinstance(value, list) else [value] for slot, value in slots.items()}


def random_life(shop: Database, dice: random.Random, steps: int) -> list[int]:
    """Random writes; returns the entities that there ever were."""
    ids = [item(shop, "first")]
    living = list(ids)
    for _ in range(steps):
        act = dice.randrange(9)
        if act == 0 or not living:
            ids.append(item(shop, dice.choice("abc"), tags=dice.sample(["x", "y", "z"], 2)))
            living.append(ids[-1])
        elif act == 1:
            gone = dice.choice(living)
            for id in shop.delete(gone, mode="detach").outcomes[0].deleted:
                living.remove(id)
        elif act == 2:
            shop.update(dice.choice(living), add={"item/tags": dice.choice(["x", "y", "w"])})
        elif act == 3:
            shop.update(dice.choice(living), remove={"item/tags": ["x", "y"]})
        elif act == 4:
            shop.update(
                dice.choice(living), {"item/like": dice.sample(living, min(2, len(living)))}
            )
        elif act == 5:
            shop.update(dice.choice(living), {"item/price": dice.choice([None, "1.5", "2"])})
        elif act == 6:
            notes = dice.sample("abcd", dice.randrange(5))
            shop.update(dice.choice(living), {"item/notes": notes})
        elif act == 7:
            shop.update("item/notes", {"db/doc": str(dice.random())})
        else:
            shop.update(
                dice.choice(living),
                {"item/name": dice.choice("abc"), "item/stock": dice.randrange(3)},
            )
    return ids


@pytest.mark.parametrize("seed", range(4))
def test_replaying_history_gives_the_state_at_every_moment(shop: Database, seed: int) -> None:
    begin = shop.t
    ids = random_life(shop, random.Random(seed), 60)
    for id in ids:
        for t in (shop.t, begin + 20, begin + 40):
            try:
                state = flat(slots_of(shop, id, as_of=t))
            except NotFound:
                state = {}
            assert replay(shop, id, t) == state, (seed, id, t)


@pytest.mark.parametrize(
    ("before", "after", "removed", "added"),
    [
        ("ab", "abc", "", "c"),
        ("abc", "ac", "b", ""),
        ("abc", "bd", "ac", "d"),
        ("ab", "ba", "a", "a"),
        ("abc", "acb", "b", "b"),
        ("ab", "cab", "ab", "cab"),
        ("", "ab", "", "ab"),
    ],
)
def test_a_history_tells_what_was_taken_out_and_then_put_at_the_end(
    shop: Database, before: str, after: str, removed: str, added: str
) -> None:
    hat = item(shop, "Hat", notes=list(before))
    made = shop.t
    shop.update(hat, {"item/notes": list(after)})
    expected = [("item/notes", list(removed), list(added))]
    assert shop.history(hat)[-1].t == shop.t
    for changes in (shop.history(hat)[-1].changes, shop.diff(hat, made)):
        assert [(one.slot, one.removed, one.added) for one in changes] == expected
    assert replay(shop, hat) == flat(slots_of(shop, hat))


@pytest.mark.parametrize("seed", range(4, 6))
def test_a_read_of_the_past_never_changes(shop: Database, seed: int) -> None:
    dice = random.Random(seed)
    seen: list[tuple[int, Any]] = []
    ids: list[int] = []
    for _ in range(6):
        ids += random_life(shop, dice, 8)
        if dice.random() < 0.5:
            shop.update("item/name", {"db/ident": "item/title"})
            shop.update("item/title", {"db/ident": "item/name"})
        seen.append((shop.t, everything(shop, None)))
    for t, state in seen:
        assert everything(shop, t) == state, (seed, t)


def everything(db: Database, as_of: int | None) -> Any:
    """All entities of the shop and some questions, at one moment."""
    return (
        list(db.each("shop/Item", as_of=as_of)),
        list(db.each("shop/Item", {"item/tags": "x"}, as_of=as_of)),
        list(db.each("shop/Item", order_by="-item/name", as_of=as_of)),
        (db.schema if as_of is None else db.schema_as_of(as_of)).dump(),
    )


def test_diff_tells_what_is_different(shop: Database) -> None:
    hat = item(shop, "Hat", tags=["a", "b"])
    first = shop.t
    shop.update(hat, {"item/name": "Cap", "item/tags": ["b", "c"], "item/price": "1"})
    changes = {change.slot: (change.removed, change.added) for change in shop.diff(hat, first)}
    assert changes == {
        "item/name": (["Hat"], ["Cap"]),
        "item/tags": (["a"], ["c"]),
        "item/price": ([], ["1"]),
    }
    backwards = {
        change.slot: (change.removed, change.added) for change in shop.diff(hat, shop.t, first)
    }
    assert backwards == {
        "item/name": (["Cap"], ["Hat"]),
        "item/tags": (["b", "c"], ["a", "b"]),  # a comes before b, so b has to come anew
        "item/price": (["1"], []),
    }
    assert shop.diff(hat, shop.t) == []
    created = {change.slot for change in shop.diff(hat, first - 1, first)}
    assert created == {"item/name", "item/tags", "item/stock", "item/fragile"}
    shop.delete(hat)
    assert all(not change.added for change in shop.diff(hat, first))
    assert shop.diff(hat, first - 1) == []


def test_history_can_be_read_in_parts(shop: Database) -> None:
    hat = item(shop, "0")
    for n in range(1, 8):
        shop.update(hat, {"item/name": str(n)})
    whole = shop.history(hat)
    assert len(whole) == 8
    parts, after = [], 0
    while True:
        part = shop.history(hat, after=after, limit=3)
        if not part:
            break
        parts += part
        after = part[-1].t
    assert parts == whole
    assert [entry.changes[0].added for entry in whole[1:]] == [[str(n)] for n in range(1, 8)]


def test_changes_list_every_transaction_once(shop: Database) -> None:
    since = shop.t
    hat = item(shop, "Hat")
    cap = item(shop, "Cap", like=[hat])
    shop.update(hat, {"item/name": "Hat"})  # nothing changes
    shop.delete(hat, mode="detach")
    told = shop.changes(since=since)
    assert [(entry.t - since, set(entry.entity_ids)) for entry in told] == [
        (1, {hat}),
        (2, {cap}),
        (3, {hat, cap}),
    ]
    assert shop.changes(since=since, limit=1) == told[:1]
    assert shop.changes(since=shop.t) == []
    instants = [entry.instant for entry in shop.changes(limit=1000)]
    assert instants == sorted(set(instants))


def test_the_past_can_be_named_by_instant(shop: Database) -> None:
    hat = item(shop, "0")
    receipts = [shop.update(hat, {"item/name": str(n)}).receipt for n in range(1, 4)]
    for n, receipt in enumerate(receipts, start=1):
        moment = datetime.fromisoformat(receipt.instant)
        assert slots_of(shop, hat, as_of=moment)["item/name"] == str(n)
        assert slots_of(shop, hat, as_of=moment - timedelta(microseconds=1))["item/name"] == str(
            n - 1
        )
        found = shop.query("shop/Item", {"item/name": str(n)}, as_of=receipt.instant).items
        assert [entity.entity_id for entity in found] == [hat]
    future = datetime.now(UTC) + timedelta(days=1)
    assert problem_of(lambda: shop.get(hat, as_of=future)).code == "as-of.unknown"
    assert problem_of(lambda: shop.get(hat, as_of="1990-01-01T00:00:00Z")).code == "entity.unknown"


def test_a_reference_is_shown_as_of_its_time(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"db/ident": "my/maker"}).entity_id
    hat = item(shop, "Hat", maker=maker)
    first = shop.t
    shop.update(maker, {"db/ident": "my/other"})
    assert slots_of(shop, hat)["item/maker"] == "my/other"
    assert slots_of(shop, hat, as_of=first)["item/maker"] == "my/maker"
    assert slots_of(shop, maker, as_of=first)["maker/items"] == [hat]
    shop.delete(maker, mode="detach")
    assert slots_of(shop, hat, as_of=first)["item/maker"] == "my/maker"
    assert shop.get("my/maker", as_of=first).entity_id == maker


def test_the_history_of_what_is_gone_can_be_read(shop: Database) -> None:
    hat = shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Hat"}).entity_id
    shop.delete(hat)
    assert [entry.kind for entry in shop.history(hat)] == ["created", "deleted"]
    assert shop.get("my/hat", as_of=shop.t - 1).entity_id == hat
    again = shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "New"}).entity_id
    assert again != hat
    assert [entry.kind for entry in shop.history("my/hat")] == ["created"]
