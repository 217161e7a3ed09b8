"""Pages of Markdown: their code blocks, the files that they print, their tables and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(```+)([a-z]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"File `([\w./-]+)`:\s*\Z")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. `file` is the path that the line before it gives: "File `a/b.json`:"."""

    language: str
    text: str
    line: int  # of its first line in the page
    file: str | None


@dataclass(frozen=True)
class Page:
    """One page; `name` is its path in the repository."""

    name: str
    text: str

    @cached_property
    def blocks(self) -> list[Block]:
        """The fenced blocks, in order."""
        found = []
        for match in _FENCE.finditer(self.text):
            named = _FILE.search(self.text[: match.start()])
            line = self.text.count("\n", 0, match.start(3)) + 1
            found.append(Block(match[2], match[3], line, named[1] if named else None))
        return found

    @cached_property
    def prose(self) -> str:
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """The targets of all links."""
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What can stand after the # in a link to this page."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    def rows(self, first_column: str) -> list[list[str]]:
        """The cells of the table whose first heading this is."""
        tables = re.split(r"\n\s*\n", self.prose)
        for table in tables:
            lines = [line for line in table.splitlines() if line.startswith("|")]
            rows = [_cells(line) for line in lines]
            if rows and rows[0][0] == first_column:
                return rows[2:]
        raise AssertionError(f"{self.name} has no table that begins with {first_column!r}")


def read_page(path: Path) -> Page:
    """A page of the repository."""
    return Page(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def all_pages() -> list[Page]:
    """The README and every page of docs."""
    return [read_page(path) for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))]


def page(name: str) -> Page:
    """A page of docs by its name."""
    return read_page(DOCS / f"{name}.md")


def write_files(page: Page, folder: Path) -> list[str]:
    """Write the files that a page prints, below a folder; returns their paths."""
    written = []
    for block in page.blocks:
        if block.file is not None:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            written.append(block.file)
    return written


def broken_links(page: Page, root: Path = ROOT) -> list[str]:
    """The links of a page that lead nowhere in the repository."""
    here = root / page.name
    return [link for link in page.links if "://" not in link and not _leads(here, page, link)]


def _leads(here: Path, page: Page, link: str) -> bool:
    path, _, anchor = link.partition("#")
    if not path:
        return anchor in page.anchors
    target = here.parent / path
    if not target.exists() or not anchor:
        return target.exists()
    return anchor in Page(target.name, target.read_text(encoding="utf-8")).anchors


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def _cells(line: str) -> list[str]:
    marked = line.strip().strip("|").replace(r"\|", "\0")
    return [cell.strip().replace("\0", "|") for cell in marked.split("|")]
