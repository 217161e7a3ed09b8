"""The printed blocks that no test runs, each with its reason.

A number is the issue that brings what the block needs; that issue takes the block off this list.
"""

from __future__ import annotations

from dataclasses import dataclass


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
}
