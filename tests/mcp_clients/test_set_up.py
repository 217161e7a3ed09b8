"""The clients are the ones that are named: exact versions, locked, and installed as locked."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.mcp_clients import node

_EXACT = re.compile(r"(npm:@[\w-]+/[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?")


def test_every_package_is_pinned_and_locked() -> None:
    wanted: dict[str, str] = _read("package.json")["dependencies"]
    assert all(_EXACT.fullmatch(version) for version in wanted.values()), wanted
    assert _read("package-lock.json")["packages"][""]["dependencies"] == wanted


def test_a_loose_version_would_be_noticed() -> None:
    for loose in ("^1.2.3", "1.x", "latest", "npm:@scope/name@^1.0.0"):
        assert not _EXACT.fullmatch(loose)


def test_what_is_installed_is_what_is_locked() -> None:
    locked = _read("package-lock.json")["packages"]
    for name in _read("package.json")["dependencies"]:
        installed = json.loads((node.package(name) / "package.json").read_text())
        assert installed["version"] == locked[f"node_modules/{name}"]["version"]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((node.HERE / name).read_text())
    return found
