"""Ways of not signing in; a few look wrong and are right."""

from __future__ import annotations

from typing import Any

from tests.malformed.cases import NOT_SIGNED_IN, OK, Case, request

LIST = request("tools/list")
NAME, KEY = "claude", "super-secret-mcp-key"

REFUSED: dict[str, Any] = {
    "nothing": None,
    "an empty header": "",
    "the scheme alone": "Bearer",
    "the scheme and a space": "Bearer ",
    "a token without a scheme": f"{NAME}:{KEY}",
    "another scheme": f"Token {NAME}:{KEY}",
    "Basic": "Basic Y2xhdWRlOnN1cGVyLXNlY3JldC1tY3Ata2V5",
    "Digest": 'Digest username="claude", realm="sandbar-mcp"',
    "Negotiate": "Negotiate YII=",
    "no space": f"Bearer{NAME}:{KEY}",
    "a tab for a space": f"Bearer\t{NAME}:{KEY}",
    "no colon": f"Bearer {NAME}",
    "the key alone": f"Bearer {KEY}",
    "no name": f"Bearer :{KEY}",
    "no key": f"Bearer {NAME}:",
    "a colon alone": "Bearer :",
    "two colons": f"Bearer {NAME}::{KEY}",
    "an unknown name": f"Bearer nobody:{KEY}",
    "another key": f"Bearer {NAME}:another",
    "half of the key": f"Bearer {NAME}:{KEY[:-1]}",
    "more than the key": f"Bearer {NAME}:{KEY}x",
    "the key in capitals": f"Bearer {NAME}:{KEY.upper()}",
    "the name in capitals": f"Bearer {NAME.upper()}:{KEY}",
    "the name with a namespace of another": f"Bearer auth/{NAME}:{KEY}",
    "words after the token": f"Bearer {NAME}:{KEY} please",
    "two tokens with a comma": f"Bearer {NAME}:{KEY}, Bearer {NAME}:{KEY}",
    "quotes": f'Bearer "{NAME}:{KEY}"',
    "percent signs": f"Bearer {NAME}%3A{KEY}",
    "base64": "Bearer Y2xhdWRlOnN1cGVyLXNlY3JldC1tY3Ata2V5",
    "a variable that nobody set": "Bearer ${SANDBAR_TOKEN}",
    "disabled": "Bearer disabled",
    "a minted key that is unknown": "Bearer sk-sand-" + "0" * 64,
    "a minted key, too short": "Bearer sk-sand-" + "0" * 63,
    "a minted key, too long": "Bearer sk-sand-" + "0" * 65,
    "a minted key that is no number": "Bearer sk-sand-" + "z" * 64,
    "the prefix of minted keys": "Bearer sk-sand-",
    "a minted key under a name": f"Bearer {NAME}:sk-sand-" + "0" * 64,
    "a web token": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJjbGF1ZGUifQ.",
    "8 kB": "Bearer " + "a" * 8_000,
    "8 kB of name": f"Bearer {'a' * 8_000}:{KEY}",
    "Latin-1": "Bearer clàude:kéy",
    "injection": "Bearer ' OR 1=1 --:x",
    "a path": f"Bearer ../{NAME}:{KEY}",
    "twice, the same": [f"Bearer {NAME}:{KEY}"] * 2,
    "twice, the second one good": ["Bearer no:no", f"Bearer {NAME}:{KEY}"],
}

ACCEPTED: dict[str, Any] = {
    "the scheme in small letters": f"bearer {NAME}:{KEY}",
    "the scheme in capitals": f"BEARER {NAME}:{KEY}",
    "spaces around": f"  Bearer {NAME}:{KEY}  ",
    "two spaces": f"Bearer  {NAME}:{KEY}",
}


def _elsewhere(name: str, path: str = "/mcp", **more: Any) -> Case:
    headers = {"Authorization": None, **more.pop("headers", {})}
    return Case(f"signed in by {name}", NOT_SIGNED_IN, path=path, headers=headers, **more)


SIGNING_IN = [
    *(
        Case(
            f"Authorization: {name}", NOT_SIGNED_IN, message=LIST, headers={"Authorization": value}
        )
        for name, value in REFUSED.items()
    ),
    *(
        Case(f"Authorization: {name}", OK, message=LIST, headers={"Authorization": value})
        for name, value in ACCEPTED.items()
    ),
    _elsewhere("the query", f"/mcp?access_token={NAME}:{KEY}", message=LIST),
    _elsewhere("X-API-Key", message=LIST, headers={"X-API-Key": f"{NAME}:another"}),
    _elsewhere("a cookie", message=LIST, headers={"Cookie": f"session={NAME}:{KEY}"}),
    _elsewhere("Proxy-Authorization", message=LIST, headers={"Proxy-Authorization": "Bearer x:y"}),
    _elsewhere("the body", message=request("tools/list", {"token": f"{NAME}:{KEY}"})),
    _elsewhere("nothing, with a body that is no JSON", body=b"{"),
    _elsewhere("nothing, with an unknown method", message=request("no/such")),
    _elsewhere("nothing, with a notification", message={"jsonrpc": "2.0", "method": "x"}),
    _elsewhere("nothing, on the stream", "/mcp/sse", verb="GET"),
    _elsewhere("nothing, with GET", verb="GET"),
    _elsewhere("nothing, with DELETE", verb="DELETE"),
]
