"""Keys as services: minted, narrowed, listed, rotated, revoked; and their secrets, nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbar import clock
from sandbar.access import (
    Caller,
    Houses,
    add_account,
    add_user,
    list_accounts,
    list_keys,
    list_users,
    mint,
    revoke,
    revoke_key,
    rotate,
    sign_in,
)
from sandbar.access.expiry import expiry_text
from sandbar.access.keys import key_digest, shown_part
from sandbar.errors import Conflict, Forbidden, Incorrect, NotFound, Problem, Unauthenticated
from sandbar.model import Workspace
from tests.access.conftest import Place

VERBS = {"entity.find", "entity.create", "search.text", "entity", "search"}


def signed_in(workspace: Workspace, token: str, name: str = "main") -> Caller:
    return sign_in(Houses(lambda _: workspace, name), token)


def refusal(call: Any, *given: Any, **more: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*given, **more)
    return caught.value


# --- minting -------------------------------------------------------------------------------------


def test_a_minted_key_signs_in_as_the_owner_and_is_listed_without_its_secret(
    workspace: Workspace,
) -> None:
    made = mint(workspace, "laptop")
    assert made.token.startswith("sk-sand-")
    assert len(made.token) == len("sk-sand-") + 64
    caller = signed_in(workspace, made.token)
    assert (caller.principal, caller.role, caller.key) == ("user/owner", "admin", "laptop")
    assert caller.key_id == made.key.entity_id
    (listed,) = list_keys(workspace)
    assert listed == made.key
    assert listed.prefix == made.token[: len("sk-sand-") + 6]
    assert (listed.state, listed.owner, listed.last_used_at) == ("active", "user/owner", None)


def test_a_key_belongs_to_a_person_or_a_program(workspace: Workspace) -> None:
    add_user(workspace, "anna", email="anna@example.com", role="reader")
    add_account(workspace, "anna", "a-key-of-her-program")
    for user, principal, role in (
        ("user/anna", "user/anna", "reader"),
        ("service/anna", "service/anna", "writer"),
    ):
        made = mint(workspace, f"of-{principal.replace('/', '-')}-{len(user)}", user=user)
        assert made.key.owner == principal
        caller = signed_in(workspace, made.token)
        assert (caller.principal, caller.role) == (principal, role)
    assert refusal(mint, workspace, "whose", user="anna").code == "account.ambiguous"


def test_narrowing_is_what_sign_in_grants(workspace: Workspace) -> None:
    made = mint(
        workspace,
        "narrow",
        role="writer",
        verbs=["entity.*", "sandbar.search.text", "entity.*"],
        classes=["dt/Class"],
        read_only=True,
        rate_limit=5,
        burst=2,
        known_verbs=VERBS,
    )
    assert made.key.verbs == ["entity.*", "search.text"]
    assert (made.key.roles, made.key.classes, made.key.read_only) == (
        ["writer"],
        ["dt/Class"],
        True,
    )
    caller = signed_in(workspace, made.token)
    assert caller.role == "reader"
    assert caller.limit is not None
    assert (caller.limit.per_minute, caller.limit.burst) == (5, 2)
    may = caller.rights.may_call
    assert may("entity", "entity.find", "read")
    assert may("search", "search.text", "read")
    assert not may("entity", "entity.create", "write")
    assert not may("schema", "schema.classes", "read")
    assert caller.rights.scope("entity", "read") == frozenset({"dt/Class"})


def test_a_key_never_may_more_than_its_owner(workspace: Workspace) -> None:
    add_user(workspace, "anna", role="reader")
    made = mint(workspace, "bold", user="anna", role="admin")
    assert signed_in(workspace, made.token).role == "reader"


def test_everything_that_is_wrong_is_told_at_once(workspace: Workspace) -> None:
    add_user(workspace, "anna")
    secret = "sk-sand-" + "ab" * 32
    problem = refusal(
        mint,
        workspace,
        secret,
        user="ana",
        role="wirter",
        verbs=["entiti.find", "search.text", ""],
        classes=["dt/Clas", "dt/Class"],
        expires="2001-01-01",
        rate_limit=-1,
        burst=0,
        known_verbs=VERBS,
    )
    assert isinstance(problem, Incorrect)
    assert problem.code == "access.invalid"
    assert [(one["argument"], one["code"]) for one in problem.data["findings"]] == [
        ("name", "key.name"),
        ("user", "user.unknown"),
        ("role", "role.unknown"),
        ("verbs", "key.verb-unknown"),
        ("verbs", "key.verbs"),
        ("classes", "class.unknown"),
        ("expires", "expiry.past"),
        ("rate-limit", "key.rate"),
        ("burst", "key.rate"),
    ]
    for near in ("anna", "writer", "entity.find", "dt/Class"):
        assert f"did you mean {near}" in str(problem.data)
    assert secret not in str(problem) + str(problem.data)
    assert list_keys(workspace) == []


def test_one_thing_alone_keeps_its_own_code(workspace: Workspace) -> None:
    assert refusal(mint, workspace, "two words").code == "keyword.malformed"
    assert refusal(mint, workspace, "x", user="nobody").code == "user.unknown"
    assert refusal(mint, workspace, "x", prefix="no").code == "key.prefix"
    revoke(workspace, "user/owner")
    assert refusal(mint, workspace, "x").code == "user.inactive"


def test_a_name_is_taken_until_its_key_has_ended(workspace: Workspace) -> None:
    first = mint(workspace, "laptop", read_only=True)
    problem = refusal(mint, workspace, "laptop")
    assert isinstance(problem, Conflict)
    assert problem.code == "key.exists"
    revoke_key(workspace, "laptop")
    again = mint(workspace, ":laptop")
    assert again.key.entity_id == first.key.entity_id
    assert again.key.read_only is False, "what it was narrowed to is not carried over"
    assert signed_in(workspace, again.token).role == "admin"
    assert isinstance(refusal(signed_in, workspace, first.token), Forbidden)


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "ahead_s"),
    [("30d", 30 * 86_400), ("12h", 43_200), ("90m", 5400), ("2w", 14 * 86_400), (" 1d ", 86_400)],
)
def test_spans_count_from_now(given: str, ahead_s: int) -> None:
    before = clock.now_us()
    meant = clock.us_of_text(expiry_text(given))
    assert before + (ahead_s - 1) * 1_000_000 <= meant <= clock.now_us() + ahead_s * 1_000_000


def test_dates_and_instants_are_taken_as_they_are() -> None:
    assert expiry_text("2127-01-31") == "2127-01-31T00:00:00Z"
    assert expiry_text("2127-01-31T12:00:00Z") == "2127-01-31T12:00:00Z"
    assert expiry_text("2127-01-31t12:00:00.5+02:00") == "2127-01-31T10:00:00.500000Z"
    assert expiry_text("999999w").startswith("9999-12-31")


@pytest.mark.parametrize(
    "given",
    ["", "soon", "30", "d", "30 d", "-1d", "1.5d", "٣d", "2127-13-01", "2127-02-30",
     "2127-01-31T12:00:00", "2127-01-31T25:00:00Z", "20270131", "2127-W01", "1d\n2"],
)  # fmt: skip
def test_what_says_no_time_is_refused(given: str) -> None:
    assert refusal(expiry_text, given).code == "expiry.malformed"


@pytest.mark.parametrize("given", ["0d", "2001-01-31", "2001-01-31T12:00:00Z"])
def test_what_is_over_is_refused(given: str) -> None:
    assert refusal(expiry_text, given).code == "expiry.past"


def test_an_expired_key_is_refused_and_may_be_minted_anew(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = clock.now_us() + 3_600_000_000
    made = mint(workspace, "brief", expires=clock.instant_text(end))
    houses = Houses(lambda _: workspace, "main")
    for moment in (clock.now_us(), end - 1):
        monkeypatch.setattr(clock, "now_us", lambda moment=moment: moment)
        assert sign_in(houses, made.token).principal == "user/owner"
        assert [key.state for key in list_keys(workspace)] == ["active"]
    monkeypatch.setattr(clock, "now_us", lambda: end)
    with pytest.raises(Unauthenticated):
        sign_in(houses, made.token)
    assert [key.state for key in list_keys(workspace)] == ["expired"]
    assert refusal(rotate, workspace, "brief").code == "key.ended"
    assert mint(workspace, "brief").key.expires_at is None


# --- rotating and revoking -----------------------------------------------------------------------


def test_a_rotated_key_is_the_same_key_with_another_secret(place: Place) -> None:
    workspace = place.workspace_of_tests()
    made = mint(workspace, "ci", verbs=["entity.*"], expires="30d")
    houses = Houses(lambda _: workspace, place.name)
    assert sign_in(houses, made.token).key == "ci"
    other = rotate(place.workspace(), "ci")  # as another process would
    with pytest.raises(Forbidden) as caught:
        sign_in(houses, made.token)
    assert caught.value.code == "auth.revoked"
    caller = sign_in(houses, other.token)
    assert (caller.key_id, caller.key) == (made.key.entity_id, "ci")
    assert other.token != made.token
    assert other.key.prefix == shown_part(other.token)
    assert (other.key.verbs, other.key.expires_at) == (made.key.verbs, made.key.expires_at)


def test_a_key_is_revoked_by_name_by_its_beginning_or_whole(place: Place) -> None:
    workspace = place.workspace_of_tests()
    houses = Houses(lambda _: workspace, place.name)
    for name in ("one", "two", "three"):
        made = mint(workspace, name)
        assert sign_in(houses, made.token).key == name
        given = {"one": name, "two": f"{made.key.prefix}…", "three": made.token}[name]
        assert revoke_key(place.workspace(), given).state == "revoked"
        with pytest.raises(Forbidden):
            sign_in(houses, made.token)
        assert revoke_key(workspace, name).state == "revoked", "once more changes nothing"
    assert refusal(rotate, workspace, "one").code == "key.ended"


def test_what_is_no_key_is_not_repeated(place: Place) -> None:
    workspace = place.workspace_of_tests()
    mint(workspace, "laptop")
    problem = refusal(revoke_key, workspace, "lapto")
    assert isinstance(problem, NotFound)
    assert problem.hint == "did you mean laptop?"
    other = Workspace.open(place.store(), f"{place.name}-other")
    theirs = mint(other, "theirs")
    for secret in (theirs.token, "sk-sand-" + "0" * 64, str(theirs.key.prefix)):
        for call in (revoke_key, rotate):
            problem = refusal(call, workspace, secret)
            assert problem.code == "key.unknown"
            assert secret not in str(problem)
    assert signed_in(other, theirs.token).key == "theirs"


PASTED = [
    "{}",
    "claude:{}",
    ":{}",
    " {}",
    "Bearer {}",
    "Bearer claude:{}",
    "'{}'",
    "key={}",
    "x/{}",
]


@pytest.mark.parametrize("form", PASTED)
def test_a_pasted_secret_is_looked_up_and_never_repeated(workspace: Workspace, form: str) -> None:
    made, other = mint(workspace, "laptop"), "sk-sand-" + "5e" * 32
    for call in (revoke_key, rotate):
        problem = refusal(call, workspace, form.format(other))
        assert problem.code == "key.unknown"
        assert "5e5e" not in f"{problem} {problem.data}"
    new = rotate(workspace, form.format(made.token))
    assert new.key.name == "laptop"
    assert revoke_key(workspace, form.format(new.token)).state == "revoked"
    makers: dict[Any, str] = {
        mint: "key.name",
        add_account: "account.name",
        add_user: "account.name",
    }
    for make, code in makers.items():
        problem = refusal(make, workspace, form.format(other))
        assert problem.code == code
        assert "5e5e" not in f"{problem} {problem.data}"
    problem = refusal(mint, workspace, "x", user=form.format(other))
    assert problem.code == "account.name"
    assert "5e5e" not in f"{problem} {problem.data}"


@pytest.mark.parametrize("secret", ["claude:a-chosen-key", "5e" * 32, "claude:5e5e"])
def test_other_secrets_are_not_repeated_either(workspace: Workspace, secret: str) -> None:
    mint(workspace, "laptop")
    calls: list[Any] = [revoke_key, rotate, mint, add_account, add_user]
    for call in calls:
        problem = refusal(call, workspace, secret)
        assert secret not in f"{problem} {problem.data}"
        assert problem.code in ("key.unknown", "key.name", "account.name")


def test_a_name_that_only_looks_a_little_like_a_key_is_one(workspace: Workspace) -> None:
    for name in ("task-runner", "desk-1", ":risk-desk", "a/b-c"):
        made = mint(workspace, name)
        assert rotate(workspace, name).key.name == name.removeprefix(":")
        assert revoke_key(workspace, name).entity_id == made.key.entity_id


def test_a_replayed_mint_does_not_show_the_secret_again(workspace: Workspace) -> None:
    wish: dict[str, Any] = {"read_only": True, "expires": "30d", "idempotency_key": "once"}
    made = mint(workspace, "laptop", **wish)
    problem = refusal(mint, workspace, "laptop", **wish)
    assert isinstance(problem, Conflict)
    assert problem.code == "key.secret-already-shown"
    assert made.token not in str(problem)
    other = refusal(mint, workspace, "phone", **wish)
    assert other.code == "idempotency.mismatch"
    assert len(list_keys(workspace)) == 1
    new = rotate(workspace, "laptop", idempotency_key="turn")
    problem = refusal(rotate, workspace, "laptop", idempotency_key="turn")
    assert problem.code == "key.secret-already-shown"
    assert signed_in(workspace, new.token).key == "laptop"
    failed = refusal(mint, workspace, "tablet", role="boss", idempotency_key="again")
    assert failed.code == "role.unknown"
    mint(workspace, "tablet", role="reader", idempotency_key="again")


# --- accounts ------------------------------------------------------------------------------------


def test_an_account_s_minted_key_is_a_key_of_its_name(workspace: Workspace) -> None:
    made = add_account(workspace, "claude")
    (key,) = list_keys(workspace)
    assert (key.name, key.owner) == ("claude", "service/claude")
    caller = signed_in(workspace, f"claude:{made.token}")
    assert (caller.principal, caller.key, caller.key_id) == (
        "service/claude",
        "claude",
        key.entity_id,
    )
    assert refusal(add_account, workspace, "x", role="boss").code == "role.unknown"
    mint(workspace, "bot")
    assert refusal(add_account, workspace, "bot").code == "key.exists"
    assert [one.name for one in list_accounts(workspace)] == ["service/claude"]


def test_an_account_that_comes_back_has_none_of_its_old_keys(workspace: Workspace) -> None:
    old = [add_account(workspace, "bot").token, mint(workspace, "extra", user="bot").token]
    revoke(workspace, "bot")
    assert {key.state for key in list_keys(workspace)} == {"owner-inactive"}
    for token in old:
        assert isinstance(refusal(signed_in, workspace, token), Unauthenticated)
    new = add_account(workspace, "bot", role="reader")
    assert signed_in(workspace, new.token).role == "reader"
    for token in old:
        assert isinstance(refusal(signed_in, workspace, token), Forbidden)
    assert {key.name: key.state for key in list_keys(workspace)} == {
        "bot": "active",
        "extra": "revoked",
    }


def test_people_come_and_go(workspace: Workspace) -> None:
    anna = add_user(workspace, "anna", email="anna@example.com")
    assert refusal(add_user, workspace, "anna").code == "user.exists"
    wrong = refusal(add_user, workspace, "a b", email="no address", role="boss")
    assert len(wrong.data["findings"]) == 3
    key = mint(workspace, "hers", user="anna")
    assert revoke(workspace, "anna").name == "user/anna"
    assert isinstance(refusal(signed_in, workspace, key.token), Unauthenticated)
    back = add_user(workspace, "anna", role="reader")
    assert (back.entity_id, back.email) == (anna.entity_id, "anna@example.com")
    assert isinstance(refusal(signed_in, workspace, key.token), Forbidden)
    assert [(one.name, one.is_owner) for one in list_users(workspace)] == [
        ("user/anna", False),
        ("user/owner", True),
    ]


def test_a_key_of_an_account_from_before_keys_had_names(workspace: Workspace) -> None:
    account = add_account(workspace, "old", "chosen-key-1").account
    secret = "sk-sand-" + "5a" * 32

    def keep() -> None:
        workspace.credentials.keep_token(account.entity_id, key_digest(secret))

    workspace.run(keep, principal="local")
    assert signed_in(workspace, secret).principal == "service/old"
    assert refusal(revoke_key, workspace, secret).code == "key.nameless"
    assert revoke(workspace, secret).name == "service/old"
    assert isinstance(refusal(signed_in, workspace, secret), Forbidden)


# --- secrets -------------------------------------------------------------------------------------


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    place = Place("sqlite", str(tmp_path / "secrets.db"))
    workspace = place.workspace("main")
    made = mint(workspace, "laptop", reason="for the train", idempotency_key="k1")
    tokens = [made.token, rotate(workspace, "laptop", idempotency_key="k2").token]
    tokens.append(add_account(workspace, "bot").token)
    revoke_key(workspace, tokens[0])
    told = str(list_keys(workspace)) + str(workspace.changes(limit=100))
    told += str(workspace.history(made.key.entity_id))
    place.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert shown_part(tokens[1]).encode() in kept, "the beginning is kept: this look sees the file"
    for token in tokens:
        rest = token[len(shown_part(token)) :]
        assert rest not in told
        assert rest.encode() not in kept
        assert bytes.fromhex(token[-64:]) not in kept


def test_a_key_whose_owner_was_purged_opens_nothing_and_breaks_no_list(
    workspace: Workspace,
) -> None:
    add_user(workspace, "gone")
    token = mint(workspace, "orphan", user="gone", principal="tests").token
    gone = {"auth/user-name": "user/gone"}
    workspace.purge(gone, principal="tests", reason=None, mode="detach")
    assert {key.name: key.owner for key in list_keys(workspace)}["orphan"] == "nobody"
    with pytest.raises(Unauthenticated):
        signed_in(workspace, str(token))
