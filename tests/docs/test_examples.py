"""Whatever a page shows as Python runs and answers what it says; whatever it shows as JSON is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.examples import WrongPage, run_page
from tests.docs.pages import Page, all_pages

PAGES = all_pages()


@pytest.mark.parametrize("prepared", PAGES, ids=lambda page: page.name, indirect=True)
def test_the_python_of_a_page_runs(prepared: Page) -> None:
    run_page(prepared)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_json_of_a_page_parses(page: Page) -> None:
    for block in page.blocks:
        if block.language == "json":
            json.loads(block.text)


def test_the_example_of_the_readme_prints_the_same_when_it_is_run_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (readme,) = (page for page in PAGES if page.name == "README.md")
    printed = []
    for _ in range(3):
        run_page(readme)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    promised = re.findall(r"^print\(.*\) +# (.+)$", readme.text, re.MULTILINE)
    assert promised == ["spring sale", "329.5"]
    assert printed[0].splitlines()[1:3] == promised


def test_the_pages_show_something() -> None:
    shown = {page.name: len(page.blocks) for page in PAGES}
    for name in ("README.md", "docs/library.md", "docs/schema.md", "docs/queries.md"):
        assert shown[name] > 0


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("1 + 1  # -> 3", "is 2, not 3"),
        ("x = 1  # -> 1", "only an expression"),
        ("assert 1 == 2", "does not hold"),
        ('sandbar.open("x.db").get("no/thing")  # raises value.type', "raises entity.unknown"),
        ("1 + 1  # raises value.type", "raises nothing"),
        ("if True:\n    1 + 1  # -> 3\n    2", "nobody checks"),
    ],
)
def test_a_page_that_is_wrong_is_caught(folder: Path, code: str, complaint: str) -> None:
    page = Page("wrong.md", f"Text.\n\n```python\nimport sandbar\n{code}\n```\n")
    with pytest.raises(WrongPage, match=complaint) as caught:
        run_page(page)
    assert str(caught.value).startswith("wrong.md:5") or "if" in code


def test_blocks_share_a_namespace_from_top_to_bottom(folder: Path) -> None:
    blocks = ["```python\nx = 1\n```", "```python\nx + 1  # -> 2\n```", "```\nnot run\n```"]
    assert run_page(Page("right.md", "\n\n".join(blocks)))["x"] == 1
    with pytest.raises(NameError):
        run_page(Page("wrong.md", "\n\n".join(reversed(blocks))))
