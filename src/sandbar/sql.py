"""Named queries: SQL lives in `.sql` files, each statement under a line `-- name: it`.

The columns of the audit are declared once, in `trail.py`: `{audit}` in a statement are their names,
`{audit: %(column)s}` stands for something of each, in which `column` is its name.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from types import SimpleNamespace

from sandbar.store.trail import AuditRow

_NAME = re.compile(r"^-- name: ([a-z_]+)[ \t]*$", re.MULTILINE)
_AUDIT = re.compile(r"\{audit(?:: (.+?))?\}")


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
    return _AUDIT.sub(_of_audit, "\n".join(lines)).strip().rstrip(";")


def _of_audit(found: re.Match[str]) -> str:
    form = found[1] or "column"
    return ", ".join(form.replace("column", name) for name in AuditRow._fields)
