"""Running a conformance suite, and judging what it has found."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mcp_clients import node

SUITE_TIMEOUT_S = 110

# A folder of results is called server-<scenario>-<instant>.
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True)
class Suite:
    """A suite at one version: its package, its options, and how many scenarios it must run."""

    name: str
    package: str
    options: tuple[str, ...]
    scenarios: int


SUITES = [
    Suite("0.1.16, all", "conformance-0.1", ("--suite", "all"), 32),
    Suite("0.2.0-alpha.12, 2025-11-25", "conformance-0.2", ("--requirements", "2025-11-25"), 33),
    Suite("0.2.0-alpha.12, 2026-07-28", "conformance-0.2", ("--requirements", "2026-07-28"), 50),
]


@dataclass
class Outcome:
    """What a run has found: checks by scenario."""

    checks: dict[str, list[dict[str, Any]]]
    output: str
    statuses: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        everything = [check for checks in self.checks.values() for check in checks]
        self.statuses = Counter(check["status"] for check in everything)

    @property
    def failed(self) -> dict[str, list[str]]:
        """The scenarios with a failed check, and what failed in each."""
        found = {
            scenario: [_told(check) for check in checks if check["status"] == "FAILURE"]
            for scenario, checks in self.checks.items()
        }
        return {scenario: failures for scenario, failures in found.items() if failures}

    def figure(self) -> str:
        """The counts, for the closing report."""
        scenarios, wrong = len(self.checks), len(self.failed)
        parts = [f"{scenarios} scenarios, {wrong} failing"]
        parts += [
            f"{self.statuses[kind]} {kind.lower()}" for kind in _COUNTED if self.statuses[kind]
        ]
        return ", ".join(parts)


_COUNTED = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")


def run_suite(suite: Suite, url: str, folder: Path) -> Outcome:
    """Run a suite against an endpoint that asks for no key."""
    program = node.package(suite.package) / "dist" / "index.js"
    done = node.run(
        program, "server", "--url", url, *suite.options, "-o", folder, timeout_s=SUITE_TIMEOUT_S
    )
    return Outcome(_checks(folder), done.stdout + done.stderr)


def objections(outcome: Outcome, suite: Suite, expected: Mapping[str, str]) -> list[str]:
    """Everything that is not as it must be; `expected` failures are scenario → reason.

    An expected failure must fail: once it passes, the list is out of date.
    """
    found = []
    if len(outcome.checks) != suite.scenarios:
        found.append(f"{len(outcome.checks)} scenarios were run instead of {suite.scenarios}")
    for scenario, checks in outcome.checks.items():
        if not any(check["status"] in _COUNTED for check in checks):
            found.append(f"{scenario}: checked nothing")
    for scenario, failures in outcome.failed.items():
        if scenario not in expected:
            found += [f"{scenario}: {failure}" for failure in failures]
    for scenario, reason in expected.items():
        if scenario in outcome.checks and scenario not in outcome.failed:
            found.append(f"{scenario}: passes, yet is expected to fail ({reason})")
    return found


def _checks(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for path in sorted(folder.glob("*/checks.json")):
        named = _FOLDER.fullmatch(path.parent.name)
        assert named is not None, f"what is {path}?"
        found[named["scenario"]] = json.loads(path.read_text())
    return found


def _told(check: dict[str, Any]) -> str:
    details = json.dumps(check.get("details", {}), ensure_ascii=False)[:1500]
    return f"{check['id']}: {check.get('errorMessage') or check['description']} {details}"
