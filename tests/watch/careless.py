"""`sandbar watch` as a careless programmer would have written it: the newer side overwrites.

The negative control of the random test: its oracle must object to this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbar.projects.sync.placing import Files, Placed
from tests.forked import be_the_program


def _overwrite(self: Any, path: str, data: bytes, sha: str, **_: Any) -> Placed:
    del sha
    (self._root / path).write_bytes(data)
    return Placed(True)


def run(words: list[str], env: Mapping[str, str], log: str) -> None:
    """Be that program, in a process of its own; all that it says goes to a file."""
    Files.replace = _overwrite  # type: ignore[method-assign]
    be_the_program(words, env, log, {})
