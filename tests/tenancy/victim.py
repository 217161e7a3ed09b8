"""The victim's workspace: canaries wherever data can be, and what an attacker may know of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sandbar.access import Caller, add_account
from sandbar.errors import Problem
from tests.tenancy.canaries import Canaries
from tests.tenancy.world import KINDS, OWNER, World, slot_of

Call = tuple[str, dict[str, Any]]


@dataclass
class Loot:
    """What somebody outside may have overheard: names and numbers, and whole calls."""

    classes: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    idents: list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    lookups: list[dict[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # idempotency keys
    moments: list[Any] = field(default_factory=list)
    workspaces: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def uris(self) -> list[str]:
        """The resources behind the names."""
        things = [f"mcp://sandbar/{c}/{i}" for c in self.classes for i in self.idents]
        return things + [f"mcp://sandbar/shared/Thing/{i}" for i in (*self.idents, *self.ids)]


class Victim:
    """Fills a workspace."""

    def __init__(self, world: World, canaries: Canaries, folder: Path) -> None:
        self.db = world.victim
        self.canaries = canaries
        self.loot = Loot(workspaces=[self.db.workspace_name])
        self._folder = folder
        self._caller = world.caller(self.db.workspace_name, "admin")
        self._owner = world.caller(self.db.workspace_name, OWNER)
        self._schema()
        self._entities()
        self._workflows()
        self._prompts_and_packs()
        self._accounts()
        self._care()
        self._calls()
        self.loot.moments += [self.db.t, self.db.t - 1, self.db.t // 2]

    def call(self, verb: str, **arguments: Any) -> Any:
        """Call a verb as an account of the victim's, and let it be overheard."""
        given = _spelled(arguments)
        self.loot.calls.append((verb, given))
        return self._called(self._caller, verb, given)

    def quietly(self, verb: str, **arguments: Any) -> Any:
        """Call a verb that nobody overhears: its arguments are secret."""
        given = _spelled(arguments)
        return self._called(self._caller, verb, given)

    def _called(self, caller: Caller, verb: str, given: dict[str, Any]) -> Any:
        answer = self.db.call_as(caller, verb, given)
        return msgspec.json.decode(msgspec.json.encode(answer))

    # --- what is planted -----------------------------------------------------------------------

    def _schema(self) -> None:
        secret, known = self.canaries.secret, self.canaries.known
        ns, name = known("namespace"), f"C{known('class name')}"
        hidden = f"{secret('namespace')}/C{secret('class name')}"
        kind = f"{ns}/{known('property name')}"
        self.kind = secret("enum value")
        properties = {
            kind: {
                "dt/range": "db.type/keyword",
                "dt/one-of": [self.kind, secret("enum value")],
                "db/doc": secret("doc of a property"),
            },
            f"{ns}/{secret('property name')}": {
                "dt/range": "db.type/string",
                "dt/pattern": f"^({secret('pattern')})?",
                "dt/default": secret("default"),
                "dt/label": secret("label"),
            },
        }
        for each in (f"{ns}/{name}", hidden):
            slots = [*properties, "shared/of-string"] if each != hidden else ["shared/of-string"]
            self.quietly(
                "schema.define",
                properties=properties if each != hidden else {},
                classes={
                    each: {
                        "dt/subclass-of": ["shared/Thing"],
                        "db/doc": secret("doc of a class"),
                        "dt/slots": slots,
                        "dt/validator": f'this["shared/of-string"] != "{secret("validator")}"',
                    }
                },
                reason=secret("reason of a definition"),
            )
        self.loot.classes += [f"{ns}/{name}", "shared/Thing", "zorp/Boot"]
        self.loot.properties += [kind, *map(slot_of, KINDS), "shared/key", "footwear/name"]
        self.own_class, self.own_slot, self.hidden_class = f"{ns}/{name}", kind, hidden

    def _slots(self, ident: str | None = None) -> dict[str, Any]:
        """A value of every type; the text holds a word to search for beside a secret one."""
        word = self.canaries.known("word of a text")
        key = self.canaries.known("unique key")
        self.loot.words.append(word)
        self.loot.lookups.append({"shared/key": key})
        slots = {slot_of(kind): self.canaries.value(kind) for kind in KINDS}
        slots |= {
            "shared/of-string": f"{word} {self.canaries.secret('text')}",
            "shared/of-ref": "product/mud-lord",
            "shared/key": key,
            "db/doc": self.canaries.secret("doc of an entity"),
            "dt/label": self.canaries.secret("label of an entity"),
        }
        return slots if ident is None else slots | {"db/ident": ident}

    def _created(self, class_: str, slots: dict[str, Any]) -> int:
        key = self.canaries.known("idempotency key")
        reason = self.canaries.secret("reason of a creation")
        made = self.quietly(
            "entity.create", class_=class_, attributes=slots, reason=reason, idempotency_key=key
        )
        self.loot.keys.append(key)
        self.loot.ids.append(made["entity-id"])
        self.loot.moments.append(made["receipt"]["instant"])
        return int(made["entity-id"])

    def _entities(self) -> None:
        secret, known = self.canaries.secret, self.canaries.known
        for number in range(4):
            # The same names as in the attacker's workspace, or names that only we have.
            self._created("shared/Thing", self._slots(f"thing/n{number}"))
            ident = f"thing/{known('ident')}"
            self.loot.idents.append(ident)
            friend = {"shared/friend": self.loot.ids[-1]}
            self._created("shared/Thing", self._slots(ident) | friend)
            self._created("shared/Thing", self._slots(f"thing/{secret('ident')}"))
        hashed = {"shared/secret": secret("secret slot")}  # one will do: hashing takes its time
        self._created(self.hidden_class, self._slots() | hashed)
        ident = f"{self.own_class.split('/')[0]}/{known('ident')}"
        self.loot.idents.append(ident)
        self._created(self.own_class, self._slots(ident) | {self.own_slot: self.kind})
        for entity in ("product/moon-boot-pro", self.loot.idents[0]):
            self.quietly(
                "entity.update",
                entity=entity,
                attributes={"dt/label": secret("changed label"), "db/doc": secret("changed doc")},
                reason=secret("reason of a change"),
                idempotency_key=known("idempotency key"),
            )
        self.gone = f"thing/{known('ident of a deleted entity')}"
        self.loot.idents.append(self.gone)
        id = self._created("shared/Thing", self._slots(self.gone))
        self.quietly("entity.delete", entity=id, reason=secret("reason of a deletion"))
        self.purged = self._created("shared/Thing", self._slots(f"thing/{known('purged ident')}"))
        self.quietly(
            "entity.purge",
            entity=self.purged,
            confirm=self.purged,
            reason=secret("reason of a purge"),
        )

    def _workflows(self) -> None:
        secret, known = self.canaries.secret, self.canaries.known
        name, done = f"flow/{known('workflow')}", f"flow/{known('transition')}".split("/")[1]
        states = [
            {
                "name": f"flow/{secret('state')}",
                "label": secret("label of a state"),
                "initial?": True,
            },
            {"name": f"flow/{secret('state')}", "terminal?": True, "terminal-kind": "success"},
            {"name": f"flow/{secret('state')}", "terminal?": True, "terminal-kind": "cancel"},
        ]
        ways = [
            {"name": done, "from": states[0]["name"], "to": states[1]["name"]},
            {"name": "cancel", "from": states[0]["name"], "to": states[2]["name"]},
        ]
        spec = {
            "name": name,
            "description": secret("description of a workflow"),
            "states": states,
            "transitions": ways,
        }
        self.quietly("workflow.define", spec=spec, reason=secret("reason of a workflow"))
        self.loot.workflows += [name, "order/fulfillment", "validation/resource"]
        for number in range(6):
            started = self.quietly(
                "workflow.start-process",
                workflow=name if number % 3 == 2 else "order/fulfillment",
                subject="product/mud-lord",
                data={"quantity": 1, "customer": secret("data of a process")},
                reason=secret("reason of a start"),
                idempotency_key=known("idempotency key"),
            )
            self._overheard(started)
            if number % 3 == 0:
                self.quietly(
                    "workflow.transition",
                    process=started["process-id"],
                    transition="confirm",
                    reason=secret("reason of a transition"),
                )
        self._overheard(self.quietly("validation.start", class_="shared/Thing"))
        self._overheard(self.quietly("validation.run", class_=self.own_class))
        later = self.db.call_later(
            self._caller, "validation.run", {"class": self.hidden_class, "reason": secret("reason")}
        )
        self._overheard(msgspec.json.decode(msgspec.json.encode(later)))

    def _overheard(self, started: dict[str, Any]) -> None:
        if started.get("task-id") is not None:
            self.loot.handles.append(started["task-id"])
        self.loot.processes.append(int(started["process-id"]))

    def _prompts_and_packs(self) -> None:
        secret, known = self.canaries.secret, self.canaries.known
        pack, prompt = f"p{known('pack')}", known("prompt")
        folder = self._folder / pack
        folder.mkdir(parents=True)
        manifest = {
            "name": pack,
            "title": secret("title of a pack"),
            "description": secret("description of a pack"),
            "version": "1",
            "instructions": secret("instructions of a pack"),
        }
        text = {"type": "text", "text": f"{secret('text of a prompt')} {{{{class}}}}"}
        prompts = [
            {
                "ident": f"{pack}/{prompt}",
                "title": secret("title of a prompt"),
                "description": secret("description of a prompt"),
                "arguments": [{"name": "class", "description": secret("argument of a prompt")}],
                "messages": [{"role": "user", "content": text}],
            }
        ]
        (folder / "pack.json").write_text(json.dumps(manifest))
        (folder / "prompts.json").write_text(json.dumps(prompts))
        self.db.load_pack(folder)
        self.loot.prompts += [prompt, f"{pack}/{prompt}", "plan-launch"]
        self.loot.idents += [f"{pack}/{prompt}", f"pack/{pack}"]

    def _accounts(self) -> None:
        """Accounts and keys; a verb for keys is used as soon as there is one."""
        secret, known = self.canaries.secret, self.canaries.known
        for name in (f"a{secret('account')}", f"a{known('account')}"):
            made = add_account(self.db.workspace, name, role="writer")
            self._sign_as(made.account.name, made.account.entity_id)
            self.loot.ids.append(made.account.entity_id)
        self.loot.accounts += [name, f"service/{name}"]
        if self.db.offer.catalogue.find("key.mint") is not None:
            for key in (secret("key"), known("key")):
                self.quietly("key.mint", name=f"k{key}")
            self.loot.accounts.append(f"k{key}")

    def _sign_as(self, principal: str, id: int) -> None:
        """Somebody whose very name is a canary has written."""
        writer = Caller(principal, "writer", self.db.workspace_name, id)
        change = {"entity": "product/mud-lord", "attributes": {"db/doc": f"by {principal}"}}
        self._called(writer, "entity.update", change)

    def _care(self) -> None:
        """The pack's own demonstration, with words of ours in it."""
        secret = self.canaries.secret
        texts = {
            "care/Family": "family/name",
            "care/LovedOne": "loved-one/name",
            "care/Event": "care-event/summary",
        }
        for class_, slot in texts.items():
            for entity in self.db.query(class_).items:
                self.db.update(entity.entity_id, {slot: secret(f"text of a {class_}")})
                self.loot.ids.append(entity.entity_id)
        self.db.update({"auth/owns": "workspace"}, {"auth/email": f"{secret('email')}@x.example"})
        loved = [one.entity_id for one in self.db.query("care/LovedOne").items]
        self.loot.calls += [("get_user_profile", {}), ("list_loved_ones", {})]
        self.loot.calls += [("list_care_events", {"lovedOneId": str(id)}) for id in loved]

    # --- what is overheard ---------------------------------------------------------------------

    def _calls(self) -> None:
        """Reads of the victim's, to be repeated word by word; their cursors besides."""
        entity, class_ = self.loot.idents[0], self.loot.classes[0]
        for ident in self.loot.idents:
            self.call("entity.history", entity=ident)
            if ident != self.gone:
                self.call("entity.find", entity=ident)
        for other in (class_, self.purged, self.loot.workflows[0]):
            self.call("entity.history", entity=other)
        self.call("entity.find", entity=self.loot.lookups[0])
        self.call("entity.find", entity=entity, as_of=self.db.t - 2)
        self.call("entity.diff", entity=entity, **{"from": 1})
        self.call("class.describe", class_=class_)
        self.call("property.range", property=self.own_slot)
        self.call("types.instance-of", entity=entity, class_="shared/Thing")
        self.call("workflow.find", workflow=self.loot.workflows[0])
        self.call("workflow.stats", workflow=self.loot.workflows[0])
        for process in self.loot.processes:
            self.call("workflow.process-state", process=process)
            self.call("workflow.process-history", process=process)
        for handle in self.loot.handles:
            self.call("task.get", task_id=handle)
        pages: list[Call] = [
            ("entity.query", {"class": "shared/Thing"}),
            ("entity.query", {"class": "shared/Thing", "order-by": "shared/of-long"}),
            ("entity.query", {"class": class_}),
            ("class.instances", {"class": "shared/Thing"}),
            ("class.slots", {"class": class_}),
            ("class.subclasses", {"class": "shared/Thing"}),
            ("schema.classes", {}),
            ("schema.properties", {}),
            ("schema.entities", {"classes": ["shared/Thing"]}),
            ("search.text", {"query": "thing"}),
            ("search.text", {"query": self.loot.words[0]}),
            ("entity.history", {"entity": entity}),
            ("workflow.active-processes", {}),
            ("workflow.process-history", {"process": self.loot.processes[0]}),
            ("task.list", {"all": True}),
            ("validation.history", {"class": "shared/Thing"}),
            ("audit.list", {}),
        ]
        for verb, given in pages:
            if self.db.offer.catalogue.find(verb) is not None:
                self.loot.calls.append((verb, given))
                self._paged(verb, given)

    def _paged(self, verb: str, given: dict[str, Any]) -> None:
        answer = self._called(self._caller, verb, {**given, "limit": 1})
        self.loot.calls.append((verb, {**given, "limit": 1}))
        for cursor in _cursors(answer):
            self.loot.cursors.append(cursor)
            self.loot.calls.append((verb, {**given, "limit": 1, "cursor": cursor}))


def _spelled(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_").replace("_", "-"): value for name, value in arguments.items()}


def _cursors(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name == "cursor" and isinstance(value, str):
                yield value
            else:
                yield from _cursors(value)


def planted(world: World, canaries: Canaries, folder: Path) -> Victim:
    """Fill the victim's workspace; a canary that nobody could read back would prove nothing."""
    victim = Victim(world, canaries, folder)
    for verb, given in victim.loot.calls:
        if verb == "list_care_events":
            continue  # some of them are another family's
        caller = victim._caller if "." in verb else victim._owner
        try:
            victim._called(caller, verb, given)
        except Problem as problem:
            raise AssertionError(f"{verb} {given}: {problem}") from problem
    return victim
