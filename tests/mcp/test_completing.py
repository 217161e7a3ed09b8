"""Completion of what a user types into a prompt: classes, slots, idents of data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.served import Role, Served

_MESSAGE = {"role": "user", "content": {"type": "text", "text": "{{class}} {{slot}} {{product}}"}}
_ARGUMENTS = ("class", "slot", "product")


@pytest.fixture(scope="module")
def typing(served: Served) -> Served:
    """The server with a prompt that has an argument of each kind."""
    served.db.create(
        "prompt/Prompt",
        {
            "db/ident": "typing/typing",
            "prompt/arguments": [{"name": name} for name in _ARGUMENTS],
            "prompt/messages": [_MESSAGE],
        },
    )
    return served


def _completed(
    served: Served,
    name: str,
    value: str,
    given: dict[str, str] | None = None,
    *,
    role: Role = "reader",
) -> list[str]:
    params: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "typing"},
        "argument": {"name": name, "value": value},
    }
    if given is not None:
        params["context"] = {"arguments": given}
    answer = served.post("completion/complete", params, role=role)
    assert "result" in answer, answer
    values: list[str] = answer["result"]["completion"]["values"]
    return values


def test_class_names(typing: Served) -> None:
    assert _completed(typing, "class", "zorp/Moon") == ["zorp/MoonBoot"]
    assert set(_completed(typing, "class", "zorp/S")) == {
        "zorp/Sandal",
        "zorp/Sneaker",
        "zorp/SpaceBoot",
    }
    assert _completed(typing, "class", ":zorp/Moon") == ["zorp/MoonBoot"]
    assert _completed(typing, "class", "nope/") == []


def test_slots_of_the_class_that_was_chosen(typing: Served) -> None:
    of_space = _completed(typing, "slot", "boot/", {"class": "zorp/SpaceBoot"})
    assert "boot/vacuum-rated?" in of_space
    assert _completed(typing, "slot", "boot/", {"class": "zorp/Sandal"}) == []
    assert "footwear/name" in _completed(typing, "slot", "footwear/", {"class": "zorp/Sandal"})
    anywhere = _completed(typing, "slot", "boot/")
    assert set(of_space) <= set(anywhere)


def test_idents_are_those_of_data(typing: Served) -> None:
    typing.db.create("zorp/Boot", {"db/ident": "typed/boot", "footwear/name": "T"})
    assert _completed(typing, "product", "typed/") == ["typed/boot"]
    assert "product/comet-low" in _completed(typing, "product", "product/")
    for role in ("reader", "admin"):
        found = _completed(typing, "product", "", role=role)
        assert "typed/boot" in found
        spaces = {ident.split("/")[0] for ident in found}
        assert not spaces & {"dt", "db", "zorp", "footwear", "auth", "pack"}, found


def test_at_most_a_hundred_values(typing: Served) -> None:
    for n in range(120):
        typing.db.create("zorp/Boot", {"db/ident": f"crowd/b{n}", "footwear/name": f"B{n}"})
    assert len(_completed(typing, "product", "crowd/")) == 100
    assert len(_completed(typing, "product", "crowd/b11")) == 11


def test_an_argument_that_nobody_asked_for_has_no_values(typing: Served) -> None:
    assert _completed(typing, "product", "product/")
    assert _completed(typing, "nonsense", "") == []


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_nothing_about_accounts(typing: Served, role: Role) -> None:
    typing.token("admin")
    assert [_completed(typing, name, "auth/", role=role) for name in ("class", "product")] == [
        [],
        [],
    ]
