"""`sandbar watch` as a careless programmer would have written it: the newer side overwrites.

The negative control of the random test: its oracle must object to this one.
"""

from __future__ import annotations

from typing import Any

from sandbar.cli.main import main
from sandbar.projects.sync.placing import Files, Placed


def _overwrite(self: Any, path: str, data: bytes, sha: str, **_: Any) -> Placed:
    del sha
    (self._root / path).write_bytes(data)
    return Placed(True)


if __name__ == "__main__":
    Files.replace = _overwrite  # type: ignore[method-assign]
    main()
