"""Credentials that are malformed, foreign, outdated or hostile, each with its exact answer."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from tests.credentials.knocking import Knock, bearer
from tests.credentials.planted import CHOSEN, Planted

Outcome = Literal[
    "missing",  # no credential at all
    "malformed",  # none that could be one
    "twice",  # more than one
    "twice the other way",  # more than one, as X-API-Key
    "ambiguous",  # one in each header, and not the same
    "invalid",  # whatever else is wrong with it: nobody is told what
    "revoked",  # a minted key that has been taken back
    "suspended",  # a right key of a workspace that is suspended
    "too large",  # refused by its size
    "no HTTP",  # refused by the parser
    "elsewhere",  # sent to a host that is not ours
    "no session",  # signed in, with the session of somebody else
]


@dataclass(frozen=True)
class Hostile:
    """One way to come without a right to."""

    name: str
    outcome: Outcome
    make: Callable[[Planted], Knock]
    id: int | None = 7  # of the request in its answer: a body without a length is not read


Value = Callable[[Planted], bytes]

NAME = b"claude"
KEY = CHOSEN.encode()
PAIR = NAME + b":" + KEY
ZEROS = b"sk-sand-" + b"0" * 64


def _value(name: str, outcome: Outcome, value: bytes | Value) -> Hostile:
    """The value of an Authorization header."""

    def make(planted: Planted) -> Knock:
        text = value if isinstance(value, bytes) else value(planted)
        return Knock((b"Authorization: " + text,))

    return Hostile(name, outcome, make)


def _token(name: str, outcome: Outcome, token: bytes | Value) -> Hostile:
    """A token with the right scheme."""

    def value(planted: Planted) -> bytes:
        return b"Bearer " + (token if isinstance(token, bytes) else token(planted))

    return _value(name, outcome, value)


def _lines(name: str, outcome: Outcome, *lines: bytes) -> Hostile:
    """Header lines as they are; GOOD stands for a minted key that is in order."""

    def make(planted: Planted) -> Knock:
        return Knock(tuple(line.replace(b"GOOD", planted.minted("good")) for line in lines))

    return Hostile(name, outcome, make)


_GOOD = b"Authorization: Bearer GOOD"


def _good(change: Callable[[bytes], bytes]) -> Value:
    """A minted key that is in order, but for a change."""
    return lambda planted: change(planted.minted("good"))


def _swapped(digit: str) -> Value:
    """A minted key, its last hexadecimal digit replaced by something that resembles one."""
    return _good(lambda key: key[:-1] + digit.encode())


SCHEMES = [
    _lines("nothing", "missing"),
    _value("an empty header", "missing", b""),
    _value("spaces", "missing", b"   "),
    _value("a tab", "missing", b"\t"),
    _value("the scheme alone", "malformed", b"Bearer"),
    _value("the scheme and a space", "malformed", b"Bearer "),
    _value("the scheme twice", "malformed", b"Bearer Bearer"),
    _value("the scheme twice before a pair", "invalid", b"Bearer Bearer " + PAIR),
    _value("a pair without a scheme", "malformed", PAIR),
    _value("a minted key without a scheme", "malformed", _good(lambda key: key)),
    _value("Basic with a pair", "malformed", b"Basic " + PAIR),
    _value("Basic with base64", "malformed", b"Basic " + base64.b64encode(PAIR)),
    _value("Token", "malformed", b"Token " + PAIR),
    _value("ApiKey", "malformed", _good(lambda key: b"ApiKey " + key)),
    _value("Digest", "malformed", b'Digest username="claude", realm="sandbar-mcp"'),
    _value("Negotiate", "malformed", b"Negotiate YII="),
    _value("two words before the pair", "malformed", b"My Bearer " + PAIR),
    _value("a word after the pair", "invalid", b"Bearer " + PAIR + b" please"),
    _value("a word after a minted key", "invalid", _good(lambda key: b"Bearer " + key + b" now")),
    _value("no space", "malformed", b"Bearer" + PAIR),
    _value("a colon for the space", "malformed", b"Bearer:" + PAIR),
    _value("an equals sign for the space", "malformed", b"Bearer=" + PAIR),
    _value("a comma for the space", "malformed", b"Bearer," + PAIR),
    _value("a Cyrillic letter in the scheme", "malformed", "Beаrer ".encode() + PAIR),
    _value("fullwidth letters in the scheme", "malformed", "Ｂｅａｒｅｒ ".encode() + PAIR),
    _value("a zero-width space in the scheme", "malformed", "Be\u200barer ".encode() + PAIR),
    _value("quotes around everything", "malformed", b'"Bearer ' + PAIR + b'"'),
]

SPACES = [
    _value("a tab for the space", "malformed", b"Bearer\t" + PAIR),
    _value("a no-break space for the space", "malformed", "Bearer\u00a0".encode() + PAIR),
    _value("an ideographic space for the space", "malformed", "Bearer\u3000".encode() + PAIR),
    _token("a no-break space before", "invalid", "\u00a0".encode() + PAIR),
    _token("a no-break space after", "invalid", PAIR + "\u00a0".encode()),
    _token("a no-break space in Latin-1 after", "invalid", PAIR + b"\xa0"),
    _token("a next-line character after", "invalid", PAIR + "\u0085".encode()),
    _token("a line separator after", "invalid", PAIR + "\u2028".encode()),
    _token("a zero-width space after", "invalid", PAIR + "\u200b".encode()),
    _token("a byte order mark before", "invalid", "\ufeff".encode() + PAIR),
    _token("a no-break space after a minted key", "invalid", _good(lambda k: k + b"\xc2\xa0")),
    _token("a no-break space before a minted key", "malformed", _good(lambda k: b"\xc2\xa0" + k)),
    _token("a space in the name", "invalid", b"cla ude:" + KEY),
    _token("a space before the colon", "invalid", NAME + b" :" + KEY),
    _token("a space after the colon", "invalid", NAME + b": " + KEY),
    _token("a tab after the colon", "invalid", NAME + b":\t" + KEY),
    _token("a space in the key", "invalid", NAME + b":super-secret -mcp-key"),
    _token("a space in a minted key", "invalid", _good(lambda k: k[:20] + b" " + k[20:])),
    _token("a tab in a minted key", "invalid", _good(lambda k: k[:20] + b"\t" + k[20:])),
]

COLONS = [
    _token("no colon", "malformed", NAME),
    _token("the chosen key alone", "malformed", KEY),
    _token("a colon alone", "malformed", b":"),
    _token("two colons", "malformed", b"::"),
    _token("three colons", "malformed", b":::"),
    _token("no name", "malformed", b":" + KEY),
    _token("no key", "malformed", NAME + b":"),
    _token("no key under a keyword", "malformed", b":service/claude:"),
    _token("two colons between", "invalid", NAME + b"::" + KEY),
    _token("two colons before", "malformed", b"::" + PAIR),
    _token("more after another colon", "invalid", PAIR + b":extra"),
    _token("a colon after", "invalid", PAIR + b":"),
    _token("another namespace", "invalid", b"auth/claude:" + KEY),
    _token("the namespace twice", "invalid", b"service/service/claude:" + KEY),
    _token("an empty namespace", "invalid", b"/claude:" + KEY),
    _token("a namespace alone", "invalid", b"service/:" + KEY),
    _token("key and name in the wrong order", "invalid", KEY + b":" + NAME),
    _token("another name with a minted key", "invalid", _good(lambda k: b"claude:" + k)),
    _token("an unknown name with a minted key", "invalid", _good(lambda k: b"nobody:" + k)),
    _token("no name before a minted key", "malformed", _good(lambda k: b":" + k)),
    _token("a minted key before a name", "invalid", _good(lambda k: k + b":bot")),
    _token("a minted key twice", "invalid", _good(lambda k: k + b":" + k)),
]

KEYS = [
    _token("an unknown name", "invalid", b"nobody:" + KEY),
    _token("another key", "invalid", NAME + b":another-key"),
    _token("most of the key", "invalid", PAIR[:-1]),
    _token("more than the key", "invalid", PAIR + b"x"),
    _token("the key in capitals", "invalid", NAME + b":" + KEY.upper()),
    _token("the name in capitals", "invalid", b"CLAUDE:" + KEY),
    _token("the key of another account", "invalid", b"bot:" + KEY),
    _token("a minted key that never was", "invalid", ZEROS),
    _token("63 digits", "invalid", _good(lambda k: k[:-1])),
    _token("65 digits", "invalid", _good(lambda k: k + b"0")),
    _token("digits in capitals", "invalid", _good(lambda k: k[:8] + k[8:].upper())),
    _token("everything in capitals", "malformed", _good(lambda k: k.upper())),
    _token("the prefix in capitals", "malformed", _good(lambda k: k[:8].upper() + k[8:])),
    _token("another prefix", "invalid", _good(lambda k: b"sk-live-" + k[8:])),
    _token("no prefix", "malformed", _good(lambda k: k[8:])),
    _token("half of the prefix", "invalid", _good(lambda k: b"sk-" + k[8:])),
    _token("the prefix twice", "invalid", _good(lambda k: b"sk-sand-" + k)),
    _token("the prefix alone", "invalid", b"sk-sand-"),
    _token("the start of the prefix", "invalid", b"sk-"),
    _token("what a list shows of it", "invalid", _good(lambda k: k[:14])),
    _token("what a list shows of it, with dots", "invalid", _good(lambda k: k[:14] + b"...")),
    _token("its digits backwards", "invalid", _good(lambda k: k[:8] + k[:7:-1])),
    _token("two keys in one", "invalid", _good(lambda k: k + k)),
    _token("no hexadecimal digits", "invalid", b"sk-sand-" + b"z" * 64),
    _token("a web token", "malformed", b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJjbGF1ZGUifQ."),
    _token("a variable that nobody set", "malformed", b"${SANDBAR_TOKEN}"),
    _token("null", "malformed", b"null"),
    _token("true", "malformed", b"true"),
    _token("the hash of another program", "invalid", b"claude:$argon2id$v=19$m=19456,t=2,p=1$a$b"),
]

UNICODE = [
    _token("an Arabic digit", "invalid", _swapped("٣")),
    _token("a fullwidth digit", "invalid", _swapped("３")),
    _token("a superscript digit", "invalid", _swapped("³")),
    _token("a mathematical digit", "invalid", _swapped("𝟑")),
    _token("a Cyrillic letter for a digit", "invalid", _swapped("а")),
    _token("a zero-width joiner at the end", "invalid", _good(lambda k: k + "\u200d".encode())),
    _token("a combining accent at the end", "invalid", _good(lambda k: k + "\u0301".encode())),
    _token("a non-breaking hyphen", "invalid", _good(lambda k: k.replace(b"d-", "d‑".encode()))),
    _token("a fullwidth colon", "malformed", "claude：".encode() + KEY),
    _token("a Cyrillic letter in the name", "invalid", "clаude:".encode() + KEY),
    _token("a dotless letter in the name", "invalid", "clⅾude:".encode() + KEY),
    _token("a composed accent", "invalid", "claudé:".encode() + KEY),
    _token("a decomposed accent", "invalid", "claude\u0301:".encode() + KEY),
    _token("a right-to-left mark", "invalid", "\u200fclaude:".encode() + KEY),
    _token("Latin-1 in the key", "invalid", b"claude:k\xe9y-in-latin-1"),
    _token("Latin-1 in the name", "invalid", b"cl\xe0ude:" + KEY),
    _token("a lone surrogate", "invalid", b"claude:\xed\xa0\x80" + KEY),
    _token("an overlong slash", "invalid", b"service\xc0\xafclaude:" + KEY),
    _token("a byte that is never used", "invalid", PAIR + b"\xff"),
    _token("the key in UTF-16", "no HTTP", NAME + b":" + CHOSEN.encode("utf-16-le")),
]

ENCODED = [
    _token("base64 of the pair", "malformed", base64.b64encode(PAIR)),
    _token("base64 of a minted key", "malformed", _good(base64.b64encode)),
    _token("percent-encoded", "malformed", quote(PAIR, safe="").encode()),
    _token("percent-encoded in part", "invalid", b"claude:super%2Dsecret-mcp-key"),
    _token("a plus for a space", "invalid", b"+claude:" + KEY),
    _token("quotes", "invalid", b'"' + PAIR + b'"'),
    _token("angle brackets", "invalid", b"<" + PAIR + b">"),
    _token("JSON", "invalid", b'{"name":"claude","key":"' + KEY + b'"}'),
    _token("a parameter", "invalid", b'token="' + PAIR + b'"'),
    _token("SQL in the name", "invalid", b"' OR 1=1 --:x"),
    _token("SQL after the name", "invalid", b"claude' --:wrong-key"),
    _token("SQL in the key", "invalid", b"claude:' OR '1'='1"),
    _token("SQL in a minted key", "invalid", b"sk-sand-' UNION SELECT digest FROM token --"),
    _token("a path", "invalid", b"../claude:" + KEY),
    _token("a glob", "invalid", b"*:*"),
    _token("a glob after the prefix", "invalid", b"sk-sand-%"),
    _token("a format", "invalid", b"%s%n:{0}"),
    _token("an entity's number", "invalid", b"1:" + KEY),
    _token("an escape", "invalid", b"claude:\\u0073uper-secret-mcp-key"),
]

LENGTHS = [
    _token("599 characters", "invalid", b"a:" + b"k" * 597),
    _token("601 characters", "malformed", b"a:" + b"k" * 599),
    _token("1 kB", "malformed", b"a:" + b"k" * 1_000),
    _token("8 kB", "malformed", b"a:" + b"k" * 8_000),
    _token("60 kB", "malformed", b"a:" + b"k" * 60_000),
    _token("64 kB", "too large", b"a:" + b"k" * 65_536),
    _token("1 MB", "too large", b"a:" + b"k" * 1_000_000),
    _token("8 kB after a minted key", "malformed", _good(lambda k: k + b"0" * 8_000)),
    _token("8 kB of spaces before the pair and one key less", "invalid", b" " * 8_000 + PAIR[:-1]),
    _token("a name of 300 characters", "invalid", b"n" * 300 + b":" + KEY),
    _token("a name of 255 bytes", "invalid", b"n" * 255 + b":" + KEY),
    _token("8 kB of name", "malformed", b"n" * 8_000 + b":" + KEY),
    _token("150 characters of four bytes", "invalid", b"a:" + "𝟑".encode() * 150),
]

CONTROLS = [
    _token("NUL in the name", "no HTTP", b"cla\x00ude:" + KEY),
    _token("NUL after the pair", "no HTTP", PAIR + b"\x00"),
    _token("NUL after a minted key", "no HTTP", _good(lambda k: k + b"\x00x")),
    _token("an escape character", "no HTTP", PAIR + b"\x1b[31m"),
    _token("a bell", "no HTTP", NAME + b"\x07:" + KEY),
    _token("delete", "no HTTP", PAIR + b"\x7f"),
    _token("a file separator after", "no HTTP", PAIR + b"\x1c"),
    _token("a carriage return", "no HTTP", b"x:y\rAuthorization: Bearer " + PAIR),
    _token("a line feed", "no HTTP", b"x:y\nAuthorization: Bearer " + PAIR),
    _token("a line end and another header", "twice", b"x:y\r\nAuthorization: Bearer " + PAIR),
    Hostile(
        "the end of the head, then a request",
        "malformed",
        lambda p: Knock((b"Authorization: Bearer x\r\n\r\nPOST /mcp HTTP/1.1", bearer(p["good"]))),
        None,
    ),
    _value("a folded line", "no HTTP", b"Bearer\r\n " + PAIR),
    _value("a folded line with a tab", "no HTTP", b"Bearer\r\n\t" + PAIR),
    _lines("a space before the colon of the header", "no HTTP", b"Authorization : Bearer GOOD"),
    _lines("a space before the header", "no HTTP", b" Authorization: Bearer GOOD"),
    _lines("NUL in the header's name", "no HTTP", b"Authorization\x00: Bearer GOOD"),
]

HEADERS = [
    _lines("twice, both right", "twice", _GOOD, _GOOD),
    _lines(
        "twice, the first right",
        "twice",
        _GOOD,
        b"Authorization: Bearer x:y",
    ),
    _lines(
        "twice, the second right",
        "twice",
        b"Authorization: Bearer x:y",
        b"authorization: Bearer GOOD",
    ),
    _lines("twice, the first empty", "twice", b"Authorization:", _GOOD),
    _lines("twice, the second empty", "twice", _GOOD, b"Authorization:"),
    _lines("another scheme first", "twice", b"Authorization: Basic eA==", _GOOD),
    _value("two with a comma", "invalid", b"Bearer " + PAIR + b", Bearer " + PAIR),
    _value(
        "minted keys with a comma", "invalid", _good(lambda k: b"Bearer " + k + b", Bearer " + k)
    ),
    _value("a comma after", "invalid", _good(lambda k: b"Bearer " + k + b",")),
    _lines("an empty X-API-Key", "missing", b"X-API-Key:"),
    _lines("X-API-Key of spaces", "missing", b"X-API-Key:   "),
    _lines("X-API-Key with a scheme", "malformed", b"X-API-Key: Bearer GOOD"),
    _lines("X-API-Key without a colon", "malformed", b"X-API-Key: " + KEY),
    _lines("X-API-Key in quotes", "malformed", b'X-API-Key: "GOOD"'),
    _lines("X-API-Key and more than the key", "invalid", b"X-API-Key: GOOD0"),
    _lines("X-API-Key with another key", "invalid", b"X-API-Key: " + NAME + b":another"),
    _lines("X-API-Key of nobody", "invalid", b"X-API-Key: " + ZEROS),
    _lines("X-API-Key with a comma", "invalid", b"X-API-Key: GOOD, GOOD"),
    _lines("X-API-Key twice", "twice the other way", b"X-API-Key: GOOD", b"x-api-key: GOOD"),
    _lines("two X-API-Keys", "twice the other way", b"X-API-Key: x:y", b"X-API-Key: GOOD"),
    _lines("an empty X-API-Key first", "twice the other way", b"X-API-Key:", b"X-API-Key: GOOD"),
    _lines("another key as X-API-Key", "ambiguous", _GOOD, b"X-API-Key: " + PAIR),
    _lines("a wrong key as X-API-Key", "ambiguous", _GOOD, b"X-API-Key: x:y"),
    _lines("its name only as X-API-Key", "ambiguous", _GOOD, b"X-API-Key: bot:GOOD"),
    _lines(
        "a wrong key beside X-API-Key",
        "ambiguous",
        b"Authorization: Bearer x:y",
        b"X-API-Key: GOOD",
    ),
    _lines("Basic beside X-API-Key", "ambiguous", b"Authorization: Basic eA==", b"X-API-Key: GOOD"),
    _lines(
        "the scheme beside X-API-Key", "ambiguous", b"Authorization: Bearer", b"X-API-Key: GOOD"
    ),
    _lines("twice beside X-API-Key", "twice", _GOOD, _GOOD, b"X-API-Key: GOOD"),
    _lines("X-Api-Token", "missing", b"X-Api-Token: GOOD"),
    _lines("X_API_Key", "missing", b"X_API_Key: GOOD"),
    _lines("Api-Key", "missing", b"Api-Key: GOOD"),
    _lines("X-Auth-Token", "missing", b"X-Auth-Token: GOOD"),
    _lines("X-Authorization", "missing", b"X-Authorization: Bearer GOOD"),
    _lines("X-Forwarded-Authorization", "missing", b"X-Forwarded-Authorization: Bearer GOOD"),
    _lines("Proxy-Authorization", "missing", b"Proxy-Authorization: Bearer GOOD"),
    _lines("Authentication", "missing", b"Authentication: Bearer GOOD"),
    _lines("X-Forwarded-User", "missing", b"X-Forwarded-User: claude", b"X-Remote-User: claude"),
    _lines("a cookie", "missing", b"Cookie: Authorization=Bearer GOOD; token=GOOD; session=GOOD"),
    _lines("the tail of a name", "missing", b"XAuthorization: Bearer GOOD"),
    _lines(
        "an underscore",
        "missing",
        b"Authorization_: Bearer GOOD",
        b"HTTP_AUTHORIZATION: Bearer GOOD",
    ),
    _lines("the session's id", "missing", b"X-Session: GOOD", b"Mcp-Token: GOOD"),
]


def _of(name: str, outcome: Outcome = "invalid", prefix: bytes = b"") -> Hostile:
    """A token that was planted."""
    title = f"a key {name}" + (f" under {prefix.decode()}" if prefix else "")
    return _token(title, outcome, lambda planted: prefix + planted.minted(name))


OUTDATED = [
    _of("revoked", "revoked"),
    _token(
        "a revoked key with its name", "revoked", lambda p: b"revokedbot:" + p.minted("revoked")
    ),
    _of("replaced", "revoked"),
    _of("expired"),
    _of("of an idle account"),
    _of("without a role"),
    _of("of nobody"),
    _of("named and revoked", "revoked"),
    _of("named and rotated", "revoked"),
    _of("made inactive", "revoked"),
    _of("named and expired"),
    _of("deleted"),
    _of("of an inactive user"),
    _of("of an expired user"),
    _of("of a user without a role"),
    _of("narrowed to nothing"),
    _of("of a suspended workspace", "suspended"),
    _of("of a deleted workspace"),
    _of("of a user", "invalid", b"away:"),
    _of("of a user", "invalid", b"service/anna:"),
    _token("a key's name and a chosen key", "invalid", b"laptop:" + KEY),
    _token("a user's name and a chosen key", "invalid", b"anna:" + KEY),
    _token("a chosen key of an idle account", "invalid", b"idle:" + KEY),
    _token("a chosen key, a second too late", "invalid", b"late:" + KEY),
    _token("a chosen key of an account without a role", "invalid", b"bare:" + KEY),
    _token("a chosen key of an account that is gone", "invalid", b"gone:" + KEY),
    _token("a chosen key of another workspace", "invalid", b"elsewhere:" + KEY),
    _token(
        "a minted key of another workspace under one of our names",
        "invalid",
        lambda p: b"claude:" + p.minted("of another workspace"),
    ),
    _token("the workspace before the name", "invalid", b"other/elsewhere:" + KEY),
    _token(
        "a minted key under a chosen key's name", "invalid", lambda p: b"idle:" + p.minted("good")
    ),
]


def _query(name: str) -> Hostile:
    def make(planted: Planted) -> Knock:
        return Knock(path=b"/mcp?" + name.encode() + b"=" + planted.minted("good"))

    return Hostile(f"?{name}=", "missing", make)


def _in_body(planted: Planted) -> Knock:
    held = {"token": planted["good"], "authorization": f"Bearer {planted['good']}"}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": held}}
    return Knock(message=message | held)


ELSEWHERE = [
    *map(_query, ("token", "access_token", "api_key", "key", "authorization", "Authorization")),
    Hostile(
        "in the path",
        "missing",
        lambda p: Knock(path=b"/mcp/?" + p.minted("good")),
    ),
    Hostile(
        "before the host",
        "elsewhere",
        lambda p: Knock(path=b"http://bot:" + p.minted("good") + b"@127.0.0.1/mcp"),
    ),
    Hostile("in the body", "missing", _in_body),
    Hostile("in a trailer", "missing", lambda p: Knock(trailers=(bearer(p["good"]),)), None),
    Hostile(
        "a wrong key, and a right one in a trailer",
        "invalid",
        lambda p: Knock((bearer(ZEROS),), trailers=(bearer(p["good"]),)),
        None,
    ),
    Hostile(
        "a wrong key, and a right one in the query",
        "invalid",
        lambda p: Knock((bearer(ZEROS),), path=b"/mcp?access_token=" + p.minted("good")),
    ),
]

HOSTILE = [
    *SCHEMES,
    *SPACES,
    *COLONS,
    *KEYS,
    *UNICODE,
    *ENCODED,
    *LENGTHS,
    *CONTROLS,
    *HEADERS,
    *OUTDATED,
    *ELSEWHERE,
]

# What may look odd and is right: proof that the same harness can be let in.
WELCOME: dict[str, Value] = {
    "a pair": lambda p: b"Bearer " + PAIR,
    "a minted key": lambda p: b"Bearer " + p.minted("good"),
    "a minted key with its name": lambda p: b"Bearer bot:" + p.minted("good"),
    "a minted key with its whole name": lambda p: b"Bearer service/bot:" + p.minted("good"),
    "a minted key of another workspace": lambda p: b"Bearer " + p.minted("of another workspace"),
    "a key of a user": lambda p: b"Bearer " + p.minted("of a user"),
    "a key with its user's name": lambda p: b"Bearer anna:" + p.minted("of a user"),
    "a key with its user's whole name": lambda p: b"Bearer user/anna:" + p.minted("of a user"),
    "a key with its own name": lambda p: b"Bearer laptop:" + p.minted("of a user"),
    "the key that has replaced another": lambda p: b"Bearer " + p.minted("replacing"),
    "small letters": lambda p: b"bearer " + PAIR,
    "capitals": lambda p: b"BEARER " + PAIR,
    "mixed letters": lambda p: b"bEaReR " + PAIR,
    "spaces around": lambda p: b"  Bearer " + PAIR + b"  ",
    "tabs around": lambda p: b"\tBearer " + PAIR + b"\t",
    "two spaces": lambda p: b"Bearer  " + PAIR,
    "a keyword": lambda p: b"Bearer :service/claude:" + KEY,
    "a keyword without its colon": lambda p: b"Bearer service/claude:" + KEY,
    "a short keyword": lambda p: b"Bearer :claude:" + KEY,
}

# The same with X-API-Key: lines of the head.
WELCOME_LINES: dict[str, tuple[bytes, ...]] = {
    "a minted key": (b"X-API-Key: GOOD",),
    "a pair": (b"X-API-Key: " + PAIR,),
    "a minted key with its name": (b"x-api-key: bot:GOOD",),
    "spaces around": (b"X-API-Key:   GOOD  ",),
    "the same in both": (_GOOD, b"X-API-Key: GOOD"),
    "nothing in Authorization": (b"Authorization:", b"X-API-Key: GOOD"),
    "nothing in X-API-Key": (_GOOD, b"X-API-Key:"),
}
