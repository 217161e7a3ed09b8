"""The steps of scripts/lock that are no command of pip; run inside its environment.

`wanted`  what pyproject.toml asks for, as two lists
`pins`    what pip has chosen for both together
`locks`   the two locks, with the hashes of every file that the index has of each version

The hashes come from the index that pip is set up to use, by pip's own means; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pip._internal.commands.index import IndexCommand
from pip._internal.models.link import Link
from pip._internal.models.wheel import Wheel

HEAD = """\
# {what}, direct and transitive, each with the hashes of its files.
# Written by `make lock`, which resolves the pins of pyproject.toml anew: change a version
# there, run it, then `make test`. Do not edit by hand.
"""

Pins = dict[str, str]  # name as the project writes it, to version


def wanted(work: Path) -> None:
    """Write what is asked for."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    for name, pins in (
        ("run", project["dependencies"]),
        ("dev", project["optional-dependencies"]["dev"]),
    ):
        (work / f"{name}.txt").write_text("\n".join(pins) + "\n")


def chosen(report: Path) -> Pins:
    """What pip would install; itself it is there already, and must not change while it works."""
    installed = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    return {one["name"]: one["version"] for one in installed if one["name"] != "pip"}


def pins(work: Path) -> None:
    """Write what was chosen, as constraints."""
    lines = [f"{name}=={version}\n" for name, version in chosen(work / "all.json").items()]
    (work / "all.txt").write_text("".join(lines))


def locks(work: Path) -> None:
    """Write the two locks."""
    everything, run = chosen(work / "all.json"), chosen(work / "run.json")
    rest = {name: version for name, version in everything.items() if name not in run}
    for file, what, names in (
        ("requirements.lock", "What Sandbar runs on", run),
        ("requirements-dev.lock", "What development needs besides requirements.lock", rest),
    ):
        text = "".join(entries(names))
        (work / file).write_text(HEAD.format(what=what) + text)


def entries(names: Pins) -> Iterator[str]:
    """Each version with its hashes, by name."""
    Wheel.supported = lambda self, tags: True  # type: ignore[method-assign]  # of any platform
    command = IndexCommand("index", "")
    options, _ = command.parse_args([])
    with command.main_context():
        finder = command._build_package_finder(
            options=options, session=command._build_session(options), ignore_requires_python=True
        )
        for name in sorted(names, key=str.lower):
            found = finder.find_all_candidates(name)
            links = [one.link for one in found if str(one.version) == names[name]]
            hashes = sorted({hash_of(link) for link in links})
            if not hashes:
                sys.exit(f"the index has no file of {name}=={names[name]}")
            canonical = re.sub(r"[-_.]+", "-", name).lower()
            yield " \\\n    ".join([f"{canonical}=={names[name]}", *hashes]) + "\n"


def hash_of(link: Link) -> str:
    """As requirements have it; a file of this machine is read."""
    if link.hash_name == "sha256":
        return f"--hash=sha256:{link.hash}"
    if not link.is_file:
        sys.exit(f"the index says no sha256 of {link.filename}")
    path = Path(unquote(urlsplit(link.url_without_fragment).path))
    return f"--hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


if __name__ == "__main__":
    {"wanted": wanted, "pins": pins, "locks": locks}[sys.argv[1]](Path(sys.argv[2]))
