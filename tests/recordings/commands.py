"""The command line: the help of every command, and commands that follow each other."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from tests.ready_program import answered
from tests.recordings.places import Place
from tests.recordings.scene import Scene

_GROUPS = {
    "": ("",),
    "account": ("", "add", "list", "revoke"),
    "key": ("", "mint", "list", "rotate", "revoke"),
    "workspace": ("", "create", "list", "usage", "limit", "suspend", "resume", "delete"),
    "audit": ("", "verify", "export", "head", "list"),
    "project": ("", "export", "import"),
    "pack": ("", "list", "add"),
}
_ALONE = (
    *("serve", "connect", "call", "backup", "restore", "watch", "doctor", "stdio"),
    *("migrate", "demo", "demo-server"),
)

# One after another; DB stands for `--database` and the database.
_STORY = Path(__file__).with_name("commands.txt")
_NUMBERS = re.compile(
    r"(?<![\w.<-])\d+(?:,\d{3})*(?:\.\d+)? ?(?:ms|µs|us|s|files/s)(?!\w)"
    r"|[\d.]+ [kM]?B(?= in )"  # of a backup, which is packed
    r"|(?<=Python: )[\d.]+ on \w+|(?<=process )\d{2,}"
)
_ENDS = re.compile(r"\s+(?:ms|\d+\.\d)$", re.MULTILINE)  # the last column, as wide as its numbers


def record_commands(place: Place) -> Scene:
    """Standard output, standard error and the exit code of each."""
    with Scene(place, "commands", ["zorp"]) as scene:
        told = Told(scene, place)
        for group, words in {**_GROUPS, **dict.fromkeys(_ALONE, ("",))}.items():
            for word in words:
                told.run([one for one in (group, word) if one], "--help")
        for line in _STORY.read_text(encoding="utf-8").splitlines():
            told.run(line.split())
        told.settings()
        beside = told.beside_a_server
        beside("account list", "workspace list")
        if place.postgres is None:  # of a PostgreSQL database any number of servers may run
            beside("serve --port 0")
        beside("doctor --port 0")
        beside("call entity.find entity=product/mud-lord", "audit head --workspace no-such")
    return scene


class Told:
    """A folder where commands are run."""

    def __init__(self, scene: Scene, place: Place) -> None:
        self._scene = scene
        self._folder = scene.folder / "shell"
        self._folder.mkdir()
        self._database = place.database(self._folder) if place.postgres else "shell.db"
        scene.plain.know("shell", str(self._folder))
        scene.plain.know("environment", sys.prefix)
        scene.plain.know("shell-database", self._database if place.postgres else "")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "COLUMNS": "100",
            "LANG": "C.UTF-8",
        }

    def run(self, words: list[str], *more: str, **variables: str) -> None:
        """Run a command and write down what it said."""
        given = [*words, *more]
        for word, database in (("DB", self._database), ("SERVED", self._scene.database)):
            if word in given:
                at = given.index(word)
                given[at : at + 1] = ["--database", database]
        environment = self._environment | variables
        done = answered(given, self._folder, environment, 60)
        title = " ".join([*(f"{key}={value}" for key, value in variables.items()), *words, *more])
        name, number = f"sandbar {title}", 1
        while name in self._scene.names:
            number += 1
            name = f"sandbar {title} ({number})"
        entry: dict[str, Any] = {
            "stdout": self._lines(done.stdout, words),
            "stderr": self._lines(done.stderr, words),
            "exit-code": done.returncode,
        }
        self._scene.keep(name, entry)

    def _lines(self, text: str, words: list[str]) -> list[str]:
        if "--help" not in words:
            text = _NUMBERS.sub("<measured>", _ENDS.sub(" <measured>", text))
        return text.split("\n")

    def settings(self) -> None:
        """Variables and files instead of options."""
        file = self._folder / "settings.toml"
        command = ["workspace", "list"]
        self.run(command, SANDBAR_DATABASE="shell.db")
        self.run(command, SANDBAR_DATABASE="no.db", SANDBAR_LIMITS="nonsense")
        self.run(command, SANDBAR_PROT="1", SANDBAR_PORT="x")
        self.run(command, SANDBAR_SETTINGS="nowhere.toml")
        for number, text in enumerate(
            ('database = "shell.db"', "port = many", 'prot = 1\ndatabase = "shell.db"', "port = -1")
        ):
            file.write_text(text + "\n", encoding="utf-8")
            words = [*command, "--json"] if number else command
            self.run(words, SANDBAR_SETTINGS=file.name)
            self.run(["call", "schema.datatypes"], SANDBAR_SETTINGS=file.name)

    def beside_a_server(self, *commands: str) -> None:
        """The same on the database that a server has open."""
        for command in commands:
            self.run([*command.split(), "SERVED"])
