"""Named queries: SQL lives in `.sql` files, each statement under a line `-- name: it`."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from types import SimpleNamespace

_NAME = re.compile(r"^-- name: ([a-z_]+)[ \t]*$", re.MULTILINE)


@cache
def load_queries(package: str, file: str) -> SimpleNamespace:
    """The statements of a file as attributes: `queries.entity_by_id`."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return SimpleNamespace(**{name: _statement(body) for name, body in named})


def _statement(body: str) -> str:
    """The statement without the comments around it, which may belong to the next one."""
    lines = (line for line in body.splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip().rstrip(";")
