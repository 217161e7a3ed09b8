"""Settings: where they come from, which counts first, and that only they read the environment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sandbar.errors import Incorrect
from sandbar.settings import Settings
from tests.cli.program import run

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


def test_commands_read_the_database_from_the_environment(tmp_path: Path) -> None:
    answer = run("pack", "add", "zorp", cwd=tmp_path, env={"SANDBAR_DATABASE": "from-here.db"})
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "from-here.db").exists()
    answer = run("doctor", cwd=tmp_path, env={"SANDBAR_PORT": "x"})
    assert (answer.returncode, "settings.invalid" in answer.stderr) == (1, True)


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
