"""Where pages run: an empty folder of their own, and a PostgreSQL database for those that ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbar.database import prepare_postgres
from tests.docs.pages import Page, write_files

SHOP_URL = "SHOP_URL"  # the variable in which a page finds its PostgreSQL database


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def prepared(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The page that the test is about, with its files written and its database ready."""
    page = request.param
    assert isinstance(page, Page)
    write_files(page, folder)
    if SHOP_URL in page.text:
        owner: str = request.getfixturevalue("fresh_postgres")
        monkeypatch.setenv(SHOP_URL, prepare_postgres(owner, role="sandbar_app"))
    return page
