"""How often a new key may ask, in the words of every command that shows one."""

from __future__ import annotations


def minted_pace(rate_limit: int | None, burst: int | None) -> str:
    """What is said beside a new key, so that nobody finds it out by being refused."""
    from sandbar.access import MINTED_PACE

    if rate_limit == 0:
        return "It may ask as often as it likes."
    per_minute = MINTED_PACE.per_minute if rate_limit is None else rate_limit
    text = f"It may make {per_minute} requests a minute, {burst or per_minute} of them at once"
    usual = ", unless its owner or a role says otherwise" if rate_limit is None else ""
    return f"{text}{usual}."
