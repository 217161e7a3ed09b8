"""The pack of docs/packs.md that knows who is asking, loaded from the page and asked over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from sandbar.access import mint
from tests.docs.pages import Page, page
from tests.mcp.served import Served, serving
from tests.mcp.without_tls import WITHOUT_TLS


def asked(served: Served, path: str, token: str, method: str, **params: Any) -> Any:
    """The response at a path of the server."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    with httpx2.Client(verify=WITHOUT_TLS, headers={"Authorization": f"Bearer {token}"}) as client:
        return client.post(served.url.replace("/mcp", path), json=body, timeout=30).json()


@pytest.mark.parametrize("prepared", [page("packs")], indirect=True, ids=["packs"])
def test_the_endpoint_of_the_page_tells_everybody_of_their_own(
    prepared: Page, folder: Path
) -> None:
    del prepared
    with serving(folder / "loans.db", packs=("loans",)) as served:
        home = served.db.workspace
        keys = [mint(home, name, user=user).token for name, user in (("a", "ann"), ("o", None))]
        told = []
        for key in keys:
            answer = asked(served, "/loans/mcp", key, "tools/call", name="my_loans")
            told.append(answer["result"]["structuredContent"])
        assert told == [
            {"reader": "user/ann", "titles": ["Dune"]},
            {"reader": "user/owner", "titles": ["Emma"]},
        ]
        info = asked(served, "/loans/mcp", keys[0], "initialize")["result"]["serverInfo"]
        assert info == {"name": "loans", "title": "Loans", "version": "1.0"}
        listed = asked(served, "/mcp", keys[0], "tools/list")["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["my_loans"]


def test_without_the_page_there_is_no_such_endpoint(folder: Path) -> None:
    """The control of the test above."""
    with serving(folder / "none.db", packs=()) as served:
        token = served.token()
        with httpx2.Client(
            verify=WITHOUT_TLS, headers={"Authorization": f"Bearer {token}"}
        ) as client:
            url = served.url.replace("/mcp", "/loans/mcp")
            assert client.post(url, json={}).status_code == 404
