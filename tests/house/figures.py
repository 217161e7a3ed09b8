"""Measurements of one tree of Python files: from a path to the places found."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import Path

from tests.house.source import Function, Module, Place, dotted, modules

BANNED_NAMES = frozenset(
    {"common", "helper", "helpers", "legacy", "manager", "managers"}
    | {"misc", "modern", "stuff", "temp", "util", "utils"}
)
_VERSIONED = re.compile(r"v\d+")
_CLOCK_READS = re.compile(r"time\b.*|datetime\.(?:datetime\.(?:now|utcnow|today)|date\.today)")
_UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|NotImplemented" r"Error")
_SKIPS = {"skip", "skipif", "xfail", "importorskip", "skipTest", "expectedFailure"}
_SQL = re.compile(
    r"""\s*(?: select\b.+\bfrom\b | select\s+\d | insert\s+(?:or\s+\w+\s+)?into\b
      | update\s+\S+\s+set\b | delete\s+from\s+\w+\s*(?:where\b|$) | with\s+\w+\s+as\s*\(
      | (?:create|alter|drop)\s+(?:table|index|view|trigger|policy|role|database|schema)\b
      | pragma\s+\w+ | vacuum\b | savepoint\s+\w+
      | (?:begin\s+(?:immediate|exclusive|deferred) | (?-i:BEGIN|COMMIT|ROLLBACK))\s*(?:;|$) )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_SQL_FRAGMENT = re.compile(
    r"""\b(?: SELECT | INSERT\s+INTO | VALUES | FROM | WHERE | (?:ORDER|GROUP)\s+BY | LIMIT | UNION
      | RETURNING | PRAGMA | EXPLAIN | SAVEPOINT | LISTEN | COPY | (?:SET|ROLLBACK)\s+(?:LOCAL|TO)
      )(?:\s|$)
      | \b(?:AND|OR|IN|ANY)\b .* (?:\?|%s) | ^(?:AND|OR)\s+\S | [=<>]\s+(?:\?|%s)(?:\s|$)""",
    re.VERBOSE | re.DOTALL,
)
# What only begins and ends a transaction stands where the connection is held.
_TRANSACTION_WORDS = frozenset({"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"})
_HOLD_CONNECTIONS = ("store", "scratch")


def file_lengths(tree: Path) -> list[Place]:
    """Every file with its number of lines in `line`, longest first."""
    sizes = [Place(one.path, one.text.count("\n"), "lines") for one in modules(tree)]
    return sorted(sizes, key=lambda place: -place.line)


def function_lengths(tree: Path) -> list[Place]:
    """Every function with its number of lines in `line`, longest first."""
    sizes = [
        Place(module.path, (one.end_lineno or one.lineno) - one.lineno + 1, f"lines of {one.name}")
        for module in modules(tree)
        for one in module.functions
    ]
    return sorted(sizes, key=lambda place: -place.line)


def broad_handlers(tree: Path) -> list[Place]:
    """Handlers that swallow everything; one that ends by raising again swallows nothing."""
    found = []
    for module in modules(tree):
        for node in module.nodes:
            if isinstance(node, ast.ExceptHandler) and _is_broad(node.type):
                last = node.body[-1]
                if not (isinstance(last, ast.Raise) and last.exc is None):
                    found.append(module.place(node, "broad handler"))
            if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "suppress":
                broad = [one for one in node.args if _is_broad(one)]
                found += [module.place(one, "suppresses everything") for one in broad]
    return found


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(one) for one in caught.elts)
    return caught is None or dotted(caught).split(".")[-1] in {"Exception", "BaseException"}


def banned_names(tree: Path) -> list[Place]:
    """Files and folders whose name says nothing, or will age."""
    found = []
    for module in modules(tree):
        words = re.split(r"[./_]", module.path.removesuffix(".py"))
        bad = [word for word in words if word in BANNED_NAMES or _VERSIONED.fullmatch(word)]
        found += [Place(module.path, 1, f"named {word}") for word in bad]
    return found


def clock_reads(tree: Path) -> list[Place]:
    """Uses of the time, or of sleep, outside the module that owns the clock."""
    found = []
    for module in modules(tree):
        if module.name.split(".")[1:] == ["clock"]:
            continue
        names = _times_imported(module)
        for node in module.nodes if names else ():
            head, _, rest = dotted(node).partition(".")
            full = ".".join(filter(None, [names.get(head, ""), rest]))
            if head in names and _CLOCK_READS.fullmatch(full):
                found.append(module.place(node, f"uses {full}"))
    return sorted({(one.path, one.line): one for one in found}.values(), key=str)


def _times_imported(module: Module) -> dict[str, str]:
    """What each imported name that has to do with time stands for."""
    names: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            names |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return {name: full for name, full in names.items() if full.startswith(("time", "datetime"))}


def sql_strings(tree: Path) -> list[Place]:
    """Strings in Python that are SQL or parts of it: all of it stands in `.sql` files."""
    found = []
    for module in modules(tree):
        room = module.name.split(".")[1:2]
        allowed = _TRANSACTION_WORDS if set(room) <= set(_HOLD_CONNECTIONS) else frozenset()
        prose = {id(doc) for doc in map(_docstring_node, module.nodes) if doc}
        for node in module.nodes:
            text = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(text, str) or id(node) in prose or text in allowed:
                continue
            if _SQL.match(text) or _SQL_FRAGMENT.search(text):
                found.append(module.place(node, repr(text[:40])))
    return found


def _docstring_node(node: ast.AST) -> ast.expr | None:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    return first.value if isinstance(first, ast.Expr) else None


_CHANGING = frozenset(
    {"Workspace", "Database", "Guarded", "Introspection", "Schema", "Store", "Snapshot", "Reads"}
    | {"Entity", "Context", "Workflows"}
)


def caches_of_what_changes(tree: Path) -> list[Place]:
    """Functions whose answers are kept for as long as the program runs, by something that changes.

    A workspace, its schema and its entities do; values, texts and rights do not.
    """
    found = []
    for module in modules(tree):
        for one in module.functions:
            marks = [
                mark.func if isinstance(mark, ast.Call) else mark for mark in one.decorator_list
            ]
            if not {dotted(mark).split(".")[-1] for mark in marks} & {"cache", "lru_cache"}:
                continue
            given = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
            notes = [node for arg in given if arg.annotation for node in ast.walk(arg.annotation)]
            names = {dotted(node).split(".")[-1] for node in notes} & _CHANGING
            if names or any(arg.arg == "self" for arg in given):
                found.append(
                    module.place(one, f"{one.name} by {', '.join(sorted(names)) or 'self'}")
                )
    return found


def coroutines(tree: Path, rooms: Collection[str]) -> list[Place]:
    """Asynchronous functions outside of these rooms."""
    return [
        module.place(one, one.name)
        for module in modules(tree)
        if not set(module.name.split(".")[1:2]) & set(rooms)
        for one in module.functions
        if isinstance(one, ast.AsyncFunctionDef)
    ]


def undocumented(tree: Path) -> list[Place]:
    """Modules, public classes, functions and methods without a docstring.

    A method whose base class in the same tree documents it needs no second text, and a bare
    signature in a protocol is explained by its class.
    """
    found = modules(tree)
    classes = [node for one in found for node in one.nodes if isinstance(node, ast.ClassDef)]
    promised = {node.name: _documented_methods(node) for node in classes}
    places = []
    for module in found:
        if module.tree.body and not ast.get_docstring(module.tree):
            places.append(Place(module.path, 1, "module"))
        places += _undocumented_in(module, module.tree, promised, set())
    return places


def _undocumented_in(
    module: Module, owner: ast.Module | ast.ClassDef, promised: dict[str, set[str]], known: set[str]
) -> list[Place]:
    places = []
    for node in owner.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not _is_excused(node) and node.name not in known:
            places.append(module.place(node, node.name))
        if isinstance(node, ast.ClassDef):
            bases = [dotted(base).split(".")[-1] for base in node.bases]
            inherited = set().union(*(promised.get(base, set()) for base in bases))
            places += _undocumented_in(module, node, promised, inherited)
    return places


def _documented_methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, Function) and ast.get_docstring(one)}


def _is_excused(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    if isinstance(node, Function) and [ast.unparse(one) for one in node.body] == ["..."]:
        return True
    names = [dotted(one) for one in node.decorator_list]
    return any(name.split(".")[-1] in {"overload", "override", "setter"} for name in names)


def unannotated_returns(tree: Path) -> list[Place]:
    """Functions that do not say what they return."""
    return [
        module.place(one, one.name)
        for module in modules(tree)
        for one in module.functions
        if one.returns is None
    ]


def unfinished(tree: Path) -> list[Place]:
    """Marks of work put off, and functions that are not there yet."""
    return [
        Place(module.path, number, match.group())
        for module in modules(tree)
        if _UNFINISHED.search(module.text)
        for number, line in enumerate(module.text.splitlines(), 1)
        for match in _UNFINISHED.finditer(line)
    ]


def skipped_tests(tree: Path) -> list[Place]:
    """Tests that may be passed over, or may fail without failing."""
    return [
        module.place(node, dotted(node))
        for module in modules(tree)
        for node in module.nodes
        if isinstance(node, ast.Attribute)
        and node.attr in _SKIPS
        and dotted(node).split(".")[0] in {"pytest", "unittest", "self"}
    ]
