"""Values of every kind for property tests, and texts that go wrong easily."""

from __future__ import annotations

import base64
from datetime import UTC
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

HOSTILE = [
    "", " ", "no", "No", "yes", "on", "off", "y", "n", "true", "null", "~", "=", "<<",
    "1.10", "007", "0x1F", "1e5", "1_000", "12:30", "12:30:45", ".5", ".inf", "-.INF", ".nan",
    "2026-01-01", "2026-01-01T10:00:00Z", "2026-01-01 10:00:00", "+1", "-1", "-", "--", "---",
    "--- x", "...", "... x", "- x", "-x", "? x", "?x", ": ", ":", ":x", "a: b", "a:b", "a:", "a :b",
    "#", "# x", "a #b", "a#b", "'", '"', "'a'", '"a"', "it's", 'say "hi"', "\\", "\\n", "a\\",
    "[a]", "[", "]", "{a: 1}", "{", "}", ",", "a, b", "&a", "*a", "!a", "!!str x", "!json '1'",
    "|", "|-", ">", ">x", "%a", "@a", "`a`", "<a>", "=a", "a=b",
    " a", "a ", "  a  ", "\ta", "a\t", "a\tb", "\t", "\n", "\n\n", "a\n", "a\n\n", "\na", "a\nb",
    "a\nb\n", "a\n\nb", "a\n  b\nc", " a\nb", "a \nb", "a\nb ", "a\n---\nb", "---\na: b\n---\n",
    "a\n\tb", "\r", "\r\n", "a\r\nb", "a\rb", "a\n\r", "\x85", "a\x85b", "\u2028", "a\u2028b",
    "a\u2029b", "\ufeff", "\ufeffa", "a\ufeff", "\xa0", "a\xa0", "\x01", "\x07", "\x1b[0m", "\x7f",
    "\x80", "\x9f", "\xad", "\u200b", "\u200d", "\u200e", "\u202e", "\u2066a\u2069", "\ufffe",
    "\uffff", "\ufffd", "\ue000", "\U0001fffe", "\U0010ffff", "🙂", "👩‍👩‍👧", "é", "e\u0301",
    "שלום", "مرحبا بالعالم", "日本語", "हिन्दी", "İstanbul", "ß", "x" * 5000, "a b " * 3000,
    "line\n" * 4000, "é" * 2000, '=cmd|"/c calc"!A1', "@SUM(A1)", "a,b", 'a"b', '""', '","',
    "$(rm)", "{{x}}", "<script>", "mm/foo", "../a/b.md", "a/b.md", "12", "true # x", "key: |",
]  # fmt: skip

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60),
    st.text(st.sampled_from("ab \n\t\r:#-'\"\\|>[]{},&*!?%@`~.0\x85\u2028\ufeff🙂é"), max_size=30),
)
names = st.text(st.sampled_from("abcxyzABZ019_*!?$%&=<>.+-'#éß日"), min_size=1, max_size=20)
spaces = st.from_regex(r"[a-zé_][a-z0-9.\-_]{0,8}", fullmatch=True)
idents = st.builds("{}/{}".format, spaces, names) | st.sampled_from(["docs/readme.md", "a/b.json"])
keywords = idents | names
longs = st.integers(-(1 << 63), (1 << 63) - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | longs | doubles | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
instants = st.datetimes(timezones=st.just(UTC))
uris = st.from_regex(r"[a-z]{1,5}:[!-~]{1,30}", fullmatch=True)

RAW: dict[str, st.SearchStrategy[Any]] = {
    "string": texts,
    "boolean": st.booleans(),
    "long": longs,
    "double": doubles,
    "float": doubles,
    "bigint": st.integers(-(10**60), 10**60).map(str),
    "bigdec": st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30
    ),
    "instant": instants,
    "keyword": keywords,
    "symbol": keywords,
    "uuid": st.integers(0, (1 << 128) - 1).map(lambda number: str(UUID(int=number))),
    "uri": uris,
    "bytes": st.binary(max_size=40).map(lambda raw: base64.b64encode(raw).decode()),
    "tuple": st.lists(scalars, max_size=5),
    "json": json_values.filter(lambda value: value is not None),
    "ref": idents | st.integers(1, (1 << 53) - 1),
    "any": idents | st.integers(1, (1 << 53) - 1),
}
