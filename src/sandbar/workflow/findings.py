"""How much of what is wrong with a definition is told, and how values are shown in it."""

from __future__ import annotations

from sandbar.errors import Incorrect
from sandbar.findings import Findings

FINDINGS_MAX = 200
_GUESSES_MAX = 10
_HINTS_SHOWN = 3
_CHARACTERS_MAX = 500  # of a message or a hint: it may list names
_SHOWN_BITS_MAX = 200


def findings_of_definition() -> Findings:
    """The collector for one definition."""
    return Findings(FINDINGS_MAX, guesses_max=_GUESSES_MAX, characters_max=_CHARACTERS_MAX)


def unsound(what: str, findings: Findings) -> Incorrect:
    """The error that carries all findings."""
    at = findings.told[0].at
    where = f"{what}: {at}: " if at else f"{what}: "
    return findings.as_problem("workflow.invalid", where, hints_max=_HINTS_SHOWN)


def shown(value: object) -> str:
    """A few printable characters that say what came, in JSON's vocabulary."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}…"
    if isinstance(value, list):
        return f"an array of {len(value)} items"
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS_MAX:
        return "a huge number"
    return str(value) if isinstance(value, int | float) else f"a Python {type(value).__name__}"
