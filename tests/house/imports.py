"""Measurements of imports: where they stand and whether they go round in circles."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.source import Module, Place, modules

Graph = dict[str, set[str]]


def imports_in_functions(tree: Path) -> list[Place]:
    """Imports below the top of a file, except in `cli`, which loads what a command needs."""
    found = set()
    for module in modules(tree):
        if module.name.split(".")[1:2] == ["cli"]:
            continue
        on_top = {id(node) for node in module.tree.body}
        imports = [one for one in module.nodes if isinstance(one, ast.Import | ast.ImportFrom)]
        lower = {id(one) for one in imports} - on_top
        for function in module.functions if lower else ():
            for node in ast.walk(function):
                if id(node) in lower:
                    found.add(module.place(node, f"import in {function.name}"))
    # A nested function is seen from the outer one too; one place is one finding.
    return sorted({(one.path, one.line): one for one in found}.values(), key=str)


def modules_in_cycles(tree: Path) -> list[Place]:
    """Modules that import themselves by a detour; in-function and type-only imports count."""
    graph = import_graph(modules(tree))
    reachable = {name: _reachable(graph, name) for name in graph}
    return [
        Place(name, 1, "imports itself by way of " + ", ".join(sorted(graph[name] & knot)))
        for name in sorted(graph)
        if (knot := {other for other in reachable[name] if name in reachable.get(other, set())})
    ]


def import_graph(found: list[Module]) -> Graph:
    """Which module imports which, within the tree."""
    names = {module.name for module in found}
    return {module.name: _imported(module, names) - {module.name} for module in found}


def _imported(module: Module, names: set[str]) -> set[str]:
    wanted: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            wanted.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            # `from package import room` means the room, `from package import Name` the door.
            for alias in node.names:
                room = f"{base}.{alias.name}"
                wanted.add(room if room in names else base)
    return wanted & names


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    steps_up = node.level - (1 if module.path.endswith("__init__.py") else 0)
    parent = parts[: len(parts) - steps_up]
    return ".".join([*parent, *([node.module] if node.module else [])])


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph.get(name, ()))
    return seen
