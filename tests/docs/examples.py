"""Running the Python of a page, from top to bottom, and holding it to what it shows.

    1 + 1                # -> 2              the repr of the value must be this
    db.get("no/thing")   # raises entity.unknown

Both stand at the end of a statement's last line, at the top level of a block. Anywhere else such
a comment would be a claim that nobody checks, and is refused.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from sandbar import Database, Problem
from tests.docs.pages import Block, Page

_CLAIM = re.compile(r"# (->|raises) (.+?)\s*$")

Namespace = dict[str, Any]


class WrongPage(AssertionError):
    """A page shows what is not so."""


def run_page(page: Page, namespace: Namespace | None = None) -> Namespace:
    """Run all Python blocks of a page in one namespace; databases left open are closed."""
    names: Namespace = {"__name__": "page"} if namespace is None else namespace
    try:
        for block in page.blocks:
            if block.language == "python" and block.file is None:
                _run_block(page, block, names)
    finally:
        for value in list(names.values()):
            if isinstance(value, Database):
                value.close()
    return names


def _run_block(page: Page, block: Block, names: Namespace) -> None:
    tree = ast.parse(block.text)
    lines = block.text.splitlines()
    claims = {at: match for at, line in enumerate(lines, 1) if (match := _CLAIM.search(line))}
    for statement in tree.body:
        assert statement.end_lineno is not None
        where = f"{page.name}:{block.line + statement.lineno - 1}"
        claim = claims.pop(statement.end_lineno, None)
        if claim is None:
            _execute(statement, where, names)
        elif claim[1] == "raises":
            _check_raises(statement, claim[2], where, names)
        else:
            _check_value(statement, claim[2], where, names)
    if claims:
        raise WrongPage(f"{page.name}:{block.line + min(claims) - 1}: nobody checks this comment")


def _execute(statement: ast.stmt, where: str, names: Namespace) -> None:
    module = ast.Module([statement], type_ignores=[])
    try:
        exec(compile(module, where, "exec"), names)
    except AssertionError as error:
        raise WrongPage(f"{where}: {ast.unparse(statement)} does not hold") from error


def _check_value(statement: ast.stmt, expected: str, where: str, names: Namespace) -> None:
    if not isinstance(statement, ast.Expr):
        raise WrongPage(f"{where}: only an expression has a value")
    value = eval(compile(ast.Expression(statement.value), where, "eval"), names)
    if repr(value) != expected:
        raise WrongPage(f"{where}: {ast.unparse(statement)} is {value!r}, not {expected}")


def _check_raises(statement: ast.stmt, code: str, where: str, names: Namespace) -> None:
    try:
        _execute(statement, where, names)
    except Problem as problem:
        if problem.code != code:
            raise WrongPage(f"{where}: raises {problem.code}, not {code}") from problem
        return
    raise WrongPage(f"{where}: raises nothing")
