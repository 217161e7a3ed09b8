"""What a row may name: the words of a client that look like a method, a tool or an id.

All of it is made up by whoever asks, and some of them put a key in the wrong place. Minted keys
begin with `sk-` whatever their prefix is, so a text that has this anywhere is not kept. That takes
a few harmless ones along, such as the request id `task-7`.
"""

from __future__ import annotations

import re

_NO_KEY = r"(?!(?s:.*)(?i:sk-))"
_NAME = re.compile(rf"{_NO_KEY}[A-Za-z0-9_./-]{{1,80}}")
# Our own words for what has no method of the protocol are the only ones with a blank.
_METHOD = re.compile(rf"{_NO_KEY}(?:(?:GET|DELETE) /mcp[a-z/]{{0,20}}|[A-Za-z0-9_$./-]{{1,80}})")
_REQUEST_ID = re.compile(rf"{_NO_KEY}[A-Za-z0-9._:-]{{1,128}}")


def nameable(text: str) -> bool:
    """Whether a row may have it as the name of a verb or a tool."""
    return _NAME.fullmatch(text) is not None


def nameable_method(text: str) -> bool:
    """Whether a row may have it as a method."""
    return _METHOD.fullmatch(text) is not None


def nameable_id(text: str) -> bool:
    """Whether a row, and a log, may have it as the id of a request."""
    return _REQUEST_ID.fullmatch(text) is not None
