"""The rules: what callers and servers do, on a database and on dictionaries side by side."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import hypothesis.strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from sandbar import clock
from sandbar.access import Authority
from sandbar.errors import Problem
from sandbar.patience import Patience
from sandbar.workflow import Reply, Worker, Workflows
from sandbar.workflow.jobs import Job
from tests.workflow.flow import (
    ASKING,
    IDLE,
    NAMES,
    STEPS,
    WAITING,
    WAYS,
    WORKING,
    Path,
    Script,
    effect_of,
    handlers,
)
from tests.workflow.flow_places import WHO, AnyPlace

LEASE_S = 3600.0
WORKED_WITHIN_S = 30.0
NO_LEASE_S = 0.0  # of somebody who dies with the job in their hands
RUNNING_MAX = 3
PROCESSES_MAX = 7
RIVALS = {  # two transitions of which the second to come finds nothing to leave
    IDLE: [("wait", "wait"), ("lock", "work"), ("complete", "cancel")],
    WAITING: [("back", "back"), ("expire", "back"), ("complete", "complete")],
}

numbers = st.integers(0, 2 * RUNNING_MAX)


class Driven(RuleBasedStateMachine):
    """One step at a time, on a database and on dictionaries."""

    place: ClassVar[AnyPlace]  # given by the test
    seen: ClassVar[Counter[str]]  # what has happened, so that a test can see what it has shown

    @initialize()
    def begin(self) -> None:
        """A database without processes."""
        self.place.begin()
        self.paths: dict[int, Path] = {}
        self.ended: dict[int, tuple[str, str | None]] = {}  # until a retry
        self.zombies: list[tuple[int, int, int]] = []  # process, token, step
        self.script: Script = {}
        self.open()
        for _ in range(RUNNING_MAX):
            self.begin_process()

    def open(self) -> None:
        """A server that knows nothing but what is in the database."""
        self.db = self.place.open()
        known = handlers(self.script)
        authority = Authority(self.db.workspace, "main")
        self.workflows = Workflows(self.db.workspace, lambda: known, authority)
        self.worker = Worker(self.db._store.jobs, lambda name: self.workflows, lease_s=LEASE_S)

    def teardown(self) -> None:
        """Let go."""
        if hasattr(self, "db"):
            self.db.close()

    def pick(self, number: int) -> int:
        """A process, rather one that runs than one that has ended."""
        ids = sorted(self.paths, key=lambda id: (self.paths[id].is_over, id))
        return ids[number % min(len(ids), RUNNING_MAX + 1)]

    def attempt(self, call: Callable[[], Any], refusal: str | None) -> bool:
        """Do it, and see that it is refused for the reason that the dictionary has, or not."""
        answer: str | None = None
        try:
            call()
        except Problem as problem:
            answer = problem.code
            self.seen[problem.code] += 1
        assert answer == refusal
        return answer is None

    # --- what callers do ---------------------------------------------------------------------

    def has_room(self) -> bool:
        """Whether another process can be looked at, too."""
        running = sum(not path.is_over for path in self.paths.values())
        return running < RUNNING_MAX and len(self.paths) < PROCESSES_MAX

    @precondition(lambda self: self.has_room())
    @rule()
    def start(self) -> None:
        self.begin_process()

    def begin_process(self) -> None:
        """One more."""
        subject = self.db.create("m/Subject", {"m/count": 0}).entity_id
        view = self.workflows.start("m/flow", subject, principal=WHO)
        self.paths[view.process_id] = Path(subject)

    @precondition(lambda self: self.paths)
    @rule(number=numbers, name=st.sampled_from(NAMES), ok=st.booleans())
    def transition(self, number: int, name: str, ok: bool) -> None:
        id = self.pick(number)
        path = self.paths[id]
        call = lambda: self.workflows.transition(id, name, principal=WHO, context={"ok": ok})  # noqa: E731
        if self.attempt(call, path.refusal(name, ok=ok)):
            self.moved(id, name)

    @precondition(lambda self: any(path.state == IDLE for path in self.paths.values()))
    @rule(name=st.sampled_from(["work", "work", "wait", "ask"]))
    def send_off(self, name: str) -> None:
        self.go(name)

    def go(self, name: str) -> None:
        """All that are idle."""
        for id, path in self.paths.items():
            if path.state == IDLE and not path.is_paused:
                self.workflows.transition(id, name, principal=WHO)
                self.moved(id, name)

    @precondition(lambda self: any(("retry", one.state) in WAYS for one in self.paths.values()))
    @rule()
    def retry(self) -> None:
        for id, path in self.paths.items():
            if ("retry", path.state) in WAYS:
                self.workflows.transition(id, "retry", principal=WHO)
                self.moved(id, "retry")

    def moved(self, id: int, name: str) -> None:
        """A transition has been made."""
        if self.paths[id].is_over:
            assert name == "retry"
            del self.ended[id]
            self.seen["retried"] += 1
        self.paths[id].move(name)

    @precondition(lambda self: self.paths)
    @rule(number=numbers)
    def cancel(self, number: int) -> None:
        id = self.pick(number)
        if self.attempt(
            lambda: self.workflows.cancel(id, principal=WHO), self.paths[id].cancel_refusal()
        ):
            self.paths[id].move("cancel")
            self.seen["cancelled"] += 1

    @precondition(lambda self: self.paths)
    @rule(number=numbers, is_resume=st.booleans())
    def pause_or_resume(self, number: int, is_resume: bool) -> None:
        id = self.pick(number)
        path = self.paths[id]
        if is_resume:
            refusal = None if path.is_paused else "workflow.not-paused"
            if self.attempt(lambda: self.workflows.resume(id, principal=WHO), refusal):
                path.resume()
            return
        refusal = "workflow.already-completed" if path.is_over else None
        refusal = "workflow.paused" if path.is_paused else refusal
        if self.attempt(lambda: self.workflows.pause(id, principal=WHO), refusal):
            path.pause()

    @precondition(lambda self: self.paths)
    @rule(number=numbers, keys=st.sets(st.sampled_from(["one", "two"]), min_size=1))
    def answer(self, number: int, keys: set[str]) -> None:
        id = self.pick(number)
        path = self.paths[id]
        told = path.answers | keys
        refusal = "workflow.nothing-asked" if path.state != ASKING else None
        if path.state == ASKING and path.is_paused and told == {"one", "two"}:
            refusal = "workflow.paused"
        replies = {key: Reply(content={"yes": True}) for key in keys}
        if self.attempt(lambda: self.workflows.answer(id, replies, principal=WHO), refusal):
            path.answers = told
            if told == {"one", "two"}:
                path.move("accept")
                self.seen["answered"] += 1

    @precondition(lambda self: any(path.state == ASKING for path in self.paths.values()))
    @rule()
    def decline(self) -> None:
        id, path = next((id, path) for id, path in self.paths.items() if path.state == ASKING)
        refusal = "workflow.paused" if path.is_paused else None
        reply = {"one": Reply(action="decline")}
        if self.attempt(lambda: self.workflows.answer(id, reply, principal=WHO), refusal):
            path.move("decline")

    @precondition(lambda self: any(self.can_race(path) for path in self.paths.values()))
    @rule(number=st.integers(0, 2))
    def race(self, number: int) -> None:
        """Two at once: exactly one of them moves the process."""
        id = next(id for id, path in self.paths.items() if self.can_race(path))
        rivals = RIVALS[self.paths[id].state][number]
        barrier = threading.Barrier(2)

        def move(name: str) -> str | None:
            barrier.wait()
            try:
                self.workflows.transition(id, name, principal=WHO)
            except Problem as problem:
                return problem.code
            return None

        with ThreadPoolExecutor(2) as pool:
            answers = dict(enumerate(pool.map(move, rivals)))
        winners = [rivals[n] for n, answer in answers.items() if answer is None]
        assert len(winners) == 1, answers
        assert set(answers.values()) == {None, "workflow.no-transition"}
        self.seen["raced"] += 1
        self.moved(id, winners[0])

    @staticmethod
    def can_race(path: Path) -> bool:
        """Whether both rivals could win."""
        return path.state in RIVALS and not path.is_paused

    # --- what the server does ----------------------------------------------------------------

    def due(self) -> set[int]:
        """The processes that somebody has to look after now."""
        now_us = clock.now_us()
        rows = {row.id: row.due_us for row in self.place.jobs()}
        return {id for id, path in self.paths.items() if path.due and rows[id] <= now_us}

    @precondition(lambda self: any(path.due for path in self.paths.values()))
    @rule(
        said=st.sampled_from(["finish", "finish", "raise", "break", "stray", "fail"]),
        after=st.sampled_from([0.0, 0.5, 1.5]),
    )
    def work(self, said: str, after: float) -> None:
        """All that is due by then is looked after, by one server, once."""
        self.pass_time(after)
        self.do_work(said)

    def do_work(self, said: str) -> None:
        """Claim and look after what is due."""
        due = self.due()
        self.script.clear()
        self.script.update(dict.fromkeys(self.paths, said))
        self.worker._claim()
        deadline = time.monotonic() + WORKED_WITHIN_S
        while self.worker._running:
            assert time.monotonic() < deadline, "it never came to an end"
            time.sleep(0.0005)
        for id in due:
            self.looked_after(id, said)

    def looked_after(self, id: int, said: str) -> None:
        """What the server must have done for a process that was due."""
        path = self.paths[id]
        if path.state == WAITING:
            self.seen["expired"] += 1
            path.move("expire")
        elif said in ("finish", "fail"):
            if said == "finish":
                first = len(path.steps) - 1
                self.seen["resumed from a checkpoint"] += path.checkpoint > 0
                path.effects += [f"{first}-{step}" for step in range(path.checkpoint, STEPS)]
            path.move(said)
        else:
            path.fail()
            self.seen["failed for good" if path.is_over else "failed once"] += 1

    @rule()
    def end_and_begin(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        """The server ends, and another begins."""
        self.db.close()
        self.open()

    def pass_time(self, timers: float) -> None:
        """So many times as long as a timer runs; where nobody can foretell, always long enough."""
        self.place.wait(self.place.timer_s * (timers if self.place.knows_due else 1.5))

    @rule(
        sends=st.sampled_from(["work", "work", "wait", None]),
        does_a_step=st.sampled_from([True, True, False]),
        after=st.sampled_from([0.0, 1.5]),
        then=st.sampled_from(["work", "rise", None]),
    )
    def crash(self, sends: str | None, does_a_step: bool, after: float, then: str | None) -> None:
        """The server dies with jobs in its hands, perhaps after the first step of an activity."""
        if sends is not None:
            self.go(sends)
        self.pass_time(after)
        self.die(does_a_step)
        if then == "work":
            self.do_work("finish")
        elif then == "rise" and self.zombies:
            self.do_rise(len(self.zombies) - 1)

    def die(self, does_a_step: bool) -> None:
        """Take everything that is due, and nothing more."""
        due = self.due()
        claims = self.db._store.jobs.claim("the dead", 100, NO_LEASE_S)
        assert {claim.id for claim in claims} == due
        for claim in claims:
            self.seen["died with a job"] += 1
            path = self.paths[claim.id]
            path.token = claim.token
            step = len(path.steps) - 1
            self.zombies.append((claim.id, claim.token, step))
            if does_a_step and path.state == WORKING and path.checkpoint < STEPS:
                made = effect_of(claim.id, f"{step}-{path.checkpoint}")
                path.checkpoint += 1
                self.job(claim.id, claim.token).transact([made], checkpoint=path.checkpoint)
                path.effects.append(f"{step}-{path.checkpoint - 1}")
        self.reopen()

    def job(self, id: int, token: int) -> Job:
        """A process in the hands of somebody who once held its job."""
        record = self.workflows.records.read(id)
        return Job(self.workflows, record, token, Patience(None))

    @precondition(lambda self: self.zombies)
    @rule(number=st.integers(0, 50))
    def rise(self, number: int) -> None:
        """Somebody who had died goes on writing: accepted only if nobody has taken over."""
        self.do_rise(number)

    def do_rise(self, number: int) -> None:
        """One of those who had died."""
        id, token, _ = self.zombies[number % len(self.zombies)]
        refusal = None if self.paths[id].token == token else "job.lost"
        made = effect_of(id, "risen")
        if self.attempt(lambda: self.job(id, token).transact([made]), refusal):
            self.paths[id].effects.append("risen")
            self.seen["went on after all"] += 1

    # --- what is always true -----------------------------------------------------------------

    @invariant()
    def all_agree(self) -> None:
        """Every process looks as its dictionary says."""
        for id, path in getattr(self, "paths", {}).items():
            view = self.workflows.view(id)
            assert (view.state, view.paused, view.run, view.attempt) == (
                path.state, path.is_paused, path.run, path.attempt,
            )  # fmt: skip
            assert view.is_complete == path.is_over == (view.completed_at is not None)
            rows = self.workflows.history(id)
            assert [(row.action, row.from_, row.to) for row in rows] == path.steps
            assert [row.n for row in rows] == list(range(view.step + 1))
            assert self.db.get(path.subject)["m/count"] == path.moves
            effects = self.db.query("m/Effect", {"m/of": id}, limit=500).items
            assert sorted(effect["m/step"] for effect in effects) == sorted(path.effects)
            if path.is_over:  # it never changes from now on
                now = (view.state, view.completed_at)
                assert self.ended.setdefault(id, now) == now

    @invariant()
    def those_that_run_are_listed(self) -> None:
        """The index of running processes has those that have not ended."""
        if hasattr(self, "paths"):
            listed = {view.process_id for view in self.workflows.active(limit=50)[0]}
            assert listed == {id for id, path in self.paths.items() if not path.is_over}

    @invariant()
    def jobs_are_what_is_to_be_done(self) -> None:
        """There is a job exactly while something is to be done, and it is due when it should."""
        rows = {row.id: row for row in self.place.jobs()} if hasattr(self, "paths") else {}
        paths = getattr(self, "paths", {})
        assert set(rows) == {id for id, path in paths.items() if path.due is not None}
        for id, row in rows.items():
            entity = self.db.get(id)
            slot = {"timer": "workflow/timer-at", "backoff": "workflow/due-at"}.get(paths[id].due)
            assert row.due_us == (0 if slot is None else clock.us_of_text(entity[slot]))
            assert row.token == paths[id].token
