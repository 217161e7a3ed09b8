"""SQLite, PostgreSQL and a dictionary, driven side by side: no difference, in results or errors.

The dictionary is a second, much simpler reading of the rules: whole entities, no indexes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from sandbar import Database, Problem
from tests.model.conftest import Place
from tests.model.dictionary import (
    MANY,
    NAMES,
    PROPERTIES,
    REFERENCES,
    TAGS,
    UNIQUE,
    Dictionary,
    Wrong,
    listed,
)
from tests.model.shop import codes_of

slots_of_text = st.fixed_dictionaries(
    {},
    optional={
        "m/name": st.sampled_from([*NAMES, None, 5]),
        "m/tags": st.lists(st.sampled_from(TAGS), unique=True, max_size=3),
        "m/code": st.sampled_from([*UNIQUE, None]),
        "m/count": st.sampled_from([0, 1, -1, None]),
        "m/nope": st.just("x"),
    },
)
numbers = st.integers(0, 11)  # entities by order of making, counted from the newest


class Machine(RuleBasedStateMachine):
    """One step at a time on all three."""

    places: ClassVar[tuple[Place, Place]]  # given by the test
    counter: ClassVar[Iterator[int]]

    @initialize()
    def begin(self) -> None:
        """A new workspace on each."""
        name = f"{self.places[0].workspace}-{next(self.counter)}"
        self.databases: list[Database] = [place.another(name) for place in self.places]
        self.model = Dictionary()
        self.ids: list[int] = []
        self.count = 0
        for db in self.databases:
            db.define(
                properties=PROPERTIES,
                classes={
                    "m/Node": {"dt/slots": list(PROPERTIES)},
                    "m/Sub": {"dt/subclass-of": ["m/Node"]},
                },
            )
        self.model.past[self.databases[0].t] = {}

    def teardown(self) -> None:
        """Let go of both."""
        for place in self.places:
            place.close()

    def pick(self, number: int) -> int:
        """An entity, perhaps one that is gone; or one that never was."""
        return self.ids[-1 - number] if number < len(self.ids) else 777_777

    def both(self, call: Any) -> Any:
        """The same answer, or the same refusal, from both databases."""
        answers: list[Any] = []
        for db in self.databases:
            try:
                answers.append(call(db))
            except Problem as problem:
                answers.append(problem)
        one, two = answers
        if isinstance(one, Problem) or isinstance(two, Problem):
            assert isinstance(one, Problem), (one, two)
            assert isinstance(two, Problem), (one, two)
            assert (type(one), one.code, one.message, one.hint) == (
                type(two), two.code, two.message, two.hint,
            )  # fmt: skip
            assert one.data == two.data
            return one
        assert one == two
        return one

    def step(self, call: Any, expected: Any) -> Any:
        """Compare both with the dictionary, which is left as it was by a refusal."""
        kept, t = copy.deepcopy(self.model.now), self.databases[0].t
        answer = self.both(call)
        try:
            wanted = expected(answer)
        except Wrong as wrong:
            codes = wrong.codes
        else:
            codes = set()
        if codes:
            self.model.now = kept
            assert isinstance(answer, Problem), (codes, answer)
            assert codes & codes_of(answer), (codes, answer)
            assert self.databases[0].t == t
            return None
        if isinstance(answer, Problem):
            raise answer
        self.model.past[self.databases[0].t] = copy.deepcopy(self.model.now)
        assert wanted is None or wanted == answer, (wanted, answer)
        return answer

    def new_id(self, answer: Any) -> int:
        """Where the databases have put it; a refusal has no place."""
        return -1 if isinstance(answer, Problem) else answer

    @rule(slots=slots_of_text, to=st.none() | numbers, sub=st.booleans())
    def create(self, slots: dict[str, Any], to: int | None, sub: bool) -> None:
        given = dict(slots) | ({} if to is None else {"m/to": self.pick(to)})
        cls = "m/Sub" if sub else "m/Node"

        def expected(answer: Any) -> None:
            id = self.new_id(answer)
            self.model.now[id] = {}
            self.model.put(id, {"m/count": 0, **given} if "m/count" not in given else given)

        made = self.step(lambda db: db.create(cls, given).entity_id, expected)
        if made is not None:
            self.ids.append(made)

    @rule(number=numbers, slots=slots_of_text)
    def set_slots(self, number: int, slots: dict[str, Any]) -> None:
        id = self.pick(number)

        def expected(answer: Any) -> None:
            self.known(id)
            self.model.put(id, slots)

        self.step(lambda db: (db.update(id, slots), None)[1], expected)

    @rule(number=numbers, slot=st.sampled_from(REFERENCES), others=st.lists(numbers, max_size=3))
    def refer(self, number: int, slot: str, others: list[int]) -> None:
        id = self.pick(number)
        values = list(dict.fromkeys(self.pick(n) for n in others))
        given: Any = values if slot in MANY else (values[0] if values else None)

        def expected(answer: Any) -> None:
            self.known(id)
            self.model.put(id, {slot: given})

        self.step(lambda db: (db.update(id, {slot: given}), None)[1], expected)

    @rule(number=numbers, tags=st.lists(st.sampled_from(TAGS), max_size=3), adding=st.booleans())
    def add_or_remove(self, number: int, tags: list[str], adding: bool) -> None:
        id = self.pick(number)
        words = {"add" if adding else "remove": {"m/tags": tags}}

        def expected(answer: Any) -> None:
            self.known(id)
            had = self.model.now[id].get("m/tags", [])
            new = list(dict.fromkeys(had + tags)) if adding else [t for t in had if t not in tags]
            self.model.put(id, {"m/tags": new})

        self.step(lambda db: (db.update(id, **words), None)[1], expected)

    @rule(number=numbers, mode=st.sampled_from(["refuse", "cascade", "detach"]))
    def delete(self, number: int, mode: Any) -> None:
        id = self.pick(number)
        self.step(
            lambda db: db.delete(id, mode=mode).outcomes[0].deleted,
            lambda answer: self.model.delete(id, mode),
        )

    @rule(number=numbers)
    def restore(self, number: int) -> None:
        id = self.pick(number)
        operation = {"op": "restore", "entity": id}
        self.step(
            lambda db: (db.transact([operation]), None)[1], lambda answer: self.model.restore(id)
        )

    @rule(number=numbers, mode=st.sampled_from(["refuse", "detach"]))
    def purge(self, number: int, mode: Any) -> None:
        id = self.pick(number)
        self.step(
            lambda db: db.workspace.purge(id, principal="p", mode=mode).entity_ids,
            lambda answer: self.model.purge(id, mode),
        )

    @rule(word=st.sampled_from([*NAMES[1:], *TAGS, *UNIQUE]))
    def search(self, word: str) -> None:
        found = self.both(
            lambda db: sorted(
                hit.entity.entity_id
                for hit in db.workspace.search(word, class_="m/Node", limit=100).items
            )
        )
        assert (
            found
            == sorted(
                id
                for id, entity in self.model.now.items()
                if word in [entity["m/name"], entity.get("m/code"), *entity.get("m/tags", [])]
            )[:20]
        )

    @rule(first=numbers, second=numbers, name=st.sampled_from([*NAMES, 5]))
    def transact(self, first: int, second: int, name: Any) -> None:
        one, two = self.pick(first), self.pick(second)
        operations = [
            {
                "op": "create",
                "class": "m/Node",
                "temp": "n",
                "slots": {"m/name": name, "m/to": one},
            },
            {"op": "update", "entity": two, "add": {"m/all": ["n"]}},
        ]

        def expected(answer: Any) -> None:
            id = self.new_id(answer)
            if name == 5 or one not in self.model.now or two not in self.model.now:
                raise Wrong("value.type", "reference.dangling", "entity.unknown")
            self.model.now[id] = {"m/name": name, "m/to": one, "m/count": 0}
            self.model.now[two]["m/all"] = [*self.model.now[two].get("m/all", []), id]

        made = self.step(lambda db: db.transact(operations).temps["n"], expected)
        if made is not None:
            self.ids.append(made)

    @rule(first=numbers, second=numbers)
    def swap(self, first: int, second: int) -> None:
        one, two = self.pick(first), self.pick(second)
        codes = [self.model.now.get(id, {}).get("m/code") for id in (one, two)]
        operations = [
            {"op": "update", "entity": one, "set": {"m/code": codes[1]}},
            {"op": "update", "entity": two, "set": {"m/code": codes[0]}},
        ]

        def expected(answer: Any) -> None:
            self.known(one)
            self.known(two)
            for id, code in ((one, codes[1]), (two, codes[0])):
                self.model.now[id] |= {"m/code": code}
                if code is None:
                    del self.model.now[id]["m/code"]
            if codes[0] == codes[1] or one == two:
                self.model.check(one, set())

        self.step(lambda db: (db.transact(operations), None)[1], expected)

    @rule(required=st.booleans(), slot=st.sampled_from(["m/tags", "m/to", "m/count"]))
    def change_rule(self, required: bool, slot: str) -> None:
        def expected(answer: Any) -> None:
            if required and any(slot not in entity for entity in self.model.now.values()):
                raise Wrong("schema.would-break")
            self.model.required = (
                (self.model.required | {slot}) if required else (self.model.required - {slot})
            )

        self.step(lambda db: (db.update(slot, {"dt/required?": required}), None)[1], expected)

    @rule(indexed=st.booleans())
    def change_index(self, indexed: bool) -> None:
        for slot in ("m/name", "m/tags", "m/count"):
            self.step(
                lambda db, slot=slot: (db.update(slot, {"dt/indexed?": indexed}), None)[1],
                lambda answer: None,
            )

    @rule()
    def define(self) -> None:
        self.count += 1
        name = f"m/new{self.count}"

        def expected(answer: Any) -> None:
            self.model.extra.add(name)

        self.step(
            lambda db: (
                db.transact(
                    [
                        {
                            "op": "create",
                            "class": "dt/Property",
                            "slots": {"db/ident": name, "dt/range": "db.type/long"},
                        },
                        {"op": "update", "entity": "m/Node", "add": {"dt/slots": [name]}},
                    ]
                ),
                None,
            )[1],
            expected,
        )

    def known(self, id: int) -> None:
        """Refuse what is not there."""
        if id not in self.model.now:
            raise Wrong("entity.unknown")

    @rule(where=st.sampled_from([{}, {"m/name": "a"}, {"m/tags": "t1"}, {"m/count": {">": 0}}]))
    def query(self, where: dict[str, Any]) -> None:
        found = self.both(lambda db: [e.entity_id for e in db.each("m/Node", where, page_size=2)])
        assert found == self.expected(where, self.model.now)

    @rule(where=st.sampled_from([{}, {"m/name": "a"}, {"m/tags": "t1"}]), back=st.integers(0, 8))
    def query_the_past(self, where: dict[str, Any], back: int) -> None:
        moments = sorted(self.model.past)
        t = moments[max(0, len(moments) - 1 - back)]
        found = self.both(
            lambda db: [e.entity_id for e in db.each("m/Node", where, page_size=3, as_of=t)]
        )
        assert found == self.expected(where, self.model.past[t])

    @staticmethod
    def expected(where: dict[str, Any], entities: dict[int, dict[str, Any]]) -> list[int]:
        """What the filter means."""
        if "m/name" in where:
            return sorted(n for n, e in entities.items() if e.get("m/name") == "a")
        if "m/tags" in where:
            return sorted(n for n, e in entities.items() if "t1" in e.get("m/tags", []))
        if "m/count" in where:
            return sorted(n for n, e in entities.items() if e.get("m/count", 0) > 0)
        return sorted(entities)

    @rule(number=numbers, back=st.integers(0, 8))
    def read_the_past(self, number: int, back: int) -> None:
        id, moments = self.pick(number), sorted(self.model.past)
        t = moments[max(0, len(moments) - 1 - back)]
        answer = self.both(lambda db: db.get(id, as_of=t).slots)
        if id in self.model.past[t]:
            assert answer == self.model.past[t][id]
        else:
            assert isinstance(answer, Problem)

    @rule(number=numbers)
    def read_history(self, number: int) -> None:
        id = self.pick(number)
        answer = self.both(lambda db: [(e.t, e.kind, e.changes) for e in db.history(id)])
        if isinstance(answer, Problem):
            return
        slots: dict[str, list[Any]] = {}
        for _, kind, changes in answer:
            for change in changes:
                had = [v for v in slots.get(change.slot, []) if v not in change.removed]
                slots[change.slot] = had + change.added
            if kind == "deleted":
                assert not any(slots.values())
        now = {slot: sorted(map(str, values)) for slot, values in slots.items() if values}
        expected = self.model.now.get(id, {})
        assert now == {slot: sorted(map(str, listed(value))) for slot, value in expected.items()}

    @invariant()
    def all_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        for db in self.databases:
            living = {entity.entity_id: entity.slots for entity in db.each("m/Node")}
            assert living == self.model.now
        assert self.databases[0].t == self.databases[1].t


def drive(pair: tuple[Place, Place], examples: int, steps: int) -> None:
    """Run the machine on these two databases, each example in workspaces of its own."""

    class Driven(Machine):
        places = pair
        counter = count()

    run_state_machine_as_test(
        Driven,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_both_stores_do_what_a_dictionary_does(pair: tuple[Place, Place]) -> None:
    drive(pair, 15, 25)


@pytest.mark.long
def test_both_stores_do_what_a_dictionary_does_for_long(pair: tuple[Place, Place]) -> None:
    drive(pair, 400, 60)
