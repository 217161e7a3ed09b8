"""Signing in: the table of what can be wrong, and that nothing counts longer than it should."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from sandbar import clock
from sandbar.access import (
    Caller,
    Houses,
    add_account,
    install_access,
    revoke,
    set_role,
    sign_in,
    sign_in_at_once,
    verdicts,
)
from sandbar.errors import Forbidden, Problem, TooMany, Unauthenticated
from sandbar.model import Workspace
from tests.access.conftest import Place, place_of_kind

KEY = "super-secret-mcp-key"
TOKEN = f"claude:{KEY}"


@pytest.fixture
def houses(place: Place, workspace: Workspace) -> Houses:
    """The workspace with the account of seed 000."""
    add_account(workspace, "claude", KEY)
    return Houses(
        lambda name: workspace if name == place.name else place.workspace(name), place.name
    )


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def settled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Workspace, str]]:
    """A workspace with that account, for those who only sign in, and its name."""
    folder = tmp_path_factory.mktemp("settled")
    with closing(place_of_kind(request, request.param, folder)) as place:
        workspace = place.workspace_of_tests()
        add_account(workspace, "claude", KEY)
        yield workspace, place.name


@pytest.fixture
def door(settled: tuple[Workspace, str]) -> Iterator[Houses]:
    """Where they sign in: nobody has before, and all is as before when they have."""
    workspace, name = settled
    t = workspace.last_t()
    yield Houses(lambda _: workspace, name)
    assert workspace.last_t() == t, "something was written"


def refusal(houses: Houses, token: str | None) -> Problem:
    with pytest.raises(Problem) as caught:
        sign_in(houses, token)
    return caught.value


def account_id(workspace: Workspace, name: str = "claude") -> int:
    return workspace.get({"auth/service-name": f"service/{name}"}).entity_id


@pytest.mark.parametrize(
    "token",
    [
        TOKEN,
        f"service/claude:{KEY}",
        f":service/claude:{KEY}",
    ],
)
def test_a_service_and_its_key(door: Houses, settled: tuple[Workspace, str], token: str) -> None:
    caller, id = sign_in(door, token), account_id(settled[0])
    assert (caller.principal, caller.role) == ("service/claude", "writer")
    assert (caller.workspace, caller.account_id) == (door.default, id)
    assert (caller.via, caller.key_id, caller.limit) == ("service-key", None, None)
    assert caller.rights == Caller("x", "writer", "x").rights
    assert not caller.is_operator
    assert id in dict(caller.rests_on)
    assert sign_in(door, token) == caller


@pytest.mark.parametrize(
    ("token", "code", "message"),
    [
        (None, "auth.missing", "Bearer token required"),
        ("", "auth.malformed", "Bearer token required"),
        ("no-colon", "auth.malformed", "Bearer token required"),
        (":", "auth.malformed", "Bearer token required"),
        ("claude:", "auth.malformed", "Bearer token required"),
        (f":{KEY}", "auth.malformed", "Bearer token required"),
        (f"{'x' * 700}:{KEY}", "auth.malformed", "Bearer token required"),
        (f"nobody:{KEY}", "auth.unknown", "invalid token"),
        (f"not a name:{KEY}", "auth.unknown", "invalid token"),
        (f"other/claude:{KEY}", "auth.unknown", "invalid token"),
        ("claude:wrong-key", "auth.mismatch", "invalid token"),
        (f"claude:{KEY}x", "auth.mismatch", "invalid token"),
        ("claude:\ud800", "auth.mismatch", "invalid token"),
        (f"sk-sand-{'0' * 64}", "auth.unknown", "invalid token"),
        (f"claude:sk-sand-{'0' * 64}", "auth.mismatch", "invalid token"),
        ("sk-", "auth.unknown", "invalid token"),
    ],
)
def test_what_can_be_wrong(door: Houses, token: str | None, code: str, message: str) -> None:
    problem = refusal(door, token)
    assert isinstance(problem, Unauthenticated)
    assert (problem.code, problem.message) == (code, message)


def test_a_minted_key_alone_and_with_its_name(houses: Houses, workspace: Workspace) -> None:
    made = add_account(workspace, "bot", role="reader")
    assert made.is_minted
    assert len(made.token) == len("sk-sand-") + 64
    caller = sign_in(houses, made.token)
    assert (caller.principal, caller.role) == ("service/bot", "reader")
    assert sign_in(houses, f"bot:{made.token}") == caller
    assert refusal(houses, f"claude:{made.token}").code == "auth.mismatch"
    assert refusal(houses, made.token[:-1]).code == "auth.unknown"
    assert refusal(houses, made.token.upper()).code == "auth.malformed"


def test_a_minted_key_belongs_to_its_own_workspace(houses: Houses, place: Place) -> None:
    other = place.workspace(f"{place.name}-other")
    made = add_account(other, "bot", role="admin")
    assert sign_in(houses, made.token).workspace == f"{place.name}-other"
    # By name and chosen key only the server's own workspace is asked.
    add_account(other, "elsewhere", KEY)
    assert refusal(houses, f"elsewhere:{KEY}").code == "auth.unknown"


def test_revoking_counts_from_the_next_request_on(houses: Houses, place: Place) -> None:
    other = place.workspace()  # as another process would
    first, second = add_account(other, "a").token, add_account(other, "b").token
    for token in (first, second):
        sign_in(houses, token)
    sign_in(houses, TOKEN)

    revoke(other, first)
    problem = refusal(houses, first)
    assert isinstance(problem, Forbidden)
    assert problem.code == "auth.revoked"
    revoke(other, "b")
    assert refusal(houses, second).code == "auth.inactive"
    revoke(other, "claude")
    assert refusal(houses, TOKEN).code == "auth.inactive"


def test_another_role_or_key_counts_at_once(houses: Houses, place: Place) -> None:
    other = place.workspace()
    assert sign_in(houses, TOKEN).role == "writer"
    set_role(other, "claude", "reader")
    assert sign_in(houses, TOKEN).role == "reader"
    id = account_id(other)
    change = {"op": "update", "entity": id, "set": {"auth/api-key-hash": "another-key"}}
    other.transact([change], principal="admin")  # no document changes by that
    assert refusal(houses, TOKEN).code == "auth.mismatch"
    assert sign_in(houses, "claude:another-key").role == "reader"
    other.transact([{"op": "delete", "entity": id}], principal="admin")
    assert refusal(houses, "claude:another-key").code == "auth.unknown"


def test_an_account_that_was_revoked_gets_a_new_key(houses: Houses, workspace: Workspace) -> None:
    old = add_account(workspace, "bot").token
    revoke(workspace, "bot")
    new = add_account(workspace, "bot", role="admin").token
    assert sign_in(houses, new).role == "admin"
    assert refusal(houses, old).code == "auth.revoked"


def test_other_writes_change_nothing_for_who_is_signed_in(
    houses: Houses, workspace: Workspace
) -> None:
    token = add_account(workspace, "bot").token
    callers = {sign_in(houses, TOKEN), sign_in(houses, token)}
    for n in range(3):
        workspace.define({f"x/p{n}": {"dt/range": "db.type/string"}}, {}, principal="admin")
        # At once: the verdict on the chosen key is still known, whatever else has happened.
        assert sign_in_at_once(houses, TOKEN) in callers
        assert {sign_in(houses, TOKEN), sign_in(houses, token)} == callers


def test_an_account_expires(
    houses: Houses, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = clock.now_us() + 3_600_000_000
    set_ = {"auth/expires-at": clock.instant_text(end)}
    change = {"op": "update", "entity": account_id(workspace), "set": set_}
    workspace.transact([change], principal="admin")
    assert sign_in(houses, TOKEN).role == "writer"
    monkeypatch.setattr(clock, "now_us", lambda: end - 1)
    assert sign_in(houses, TOKEN).role == "writer"
    monkeypatch.setattr(clock, "now_us", lambda: end)
    assert refusal(houses, TOKEN).code == "auth.expired"


def test_an_account_without_a_role_does_not_sign_in(houses: Houses, workspace: Workspace) -> None:
    change = {"op": "update", "entity": account_id(workspace), "set": {"auth/roles": None}}
    workspace.transact([change], principal="admin")
    assert refusal(houses, TOKEN).code == "auth.inactive"


def test_what_only_looks_like_an_account_is_none(houses: Houses, workspace: Workspace) -> None:
    slots = ["auth/service-name", "auth/api-key-hash", "auth/roles", "auth/active?"]
    workspace.define({}, {"x/LookAlike": {"dt/slots": slots}}, principal="admin")
    given = {"auth/service-name": "service/fake", "auth/api-key-hash": KEY, "auth/roles": ["admin"]}
    create = {"op": "create", "class": "x/LookAlike", "slots": given}
    workspace.transact([create], principal="admin")
    assert refusal(houses, f"fake:{KEY}").code == "auth.unknown"


def test_an_account_made_by_the_generic_verbs_signs_in(
    houses: Houses, workspace: Workspace
) -> None:
    # Seed 000 makes its account like this; the slot hashes what it is given.
    given = {"auth/service-name": ":service/seed", "auth/api-key-hash": KEY, "auth/active?": True}
    create = {"op": "create", "class": "auth/ServiceAccount", "slots": given}
    workspace.transact([create], principal="admin")
    assert sign_in(houses, f"seed:{KEY}").role == "writer"


def test_a_workspace_without_accounts_knows_nobody(place: Place, workspace: Workspace) -> None:
    houses = Houses(lambda name: workspace, place.name)
    assert refusal(houses, TOKEN).code == "auth.unknown"
    assert refusal(houses, f"sk-sand-{'0' * 64}").code == "auth.unknown"
    install_access(workspace)
    t = workspace.last_t()
    install_access(workspace)
    assert workspace.last_t() == t, "installing twice must change nothing"


def test_a_new_key_is_not_checked_at_once(houses: Houses, place: Place) -> None:
    assert sign_in_at_once(houses, TOKEN) is None
    caller = sign_in(houses, TOKEN)
    assert sign_in_at_once(houses, TOKEN) == caller


def test_many_requests_with_one_key_are_one_check(
    houses: Houses, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []
    slow = verdicts.Verdicts._check

    def counted(self: verdicts.Verdicts, hashed: str | None, candidate: str) -> bool:
        checks.append(1)
        return slow(self, hashed, candidate)

    monkeypatch.setattr(verdicts.Verdicts, "_check", counted)
    roles: list[str] = []
    threads = [
        threading.Thread(target=lambda: roles.append(sign_in(houses, TOKEN).role))
        for _ in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert roles == ["writer"] * 40
    assert len(checks) == 1


def test_only_so_many_keys_are_checked_at_once(houses: Houses) -> None:
    held = [houses.verdicts._waiting.acquire() for _ in range(18)]
    problem = refusal(houses, "claude:some-guess")
    assert isinstance(problem, TooMany)
    assert problem.code == "auth.busy"
    for _ in held:
        houses.verdicts._waiting.release()
    assert refusal(houses, "claude:some-guess").code == "auth.mismatch"


def test_nothing_of_a_token_is_kept_in_the_clear(houses: Houses, workspace: Workspace) -> None:
    token = add_account(workspace, "bot").token
    for one in (TOKEN, token, "claude:wrong-key"):
        try:
            sign_in(houses, one)
        except Problem:
            pass
    kept = repr([vars(houses), vars(houses.verdicts)])
    assert KEY not in kept
    assert token not in kept
    assert "wrong-key" not in kept
    history = workspace.history(account_id(workspace, "bot"))
    assert token not in repr(history)
    assert KEY not in repr(workspace.query("auth/Principal"))
