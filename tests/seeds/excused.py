"""The printed blocks that no test runs yet or ever, each with its reason.

A number is the issue that brings what the block needs; that issue takes the block off this list.
"""

from __future__ import annotations

from dataclasses import dataclass

MEMORY = 6


@dataclass(frozen=True)
class Excuse:
    """Why a block is not run."""

    why: str
    issue: int | None = None  # None: never, it is typed into a Clojure process


EXCUSED = {
    "seed-000/start.clj": Excuse("the Clojure server's own shell; here `sandbar serve`"),
    "seed-000/issue-key.clj": Excuse("Clojure; here `sandbar account add claude --api-key …`"),
    "seed-000/notify.clj": Excuse("inside the Clojure server; here commits cause notifications"),
    "seed-004/client.clj": Excuse("needs a JVM; what it sends is sent beside"),
    "seed-000/tool-name-memory.txt": Excuse("the class mm/Memory", MEMORY),
    "seed-000/resource-uri-memory.txt": Excuse("a memory", MEMORY),
    "seed-001/create-memory.json": Excuse("a memory from Markdown", MEMORY),
    "seed-004/create-memory.sh": Excuse("a memory from Markdown", MEMORY),
    "seed-004/read-memory.sh": Excuse("a memory; equivalent with zorp beside", MEMORY),
    "seed-004/subscribe-memory.sh": Excuse("a memory; equivalent with zorp beside", MEMORY),
}

# Verbs that seed 001 lists and other issues bring: group → issue.
VERB_GROUPS_TO_COME = {"project": MEMORY}

# Of seed 004's Python client everything is run but its last statement, which makes a memory.
CLIENT_STATEMENTS_TO_COME = {"create a memory": MEMORY}
