"""Workspaces as services, on both stores: who sees to them, and what becomes of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sandbar
from sandbar.access import (
    Caller,
    Houses,
    Neighbours,
    create_workspace,
    delete_workspace,
    local_caller,
    mint,
    sign_in,
    suspend_workspace,
    views_of,
    workspace_names,
)
from sandbar.errors import Conflict, Forbidden, Incorrect, NotFound, Problem, Unauthenticated
from sandbar.model import Workspace
from tests.access.conftest import Place
from tests.kept_postgres import open_for_tests


class Scene:
    """A database at home in one workspace, with neighbours."""

    def __init__(self, db: sandbar.Database, place: Place) -> None:
        self.db, self.place = db, place
        self.home = db.workspace_name
        self.operator = local_caller(self.home)
        self.neighbours: Neighbours = db.neighbours
        self.houses = Houses(lambda name: self.neighbours.open(name), self.home)

    def name(self, word: str) -> str:
        """A name that no other test has: they share a PostgreSQL database."""
        return f"{word} {self.home}"

    def create(self, word: str, **more: Any) -> Workspace:
        create_workspace(self.neighbours, self.operator, self.name(word), **more)
        return self.neighbours.open(self.name(word))

    def signs_in(self, token: str) -> str:
        try:
            return sign_in(self.houses, token).workspace
        except Problem as problem:
            return f"{type(problem).__name__} {problem.code}"


@pytest.fixture
def scene(place: Place) -> Iterator[Scene]:
    """A database, open as a server has it."""
    with open_for_tests(place.address, place.name) as db:
        yield Scene(db, place)


def refusal(call: Any, *given: Any, **more: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*given, **more)
    return caught.value


def test_a_new_workspace_has_an_owner_and_keys_of_its_own(scene: Scene) -> None:
    made = create_workspace(
        scene.neighbours,
        scene.operator,
        scene.name("shop"),
        owner="anna",
        email="anna@example.com",
        title="Anna's shop",
    )
    assert (made.owner, made.email, made.title) == ("user/anna", "anna@example.com", "Anna's shop")
    assert (made.keys, made.suspended) == (0, False)
    shop = scene.neighbours.open(made.name)
    token = mint(shop, "hers").token
    caller = sign_in(scene.houses, token)
    assert (caller.principal, caller.role, caller.workspace) == ("user/anna", "admin", made.name)
    assert caller.is_operator is False, "it is not the server's own workspace"
    (seen,) = views_of(scene.neighbours, [made.name])
    assert (seen.keys, seen.t) == (1, shop.last_t())
    before = seen.entities
    shop.define({}, {"x/Thing": {"dt/subclass-of": ["dt/Ref"]}}, principal="test")
    things = [{"op": "create", "class": "x/Thing", "slots": {}} for _ in range(3)]
    shop.transact(things, principal="test")
    assert next(views_of(scene.neighbours, [made.name])).entities == before + 3


def test_operators_see_all_and_others_their_own(scene: Scene) -> None:
    scene.create("a")
    scene.create("b")
    names = workspace_names(scene.neighbours, scene.operator)
    assert names == sorted(names)
    assert {scene.home, scene.name("a"), scene.name("b")} <= {*names}
    guest = Caller("user/anna", "admin", scene.name("a"), 7)
    assert workspace_names(scene.neighbours, guest) == [scene.name("a")]
    for call, given in (
        (create_workspace, {}),
        (suspend_workspace, {}),
        (delete_workspace, {"confirm": scene.name("b")}),
    ):
        for name in (scene.name("b"), scene.name("a"), "there is none"):
            problem = refusal(call, scene.neighbours, guest, name, **given)
            assert isinstance(problem, Forbidden)
            assert problem.code == "workspace.operators-only"
    assert scene.name("b") in scene.neighbours.names()


def test_a_suspended_workspace_lets_nobody_in_until_it_is_resumed(scene: Scene) -> None:
    token = mint(scene.create("shop"), "k").token
    assert scene.signs_in(token) == scene.name("shop")
    # Another process suspends it.
    with sandbar.open(scene.place.address, scene.home) as other:
        seen = suspend_workspace(other.neighbours, scene.operator, scene.name("shop"))
        assert seen.suspended is True
    assert scene.signs_in(token) == "Forbidden workspace.suspended"
    shop = scene.neighbours.open(scene.name("shop"))
    assert scene.signs_in(mint(shop, "late").token) == "Forbidden workspace.suspended"
    suspend_workspace(scene.neighbours, scene.operator, scene.name("shop"), resume=True)
    assert scene.signs_in(token) == scene.name("shop")


def test_nobody_locks_themselves_out(scene: Scene) -> None:
    signed_in = Caller("user/owner", "admin", scene.home, 5, is_operator=True)
    problem = refusal(suspend_workspace, scene.neighbours, signed_in, scene.home)
    assert (type(problem), problem.code) == (Conflict, "workspace.own")
    for caller in (signed_in, scene.operator):
        problem = refusal(
            delete_workspace, scene.neighbours, caller, scene.home, confirm=scene.home
        )
        assert (type(problem), problem.code) == (Conflict, "workspace.own")
    assert suspend_workspace(scene.neighbours, scene.operator, scene.home).suspended is True
    suspend_workspace(scene.neighbours, scene.operator, scene.home, resume=True)


def test_a_deleted_workspace_is_gone_with_its_keys(scene: Scene) -> None:
    shop = scene.create("shop")
    token, stays = mint(shop, "k").token, mint(scene.db.workspace, "home").token
    assert scene.signs_in(token) == scene.name("shop")
    name = scene.name("shop")
    for wrong in ("", name.upper(), f"{name} ", scene.home):
        problem = refusal(delete_workspace, scene.neighbours, scene.operator, name, confirm=wrong)
        assert (type(problem), problem.code) == (Incorrect, "workspace.unconfirmed")
    gone = delete_workspace(scene.neighbours, scene.operator, name, confirm=name)
    assert (gone.name, gone.keys) == (name, 1)
    assert scene.signs_in(token).startswith(Unauthenticated.__name__)
    assert scene.signs_in(stays) == scene.home
    assert name not in scene.neighbours.names()
    problem = refusal(delete_workspace, scene.neighbours, scene.operator, name, confirm=name)
    assert (type(problem), problem.code) == (NotFound, "workspace.unknown")
    # A new one of the same name has nothing of the old one.
    again = scene.create("shop")
    assert again.number != shop.number
    assert scene.signs_in(token).startswith(Unauthenticated.__name__)
    assert scene.signs_in(mint(again, "k").token) == name


def test_what_is_wrong_with_a_new_workspace_is_told_at_once(scene: Scene) -> None:
    problem = refusal(
        create_workspace,
        scene.neighbours,
        scene.operator,
        "../etc",
        owner="two words",
        email="nowhere",
    )
    assert [(one["argument"], one["code"]) for one in problem.data["findings"]] == [
        ("name", "workspace.name"),
        ("owner", "keyword.malformed"),
        ("email", "user.email"),
    ]
    scene.create("shop")
    problem = refusal(create_workspace, scene.neighbours, scene.operator, scene.name("shop"))
    assert (type(problem), problem.code) == (Conflict, "workspace.exists")
    near = refusal(suspend_workspace, scene.neighbours, scene.operator, scene.name("shop") + "x")
    assert near.hint is not None
    assert scene.name("shop") in near.hint


@pytest.mark.parametrize(
    "name",
    ["", " ", "a/b", "..", ".", ".hidden", "a\\b", "a\nb", "a\0b", "a\x7fb", "a\u202eb", "\ud800",
     " a", "a ", "-rf", "--workspace", "a\u2028b", "x" * 256, "a\u00a0b", "a\tb"],
)  # fmt: skip
def test_names_that_are_taken_for_something_else_are_refused(name: str, scene: Scene) -> None:
    before = scene.neighbours.names()
    problem = refusal(create_workspace, scene.neighbours, scene.operator, name)
    assert problem.code == "workspace.name"
    assert scene.neighbours.names() == before


@pytest.mark.parametrize("word", ["shop-2", "Größe", "店", "a.b", "x_y", "a b", "it's"])
def test_names_that_are_just_names(word: str, scene: Scene) -> None:
    assert scene.create(word).last_t() > 0


def test_a_workspace_that_knows_no_access_is_shown_and_stays_so(scene: Scene) -> None:
    bare = scene.neighbours.create(scene.name("bare"))
    t = bare.last_t()
    (seen,) = views_of(scene.neighbours, [scene.name("bare")])
    assert (seen.owner, seen.keys, seen.entities, seen.t) == (None, 0, 0, t)
    assert bare.last_t() == t
    assert list(views_of(scene.neighbours, ["there is none"])) == []
