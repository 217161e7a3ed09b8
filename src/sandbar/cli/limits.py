"""How often a new key may ask, in the words of every command that shows one."""

from __future__ import annotations


def minted_pace(rate_limit: int | None, burst: int | None) -> str:
    """What is said below a new key: nobody should find it out by being refused."""
    from sandbar.access import MINTED_PACE

    usual = MINTED_PACE.per_minute
    if rate_limit == 0:
        return "It may ask as often as it likes."
    if rate_limit is None and burst is None:
        at_once = f"{usual} requests a minute, {usual} of them at once"
        return f"It may make {at_once}, unless its owner or a role says otherwise (--rate-limit)."
    per_minute = usual if rate_limit is None else rate_limit
    return f"It may make {per_minute} requests a minute, {burst or per_minute} of them at once."
