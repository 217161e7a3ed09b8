"""Inspector's programs: each loaded once for many commands, or started for one as a person does."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from tests.mcp_clients import node

_ANSWER_S_MAX = 60
_READY = Path(__file__).with_name("inspector_ready.mjs")

Done = subprocess.CompletedProcess[str]


class Program(NamedTuple):
    """A file of Inspector's, and the function that it calls with its words."""

    file: str
    function: str

    @property
    def path(self) -> Path:
        """Where it is installed."""
        return node.package("@modelcontextprotocol/inspector") / "clients" / self.file


CLI = Program("cli/build/index.js", "runCli")
MCPDO = Program("mcpdo/build/mcp-bin.js", "runMcp")


class Ready:
    """A program that is loaded: its commands are calls in one process, one after another."""

    def __init__(self, program: Program, variables: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [str(node.NODE), str(_READY), str(program.path), program.function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=node.environment(variables),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            self._process.communicate(timeout=_ANSWER_S_MAX)  # which closes its standard input
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise

    def run(self, *words: str) -> Done:
        """What a command writes, and how it ends."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(words) + "\n")
        stdin.flush()
        if not select.select([stdout], [], [], _ANSWER_S_MAX)[0]:
            self._process.kill()  # the next one must not be given this one's answer
            raise AssertionError(f"no answer to {words}")
        told = json.loads(stdout.readline())
        return Done(words, told["code"], told["stdout"], told["stderr"])
