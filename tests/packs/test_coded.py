"""The code of packs: what comes with Sandbar, and what installed distributions bring."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sandbar.packs import PackCode, code_of
from tests.packs.conftest import WritePack
from tests.packs.scripts import run_script

GARDEN = '''
"""The code of a pack that somebody else has written."""
import msgspec
from sandbar.packs import PackResource, PackTemplate, PromptMessages
from sandbar.verbs import Content, Text, Verb

class Watering(msgspec.Struct):
    bed: str

def water(context, arguments):
    bed = context.db.get(arguments.bed)
    return Content([Text(f"{bed['db/doc']} is wet")])

def plan(context, arguments):
    return PromptMessages([{"role": "user", "content": {"type": "text", "text": "coded"}}])

VERBS = (
    Verb(name="water_bed", title="Water", description="Waters a bed.", access="read",
         arguments=Watering, result=Content, run=water, is_exact=True),
)
RESOURCES = (PackResource("garden://map", "map", "A map.", "text/plain", lambda: "map"),)
TEMPLATES = ()
PROMPT_HANDLERS = {"garden/plan": plan}
COMPLETIONS = {("garden/plan", "bed"): ("north", "south")}
'''


def with_endpoint(path: str = "/a", name: str = "g", tools: str = "'water_bed',") -> str:
    """The same with an endpoint of its own."""
    made = f"PackEndpoint(path={path!r}, name={name!r}, title='G', version='1', tools=({tools}))"
    return f"{GARDEN}\nfrom sandbar.packs import PackEndpoint\nENDPOINTS = ({made},)\n"


PROGRAM = """
import json, sys
import msgspec
from sandbar.access import Guarded, local_caller
from sandbar.errors import Problem
from sandbar.model import Workspace
from sandbar.packs import *
from sandbar.store.sqlite.store import SqliteStore
from sandbar.verbs import Call, Context
from tests.packs.conversations import run, services_of

store = SqliteStore(sys.argv[1])
workspace = Workspace.open(store, "main")
db = Guarded(workspace, local_caller("main"))

def context():
    code = code_of(loaded_packs(db))
    return Context(Call(db.caller, "test"), db, services_of(db)), code

answer = {}
try:
    exec(sys.argv[2])
except Problem as problem:
    answer = {"code": problem.code, "message": problem.message, "t": workspace.last_t()}
store.close()
print(json.dumps(answer))
"""

LOAD_AND_USE = """
answer["available"] = [pack.name for pack in available_packs()]
answer["imported before"] = "garden_pack.code" in sys.modules
answer["created"] = load_pack(workspace, "garden").created
ctx, code = context()
answer["loaded"] = loaded_packs(db)
answer["tool"] = run(db, "water_bed", bed="bed/north").parts[0].text
answer["resource"] = code.read("garden://map")
answer["prompt"] = get_prompt(ctx, code, "plan", {}).messages[0]["content"]["text"]
answer["values"] = complete_argument(db, code, "plan", "bed", "s")
"""


def install(site: Path, name: str = "garden", code: str = GARDEN, value: str = "") -> None:
    """Put a distribution with a pack into a folder, as an installer would."""
    package = site / f"{name}_pack"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "code.py").write_text(code)
    (package / "pack.json").write_text(json.dumps({"name": name, "title": name}))
    bed = {"class": f"{name}/Bed", "slots": {"db/ident": "bed/north", "db/doc": "The bed"}}
    (package / "schema.json").write_text(json.dumps({"classes": {f"{name}/Bed": {}}}))
    (package / "entities.json").write_text(json.dumps([bed]))
    message = {"role": "user", "content": {"type": "text", "text": "plain"}}
    prompt = {"ident": f"{name}/plan", "description": "Plans.", "messages": [message]}
    (package / "prompts.json").write_text(json.dumps([prompt]))
    info = site / f"{name}_pack-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-pack\nVersion: 1.0\n")
    target = value or f"{name}_pack.code"
    (info / "entry_points.txt").write_text(f"[sandbar.packs]\n{name} = {target}\n")


def run_with(site: Path, script: str) -> dict[str, Any]:
    """Run a script in a process that has these distributions installed."""
    done = run_script(site, PROGRAM, str(site / "a.db"), textwrap.dedent(script))
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("value", ["garden_pack.code", "garden_pack.code:VERBS"])
def test_an_installed_pack_is_found_loaded_and_used(tmp_path: Path, value: str) -> None:
    install(tmp_path, value=value)
    assert run_with(tmp_path, LOAD_AND_USE) == {
        "available": ["care", "memory", "zorp", "garden"],
        "imported before": True,
        "created": 1,
        "loaded": ["garden"],
        "tool": "The bed is wet",
        "resource": ["map", "text/plain"],
        "prompt": "coded",
        "values": ["south"],
    }


def test_the_package_itself_may_be_the_module(tmp_path: Path) -> None:
    install(tmp_path, value="garden_pack")
    (tmp_path / "garden_pack" / "__init__.py").write_text(GARDEN)
    assert run_with(tmp_path, LOAD_AND_USE)["tool"] == "The bed is wet"


def test_an_installed_pack_is_no_code_until_it_is_loaded(tmp_path: Path) -> None:
    install(tmp_path)
    script = 'load_pack(workspace, "zorp"); answer["verbs"] = len(context()[1].verbs)'
    assert run_with(tmp_path, script) == {"verbs": 0}


def test_without_the_distribution_the_pack_is_unknown(tmp_path: Path) -> None:
    """The control of the tests above."""
    (tmp_path / "a.db").touch()
    assert run_with(tmp_path, LOAD_AND_USE)["code"] == "pack.unknown"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import no_such_module_at_all", "no_such_module_at_all"),
        ("VERBS = (", "cannot be imported"),
        ("VERBS = (Verb(),)", "Verb"),
        ("VERBS = ('water',)", "VERBS is a tuple of Verb"),
        ("RESOURCES = (1,)", "RESOURCES is a tuple of PackResource"),
        ("VERBS = 5", "VERBS is a tuple of Verb"),
        (GARDEN.replace("water_bed", "sandbar_entity_find"), "sandbar_entity_find"),
        ("ENDPOINTS = (1,)", "ENDPOINTS is a tuple of PackEndpoint"),
        (with_endpoint("/mcp/garden"), "'/mcp/garden' is no path"),
        (with_endpoint("/Garden"), "'/Garden' is no path"),
        (with_endpoint("/garden/"), "'/garden/' is no path"),
        (with_endpoint("garden"), "'garden' is no path"),
        (with_endpoint(name="A b"), "'A b' is no name"),
        (with_endpoint(tools="'find',"), "/a names find"),
        (with_endpoint(tools=""), "/a names nothing"),
    ],
)
def test_broken_code_is_named_and_nothing_is_written(tmp_path: Path, code: str, says: str) -> None:
    install(tmp_path, code=code)
    answer = run_with(tmp_path, 'load_pack(workspace, "garden")')
    assert (answer["code"], answer["t"]) == ("pack.code-broken", 1)
    assert says in answer["message"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("water_bed", "greet", "tool greet"),
        ("garden://map", "test://static-text", "resource test://static-text"),
    ],
)
def test_code_that_clashes_is_refused_before_anything_is_written(
    tmp_path: Path, old: str, new: str, kind: str
) -> None:
    install(tmp_path, code=GARDEN.replace(old, new))
    answer = run_with(
        tmp_path, 'load_pack(workspace, "everything"); load_pack(workspace, "garden")'
    )
    assert (answer["code"], answer["t"]) == ("pack.code-clash", 2)
    assert kind in answer["message"]


def test_a_path_of_another_pack_is_refused(tmp_path: Path) -> None:
    install(tmp_path, code=with_endpoint("/api/mcp"))
    script = """
        load_pack(workspace, "garden"); load_pack(workspace, "care")
    """
    answer = run_with(tmp_path, script)
    assert (answer["code"], answer["t"]) == ("pack.code-clash", 2)
    assert "packs care and garden both have a path /api/mcp" in answer["message"]


def test_endpoints_are_those_of_all_packs_that_could_be_loaded(tmp_path: Path) -> None:
    """One that is broken, or wants another's path, keeps nobody from being served."""
    install(tmp_path, code=with_endpoint("/garden/mcp"))
    install(tmp_path, "broken", "import no_such_module_at_all")
    install(tmp_path, "thief", with_endpoint("/api/mcp").replace("water_bed", "steal"))
    script = 'answer["endpoints"] = [[pack, one.path] for pack, one in known_endpoints()]'
    expected = [["care", "/api/mcp"], ["garden", "/garden/mcp"]]
    assert run_with(tmp_path, script)["endpoints"] == expected


def test_a_folder_cannot_take_the_name_of_an_installed_pack(
    tmp_path: Path, write_pack: WritePack
) -> None:
    install(tmp_path)
    folder = write_pack("garden")
    answer = run_with(tmp_path, f"load_pack(workspace, {str(folder)!r})")
    assert answer["code"] == "pack.name-taken"


def test_a_folder_with_code_is_only_data(tmp_path: Path, write_pack: WritePack) -> None:
    folder = write_pack("hostile")
    (folder / "code.py").write_text("raise SystemExit('imported')")
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    script = f"""
        load_pack(workspace, {str(folder)!r})
        answer["verbs"] = len(context()[1].verbs)
        answer["loaded"] = loaded_packs(db)
    """
    assert run_with(tmp_path, script) == {"verbs": 0, "loaded": ["hostile"]}


def test_a_pack_that_is_not_installed_here_brings_no_code() -> None:
    assert code_of(["zorp", "gone", "os", "../x"]) == PackCode()


def test_the_same_code_comes_once() -> None:
    assert len(code_of(["everything", "zorp"]).verbs) == len(code_of(["everything"]).verbs) > 0
