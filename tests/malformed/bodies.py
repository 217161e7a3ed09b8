"""Bodies that are not JSON, or not in UTF-8, or too much."""

from __future__ import annotations

import gzip

from sandbar.edge import BODY_BYTES_MAX
from tests.malformed.cases import NOT_HTTP, OK, PARSE_ERROR, TOO_LARGE, Case

PING = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
DEEP = 10_000
LIMIT_BYTES = BODY_BYTES_MAX

NOT_JSON: dict[str, bytes] = {
    "empty": b"",
    "white space": b" \r\n\t ",
    "truncated after the brace": b"{",
    "truncated in a key": b'{"jsonrpc":"2.0","id":1,"meth',
    "truncated before the last brace": PING[:-1],
    "truncated in a number": b'{"jsonrpc":"2.0","method":"tools/list","id":-',
    "truncated in an escape": b'{"jsonrpc":"2.0","id":1,"method":"\\u00',
    "trailing comma": b'{"jsonrpc":"2.0","id":1,"method":"tools/list",}',
    "trailing text": PING + b" tools/list",
    "one brace too many": PING + b"}",
    "two documents": PING + PING,
    "two documents in lines": PING + b"\n" + PING,
    "comment": b'{"jsonrpc":"2.0", /* one */ "id":1,"method":"tools/list"}',
    "single quotes": PING.replace(b'"', b"'"),
    "keys without quotes": b'{jsonrpc:"2.0",id:1,method:"tools/list"}',
    "no colon": b'{"jsonrpc" "2.0","id":1,"method":"tools/list"}',
    "no comma": b'{"jsonrpc":"2.0" "id":1,"method":"tools/list"}',
    "a Python literal": b'{"jsonrpc":"2.0","id":None,"method":"tools/list"}',
    "undefined": b'{"jsonrpc":"2.0","id":undefined,"method":"tools/list"}',
    "leading zero": b'{"jsonrpc":"2.0","id":01,"method":"tools/list"}',
    "leading plus": b'{"jsonrpc":"2.0","id":+1,"method":"tools/list"}',
    "hexadecimal": b'{"jsonrpc":"2.0","id":0x1,"method":"tools/list"}',
    "bare decimal point": b'{"jsonrpc":"2.0","id":.5,"method":"tools/list"}',
    "bad escape": b'{"jsonrpc":"2.0","id":"\\x41","method":"tools/list"}',
    "newline in a string": b'{"jsonrpc":"2.0","id":"a\nb","method":"tools/list"}',
    "tab in a string": b'{"jsonrpc":"2.0","id":"a\tb","method":"tools/list"}',
    "NUL in a string": b'{"jsonrpc":"2.0","id":"a\x00b","method":"tools/list"}',
    "NUL after the end": PING + b"\x00",
    "escape character in a string": b'{"jsonrpc":"2.0","id":"a\x1bb","method":"tools/list"}',
    "plain text": b"tools/list",
    "XML": b"<methodCall><methodName>tools/list</methodName></methodCall>",
    "a form": b"jsonrpc=2.0&id=1&method=tools%2Flist",
    "MessagePack": b"\x83\xa7jsonrpc\xa32.0\xa2id\x01\xa6method\xaatools/list",
    "server-sent event": b"data: " + PING + b"\n\n",
    "LSP framing": b"Content-Length: 46\r\n\r\n" + PING,
    "JSON with a record separator": b"\x1e" + PING + b"\n",
}

NOT_UTF8: dict[str, bytes] = {
    "byte order mark": b"\xef\xbb\xbf" + PING,
    "UTF-16 with its mark": PING.decode().encode("utf-16"),
    "UTF-16, little end first": PING.decode().encode("utf-16-le"),
    "UTF-16, big end first": PING.decode().encode("utf-16-be"),
    "UTF-32": PING.decode().encode("utf-32"),
    "Latin-1": '{"jsonrpc":"2.0","id":"é","method":"tools/list"}'.encode("latin-1"),
    "a stray continuation byte": PING.replace(b"tools", b"to\x80ols"),
    "a byte that is never used": PING.replace(b"tools", b"to\xffols"),
    "an overlong slash": PING.replace(b"/", b"\xc0\xaf"),
    "a truncated sequence": PING.replace(b"tools", b"to\xe2\x82ols"),
    "a surrogate in UTF-8": PING.replace(b"tools", b"to\xed\xa0\x80ols"),
    "beyond Unicode": PING.replace(b"tools", b"to\xf4\x90\x80\x80ols"),
    "modified UTF-8's NUL": PING.replace(b"tools", b"to\xc0\x80ols"),
    "Latin-1 outside a string": PING + b"\xe9",
}

_CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META"name":"%s","arguments":%s}}'
_TOOL = "sandbar.class.describe"


def _argument(name: str, value: str) -> Case:
    text = _CALL % (_TOOL, '{"class":' + value + "}")
    return Case(name, PARSE_ERROR, text=text, method="tools/call", tool=_TOOL)


VALUES = [
    _argument("NaN in an argument", "NaN"),
    _argument("Infinity in an argument", "Infinity"),
    _argument("minus Infinity in an argument", "-Infinity"),
    _argument("a number beyond doubles", "1e400"),
    _argument("a negative number beyond doubles", "-1e400"),
    _argument("an integer of 10,000 digits", "9" * DEEP),
    _argument("a lone high surrogate", '"\\ud800"'),
    _argument("a lone low surrogate", '"\\udc00"'),
    _argument("surrogates in the wrong order", '"\\udc00\\ud800"'),
    _argument("10,000 arrays in an argument", "[" * DEEP + "]" * DEEP),
    _argument("10,000 objects in an argument", '{"a":' * DEEP + "1" + "}" * DEEP),
    Case(
        "NaN as an id",
        PARSE_ERROR,
        text='{"jsonrpc":"2.0","id":NaN,"method":"tools/list","params":{META"a":1}}',
    ),
    Case(
        "a lone surrogate as a method",
        PARSE_ERROR,
        text='{"jsonrpc":"2.0","id":1,"method":"\\ud800","params":{META"a":1}}',
    ),
    Case(
        "a lone surrogate as a key",
        PARSE_ERROR,
        text='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META"\\ud800":1}}',
    ),
    Case(
        "the last of two equal keys counts",
        OK,
        text='{"jsonrpc":"2.0","id":1,"method":"no/such","method":"tools/list","params":{META"a":1}}',
    ),
]

_LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META"a":1}}'

MUCH = [
    # 1,000 bytes are for the envelope.
    Case("just within the limit", OK, text=_LIST + " " * (LIMIT_BYTES - 1000)),
    Case("10,000 arrays", PARSE_ERROR, body=b"[" * DEEP + b"]" * DEEP),
    Case("10,000 arrays, never closed", PARSE_ERROR, body=b"[" * DEEP),
    Case("100,000 objects", PARSE_ERROR, body=b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    Case("over the limit", TOO_LARGE, body=b'"' + b"x" * LIMIT_BYTES + b'"'),
    Case("over the limit in white space", TOO_LARGE, body=PING + b" " * LIMIT_BYTES),
    Case(
        "a length over the limit and no body",
        TOO_LARGE,
        body=b"",
        headers={"Content-Length": str(LIMIT_BYTES + 1)},
    ),
    Case(
        "a length beyond 64 bits",
        NOT_HTTP,
        body=b"",
        headers={"Content-Length": "9" * 40},
    ),
]

COMPRESSED = [
    Case(
        "gzip",
        PARSE_ERROR,
        body=gzip.compress(PING, mtime=0),
        headers={"Content-Encoding": "gzip"},
    ),
    Case("gzip that nobody announced", PARSE_ERROR, body=gzip.compress(PING, mtime=0)),
    Case("deflate", PARSE_ERROR, body=b"x\x9c\x00\x01", headers={"Content-Encoding": "deflate"}),
]

BODIES = [
    *(Case(f"not JSON: {name}", PARSE_ERROR, body=body) for name, body in NOT_JSON.items()),
    *(Case(f"not UTF-8: {name}", PARSE_ERROR, body=body) for name, body in NOT_UTF8.items()),
    *VALUES,
    *MUCH,
    *COMPRESSED,
]
