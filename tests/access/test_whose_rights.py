"""Effects act with the rights of their mover, within those of whoever has defined them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from sandbar.access import Authority, Guarded, local_caller, set_role
from sandbar.errors import Forbidden
from sandbar.workflow.acting import starter_of
from tests.access.limited import account
from tests.access.whose_rights import (
    ADMINS,
    BOOT,
    DEFINERS,
    EFFECTS,
    MOVERS,
    PROMPT,
    WRITERS,
    Shop,
    expected,
    workflow,
)
from tests.kept_postgres import open_for_tests


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """The tests here change nothing that others look at."""
    folder: Path = tmp_path_factory.mktemp("rights")
    address = str(folder / "shop.db")
    if request.param == "postgres":
        address = request.getfixturevalue("shared_postgres")
    with open_for_tests(address, f"rights-{uuid4()}") as db:
        yield Shop(db, folder)


@pytest.mark.parametrize("definer", DEFINERS)
def test_an_effect_takes_both_its_mover_and_its_definer(shop: Shop, definer: str) -> None:
    assert shop.done(definer) == expected(definer)


def test_the_table_tells_apart(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the definer, without the mover, or without either, it comes out otherwise."""
    assert WRITERS < ADMINS < set(EFFECTS)
    sets = {frozenset(may) for may in (*DEFINERS.values(), *MOVERS.values())}
    assert len(sets) == 5
    answer = Authority.__call__
    house = ("local", {"account": None, "role": "admin"})
    for broken in (
        lambda self, mover, definer: answer(self, mover, house),
        lambda self, mover, definer: answer(self, house, definer),
        lambda self, mover, definer: Guarded(self._workspace, local_caller("main")),
    ):
        monkeypatch.setattr(Authority, "__call__", broken)
        wrong = [who for who in ("a writer", "an admin") if shop.done(who) != expected(who)]
        assert wrong


def test_a_refusal_says_whose_rights_were_lacking(shop: Shop) -> None:
    process = shop.processes["a writer who is a reader since"]
    problem = shop.move(process, "set a person", shop.movers["an admin"])
    assert isinstance(problem, Forbidden)
    assert (problem.code, problem.data["at"]) == (
        "access.read-only",
        "transitions.set-a-person.effects[0]",
    )
    definer = shop.db.history("rights/way-10")[0].principal
    assert f"both their mover and {definer}, who defined them" in str(problem.hint)


def test_a_definer_who_is_gone_is_named(shop: Shop) -> None:
    process = shop.processes["a writer who was revoked since"]
    problem = shop.move(process, "set a person", shop.movers["an admin"])
    assert isinstance(problem, Forbidden)
    assert problem.code == "access.no-longer"
    assert "has defined this workflow" in problem.message
    assert "workflow.define" in str(problem.hint)


SHOWN = {"db/ident", "workflow/name", "workflow/version", "workflow/spec", "workflow/fingerprint"}
SHOWN |= {"workflow/states", "workflow/transitions"}


def test_what_is_kept_of_a_definer_is_not_shown(shop: Shop) -> None:
    note = shop.db.workspace.credentials.note_of(shop.db.get("rights/way-3").entity_id)
    assert note is not None
    assert '"role":"writer"' in note
    assert shop.db.get("rights/way-3").slots.keys() == SHOWN
    asked = {
        "entity.find": {"entity": "rights/way-3"},
        "entity.history": {"entity": "rights/way-3"},
        "workflow.find": {"workflow": "rights/way-3"},
        "class.describe": {"class": "workflow/Definition"},
    }
    for verb, arguments in asked.items():
        for who in ("an admin", "a reader"):
            answer = shop.db.call_as(shop.movers[who], verb, arguments)
            assert '"via"' not in msgspec.json.encode(answer).decode(), verb


def test_defining_the_same_again_does_not_make_it_anothers(shop: Shop) -> None:
    """An admin who sends what is there already does not lend it an admin's rights."""
    process = shop.processes["a writer"]
    again = {"spec": workflow("rights/way-4")}
    assert not shop.db.call_as(shop.movers["an admin"], "workflow.define", again).created
    assert shop.move(process, "set a prompt", shop.movers["an admin"]) is not None


FORM = {"type": "object", "properties": {"word": {"type": "string"}}}


def test_a_verb_that_ends_or_answers_a_process_is_its_move_as_well(shop: Shop) -> None:
    """By whichever verb a transition is made, its effects are those of who called it."""
    asking: dict[str, Any] = {
        "name": "rights/asking",
        "states": [
            {
                "name": "asking/asked",
                "initial?": True,
                "input": {"message": "Well?", "schema": FORM, "accept": "accept", "decline": "no"},
            },
            {"name": "asking/said", "terminal?": True, "terminal-kind": "success"},
            {"name": "asking/cancelled", "terminal?": True, "terminal-kind": "cancel"},
        ],
        "transitions": [
            {"name": name, "from": "asking/asked", "to": to, "effects": [EFFECTS["set a prompt"]]}
            for name, to in (
                ("accept", "asking/said"),
                ("no", "asking/said"),
                ("cancel", "asking/cancelled"),
            )
        ],
    }
    shop.db.workflows.define(asking, principal="local")
    for verb, said in (
        ("workflow.answer", {"answers": {"answer": {}}}),
        ("workflow.answer", {"action": "decline"}),
        ("workflow.transition", {"transition": "no"}),
        ("workflow.transition", {"transition": "cancel"}),
        ("task.cancel", {}),
    ):
        for who, is_done in (("a writer", False), ("an admin", True)):
            caller = shop.movers[who]
            begun = shop.db.call_as(caller, "workflow.start-process", {"workflow": asking["name"]})
            named = "task-id" if verb == "task.cancel" else "process"
            given = {named: begun.task_id, "reason": f"{verb} {said} {who}", **said}
            call = partial(shop.db.call_as, caller, verb, given)
            if is_done:
                call()
            else:
                with pytest.raises(Forbidden, match="prompts are made and changed by admins only"):
                    call()


def test_nobody_gets_more_by_having_another_workflow_started(shop: Shop) -> None:
    """What a writer's workflow starts acts within that writer, though an admin has moved it."""
    db, writer, admin = shop.db, shop.movers["a writer"], shop.movers["an admin"]
    effects = [EFFECTS["set a prompt"], {"start": "rights/loop"}]
    loop: dict[str, Any] = {
        "name": "rights/loop",
        "states": [{"name": "loop/open", "initial?": True}],
        "transitions": [
            {"name": name, "from": "loop/open", "to": "loop/open", "effects": [effect]}
            for name, effect in zip(("write", "start"), effects, strict=True)
        ],
    }
    db.call_as(admin, "workflow.define", {"spec": loop})
    for definer in (writer, admin):
        spec = loop | {"name": f"rights/starts-{definer.principal.removeprefix('service/')}"}
        db.call_as(definer, "workflow.define", {"spec": spec})
        parent = db.workflows.start(spec["name"], principal="local").process_id
        db.call_as(admin, "workflow.transition", {"process": parent, "transition": "start"})
        (child,) = db.query("workflow/Process", {"workflow/parent": parent}).items
        record = db.workflows.records.read(child.entity_id)
        starter = starter_of(record)
        assert starter.kept["account"] == admin.account_id
        assert [one["principal"] for one in starter.kept["within"]] == [definer.principal]
        # What a timer of it would start, and so on.
        further = db.workflows.acting.child_of(record, starter)["within"]
        assert [one["principal"] for one in further] == [
            *dict.fromkeys((definer.principal, admin.principal))
        ]
        writing = partial(
            db.workflows.acting.hands(record, starter).transact,
            [{"op": "update", "entity": PROMPT, "set": {"db/doc": f"by {child.entity_id}"}}],
        )
        if definer is writer:
            with pytest.raises(Forbidden):
                writing()
        else:
            assert writing().outcomes[0].changed


def test_a_change_counts_from_the_next_transition_on(shop: Shop) -> None:
    """Rights are remembered, and looked up anew as soon as anything changes on which they rest."""
    db, mover = shop.db, account(shop.db, "moe", "writer")
    definer = account(shop.db, "dan", "writer")
    db.call_as(definer, "workflow.define", {"spec": workflow("rights/changing")})
    id = db.workflows.start("rights/changing", BOOT, principal="local").process_id
    kept = {"account": mover.account_id, "role": "writer", "key": mover.key_id, "via": mover.via}

    def may_set_a_person() -> bool:
        reason = f"said/n{db.t}"
        try:
            db.workflows.transition(
                id, "set-a-person", principal="service/moe", caller=kept, reason=reason
            )
        except Forbidden:
            return False
        return True

    assert may_set_a_person()
    assert may_set_a_person(), "by what is remembered"
    for who in ("moe", "dan"):
        for role, may in (("reader", False), ("writer", True), ("shop/keeper", False)):
            set_role(db.workspace, who, role)
            assert may_set_a_person() == may
        grants = db.query("auth/Role", {"auth/role-name": "shop/keeper"}).items[0]
        before = grants["auth/permissions"]
        db.update(grants.entity_id, {"auth/inherits": [{"auth/role-name": "writer"}]})
        assert may_set_a_person(), "a role counts as it is now"
        db.update(grants.entity_id, {"auth/inherits": None, "auth/permissions": before})
        assert not may_set_a_person()
        set_role(db.workspace, who, "writer")

    def demoted() -> None:
        """Within the very transaction that would have the effect, and is given up."""
        set_role(db.workspace, "moe", "reader")
        assert not may_set_a_person()
        raise KeyError

    with pytest.raises(KeyError):
        db.workspace.run(demoted, principal="local")
    assert may_set_a_person(), "what was given up is not remembered"
