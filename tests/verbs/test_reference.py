"""`docs/reference/verbs.md` is what the catalogue says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbar.verbs import Catalogue, base_catalogue, base_verbs
from sandbar.verbs.reference import reference_page
from tests.docs.pages import ROOT, Page, broken_links, read_page

PAGE = ROOT / "docs" / "reference" / "verbs.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(base_catalogue()), "run: make docs"


def test_a_stale_page_is_caught() -> None:
    fewer = reference_page(Catalogue(base_verbs()[:-1]))
    assert PAGE.read_text(encoding="utf-8") != fewer


def test_the_page_is_written_by_its_program(tmp_path: Path) -> None:
    path = tmp_path / "verbs.md"
    command = [sys.executable, "-W", "error", "-m", "sandbar.verbs.reference", str(path)]
    subprocess.run(command, check=True, timeout=60)
    assert path.read_bytes() == PAGE.read_bytes()


@pytest.mark.parametrize("verb", base_verbs(), ids=lambda verb: verb.name)
def test_every_verb_has_a_section_with_its_examples(verb: object) -> None:
    page = read_page(PAGE)
    assert f"## {getattr(verb, 'name', None)}\n" in page.text


def test_links_lead_somewhere() -> None:
    page = read_page(PAGE)
    assert broken_links(page) == []
    assert broken_links(Page(page.name, page.text + "\n[x](#nowhere)")) == ["#nowhere"]
