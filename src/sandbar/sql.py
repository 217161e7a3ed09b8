"""Named queries: SQL lives in `.sql` files, each statement under a line `-- name: it`.

A list of columns that is declared elsewhere may be given by a name. Then `{name}` stands for its
columns, and `{name: %(column)s}` for something of each, in which `column` is its name.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from types import SimpleNamespace

_NAME = re.compile(r"^-- name: ([a-z_]+)[ \t]*$", re.MULTILINE)
_LIST = re.compile(r"\{([a-z]+)(?:: (.+?))?\}")


@cache
def load_queries(package: str, file: str, **lists: tuple[str, ...]) -> SimpleNamespace:
    """The statements of a file as attributes: `queries.entity_by_id`."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return SimpleNamespace(**{name: _statement(body, lists) for name, body in named})


def _statement(body: str, lists: dict[str, tuple[str, ...]]) -> str:
    """The statement without the comments around it, which may belong to the next one."""
    lines = (line for line in body.splitlines() if not line.startswith("--"))

    def of_each(found: re.Match[str]) -> str:
        if found[1] not in lists:
            return found[0]
        form = found[2] or "column"
        return ", ".join(form.replace("column", name) for name in lists[found[1]])

    return _LIST.sub(of_each, "\n".join(lines)).strip().rstrip(";")
