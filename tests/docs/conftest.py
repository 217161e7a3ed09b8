"""Where pages run: an empty folder of their own, and a PostgreSQL database for those that ask."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.database import prepare_postgres
from sandbar.packs.coded import _installed
from tests.docs.pages import Page, write_files

SHOP_URL = "SHOP_URL"  # the variable in which a page finds its PostgreSQL database


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def prepared(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Page]:
    """The page that the test is about, with its files written and its database ready."""
    page = request.param
    assert isinstance(page, Page)
    write_files(page, folder)
    _install(page, folder, monkeypatch)
    if SHOP_URL in page.text:
        owner: str = request.getfixturevalue("fresh_postgres")
        monkeypatch.setenv(SHOP_URL, prepare_postgres(owner, role="sandbar_app"))
    yield page
    _installed.cache_clear()


def _install(page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the packs of a page as pip would: what its files say, under its entry points."""
    for block in page.blocks:
        if block.language == "toml" and "entry-points" in block.text:
            project = tomllib.loads(block.text)["project"]
            info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
            )
            lines = [
                line
                for group, entries in project["entry-points"].items()
                for line in (
                    f"[{group}]",
                    *(f"{name} = {value}" for name, value in entries.items()),
                )
            ]
            (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(folder)
    _installed.cache_clear()
