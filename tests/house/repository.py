"""Measurements of the repository as a whole, whatever the language of a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.house.source import Place

# Written in halves, so that this file does not name what it forbids.
REGISTRY_HOSTS = tuple(
    "".join(halves)
    for halves in (
        ("pypi", ".org"),
        ("pypi.python", ".org"),
        ("python", "hosted.org"),
        ("deb.debian", ".org"),
        ("security.debian", ".org"),
        ("ftp.debian", ".org"),
        ("registry.npm", "js.org"),
        ("registry.yarn", "pkg.com"),
        ("conda.ana", "conda.org"),
    )
)


def repository_files(root: Path) -> list[Path]:
    """The files that are, or are about to be, under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def registry_hosts(files: list[Path]) -> list[Place]:
    """Lines that name a package registry: installs must follow the machine's own settings."""
    return [
        Place(str(path), number, host)
        for path in files
        for text in (path.read_bytes().lower(),)
        for host in REGISTRY_HOSTS
        if host.encode() in text
        for number, line in enumerate(text.splitlines(), 1)
        if host.encode() in line
    ]
