"""What the tables of the pages say is what the code says."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import sandbar
from sandbar.edge.capacity import Capacity
from sandbar.errors import Problem
from sandbar.model.core import CORE
from sandbar.model.filters import COMPARISONS
from sandbar.model.introspection import Introspection
from sandbar.model.values import VALUE_TYPES
from sandbar.serving import ToolListing
from sandbar.verbs import base_catalogue
from tests.docs.codes import Codes, Unreadable, collect, source_codes
from tests.docs.pages import ROOT, Page, all_pages, broken_links, page, write_files

UNITS = {"KiB": 1024, "MiB": 1024 * 1024}


@cache
def codes() -> Codes:
    """The codes of the source."""
    return source_codes(ROOT / "src")


# --- errors.md ---------------------------------------------------------------------------------


def differences(rows: list[list[str]], known: Codes) -> list[str]:
    """In what the table of codes and the source differ."""
    table = {row[0].strip("`"): set(row[1].split(", ")) for row in rows}
    found = [f"{code} has no row" for code in known.keys() - table.keys()]
    found += [f"{code} does not exist" for code in table.keys() - known.keys()]
    for code in table.keys() & known.keys():
        if table[code] != known[code]:
            found.append(f"{code} is {', '.join(sorted(known[code]))}")
    twice = {row[0] for row in rows if [other[0] for other in rows].count(row[0]) > 1}
    return sorted(found) + [f"{code} has two rows" for code in sorted(twice)]


def test_every_code_has_a_row_and_every_row_a_code() -> None:
    rows = page("errors").rows("Code")
    assert differences(rows, codes()) == []
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert all(len(row) == 4 and all(row) for row in rows)


def test_a_wrong_row_is_caught() -> None:
    known: Codes = {"a.b": {"Incorrect"}, "c.d": {"Fault"}, "e.f": {"finding", "Incorrect"}}
    rows = [["`a.b`", "Conflict"], ["`x.y`", "Fault"], ["`e.f`", "Incorrect, finding"]]
    assert differences(rows, known) == ["a.b is Incorrect", "c.d has no row", "x.y does not exist"]
    assert differences([*rows, rows[2]], known)[-1] == "`e.f` has two rows"


def test_codes_are_found_however_they_are_made() -> None:
    source = """
class InDoubt(Unavailable): ...
_BUSY = (Unavailable, "tuple.code", "text")
def refused(code, expected): return Incorrect(f"made.{code}", expected)
def pick(flag):
    what = "one" if flag else "two"
    return Finding(code=f"local.{what}", message="")
raise errors.Conflict("plain.code", "text", hint="x")
raise InDoubt("derived.code", "text")
refused("called", "x")
raise Incorrect(problem.code, "passed on")
"""
    assert collect([ast.parse(source)]) == {
        "tuple.code": {"Unavailable"},
        "made.called": {"Incorrect"},
        "local.one": {"finding"},
        "local.two": {"finding"},
        "plain.code": {"Conflict"},
        "derived.code": {"Unavailable"},
    }
    with pytest.raises(Unreadable):
        collect([ast.parse("raise Incorrect(CODES[0], 'x')")])


def test_every_category_is_explained() -> None:
    text = page("errors").text
    assert [kind.__name__ for kind in Problem.__subclasses__() if kind.__name__ not in text] == []


# --- mcp.md --------------------------------------------------------------------------------------


def test_the_lists_of_tools_are_those_of_the_page() -> None:
    core = sum(verb.is_core for verb in base_catalogue())
    listed = {row[0].strip("`"): row[1] for row in page("mcp").rows("`?tools=`")}
    assert set(listed) == {"(nothing)", *get_args(ToolListing)} - {"default"}
    assert f"the {core} verbs" in listed["core"]
    assert f"`?tools=core` ({core} verbs" in page("connect").text
    assert "the same as by default" in listed["full"]  # which tests/mcp/test_lists.py holds it to


def test_the_shares_of_connections_are_those_of_the_page() -> None:
    capacity = Capacity()
    limits = {row[0]: row[1] for row in page("mcp").rows("Limit")}
    assert number(limits["open connections"]) == capacity.connections_max
    address = "connections of one address that have not signed in"
    assert number(limits[address]) == capacity.address_max
    assert number(limits["requests and streams that one key has open"]) == capacity.key_max
    workspace = "requests and streams that one workspace has open"
    assert number(limits[workspace]) == capacity.workspace_max


# --- library.md --------------------------------------------------------------------------------


def number(text: str) -> int:
    """The number that a cell begins with, units applied: `4 MiB`, `10,000`."""
    match = re.match(r"([\d,]+)(?: (KiB|MiB))?", text)
    assert match is not None, text
    return int(match[1].replace(",", "")) * UNITS.get(match[2], 1)


def constant(cell: str) -> object:
    """The value of `package.module.NAME`."""
    module, _, name = cell.strip("`").rpartition(".")
    return getattr(importlib.import_module(module), name)


def wrong_limits(rows: list[list[str]]) -> list[str]:
    """The rows that state another limit than the code has, or an error that does not exist."""
    found = []
    for what, limit, beyond, where in rows:
        if number(limit) != constant(where):
            found.append(f"{what}: {constant(where)}")
        named = re.findall(r"`([a-z-]+\.[a-z-]+)`", beyond)
        found += [f"{what}: {code} does not exist" for code in named if code not in codes()]
    return found


def test_the_limits_are_those_of_the_code() -> None:
    rows = page("library").rows("What")
    assert wrong_limits(rows) == []
    assert len(rows) > 20


def test_a_wrong_limit_is_caught() -> None:
    where = "`sandbar.model.operations.OPERATIONS_MAX`"
    right = ["operations", "10,000", "`operations.too-many`", where]
    assert wrong_limits([right]) == []
    assert wrong_limits([["operations", "9,999", "", where]]) == ["operations: 10000"]
    assert wrong_limits([["operations", "10,000", "`no.code`", where]]) != []


# --- completeness ------------------------------------------------------------------------------


def unmentioned(names: list[str], page: Page) -> list[str]:
    """The names that a page does not have in code."""
    return [
        name
        for name in names
        if not re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/?])", page.text)
    ]


def public(kind: type) -> list[str]:
    """The names of a class's public methods and properties."""
    return [name for name in vars(kind) if not name.startswith("_")]


def test_every_method_of_a_database_is_in_the_pages() -> None:
    everything = Page("all", "\n".join(one.text for one in all_pages()))
    assert unmentioned(public(sandbar.Database), everything) == []
    parameters = list(inspect.signature(sandbar.open).parameters)
    assert unmentioned([f"`{name}`" for name in parameters], page("library")) == []


def test_every_part_of_the_metamodel_is_in_the_schema_page() -> None:
    slots = {entry.slots["db/ident"]: entry.slots.get("dt/slots", []) for entry in CORE}
    named = [*slots["dt/Property"], *slots["dt/Class"], *VALUE_TYPES]
    assert unmentioned(named, page("schema")) == []
    assert unmentioned(public(Introspection), page("schema")) == []


def test_every_operator_is_in_the_queries_page() -> None:
    column = " ".join(row[0] for row in page("queries").rows("Operator"))
    assert set(re.findall(r"`([^`]+)`", column)) == {*COMPARISONS, "and", "or", "not"}


def test_what_is_not_mentioned_is_caught() -> None:
    assert unmentioned(["create", "dt/min"], Page("x", "recreate dt/minimum")) == [
        "create",
        "dt/min",
    ]


# --- packs.md ----------------------------------------------------------------------------------


def test_the_pack_of_the_page_loads_exactly_as_printed(folder: Path) -> None:
    files = write_files(page("packs"), folder)
    names = ("pack", "schema", "entities", "prompts", "workflows")
    assert [file for file in files if file.startswith("garden/")] == [
        f"garden/{name}.json" for name in names
    ]
    with sandbar.open(folder / "pack.db") as db:
        report = db.load_pack(folder / "garden")
        assert (report.name, report.created) == ("garden", report.entities)
        assert db.load_pack(folder / "garden").created == 0


def test_a_page_with_a_broken_pack_is_caught(folder: Path) -> None:
    text = page("packs").text.replace(
        '"title": "A kitchen garden",', '"titel": "A kitchen garden",'
    )
    write_files(Page("docs/packs.md", text), folder)
    with sandbar.open(folder / "pack.db") as db, pytest.raises(sandbar.Incorrect) as caught:
        db.load_pack(folder / "garden")
    assert caught.value.code == "pack.malformed"


# --- links and paths ---------------------------------------------------------------------------


@pytest.mark.parametrize("one", all_pages(), ids=lambda one: one.name)
def test_links_lead_somewhere(one: Page) -> None:
    assert broken_links(one) == []


def test_a_broken_link_is_caught() -> None:
    text = "# Here\n\n[a](README.md) [b](none.md) [c](#here) [d](#there) [e](library.md#nowhere)"
    assert broken_links(Page("docs/x.md", text)) == ["none.md", "#there", "library.md#nowhere"]


def missing_tests(one: Page) -> list[str]:
    """The test files that a page names and that do not exist."""
    named = re.findall(r"`([a-z]+/test_\w+\.py)`", one.text)
    return [path for path in named if not (ROOT / "tests" / path).is_file()]


def test_the_tests_that_prove_a_promise_exist() -> None:
    rows = page("guarantees").rows("Promise")
    assert missing_tests(page("guarantees")) == []
    assert all("test_" in row[2] for row in rows)
    assert missing_tests(Page("x", "`store/test_nothing.py`")) == ["store/test_nothing.py"]


def test_every_page_is_in_the_index() -> None:
    index = page("README").links
    assert [one.name for one in all_pages()[1:] if Path(one.name).name not in index] == [
        "docs/README.md"
    ]
