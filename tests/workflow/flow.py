"""A workflow for the model-checked machine, and a dictionary that knows what it must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbar.errors import Conflict
from sandbar.model import Create, Update
from sandbar.workflow import Handlers, Happening, Outcome, Running

IDLE, WORKING, WAITING, ASKING, LOCKED = (
    "m/idle", "m/working", "m/waiting", "m/asking", "m/locked",
)  # fmt: skip
DONE, FAILED, CANCELLED, EXPIRED = "m/done", "m/failed", "m/cancelled", "m/expired"
TERMINAL = {DONE, FAILED, CANCELLED, EXPIRED}
RETRIES = 1
STEPS = 2

# (name, from) → to. Those of activities and timers may also be made by hand.
WAYS: dict[tuple[str, str], str] = {
    ("work", IDLE): WORKING,
    ("wait", IDLE): WAITING,
    ("ask", IDLE): ASKING,
    ("lock", IDLE): LOCKED,
    ("unlock", LOCKED): IDLE,
    ("back", WAITING): IDLE,
    ("again", WAITING): WAITING,
    ("guarded", IDLE): DONE,
    ("finish", WORKING): DONE,
    ("fail", WORKING): FAILED,
    ("expire", WAITING): EXPIRED,
    ("accept", ASKING): IDLE,
    ("decline", ASKING): FAILED,
    **{("complete", state): DONE for state in (IDLE, WAITING)},
    **{("cancel", state): CANCELLED for state in (IDLE, WORKING, WAITING, ASKING)},
    **{("retry", state): IDLE for state in (FAILED, CANCELLED, EXPIRED)},
}
NAMES = sorted({name for name, _ in WAYS})

PROPERTIES: dict[str, dict[str, Any]] = {
    "m/count": {"dt/range": "db.type/long"},
    "m/of": {"dt/range": "db.type/long", "dt/indexed?": True},
    "m/step": {"dt/range": "db.type/string"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "m/Subject": {"dt/slots": ["m/count"]},
    "m/Effect": {"dt/slots": ["m/of", "m/step"]},
}


def spec(timer_s: float, backoff_s: float) -> dict[str, Any]:
    """The definition; every transition adds one to its subject."""
    form = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    ends = {DONE: "success", FAILED: "failure", CANCELLED: "cancel", EXPIRED: "failure"}
    return {
        "name": "m/flow",
        "states": [
            {"name": IDLE, "initial?": True},
            {
                "name": WORKING,
                "activity": "m/work",
                "retries": RETRIES,
                "backoff": backoff_s,
                "on-error": "fail",
            },
            {"name": WAITING, "after": {"seconds": timer_s, "transition": "expire"}},
            {
                "name": ASKING,
                "input": {
                    "requests": {
                        key: {"message": "Well?", "schema": form} for key in ("one", "two")
                    },
                    "accept": "accept",
                    "decline": "decline",
                },
            },
            {"name": LOCKED, "cancellable?": False},
            *(
                {"name": name, "terminal?": True, "terminal-kind": kind}
                for name, kind in ends.items()
            ),
        ],
        "transitions": [
            {"name": name, "from": start, "to": to, "handler": "m/count"}
            | ({"guard": "context.ok == true"} if name == "guarded" else {})
            | ({"requires-reason?": True} if name == "decline" else {})
            for (name, start), to in WAYS.items()
        ],
    }


@dataclass
class Path:
    """What one process must look like."""

    subject: int
    state: str = IDLE
    steps: list[tuple[str, str | None, str]] = field(
        default_factory=lambda: [("start", None, IDLE)]
    )
    is_paused: bool = False
    run: int = 1
    attempt: int = 0
    moves: int = 0  # transitions, each of which its subject counts
    checkpoint: int = 0
    effects: list[str] = field(default_factory=list)
    answers: set[str] = field(default_factory=set)
    due: str | None = None  # of its job: "at once", "backoff", "timer"; None: it has none
    token: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    def move(self, name: str) -> None:
        """A transition that is allowed."""
        before, to = self.state, WAYS[name, self.state]
        self.steps.append((name, before, to))
        self.state, self.moves = to, self.moves + 1
        self.is_paused, self.attempt, self.checkpoint = False, 0, 0
        if before in TERMINAL:
            self.run += 1
        if to == ASKING:
            self.answers = set()
        self.schedule({WORKING: "at once", WAITING: "timer"}.get(to))

    def schedule(self, due: str | None) -> None:
        """Its job is due then, and nobody's."""
        self.due, self.token = due, None

    def fail(self) -> None:
        """An attempt of the activity has failed."""
        self.attempt += 1
        if self.attempt <= RETRIES:
            self.schedule("backoff")
        else:
            self.move("fail")

    def pause(self) -> None:
        """It rests."""
        self.is_paused = True
        self.steps.append(("pause", self.state, self.state))
        self.schedule(None)

    def resume(self) -> None:
        """It goes on."""
        self.is_paused, self.attempt = False, 0
        self.steps.append(("resume", self.state, self.state))
        self.schedule({WORKING: "at once", WAITING: "timer"}.get(self.state))

    def refusal(self, name: str, *, ok: bool) -> str | None:
        """Why a transition cannot be made by hand, if it cannot."""
        to = WAYS.get((name, self.state))
        if to is None:
            return "workflow.no-transition"
        if self.is_paused and to != CANCELLED:
            return "workflow.paused"
        if name == "accept":
            return "workflow.answer-required"
        if name == "decline":
            return "workflow.reason-required"
        if name == "guarded" and not ok:
            return "workflow.guard-refused"
        return None

    def cancel_refusal(self) -> str | None:
        """Why it cannot be cancelled, if it cannot."""
        if self.is_over:
            return "workflow.already-completed"
        return "workflow.not-cancellable" if self.state == LOCKED else None


Script = dict[int, str]  # what the activity of a process does next


def effect_of(process_id: int, step: str) -> Create:
    """What one step leaves behind."""
    return Create(class_="m/Effect", slots={"m/of": process_id, "m/step": step})


def handlers(script: Script) -> Handlers:
    """The activity, which does as the script says, and the effect that counts."""

    def work(job: Running) -> Outcome:
        said = script.get(job.process.process_id, "finish")
        if said == "raise":
            raise Conflict("m.refused", "it was told to fail", hint="tell it to finish")
        if said == "break":
            raise ZeroDivisionError
        if said == "stray":
            return Outcome("nowhere")
        if said == "fail":
            return Outcome("fail", error={"message": "it says so itself"})
        for step in range(job.checkpoint or 0, STEPS):
            made = effect_of(job.process.process_id, f"{job.process.step}-{step}")
            job.transact([made], checkpoint=step + 1)
        return Outcome("finish", {"worked": True}, result="worked")

    return Handlers({"m/work": work}, {"m/count": _count})


def _count(happening: Happening) -> None:
    subject = happening.process.subject
    count: int = happening.get(subject)["m/count"]
    happening.transact([Update(entity=subject, set={"m/count": count + 1})])


Break = Callable[[], None]
