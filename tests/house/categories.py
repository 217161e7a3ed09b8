"""Whether whatever is decided by the category of an error is decided for each of them.

A category is a class directly below `Problem` in `errors.py`. What surfaces make of it stands in
tables: dicts whose keys are categories. A new category has to be given a place in each.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.source import Module, Place, dotted, modules

_ROOT = "Problem"
_TABLE_MIN = 2  # categories among its keys make a dict a table
_LADDER_MIN = 3  # categories that a function asks for make it one that should look into a table


def categories(tree: Path) -> list[str]:
    """The names of all categories, in their order."""
    return [
        node.name
        for module in modules(tree)
        if module.path.endswith("/errors.py")
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and any(dotted(base) == _ROOT for base in node.bases)
    ]


def tables(tree: Path) -> list[Place]:
    """Every table, with the categories that it names."""
    known = categories(tree)
    return [
        module.place(table, " ".join(_named(table, known)))
        for module in modules(tree)
        for table in _tables(module, known)
    ]


def forgotten(tree: Path) -> list[Place]:
    """What a table does not name, and tables that are asked in a way that hides it."""
    known = categories(tree)
    found, names = [], set()
    for module in modules(tree):
        for table in _tables(module, known):
            missing = [one for one in known if one not in _named(table, known)]
            found += [module.place(table, f"forgets {one}") for one in missing]
        names |= {name for name, value in _assigned(module) if value in _tables(module, known)}
    for module in modules(tree):
        for node in module.nodes:
            asked, _, how = dotted(node).rpartition(".")
            if how == "get" and asked.rpartition(".")[2] in names:
                found.append(module.place(node, "asks a table and takes what it lacks"))
    return found


def ladders(tree: Path) -> list[Place]:
    """Functions that ask for one category after the other: what is new falls through."""
    known = set(categories(tree))
    return [
        module.place(function, f"{function.name} asks for {', '.join(sorted(asked))}")
        for module in modules(tree)
        for function in module.functions
        if len(asked := known & _asked_for(function)) >= _LADDER_MIN
    ]


def _tables(module: Module, known: list[str]) -> list[ast.Dict]:
    dicts = (node for node in module.nodes if isinstance(node, ast.Dict))
    return [one for one in dicts if len(_named(one, known)) >= _TABLE_MIN]


def _named(table: ast.Dict, known: list[str]) -> list[str]:
    keys = (dotted(key).rpartition(".")[2] for key in table.keys if key is not None)
    return [key for key in keys if key in known]


def _assigned(module: Module) -> list[tuple[str, ast.expr | None]]:
    """Every name that is assigned to, and what."""
    found: list[tuple[str, ast.expr | None]] = []
    for node in module.nodes:
        if isinstance(node, ast.AnnAssign):
            found.append((dotted(node.target), node.value))
        elif isinstance(node, ast.Assign):
            found += [(dotted(target), node.value) for target in node.targets]
    return found


def _asked_for(function: ast.AST) -> set[str]:
    """The last part of every name that an `isinstance` in a function asks for."""
    return {
        dotted(part).rpartition(".")[2]
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and dotted(node.func) == "isinstance" and len(node.args) == 2
        for part in ast.walk(node.args[1])
    }
