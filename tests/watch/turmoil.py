"""Random edits on both sides at once, a watch that is killed again and again, and an oracle.

Every edit carries a token of its own. A token may go only if its own side has overwritten it; every
other is found in a file, in a conflict file, in the trash, or in the history of an entity.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import sandbar
from sandbar.codecs import base_codecs, parse_one
from tests.cli.program import environment, run
from tests.forked import Forked
from tests.ready_program import Started, started_with_log
from tests.watch import careless
from tests.watch.notes import CLASS, document
from tests.watch.writer import change_at_random

TOKEN = re.compile(r"tok-[fw]\d+-[0-9a-f]{8}")
_NOTHING_DONE = "0 to the workspace, 0 to files, 0 conflicts, 0 refused.\n"
_LIVES_S = (0.5, 1.5)  # until a watch is killed


class Turmoil:
    """One run: a folder, a workspace, edits on both sides."""

    def __init__(
        self, db: sandbar.Database, address: str, folder: Path, seed: str, *, is_careless: bool
    ) -> None:
        self.db = db
        self.address = address
        self.folder = folder
        self.log = folder.parent / "tokens.log"
        self.log.touch()
        self._rng = random.Random(f"{seed} files")
        self._seed = seed
        self._is_careless = is_careless
        self._said = (folder.parent / "watch.log").open("w+", encoding="utf-8")
        self._watch: Forked | Started | None = None
        self.required: set[str] = set()  # tokens of files that no edit of a file has overwritten
        self.starts = self.kills = self.edits = self._made = 0

    # --- the watch ---------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the watch."""
        self.starts += 1
        if self._is_careless:
            self._watch = Forked(careless.run, self._words(), environment(), self._said.name)
        else:
            self._watch = started_with_log(self._words(), environment(), self._said.fileno())

    def kill(self) -> None:
        """End the watch as a power cut would."""
        assert self._watch is not None
        assert self._watch.poll() is None, f"the watch has ended by itself: {self.said()}"
        self._watch.send_signal(signal.SIGKILL)
        self._watch.wait()
        self.kills += 1

    def settle(self) -> None:
        """Let both sides come to rest."""
        for _ in range(10):
            before = self.db.t
            answer = self._once()
            assert answer.returncode in (0, 1), answer.stderr
            if "Both sides agree." in answer.stdout and self.db.t == before:
                assert answer.stdout.endswith(_NOTHING_DONE), answer.stdout
                return
        raise AssertionError(f"it does not come to rest: {answer.stdout}")

    def _once(self) -> subprocess.CompletedProcess[str]:
        if not self._is_careless:
            return run(*self._words("--once"))
        words, log = self._words("--once"), self.folder.parent / "once.log"
        log.unlink(missing_ok=True)
        code = Forked(careless.run, words, environment(), str(log)).wait(120)
        said = log.read_text(encoding="utf-8")
        return subprocess.CompletedProcess(words, code, said, said)

    def said(self) -> str:
        """What the watches have said."""
        self._said.flush()
        self._said.seek(0)
        return self._said.read()

    def close(self) -> None:
        """End whatever runs."""
        if self._watch is not None and self._watch.poll() is None:
            self._watch.kill()
            self._watch.wait()
        self._said.close()

    def _words(self, *words: str) -> list[str]:
        where = ("--database", self.address, "--workspace", self.db.workspace_name)
        return ["watch", str(self.folder), *where, *words]

    # --- both sides --------------------------------------------------------------------------

    def run(self, count: int, pause_ms: int) -> None:
        """Edit both sides, half of the edits each, while the watch is killed at random."""
        for number in range(30):
            self._write(self.folder / f"n{number}.md", f"begin {number}\n")
        self.start()
        _wait_until(lambda: len(list(self.db.each(CLASS))) >= 30)
        where = (self.address, self.db.workspace_name)
        writer = Forked(change_at_random, *where, self._seed, count // 2, pause_ms, self.log)
        try:
            next_kill = time.monotonic() + _LIVES_S[0]
            while self.edits < count // 2 or writer.poll() is None:
                if self.edits < count // 2:
                    self._edit()
                time.sleep(self._rng.random() * 2 * pause_ms / 1000)
                if time.monotonic() > next_kill:
                    self.kill()
                    time.sleep(self._rng.random() * 0.2)
                    self.start()
                    next_kill = time.monotonic() + self._rng.uniform(*_LIVES_S)
            assert writer.wait(timeout=60) == 0
        finally:
            writer.kill()
            writer.wait()
        self.kill()

    def _edit(self) -> None:
        """One random edit of a file."""
        rng = self._rng
        self.edits += 1
        token = f"tok-f{self.edits}-{rng.getrandbits(32):08x}"
        paths = [path for path in sorted(self.folder.glob("*.md")) if ".conflict-" not in path.name]
        chance = rng.random()
        if chance < 0.12 or not paths:
            self._made += 1
            self._write(self.folder / f"f{self._made}.md", f"{token}\n")
            return
        path = rng.choice(paths)
        if chance < 0.17:
            self._remove(path)
        elif chance < 0.23:
            self._made += 1
            self._rename(path, path.with_name(f"m{self._made}.md"))
        else:
            keeps = rng.random() < 0.5
            how = rng.choice(["in place", "by rename", "in two steps"])
            self._change(path, token, how, keeps=keeps)

    def _change(self, path: Path, token: str, how: str, *, keeps: bool) -> None:
        old = _read(path)
        begin = old if keeps and old else document(path.name, "")
        text = f"{begin}{token}\n"
        # What was there before and is not in the new version is overwritten by this very edit.
        self.required -= set(TOKEN.findall(old)) - set(TOKEN.findall(text))
        self.required |= {token}
        if how == "by rename":
            fresh = path.with_name(f".{path.name}.edit")
            fresh.write_text(text, encoding="utf-8")
            os.replace(fresh, path)
        elif how == "in place":
            path.write_text(text, encoding="utf-8")
        else:
            with path.open("w", encoding="utf-8") as file:
                file.write(text[: len(text) // 2])
                file.flush()
                time.sleep(self._rng.choice([0.005, 0.03, 0.12]))
                file.write(text[len(text) // 2 :])

    def _write(self, path: Path, body: str) -> None:
        path.write_text(document(path.name, body), encoding="utf-8")
        self.required |= set(TOKEN.findall(body))

    def _remove(self, path: Path) -> None:
        old = _read(path)
        path.unlink(missing_ok=True)
        self.required -= set(TOKEN.findall(old))

    def _rename(self, path: Path, target: Path) -> None:
        try:
            path.rename(target)
        except FileNotFoundError:
            return

    # --- the oracle --------------------------------------------------------------------------

    def lost(self) -> set[str]:
        """Tokens that nobody overwrote and that are nowhere."""
        wanted = self.required | set(self.log.read_text(encoding="utf-8").split())
        found: set[str] = set()
        for path in self.folder.rglob("*"):
            if path.is_file():
                found |= set(TOKEN.findall(path.read_text(encoding="utf-8", errors="replace")))
        touched = {id for entry in self._transactions() for id in entry.entity_ids}
        for id in touched:
            for past in self.db.history(id):
                found |= set(TOKEN.findall(str(past.changes)))
        return wanted - found

    def disagreeing(self) -> list[str]:
        """Files and entities that do not say the same; read by the codec alone."""
        codec = base_codecs().named("markdown")
        wrong: list[str] = []
        entities = {entity.ident: entity for entity in self.db.each(CLASS)}
        for path in sorted(self.folder.glob("*.md")):
            if ".conflict-" in path.name:
                continue
            parsed = parse_one(codec, _read(path), self.db.schema, CLASS)
            stated = None if parsed.is_ident_derived else parsed.slots.get("db/ident")
            entity = entities.pop(stated or f"mm/{path.stem}", None)
            if entity is None:
                wrong.append(f"{path.name} has no entity")
                continue
            wrong += [
                f"{path.name} differs from {entity.ident} in {slot}"
                for slot in ("memory/body", "memory/status")
                if parsed.slots.get(slot) != entity.get(slot)
            ]
        return wrong + [f"{ident} has no file" for ident in entities]

    def _transactions(self) -> list[sandbar.TransactionEntry]:
        found: list[sandbar.TransactionEntry] = []
        while page := self.db.changes(since=found[-1].t if found else 0, limit=1000):
            found += page
        return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _wait_until(is_so: object) -> None:
    assert callable(is_so)
    until = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)
