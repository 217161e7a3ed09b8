"""The error codes in the source, found by reading it: no code hides behind a path not taken.

A code is the first argument of a call to `Problem` or a class below it, or `code=` of a `Finding`,
or the text after such a class in a tuple. One that is put together (`f"value.{code}"`) is followed
to the constants that the enclosing function is called with or assigns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbar import errors
from tests.house.source import Function, modules

FINDING = "finding"  # the category of a code that is part of another problem's data

Codes = dict[str, set[str]]  # code to categories


class Unreadable(AssertionError):
    """A code is made in a way that this reader does not follow."""


@dataclass(frozen=True)
class _Scope:
    """A function (None: the top of a module) and all calls of the source, by what is called."""

    function: Function | None
    calls: dict[str, list[tuple[Function | None, ast.Call]]]


def source_codes(tree: Path) -> Codes:
    """Every code of the source below a folder, with the categories that it is raised in."""
    return collect([module.tree for module in modules(tree)])


def collect(trees: list[ast.Module]) -> Codes:
    """Every code in these modules."""
    nodes = [
        pair
        for tree in trees
        for pair in _with_function(tree, None)
        if isinstance(pair[1], ast.Call | ast.Tuple | ast.ClassDef)
    ]
    categories = _categories(node for _, node in nodes if isinstance(node, ast.ClassDef))
    calls: dict[str, list[tuple[Function | None, ast.Call]]] = {}
    for function, node in nodes:
        if isinstance(node, ast.Call):
            calls.setdefault(_name(node.func), []).append((function, node))
    codes: Codes = {}
    for function, node in nodes:
        for category, code in _raised(node, categories, _Scope(function, calls)):
            codes.setdefault(code, set()).add(category)
    return codes


def _categories(classes: Iterable[ast.ClassDef]) -> dict[str, str]:
    """Class name to category: the classes of `errors`, and whatever is derived from them."""
    known = {name: name for name in vars(errors) if _is_problem(getattr(errors, name))}
    for node in classes:
        if node.name not in known:
            for base in node.bases:
                if _name(base) in known:
                    known[node.name] = known[_name(base)]
    return known


def _is_problem(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.Problem)


def _with_function(
    node: ast.AST, function: Function | None
) -> Iterator[tuple[Function | None, ast.AST]]:
    todo = [(function, node)]
    while todo:
        outer, parent = todo.pop()
        inner = parent if isinstance(parent, Function) else outer
        for child in ast.iter_child_nodes(parent):
            todo.append((inner, child))
            yield (child if isinstance(child, Function) else inner), child


def _raised(node: ast.AST, categories: dict[str, str], scope: _Scope) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name in categories and node.args:
            yield from ((categories[name], code) for code in _texts(node.args[0], scope))
        elif name == "Finding":
            given = next(k.value for k in node.keywords if k.arg == "code")
            yield from ((FINDING, code) for code in _texts(given, scope))
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1:
        category, code = _name(node.elts[0]), node.elts[1]
        if category in categories and isinstance(code, ast.Constant):
            yield categories[category], str(code.value)


def _texts(node: ast.expr, scope: _Scope) -> list[str]:
    """All texts that an expression can be; none if it only passes on another problem's code."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.IfExp):
        return _texts(node.body, scope) + _texts(node.orelse, scope)
    if isinstance(node, ast.JoinedStr):
        whole = [""]
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            whole = [head + tail for head in whole for tail in _texts(inner, scope)]
        return whole
    if any(isinstance(part, ast.Attribute) and part.attr == "code" for part in ast.walk(node)):
        return []
    if isinstance(node, ast.Name) and scope.function is not None:
        return _values_of(node.id, scope)
    raise Unreadable(f"line {node.lineno}: {ast.unparse(node)}")


def _values_of(name: str, scope: _Scope) -> list[str]:
    """The texts that a variable of a function can be."""
    function = scope.function
    assert function is not None
    given = [argument.arg for argument in function.args.args]
    if name in given:
        place = given.index(name) - (given[0] == "self")
        return [
            text
            for caller, call in scope.calls.get(function.name, [])
            for text in _texts(call.args[place], _Scope(caller, scope.calls))
        ]
    assigned = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and name in map(_name, node.targets)
    ]
    if not assigned:
        raise Unreadable(f"{function.name}: {name}")
    return [text for value in assigned for text in _texts(value, scope)]


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
