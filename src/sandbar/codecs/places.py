"""Where a text lies: its path tells its name, and what other paths in it lead to."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from sandbar.codecs.naming import ident_for_path


def _nothing(path: str) -> None:
    """Knows of no file."""


class Place(NamedTuple):
    """The file of a text. Paths are below the folder that is read.

    What else is there is told by whoever reads the folder, as far as they know.
    """

    path: str
    rule: Callable[[str, str], str] = ident_for_path  # the ident of a path, given a namespace
    stated: Callable[[str], str | None] = _nothing  # the ident that the file at a path has
    has: Callable[[str], object] = _nothing  # whether there is a file
    top: str = ""  # the folder that paths count from, if they do not from the text
    # Whether it is someone's own note: what does not fit its slot is kept among the other keys.
    keeps_misfits: bool = False

    def ident(self, namespace: str) -> str:
        """The ident of the text itself, if it states none."""
        return self.rule(self.path, namespace)

    def ident_at(self, target: str, namespace: str) -> str | None:
        """The ident of what a path in the text leads to; None if it leads out of the folder."""
        path = self.leads_to(target)
        if path is None:
            return None
        return self.stated(path) or self.rule(path, namespace)

    def leads_to(self, target: str) -> str | None:
        """The path that is meant: seen from the text, else from the top."""
        folder = self.top if target.startswith("/") else posixpath.dirname(self.path)
        words = dict.fromkeys((unquote(target), target))
        near = [_inside(posixpath.join(folder, word.lstrip("/"))) for word in words]
        far = [_inside(posixpath.join(self.top, word.lstrip("/"))) for word in words]
        there = (path for path in (*near, *far) if path is not None and self.has(path))
        return next(there, near[0])


def _inside(path: str) -> str | None:
    plain = posixpath.normpath(path)
    return None if plain == ".." or plain.startswith("../") else plain
