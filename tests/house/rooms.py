"""Measurements of what one room knows of another: doors, and names that only some may ask for."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tests.house.source import Module, Place, dotted, modules


def windows(tree: Path, side_doors: Mapping[str, str] | None = None) -> list[Place]:
    """Imports that enter a room from outside past its door, which is the page of its package.

    A name of that page is the page's, also if a module is called the same. `side_doors` are modules
    that may be entered, too, and by which room.
    """
    excused = set((side_doors or {}).items())
    found = modules(tree)
    known = {one.name for one in found}
    doors = {one.name: _names_of(one) for one in found if one.path.endswith("__init__.py")}
    places = []
    for module in found:
        room = _room(module.name)
        for node, target in _imports(module, known, doors):
            is_inside = target in known and target.count(".") > 1 and _room(target) != room
            if is_inside and (target, room) not in excused:
                places.append(module.place(node, f"enters {target}"))
    return places


def _imports(
    module: Module, known: Collection[str], doors: Mapping[str, set[str]]
) -> Iterator[tuple[ast.AST, str]]:
    """The modules that are imported; relative ones never leave the tree unnoticed by ruff."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_page = alias.name in doors.get(node.module, ())
                yield node, whole if whole in known and not is_page else node.module


def _names_of(page: Module) -> set[str]:
    """What a package's page offers by itself: whatever it imports or defines."""
    offered: set[str] = set()
    for node in page.tree.body:
        if isinstance(node, ast.ImportFrom):
            offered |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            offered.add(node.name)
    return offered


def _room(name: str) -> str:
    """`ours.room` of `ours.room.corner`."""
    return ".".join(name.split(".")[:2])


def asked_of(tree: Path, room: str, door: str) -> list[Place]:
    """The names that a room imports from a door, or from behind it."""
    places = []
    for module in modules(tree):
        if _room(module.name) != room:
            continue
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{door}."):
                places += [module.place(node, alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                whole = [one.name for one in node.names if f"{one.name}.".startswith(f"{door}.")]
                places += [module.place(node, name) for name in whole]
    return places


def bare_workspaces(tree: Path, rooms: Collection[str]) -> list[Place]:
    """Where verbs, in these rooms or below them, get hold of a workspace past what guards it.

    A caller's `workspace` is a name; the neighbours are only handed on to what asks who may.
    """
    places = []
    for module in modules(tree):
        if not any(f"{module.name}.".startswith(f"{room}.") for room in rooms):
            continue
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names}
                places += [module.place(node, "Workspace")] * ("Workspace" in names)
            elif isinstance(node, ast.Attribute):
                owner = node.value.func if isinstance(node.value, ast.Call) else node.value
                last = dotted(owner).split(".")[-1]
                is_bare = node.attr in ("workspace", "_workspace") and last != "caller"
                if is_bare or last in ("neighbours", "neighbours_of"):
                    places.append(module.place(node, f"{last}.{node.attr}"))
    return places
