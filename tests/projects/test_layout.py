"""Paths: safe on every file system, and readable back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbar.keywords import looks_like_ident
from sandbar.projects.layout import PART_BYTES_MAX, Layout, fold, placed

_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_NAMES = st.from_regex(r"[A-Za-z_\u00e4\u01c4\u212a.][\w.\-]{0,30}", fullmatch=True).filter(
    lambda text: looks_like_ident(f"{text}/x")
)
_MARKED = st.sampled_from(["é", "e\u0301", "E\u0301", "हिन्दी", "ที่", "A\u030a", "Å", "Å"])
_LOCALS = st.from_regex(r"[\w*!?$%&=<>.+\-'#]{1,60}", fullmatch=True) | _MARKED
_IDENTS = st.builds("{}/{}".format, _NAMES, _LOCALS).filter(
    lambda text: looks_like_ident(text) and len(text.encode()) <= 255
)


def path_of(class_: str, idents: list[str], ident: str, suffix: str = ".json") -> str:
    layout = Layout([class_, "dt/Class"])
    layout.enter(class_, idents)
    return layout.path(ident, 7, suffix)


def check_safe(path: str) -> None:
    for part in path.split("/"):
        assert part
        assert len(part.encode()) <= PART_BYTES_MAX
        assert not part.startswith(".")
        assert not part.endswith((".", " "))
        assert not _WINDOWS.match(part)
        assert not re.search(r'[<>:"\\|?*\x00-\x1f]', part)


@given(_IDENTS, _IDENTS)
def test_a_path_is_safe_and_stands_for_its_entity(class_: str, ident: str) -> None:
    path = path_of(class_, [ident], ident)
    check_safe(path)
    found = placed(path)
    assert found is not None
    assert (found.class_, found.ident, found.number, found.suffix) == (class_, ident, None, ".json")


@given(st.lists(_IDENTS, unique=True, min_size=2, max_size=8), st.data())
def test_no_two_entities_share_a_path_on_any_file_system(
    idents: list[str], data: st.DataObject
) -> None:
    shouted = data.draw(st.sampled_from(idents)).swapcase()
    if looks_like_ident(shouted) and len(shouted.encode()) <= 255:
        idents = list(dict.fromkeys([*idents, shouted]))
    layout = Layout(["note/Note"])
    layout.enter("note/Note", idents)
    paths = [layout.path(ident, 7, ".md") for ident in idents]
    assert len({fold(path) for path in paths}) == len(idents)
    assert [found.ident for path in paths if (found := placed(path))] == idents


@pytest.mark.parametrize(
    ("ident", "path"),
    [
        ("boot/moonwalker", "zorp/Boot/boot/moonwalker.json"),
        ("x/..", "zorp/Boot/x/%2E..json"),
        ("con/NUL.txt", "zorp/Boot/%63on/%4EUL.txt.json"),
        ("a./b?", "zorp/Boot/a%2E/b%3F.json"),
        ("x/100%", "zorp/Boot/x/100%25.json"),
    ],
)
def test_paths_read_well(ident: str, path: str) -> None:
    assert path_of("zorp/Boot", [ident], ident) == path


def test_names_that_differ_in_case_keep_apart_whatever_their_order() -> None:
    idents = ["x/boot", "x/Boot", "x/BOOT"]
    wanted = ["x/boot", "x/%42oot", "x/%42%4F%4F%54"]
    for order in (idents, idents[::-1]):
        assert [path_of("a/A", order, ident)[4:-5] for ident in idents] == wanted
    assert path_of("a/A", ["x/Boot"], "x/Boot") == "a/A/x/Boot.json"


def test_a_very_long_name_goes_on_in_the_next_folder() -> None:
    ident = "x/" + "ä" * 126
    path = path_of("a/A", [ident], ident)
    assert path.count("/") == 4
    check_safe(path)
    assert placed(path) == ("a/A", ident, None, ".json")


def test_a_number_is_told_from_a_name() -> None:
    layout = Layout(["a/A"])
    layout.enter("a/A", [])
    assert layout.path(None, 1042, ".json") == "a/A/1042.json"
    assert placed("a/A/1042.json") == ("a/A", None, 1042, ".json")
    assert placed("a/A/x/1042.json") == ("a/A", "x/1042", None, ".json")


@pytest.mark.parametrize(
    "path", ["README.md", "a/b.md", "a/A/x/y/z.md", "a/A/x/%zz.md", "a/A/x/%FF.md", "a/A/x.md"]
)
def test_other_paths_are_none_of_ours(path: str) -> None:
    assert placed(path) is None
