"""Settings: where they come from, which counts first, and that only they read the environment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbar.cli.calling import bounds_of
from sandbar.errors import Incorrect
from sandbar.model import BOUNDS
from sandbar.settings import Settings, unknown_variables
from tests.cli.program import run, run_here

SOURCE = Path(__file__).parents[2] / "src" / "sandbar"


def test_the_defaults_need_nothing() -> None:
    settings = Settings.from_environment({})
    assert (settings.database, settings.workspace) == ("sandbar.db", "main")
    assert (settings.host, settings.port, settings.packs) == ("127.0.0.1", 8080, ())


def test_what_is_given_counts_before_variables_and_those_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('database = "f.db"\nworkspace = "f"\nport = 1\npacks = ["zorp"]\n')
    variables = {"SANDBAR_SETTINGS": str(file), "SANDBAR_WORKSPACE": "v", "SANDBAR_PORT": "2"}
    settings = Settings.from_environment(variables, port=3, packs=(), database=None)
    assert (settings.database, settings.workspace, settings.port) == ("f.db", "v", 3)
    assert settings.packs == ("zorp",)


def test_lists_are_separated_by_commas_and_empty_means_unset() -> None:
    variables = {"SANDBAR_ALLOWED_HOSTS": "a.example,b.example", "SANDBAR_DATABASE": ""}
    settings = Settings.from_environment(variables)
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert settings.database == "sandbar.db"


@pytest.mark.parametrize(
    "variables",
    [
        {"SANDBAR_PORT": "many"},
        {"SANDBAR_PORT": "65536"},
        {"SANDBAR_PUBLIC_URL": "sandbar.example.com"},
        {"SANDBAR_PUBLIC_URL": "https://["},
        {"SANDBAR_LOG_LEVEL": "loud"},
        {"SANDBAR_KEY_PREFIX": "no prefix"},
        {"SANDBAR_SETTINGS": "/no/such/file.toml"},
    ],
)
def test_a_wrong_setting_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(Incorrect) as caught:
        Settings.from_environment(variables)
    assert caught.value.code == "settings.invalid"


@pytest.mark.parametrize("text", ["port = ", "prot = 1\n", "port = 'x'\n", "port = -1\n"])
def test_a_wrong_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(Incorrect) as caught:
        Settings.from_environment({"SANDBAR_SETTINGS": str(file)})
    assert caught.value.code == "settings.invalid"


def findings(variables: dict[str, str], **given: Any) -> dict[str, str]:
    """Where something is wrong, and what is said of it."""
    with pytest.raises(Incorrect) as caught:
        Settings.from_environment(variables, **given)
    problem = caught.value
    listed = problem.data.get("findings")
    if listed is None:
        _, where, message = problem.message.split(": ", 2)
        listed = [{"at": where, "message": message, "hint": problem.hint}]
    return {one["at"]: f"{one['message']}; {one.get('hint')}" for one in listed}


@pytest.mark.parametrize(
    ("variables", "where", "told"),
    [
        ({"SANDBAR_LOG_LEVEL": "loud"}, "SANDBAR_LOG_LEVEL", "debug, info, warning or error"),
        ({"SANDBAR_TOOLS": "few"}, "SANDBAR_TOOLS", "default, core, full, classes or all"),
        ({"SANDBAR_PORT": "99999"}, "SANDBAR_PORT", "from 0 to 65535, not '99999'"),
        ({"SANDBAR_DATABSE": "x.db"}, "SANDBAR_DATABSE", "is SANDBAR_DATABASE meant?"),
        ({"SANDBAR_PACK": "zorp"}, "SANDBAR_PACK", "is SANDBAR_PACKS meant?"),
        ({"SANDBAR_SETTING": "x"}, "SANDBAR_SETTING", "is SANDBAR_SETTINGS meant?"),
        ({"SANDBAR_TRUSTED_PROXIES": "me"}, "SANDBAR_TRUSTED_PROXIES", "10.0.0.0/24"),
        ({"SANDBAR_CLASS_DEPTH": "abc"}, "SANDBAR_CLASS_DEPTH", "a whole number, 1 or more, not"),
        ({"SANDBAR_CLASS_SLOTS": "0"}, "SANDBAR_CLASS_SLOTS", "a whole number, 1 or more, not '0'"),
        ({"SANDBAR_SETTINGS": "/no/such.toml"}, "/no/such.toml", "cannot be read"),
    ],
)
def test_a_finding_says_where_and_what_is_right(
    variables: dict[str, str], where: str, told: str
) -> None:
    found = findings(variables)
    assert list(found) == [where]
    assert told in found[where]


def test_all_findings_come_at_once_with_where_each_was_set(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('databse = "x"\nlog-level = "loud"\nport = "x"\npacks = "zorp"\nzzz = 1\n')
    variables = {"SANDBAR_SETTINGS": str(file), "SANDBAR_PORT": "y"}
    found = findings(variables, tools="few", packs=("zorp",))
    assert set(found) == {
        f"databse in {file}",
        f"zzz in {file}",
        f"log-level in {file}",
        "SANDBAR_PORT",
        "--tools",
    }
    assert "is database meant?" in found[f"databse in {file}"]
    assert "log-level" in found[f"zzz in {file}"]


def test_a_wrong_address_of_a_database_is_not_shown() -> None:
    found = findings({"SANDBAR_DATABASE": "mysql://me:hidden@db"})
    assert "postgresql://" in found["SANDBAR_DATABASE"]
    assert "hidden" not in str(found)


def test_variables_of_others_are_left_alone() -> None:
    others = {"SANDBAR_SERVICE_HOST": "10.0.0.1", "SANDBAR_DATABASE_URL": "x", "SANDBAR_DB": "x"}
    variables = {**others, "SANDBAR_TOKEN": "t"}
    assert Settings.from_environment(variables) == Settings()
    assert unknown_variables(variables) == sorted(others)


def test_commands_read_the_database_from_the_environment(tmp_path: Path) -> None:
    answer = run("pack", "add", "zorp", cwd=tmp_path, env={"SANDBAR_DATABASE": "from-here.db"})
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "from-here.db").exists()
    answer = run("doctor", cwd=tmp_path, env={"SANDBAR_PORT": "x"})
    assert (answer.returncode, "settings.invalid" in answer.stderr) == (1, True)


def test_settings_give_the_bounds_of_metamodels() -> None:
    assert bounds_of(Settings.from_environment({})) == BOUNDS
    found = Settings.from_environment({"SANDBAR_CLASS_DEPTH": "9", "SANDBAR_DEFINITIONS": "70"})
    assert bounds_of(found) == BOUNDS._replace(class_depth=9, definitions=70)


@pytest.mark.parametrize("command", ["serve", "doctor"])
@pytest.mark.parametrize("limits", ["entitys=3", "entities=many", "processes=0"])
def test_wrong_limits_are_refused_by_the_name_of_the_setting(
    tmp_path: Path, command: str, limits: str
) -> None:
    answer = run_here(command, "--port", "0", cwd=tmp_path, env={"SANDBAR_LIMITS": limits})
    assert answer.returncode == 1
    assert "settings.invalid" in answer.stderr
    assert "SANDBAR_LIMITS" in answer.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is made"


def test_reading_settings_does_not_load_the_model() -> None:
    code = "import sys, sandbar.settings; print('sandbar.model' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def environment_readers(texts: dict[str, str]) -> list[str]:
    """The modules that read the environment."""
    reads = re.compile(r"\bos\.environ\b|\bgetenv\b|\benvvar=|from os import .*environ")
    return sorted(name for name, text in texts.items() if reads.search(text))


def test_nobody_else_reads_the_environment() -> None:
    texts: dict[str, Any] = {
        str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8")
        for path in SOURCE.rglob("*.py")
    }
    assert environment_readers(texts) == ["settings.py"]
    assert environment_readers({"a.py": "x = os.environ['A']", "b.py": "y = 1"}) == ["a.py"]
