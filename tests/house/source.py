"""Python files as parsed modules, for the measurements."""

from __future__ import annotations

import ast
import gc
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """Somewhere in the code where something was found."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(frozen=True)
class Module:
    """One file: `path` is relative to the tree, `name` is the dotted name it is imported by."""

    path: str
    name: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree, walked to once for a dozen measurements."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, methods and nested ones included."""
        return [one for one in self.nodes if isinstance(one, Function)]

    def place(self, node: ast.AST, what: str) -> Place:
        """Where a node stands, and what was found there."""
        return Place(self.path, getattr(node, "lineno", 1), what)


def modules(tree: Path) -> list[Module]:
    """Every Python file below a folder; the folder is what stands on the import path."""
    found = []
    known = _module.cache_info().misses
    gc.disable()
    try:
        for path in sorted(tree.rglob("*.py")):
            state = path.stat()
            found.append(_module(path, path.relative_to(tree), state.st_mtime_ns, state.st_size))
    finally:
        gc.enable()
    if _module.cache_info().misses > known:
        gc.freeze()  # millions of nodes that stay: whoever looks for garbage later need not care
    return found


@lru_cache(maxsize=2_000)  # all of ours: a dozen measurements look at each of them
def _module(path: Path, relative: Path, mtime_ns: int, size: int) -> Module:
    parts = [*relative.parts[:-1], relative.stem]
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(str(relative), name, text, ast.parse(text, str(path)))


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression, else the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""
