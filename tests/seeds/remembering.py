"""The memories of the seeds: all of them are called Foo, and the server keeps what it was told."""

from __future__ import annotations

from typing import Any

from tests.seeds.typing_it import call, payload


def forgotten(address: str, ident: str) -> None:
    """Delete a memory that an earlier test has made, so that its name is free."""
    found = call(address, "sandbar.entity.find", {"entity": ident})
    if found.get("isError"):
        assert payload(found)["error"] == "entity.unknown"
        return
    gone = call(address, "sandbar.entity.delete", {"entity": ident, "mode": "detach"})
    assert not gone.get("isError"), gone


def remembered(address: str, ident: str, **slots: Any) -> None:
    """Make a memory of that name anew."""
    forgotten(address, ident)
    given = {f"memory/{name}": value for name, value in slots.items()}
    arguments = {"class": "mm/Memory", "attributes": {"db/ident": ident, **given}}
    made = call(address, "sandbar.entity.create", arguments)
    assert payload(made)["created"] is True
