"""Scenarios that are known to fail, each with its reason: none."""

from __future__ import annotations

EXPECTED_FAILURES: dict[str, str] = {}
