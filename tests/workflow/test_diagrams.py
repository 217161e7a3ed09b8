"""Diagrams and outlines: complete, and safe whatever the labels say."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbar.workflow.diagrams import diagram_of, outline_of
from sandbar.workflow.machines import Machine, machine_of
from sandbar.workflow.specs import canonical, read_spec
from tests.workflow.definitions import EVERYTHING

# What a line of our diagrams may be, and nothing else.
_ID = r"s_[A-Za-z0-9_]+"
_WORDS = r"(?:[\w\u0080-\U0010ffff /.,!?+='()-]|#\d+;)*"
_LINES = re.compile(
    rf'stateDiagram-v2|    state "{_WORDS}" as {_ID}'
    rf"|    \[\*\] --> {_ID}|    {_ID} --> \[\*\]|    {_ID} --> {_ID} : {_WORDS}"
)


def machine(spec: dict[str, Any]) -> Machine:
    """The machine of a definition."""
    return machine_of(canonical(read_spec(spec)))


def labelled(label: str) -> Machine:
    """A machine whose texts are all this one."""
    return machine(
        {
            "name": "a/b",
            "states": [
                {"name": "x", "label": label, "initial?": True},
                {"name": "y", "input": {"message": label or "?", "accept": "go"}},
                {"name": "end", "label": label, "terminal?": True, "terminal-kind": "success"},
            ],
            "transitions": [
                {"name": "go", "from": "x", "to": "y", "label": label},
                {"name": "go", "from": "y", "to": "end", "label": label},
            ],
        }
    )


def test_a_diagram_shows_every_state_and_transition() -> None:
    text = diagram_of(machine(EVERYTHING))
    lines = text.splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert '    state "Pending (order/pending)" as s_order_pending' in lines
    assert "    [*] --> s_order_pending" in lines
    assert "    s_order_pending --> s_order_packing : confirm" in lines
    assert "    s_order_asking --> s_order_packing : confirm" in lines
    assert "    s_order_asking --> s_order_cancelled : expire (after 1 hour)" in lines
    assert sum(line.endswith("--> [*]") for line in lines) == 3
    assert len(lines) == 1 + 6 + 1 + 9 + 3


def test_names_that_look_alike_stay_apart() -> None:
    names = ["a.b", "a-b", "a_b", "a/b", "end", "state"]
    states = [{"name": name} for name in names]
    states[0]["initial?"] = True  # type: ignore[assignment]
    states[-1] |= {"terminal?": True, "terminal-kind": "success"}  # type: ignore[dict-item]
    ways = [{"name": "go", "from": one, "to": other} for one, other in itertools.pairwise(names)]
    text = diagram_of(machine({"name": "a/b", "states": states, "transitions": ways}))
    ids = re.findall(r'^    state ".*" as (\S+)$', text, re.MULTILINE)
    assert len(set(ids)) == len(names)
    assert all(_LINES.fullmatch(line) for line in text.splitlines())


HOSTILE = [
    'x" as s_a\n    [*] --> s_evil',
    "x\r\nclick s_x href 'javascript:alert(1)'",
    "```\n# Ignore all that was said before\n```",
    "<script>alert(1)</script>",
    "%% a comment",
    "a : b --> c ; d",
    "#quot;#34;",
    "{ [ ] }",
    "\u2028\u2029\u0085\x0b\x0cx",
    "\u202eabc",
    "[click](javascript:alert(1)) ![i](http://x) **b** `c` ``` d",
    "- a\n- b",
    "`",
    "",
]


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_breaks_out(label: str) -> None:
    _check(labelled(label))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
@settings(max_examples=200, deadline=None, print_blob=True)
def test_no_text_at_all_breaks_out(label: str) -> None:
    _check(labelled(label))


def _check(made: Machine) -> None:
    lines = diagram_of(made).split("\n")
    assert len(lines) == 1 + 3 + 1 + 2 + 1 + 1
    assert lines[-1] == ""
    assert all(_LINES.fullmatch(line) for line in lines[:-1]), lines
    outline = outline_of(made)
    assert outline.splitlines() == outline.rstrip("\n").split("\n")  # no line end of another kind
    assert len(outline.splitlines()) == 3 + 2
    assert all(re.match(r"(  )?- `", line) for line in outline.splitlines())
    # outside of code, whatever could begin a link, an image, HTML or a block of code is escaped
    plain = re.sub(r"`[^`]*`", "", re.sub(r"\\.", "", outline))
    assert not re.search(r"[\[\]<`*]", plain)


def test_the_pattern_of_lines_refuses_what_breaks_out() -> None:
    for line in ('    state "a" as b" as s_x', "    s_a --> s_b : x : y", "    click s_x", "```"):
        assert not _LINES.fullmatch(line)


def test_an_outline_says_what_is_to_know() -> None:
    text = outline_of(machine(EVERYTHING))
    assert "- `order/pending` Pending: initial\n" in text
    assert "asks: Where to?" in text
    assert "after 1 hour `expire` by itself" in text
    assert "runs `order/pack` (at most 30 s, up to 3 more times, on error `fail`)" in text
    assert "cannot be cancelled here" in text
    assert "- `order/failed`: terminal: failure\n" in text
    assert "  - `ask` Ask for it leads to `order/asking`\n" in text
    assert "if `process.data.total < 100.0 || actor == 'boss'`" in text
    assert "needs a reason" in text
    assert "made by the answer" in text
    assert "made when the answer is declined" in text
    assert len(text.splitlines()) == 6 + 9


def test_a_guard_with_backticks_stays_code() -> None:
    spec = {
        "name": "a/b",
        "states": [{"name": "x", "initial?": True}],
        "transitions": [{"name": "go", "from": "x", "to": "x", "guard": "actor == '``'"}],
    }
    assert "if ``` actor == '``' ```" in outline_of(machine(spec))


def _said(text: str) -> str:
    """A text as it stands in an outline, after the code of the state."""
    return (
        outline_of(labelled(text)).splitlines()[0].removeprefix("- `x` ").removesuffix(": initial")
    )


@pytest.mark.parametrize(
    "text",
    [
        "It is on its way. Approve!",
        "Paid (in full) - 50% + tax, #3 of {a | b}",
        "snake_case, a > b, R&D, C++",
        "größe_ä",
    ],
)
def test_what_means_nothing_inside_of_a_line_is_left_alone(text: str) -> None:
    assert _said(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("**b**", r"\*\*b\*\*"),
        ("_b_ __c__", r"\_b\_ \_\_c\_\_"),
        ("[a](b) ![c](d)", r"\[a\](b) !\[c\](d)"),
        ("<b> &lt; &#60; & ~~c~~", r"\<b> \&lt; \&#60; & \~\~c\~\~"),
        (r"\* `c`", r"\\\* \`c\`"),
    ],
)
def test_what_means_something_there_is_escaped(text: str, escaped: str) -> None:
    assert _said(text) == escaped


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (259200, "3 days"),
        (86400, "1 day"),
        (129600, "36 hours"),
        (3600, "1 hour"),
        (5400, "90 minutes"),
        (60, "1 minute"),
        (90, "90 s"),
        (0.25, "0.25 s"),
        (1234567, "1234567 s"),
    ],
)
def test_times_are_said_in_the_largest_whole_unit(seconds: float, said: str) -> None:
    spec = {
        "name": "a/b",
        "states": [
            {"name": "x", "initial?": True, "after": {"seconds": seconds, "transition": "go"}},
            {"name": "end", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "go", "from": "x", "to": "end"}],
    }
    assert f"after {said} `go` by itself" in outline_of(machine(spec))
    assert f" : go (after {said})\n" in diagram_of(machine(spec))
