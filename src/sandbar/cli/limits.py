"""How often a new key may ask, in the words of every command that shows one."""

from __future__ import annotations

import json
import shlex


def minted_pace(key: str, rate_limit: int | None, burst: int | None, where: str) -> list[str]:
    """What is said beside a new key, so that nobody finds it out by being refused."""
    from sandbar.access import MINTED_PACE

    if rate_limit == 0:
        return ["It may ask as often as it likes."]
    per_minute = MINTED_PACE.per_minute if rate_limit is None else rate_limit
    text = f"It may make {per_minute} requests a minute, {burst or per_minute} of them at once"
    if rate_limit is not None:
        return [f"{text}."]
    named = shlex.quote(f'entity:={{"auth/key-name": {json.dumps(key)}}}')
    other = shlex.quote('attributes:={"auth/rate-limit": 600}')
    return [
        f"{text}, unless its owner or a role says otherwise. To allow it more (0: any number):",
        f"    sandbar call entity.update {named} {other}{where}",
    ]
