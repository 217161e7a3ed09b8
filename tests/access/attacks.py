"""Ways in which a writer might make itself an admin, or break what only admins may touch.

Each must be refused; and each works when there is no guard, or it would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.access import Guarded
from tests.access.world import World

Attack = Callable[[Guarded, World], Any]

ACCOUNT = {"auth/service-name": "service/evil", "auth/api-key-hash": "evil-key-1"}
ADMIN = {**ACCOUNT, "auth/roles": ["admin"]}


def create(class_: Any, slots: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"op": "create", "class": class_, "slots": slots, **more}


def update(entity: Any, **changes: Any) -> dict[str, Any]:
    return {"op": "update", "entity": entity, **changes}


def delete(entity: Any, mode: str = "refuse") -> dict[str, Any]:
    return {"op": "delete", "entity": entity, "mode": mode}


def migrate(class_: str, **changes: Any) -> dict[str, Any]:
    return {"op": "migrate", "class": class_, **changes}


def transact(*operations: Any) -> Attack:
    return lambda db, world: db.transact(list(operations))


def define_class(ident: str, **slots: Any) -> Attack:
    named = {f"dt/{name.replace('_', '-')}": value for name, value in slots.items()}
    return lambda db, world: db.define({}, {ident: named})


def define_property(ident: str, slots: dict[str, Any]) -> Attack:
    return lambda db, world: db.define({ident: slots}, {})


def by_id_of_class(db: Guarded, world: World) -> Any:
    id = world.workspace.get("auth/ServiceAccount").entity_id
    return db.transact([create(id, ADMIN)])


def own_and_delete(db: Guarded, world: World) -> Any:
    """Become the owner of an account, then go and take it along."""
    made = db.transact([create("shop/Item", {"shop/clerk": world.root})])
    return db.transact([delete(made.entity_id, "cascade")])


def own_and_delete_at_once(db: Guarded, world: World) -> Any:
    owner = create("shop/Item", {"db/ident": "item/owner", "shop/clerk": world.root})
    db.transact([owner])
    return db.transact(
        [update("item/owner", set={"shop/name": "x"}), delete("item/owner", "cascade")]
    )


def class_and_instance(db: Guarded, world: World) -> Any:
    heir = {"db/ident": "evil/Heir", "dt/subclass-of": ["auth/ServiceAccount"]}
    return db.transact([create("evil/Heir", ADMIN), create("dt/Class", heir, temp="heir")])


def by_a_metaclass(db: Guarded, world: World) -> Any:
    meta = {"db/ident": "evil/Meta", "dt/subclass-of": ["dt/Class"]}
    heir = {"db/ident": "evil/Heir", "dt/subclass-of": ["auth/ServiceAccount"]}
    db.transact([create("dt/Class", meta)])
    return db.transact([create("evil/Meta", heir)])


def look_alike(db: Guarded, world: World) -> Any:
    """A class that is no account, but has an account's slots."""
    slots = ["auth/service-name", "auth/api-key-hash", "auth/roles", "auth/active?"]
    db.define({}, {"evil/LookAlike": {"dt/subclass-of": ["dt/Ref"], "dt/slots": slots}})
    return db.transact([create("evil/LookAlike", ADMIN)])


def inside_another_transaction(db: Guarded, world: World) -> Any:
    def work() -> None:
        db.transact([update(world.mallory, set={"auth/roles": ["admin"]})])

    return world.workspace.run(work, principal="admin")


def after_a_harmless_one(db: Guarded, world: World) -> Any:
    def work() -> None:
        db.transact([create("shop/Item", {"shop/name": "harmless"})])
        world.workspace.query("shop/Item")  # lets the drafts go, and begins anew
        db.transact([update(world.mallory, add={"auth/roles": ["admin"]})])

    return world.workspace.run(work, principal="admin")


def with_a_key_of_its_own(db: Guarded, world: World) -> Any:
    operations = [update(world.mallory, set={"auth/roles": ["admin"]})]
    return db.transact(operations, idempotency_key="once")


ATTACKS: dict[str, Attack] = {
    "create an admin": transact(create("auth/ServiceAccount", ADMIN)),
    "create an account without a role": transact(create(":auth/ServiceAccount", ACCOUNT)),
    "create by the class's id": by_id_of_class,
    "create an heir of accounts": transact(create("staff/Robot", ADMIN)),
    "create beside harmless things": transact(
        create("shop/Item", {"shop/name": "x"}), create("auth/ServiceAccount", ADMIN)
    ),
    "promote itself": lambda db, w: db.transact([update(w.mallory, set={"auth/roles": ["admin"]})]),
    "promote itself by digits": lambda db, w: db.transact(
        [update(str(w.mallory), set={":auth/roles": ["admin"]})]
    ),
    "promote itself by lookup": transact(
        update({"auth/service-name": "service/mallory"}, set={"auth/roles": "admin"})
    ),
    "add a role": lambda db, w: db.transact([update(w.mallory, add={"auth/roles": ["admin"]})]),
    "demote the admin": lambda db, w: db.transact(
        [update(w.root, remove={"auth/roles": ["admin"]})]
    ),
    "promote with an idempotency key": with_a_key_of_its_own,
    "set the admin's key": lambda db, w: db.transact(
        [update(w.root, set={"auth/api-key-hash": "evil-key-1"})]
    ),
    "set its own key": lambda db, w: db.transact(
        [update(w.mallory, set={"auth/api-key-hash": "other-key-1"})]
    ),
    "clear a key": transact(update("robot/one", set={"auth/api-key-hash": None})),
    "wake a revoked admin": lambda db, w: db.transact([update(w.old, set={"auth/active?": True})]),
    "let an expired one live": transact(update("robot/one", set={"auth/expires-at": None})),
    "rename an account": lambda db, w: db.transact([update(w.root, set={"dt/label": "pwned"})]),
    "delete the admin": lambda db, w: db.transact([delete(w.root, "cascade")]),
    "delete by cascade": lambda db, w: db.transact([delete(w.desk, "cascade")]),
    "change by detaching": lambda db, w: db.transact([delete(w.desk, "detach")]),
    "delete as a component": own_and_delete,
    "delete as a component, updated first": own_and_delete_at_once,
    "restore a deleted admin": lambda db, w: db.transact([{"op": "restore", "entity": w.gone}]),
    "restore an account's past": lambda db, w: db.transact(
        [{"op": "restore", "entity": w.old, "to": w.workspace.history(w.old)[0].t}]
    ),
    "purge an account": lambda db, w: db.purge(w.robot),
    "migrate accounts": transact(
        migrate("auth/ServiceAccount", fill={"auth/principal-name": "pwned"})
    ),
    "migrate heirs": transact(migrate("staff/Robot", clear=["auth/expires-at"])),
    "migrate by renaming": transact(
        migrate("auth/Principal", rename={"auth/principal-name": "db/doc"})
    ),
    "default to admin": define_property("auth/roles", {"dt/default": ["admin"]}),
    "allow another role": define_property(
        "auth/roles", {"dt/one-of": ["reader", "owner", "admin", "writer"]}
    ),
    "show the secret": define_property("auth/boss", {"dt/secret?": False, "db/doc": "x"}),
    "own by component": define_property("auth/boss", {"dt/component?": True}),
    "loosen a property": transact(update("auth/service-name", set={"dt/required?": None})),
    "take a slot away": transact(
        update("staff/Robot", remove={"dt/slots": ["staff/desk"]}),
        migrate("staff/Robot", clear=["staff/desk"]),
    ),
    "lock everybody out": transact(
        update("auth/Principal", set={"dt/validator": "size(this) >= 0"})
    ),
    "delete a property": transact(
        delete("auth/boss", "detach"), migrate("staff/Robot", clear=["auth/boss"])
    ),
    "subclass accounts": define_class("evil/Heir", subclass_of=["auth/ServiceAccount"]),
    "subclass an heir": define_class("evil/Heir", subclass_of=["shop/Item", "staff/Robot"]),
    "class and instance at once": class_and_instance,
    "by a metaclass of its own": by_a_metaclass,
    "make a class an heir": transact(
        update("shop/Empty", add={"dt/subclass-of": ["auth/Principal"]})
    ),
    "look like an account": look_alike,
    "invert a property": define_property(
        "evil/underlings",
        {"dt/range": "auth/Principal", "dt/inverse-of": "auth/boss", "db/cardinality": "many"},
    ),
    "a role of its own": transact(create("auth/Role", {"auth/role-name": "evil"})),
    "a wider role": transact(
        update("auth.role/writer", add={"auth/inherits": ["auth.role/admin"]})
    ),
    "a wider permission": transact(
        update("auth.permission/write-all", set={"auth/access": "admin"})
    ),
    "another owner": lambda db, w: db.transact([update(w.mallory, set={"dt/label": "owner"})]),
    "a key of the admin's": lambda db, w: db.transact(
        [create("auth/Key", {"auth/key-name": "evil", "auth/owner": w.root})]
    ),
    "the admin's key": lambda db, w: db.transact(
        [update({"auth/key-name": "mallory"}, set={"auth/owner": w.root})]
    ),
    "suspend the workspace": transact(update("auth/workspace", set={"auth/suspended?": True})),
    "a new class of access": define_class("auth/Evil", subclass_of=["dt/Ref"]),
    "a new property of access": define_property("auth/evil", {"dt/range": "db.type/string"}),
    "a new property of the core": define_property("dt/evil", {"dt/range": "db.type/string"}),
    "a name of access": transact(create("shop/Item", {"db/ident": "auth/free-name"})),
    "a name of access, after many that have none": transact(
        create("shop/Item", {}),
        create("shop/Item", {}),
        create("shop/Item", {"db/ident": "auth/free-name"}),
    ),
    "an account, after many others": transact(
        create("shop/Item", {}),
        create("shop/Item", {}),
        create("auth/User", {"auth/user-name": "user/evil"}),
    ),
    "take a name of access": transact(update("item/one", set={"db/ident": "auth/free-name"})),
    "change somebody's property": define_property("shop/name", {"dt/pattern": "."}),
    "change somebody's class": transact(update("shop/Item", set={"dt/label": "mine"})),
    "delete somebody's class": transact(delete("staff/Robot", "cascade")),
    "inside another's transaction": inside_another_transaction,
    "after something harmless": after_a_harmless_one,
}
