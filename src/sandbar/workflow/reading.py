"""Lenient reading of a definition: many spellings come in, one form goes on.

Keys may have a leading colon, a trailing question mark or none, snake_case or camelCase; names may
have a leading colon; null is the same as absent. What cannot be read is a finding, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from sandbar.errors import Problem
from sandbar.findings import Findings, finding_of
from sandbar.keywords import parse_keyword
from sandbar.workflow.findings import shown

TEN_YEARS_S = 10 * 366 * 86_400
LEAST_WAIT_S = 0.1  # of what happens by itself, maybe again and again
_KEY_CHARACTERS_MAX = 64
_UNKNOWN_KEYS_SHOWN = 8
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Fields:
    """The fields of one object, by their plain names (`initial`, `terminal-kind`)."""

    def __init__(self, values: dict[str, Any], at: str, findings: Findings) -> None:
        self._values = values
        self._at = at
        self._findings = findings

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> Any:
        """What was given, as it was given."""
        return self._values.get(key)

    def at(self, key: str) -> str:
        """Where a field stands."""
        return f"{self._at}.{key}" if self._at else key

    def require(self, *keys: str) -> None:
        """These fields must be there."""
        for key in keys:
            if key not in self._values:
                self._findings.complain(
                    "workflow.missing", self._at, f"{key} is missing", f"add `{key}`"
                )

    def text(self, key: str, longest: int) -> str | None:
        """A text that is not empty."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._refuse_form(key, "a text", f'"{key}": "words"')
            return None
        if len(value) > longest:
            self._findings.complain(
                "workflow.too-large",
                self.at(key),
                f"a text of {len(value):,} characters is too long",
                f"at most {longest:,} characters",
            )
            return None
        return value or None

    def name(self, key: str, parse: Callable[[str], str] = parse_keyword) -> str | None:
        """A keyword, without its colon."""
        value = self._values.get(key)
        return None if value is None else self.as_name(value, self.at(key), parse)

    def as_name(
        self, value: Any, at: str, parse: Callable[[str], str] = parse_keyword
    ) -> str | None:
        """The same for a value that stands inside a field."""
        try:
            return parse(value)
        except Problem as problem:
            self._findings.add(finding_of(problem, at=at))
            return None

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            self._refuse_form(key, "true or false", f'"{key}?": true')
            return default
        return value

    def seconds(self, key: str, least: float = 0.0) -> float | None:
        """A span of time, above zero, no less than the least, and at most ten years."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._refuse_form(key, "a number of seconds", f'"{key}": 3600 for an hour')
            return None
        if not 0 < value <= TEN_YEARS_S or value < least:
            bound = f"at least {least:g}" if least else "above zero"
            self._findings.complain(
                "workflow.range",
                self.at(key),
                f"{value} is no span of time",
                f"give seconds, {bound} and at most ten years",
            )
            return None
        return float(value)

    def integer(self, key: str, least: int, most: int) -> int | None:
        """A whole number within bounds."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse_form(key, "a whole number", f'"{key}": {max(least, 2)}')
            return None
        if not least <= value <= most:
            self._findings.complain(
                "workflow.range",
                self.at(key),
                f"{value} is out of bounds",
                f"give {least} to {most:,}",
            )
            return None
        return value

    def items(self, key: str, most: int, example: str) -> list[Any] | None:
        """A list that is not too long; None for one that is refused whole."""
        value = self._values.get(key, [])
        if not isinstance(value, list):
            self._refuse_form(key, "an array", f'"{key}": [{example}, …]')
            return None
        if len(value) > most:
            self._findings.complain(
                "workflow.too-large",
                self.at(key),
                f"{len(value):,} {key} are too many",
                f"at most {most:,}; split the workflow: an effect can start another",
            )
            return None
        return value

    def _refuse_form(self, key: str, expected: str, example: str) -> None:
        self._findings.complain(
            "workflow.form",
            self.at(key),
            f"expected {expected}, got {shown(self.get(key))}",
            f"for example {example}",
        )


def read_fields(
    given: Any,
    at: str,
    known: Collection[str],
    findings: Findings,
    example: str,
    aliases: dict[str, str] | None = None,
) -> Fields | None:
    """The fields of an object; unknown and repeated keys are findings."""
    if not isinstance(given, dict):
        findings.complain(
            "workflow.form", at, f"expected an object, got {shown(given)}", f"for example {example}"
        )
        return None
    values: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in given.items():
        plain = plain_key(key)
        plain = (aliases or {}).get(plain, plain)
        if plain not in known:
            unknown.append(key)
        elif value is not None and plain in values:
            findings.complain(
                "workflow.repeated-key", at, f"{plain} is given twice", "keep one spelling"
            )
        elif value is not None:
            values[plain] = value
    _refuse_unknown(unknown, at, known, findings)
    return Fields(values, at, findings)


def plain_key(key: str) -> str:
    """A key in its plain spelling: kebab-case, no colon, no question mark."""
    if len(key) > _KEY_CHARACTERS_MAX:
        return key
    return _HUMP.sub("-", key.removeprefix(":").removesuffix("?")).replace("_", "-").lower()


def _refuse_unknown(
    unknown: list[str], at: str, known: Collection[str], findings: Findings
) -> None:
    for key in unknown[:_UNKNOWN_KEYS_SHOWN]:
        near = findings.guess(plain_key(key), known)
        keys = f"the keys are {', '.join(known)}"
        findings.complain(
            "workflow.unknown-key",
            at,
            f"there is no key {shown(key)}",
            f"{near} {keys}" if near else keys,
        )
    rest = len(unknown) - _UNKNOWN_KEYS_SHOWN
    if rest > 0:
        findings.complain("workflow.unknown-key", at, f"and {rest:,} more keys that are not known")
