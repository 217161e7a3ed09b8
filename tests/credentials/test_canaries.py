"""Secrets are planted in every place that takes one, and looked for in everything that comes out.

Found may be: the hash of a secret, the first digits of a minted key, and the one answer that
shows a new key. Of arguments that are no secrets, log and audit still have nothing.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from sandbar.store.postgres.install import install
from tests.credentials.canaries import Canaries, Haystack, files_in, postgres_tables, spellings
from tests.credentials.fleet import SANDBAR_TOKEN
from tests.credentials.knocking import Knock, bearer
from tests.credentials.stage import Stage
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.xdist_group("canaries")

ONCE = "the one answer that shows a key"
QUIET = ("log", "audit", "/proc")  # places that have no arguments of anybody
PIN = "shop/pin"

METAMODEL = {
    "properties": {
        "shop/name": {"dt/range": "db.type/string", "db/unique": "identity"},
        "shop/note": {"dt/range": "db.type/string", "dt/indexed?": True},
        PIN: {"dt/range": "db.type/string", "dt/secret?": True, "dt/max": 60},
    },
    "classes": {"shop/Vault": {"dt/slots": ["shop/name", "shop/note", PIN]}},
}


@dataclass
class Scene:
    """What was planted, and all that came out."""

    secrets: Canaries  # nowhere
    arguments: Canaries  # in no log and no audit
    ordinary: Canaries  # where data is
    hay: Haystack
    log: str = ""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Everything that happens, on each kind of database."""
    folder = tmp_path_factory.mktemp("canaries")
    (folder / "data").mkdir()
    secrets, arguments, ordinary = Canaries(), Canaries(), Canaries()
    database, admin_url = str(folder / "data" / "canaries.db"), None
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        admin_url = postgres.create_database()
        database = install(admin_url, password=secrets.secret("password of the database"))
    stage = Stage(folder, database)
    try:
        _play(stage, secrets, arguments, ordinary)
        _look_around(stage, admin_url, folder / "data")
    finally:
        stage.stop()
    if admin_url is not None:
        stage.hay.add("log of PostgreSQL", postgres.log())
    return Scene(secrets, arguments, ordinary, stage.hay, stage.log)


def _play(stage: Stage, secrets: Canaries, arguments: Canaries, ordinary: Canaries) -> None:
    chosen = secrets.secret("chosen key")
    stage.run("account", "add", "boss", "--api-key", chosen, "--role", "admin", place=ONCE)
    stage.serve()
    token = f"boss:{chosen}"
    assert not stage.call(token, "sandbar.schema.define", METAMODEL)["result"].get("isError")
    with stage.listening(token):
        _plant_slots(stage, token, secrets, ordinary)
        later = {"properties": {"shop/later": {"dt/range": "db.type/string"}}, "classes": {}}
        stage.call(token, "sandbar.schema.define", later)  # the stream is told of it
        _plant_wrong_slots(stage, token, secrets)
        _plant_keys(stage, token, secrets)
        _plant_refused(stage, secrets)
        _plant_arguments(stage, token, arguments)
        _plant_commands(stage, secrets)
    _read_everything(stage, token, secrets)


def _plant_slots(stage: Stage, token: str, secrets: Canaries, ordinary: Canaries) -> None:
    """Values of secret slots, in writes that succeed."""

    def write(where: str, tool: str, build: Any) -> None:
        answer = stage.call(token, tool, build(secrets.secret(where)))
        assert not answer["result"].get("isError"), (where, answer)

    vault = {"shop/name": "one", "shop/note": ordinary.secret("ordinary slot")}
    write(
        "slot of entity.create",
        "sandbar.entity.create",
        lambda pin: {"class": "shop/Vault", "slots": vault | {PIN: pin}},
    )
    one = {"shop/name": "one"}
    write(
        "slot of entity.update",
        "sandbar.entity.update",
        lambda pin: {"entity": one, "set": {PIN: pin}},
    )
    write(
        "slot of entity.transact",
        "sandbar.entity.transact",
        lambda pin: {"operations": [{"op": "update", "entity": one, "set": {":" + PIN: pin}}]},
    )
    write(
        "slot with an idempotency key",
        "sandbar.entity.update",
        lambda pin: {"entity": one, "set": {PIN: pin}, "idempotency-key": "k1"},
    )
    write(
        "hash of an account",
        "sandbar.entity.create",
        lambda key: {
            "class": "auth/ServiceAccount",
            "slots": {"auth/service-name": "service/second", "auth/api-key-hash": key},
        },
    )


def _plant_wrong_slots(stage: Stage, token: str, secrets: Canaries) -> None:
    """Values of secret slots, in writes and reads that fail: their errors are said in words."""
    one = {"shop/name": "one"}
    create, update = "sandbar.entity.create", "sandbar.entity.update"
    wrong: dict[str, tuple[str, Any]] = {
        "too long": (create, lambda pin: {"class": "shop/Vault", "slots": {PIN: pin * 3}}),
        "a list": (create, lambda pin: {"class": "shop/Vault", "slots": {PIN: [pin]}}),
        "an object": (create, lambda pin: {"class": "shop/Vault", "slots": {PIN: {"x": pin}}}),
        "as a reference": (update, lambda pin: {"entity": one, "set": {PIN: {"db/id": pin}}}),
        "beside a wrong slot": (
            create,
            lambda pin: {"class": "shop/Vault", "slots": {PIN: pin, "shop/note": 7}},
        ),
        "beside an unknown slot": (
            create,
            lambda pin: {"class": "shop/Vault", "slots": {PIN: pin, "shop/no": 7}},
        ),
        "of an unknown class": (create, lambda pin: {"class": "shop/No", "slots": {PIN: pin}}),
        "of another class": (create, lambda pin: {"class": "dt/Ref", "slots": {PIN: pin}}),
        "added": (update, lambda pin: {"entity": one, "add": {PIN: [pin]}}),
        "removed": (update, lambda pin: {"entity": one, "remove": {PIN: [pin]}}),
        "expected": (
            update,
            lambda pin: {"entity": one, "set": {"shop/note": "x"}, "expect": {PIN: pin}},
        ),
        "of nobody": (update, lambda pin: {"entity": {"shop/name": "no"}, "set": {PIN: pin}}),
        "looked up": (update, lambda pin: {"entity": {PIN: pin}, "set": {"shop/note": "x"}}),
        "found by": ("sandbar.entity.find", lambda pin: {"entity": {PIN: pin}}),
        "filtered by": (
            "sandbar.entity.query",
            lambda pin: {"class": "shop/Vault", "where": {PIN: pin}},
        ),
        "filtered by a range": (
            "sandbar.entity.query",
            lambda pin: {"class": "shop/Vault", "where": {PIN: {">": pin}}},
        ),
        "validated": (
            "sandbar.entity.validate",
            lambda pin: {"class": "shop/Vault", "slots": {PIN: pin * 3}},
        ),
        "in a second operation": (
            "sandbar.entity.transact",
            lambda pin: {
                "operations": [
                    {"op": "update", "entity": one, "set": {PIN: pin}},
                    {"op": "update", "entity": one, "set": {"shop/note": 7}},
                ]
            },
        ),
        "beside an unknown argument": (
            "sandbar.entity.transact",
            lambda pin: {"operations": [{"op": "update", "set": {PIN: pin}}], "dry-run": True},
        ),
        "with an unknown operation": (
            "sandbar.entity.transact",
            lambda pin: {"operations": [{"op": "upsert", "class": "shop/Vault", PIN: pin}]},
        ),
    }
    for where, (tool, build) in wrong.items():
        stage.call(token, tool, build(secrets.secret(f"slot {where}")), f"answer to: {where}")


def _plant_keys(stage: Stage, token: str, secrets: Canaries) -> None:
    """Minted keys: each is shown once, whichever way it is made."""

    def shown(said: str, where: str) -> str:
        found = SANDBAR_TOKEN.search(said)
        assert found is not None, (where, said)
        return secrets.plant(where, found[0])

    asked = {"name": "laptop", "idempotency-key": "mint-1"}
    first = stage.call(token, "sandbar.key.mint", asked, ONCE)
    laptop = shown(json.dumps(first), "key by a verb")
    again = stage.call(token, "sandbar.key.mint", asked, "answer to a mint replayed")
    assert "key.secret-already-shown" in json.dumps(again)
    shown(stage.run("key", "mint", "--name", "desk", place=ONCE), "key by the command")
    rotated = stage.call(token, "sandbar.key.rotate", {"name": "desk"}, ONCE)
    shown(json.dumps(rotated), "key rotated by a verb")
    shown(stage.run("key", "rotate", "desk", place=ONCE), "key rotated by the command")
    shown(stage.run("account", "add", "robot", place=ONCE), "key of an account")
    assert "result" in stage.ask(laptop, "tools/list", {})
    stage.run("key", "revoke", laptop)
    assert stage.knock(Knock((bearer(laptop),))).status == 403
    stage.call(token, laptop, {}, "echo of a tool")
    stage.call(token, f"sandbar.{laptop}", {}, "echo of a tool")
    stage.ask(token, laptop, {}, "echo of a method")
    stage.call(token, "sandbar.key.revoke", {"name": laptop})


def _plant_refused(stage: Stage, secrets: Canaries) -> None:
    """Credentials that are refused, or stand where none is looked for."""
    draw = secrets.secret
    minted = f"sk-sand-{token_hex(32)}"
    pair = b"boss:" + draw("wrong key").encode()
    basic = base64.b64encode(b"boss:" + draw("Basic").encode())
    heads: list[tuple[bytes, ...]] = [
        (bearer(secrets.plant("unknown minted key", minted)),),
        (bearer(b"nobody:" + draw("wrong key of nobody").encode()),),
        (bearer(pair),),
        (bearer(draw("without a colon")),),
        (bearer(draw("as a name") + ":some-key"),),
        (b"Authorization: Basic " + basic,),
        (b"Authorization: Token " + draw("Token").encode(),),
        (b"Authorization: " + draw("as a scheme").encode(),),
        (bearer(pair), bearer(draw("second header"))),
        (b"X-API-Key: " + draw("X-API-Key").encode(),),
        (b"X-API-Key: boss:" + draw("wrong X-API-Key").encode(),),
        (b"X-API-Key: x:" + draw("two X-API-Keys").encode(), b"X-API-Key: x:y"),
        (bearer(pair), b"X-API-Key: boss:" + draw("X-API-Key beside another").encode()),
        (b"Authorization: Basic eA==", b"X-API-Key: " + draw("X-API-Key beside Basic").encode()),
        (b"Cookie: session=" + draw("cookie").encode(),),
        (b"Proxy-Authorization: Bearer " + draw("proxy").encode(),),
        (b"Authorization: Bearer \x00" + draw("with NUL").encode(),),
        (b"Authorization : Bearer " + draw("bad header").encode(),),
        (b"Origin: https://" + draw("origin").encode(),),
        (bearer("a:" + draw("much too long") * 3000),),
    ]
    for head in heads:
        for lane in ("bare", "envelope"):
            stage.knock(Knock(head), lane, "refused")
    for path in (b"/mcp?token=%b", b"/mcp?access_token=%b", b"/%b", b"/mcp/sse?key=%b"):
        secret = draw(path.decode())
        stage.knock(Knock(path=path % secret.encode()), place="refused")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "token": draw("in the body")}
    stage.knock(Knock(message=body), place="refused")


def _plant_arguments(stage: Stage, token: str, arguments: Canaries) -> None:
    """What is no secret, and yet nobody's business: log and audit never have arguments."""
    draw = arguments.secret
    told = stage.call(token, "broken_tool", {"text": draw("of a tool that breaks")}, "a defect")
    said = json.dumps(told)
    assert "verb.failed" in said
    assert not Haystack({"it": said.encode()}).hits(arguments.planted.items())
    stage.call(token, "sandbar.search.text", {"query": draw("of a search")}, "echo")
    stage.call(token, "sandbar.entity.query", {"class": draw("as a class")}, "echo")
    stage.call(token, "sandbar.entity.find", {"entity": draw("as an entity")}, "echo")
    stage.call(token, "sandbar.entity.create", {draw("as a name"): 1}, "echo")
    stage.call(token, f"{draw('as a tool')} is none!", {}, "echo")
    stage.ask(token, "resources/read", {"uri": f"sandbar://{draw('as a resource')}"}, "echo")
    stage.ask(token, "prompts/get", {"name": draw("as a prompt")}, "echo")
    stage.ask(token, f"no/{draw('as a method')} such!", {}, "echo")
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": draw("as a client"), "version": "1"},
    }
    stage.ask(token, "initialize", greeting, "echo")
    stage.run_apart("call", "broken_tool", f"text={draw('of a command that breaks')}", place="echo")
    stage.run("call", "search.text", f"query={draw('of a command')}", place="echo")


def _plant_commands(stage: Stage, secrets: Canaries) -> None:
    """Commands that fail with a secret in their hands."""
    draw = secrets.secret
    stage.run("key", "revoke", "sk-sand-" + draw("revoked in vain"))
    stage.run("key", "rotate", "sk-" + draw("rotated in vain"))
    stage.run("key", "mint", "--name", "sk-" + draw("as the name of a key"))
    stage.run("account", "revoke", "sk-sand-" + draw("of an account, in vain"))
    stage.run("account", "add", "boss", "--api-key", draw("for a name that is taken"))
    stage.run("account", "add", "new", "--api-key", "sk-" + draw("like a minted key"))
    stage.run("account", "add", "new", "--api-key", draw("with a space") + " x")
    stage.run("account", "add", "two words", "--api-key", draw("for no name"))
    away = f"postgresql://sandbar_app:{draw('of a database that is away')}@127.0.0.1:1/none"
    for words in (("doctor",), ("account", "list"), ("connect",)):
        stage.run(*words, SANDBAR_DATABASE=away)
    stage.run_apart("serve", "--port", "0", SANDBAR_DATABASE=away)
    for odd in (
        f"postgresql://sandbar_app:{draw('in a bad address')}@[::1/none",
        f"postgresql://sandbar_app:{draw('in an address with a space')} @127.0.0.1:1/none",
        f"postgresql://sandbar_app:{draw('in an address with a percent sign')}%ZZ@127.0.0.1:1/none",
        f"postgresql://sandbar_app:x@{draw('after an @ in an address')}@127.0.0.1:1/none",
        f"postgresql://x@127.0.0.1:1/none?password={draw('in the query of an address')}",
        f"PostgreSQL://sandbar_app:{draw('in an address in capitals')}@127.0.0.1:1/none",
        f"mysql://sandbar_app:{draw('in an address of another kind')}@127.0.0.1:1/none",
    ):
        for words in (("doctor",), ("account", "list"), ("call", "schema.classes"), ("connect",)):
            stage.run(*words, SANDBAR_DATABASE=odd)
    settings = stage.folder / "settings.toml"
    settings.write_text(f'password = "{draw("in broken settings")}\nport = x')
    stage.run("doctor", SANDBAR_SETTINGS=str(settings))
    settings.write_text(f'passwort = "{draw("under an unknown setting")}"')
    stage.run("doctor", SANDBAR_SETTINGS=str(settings))
    stage.run("migrate", away, SANDBAR_PASSWORD=draw("of a role to be made"))


def _read_everything(stage: Stage, token: str, secrets: Canaries) -> None:
    """Every way to look at what there is, as the one who may see most."""
    for class_ in ("shop/Vault", "auth/Principal", "auth/Key", "dt/Resource"):
        stage.call(token, "sandbar.entity.query", {"class": class_, "limit": 500})
    vault = {"shop/name": "one"}
    account = {"auth/service-name": "service/boss"}
    key = {"auth/key-name": "desk"}
    for entity in (vault, account, key):
        for tool in ("entity.find", "entity.history", "entity.validate"):
            answer = stage.call(token, f"sandbar.{tool}", {"entity": entity})
            assert "result" in answer, answer
        stage.call(token, "sandbar.entity.diff", {"entity": entity, "from": 1, "to": 1000})
    for secret in list(secrets.planted.values())[:8]:
        found = stage.call(
            token, "sandbar.search.text", {"query": f'"{secret}"'}, "echo of a search"
        )
        assert "shop/Vault" not in json.dumps(found)
    for tool in ("key.list", "workspace.list", "audit.list", "schema.entities", "task.list"):
        stage.call(token, f"sandbar.{tool}", {})
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        stage.ask(token, method, {})
    stage.ask(token, "tools/list?", {})
    for uri in ("sandbar://entity/shop/Vault", "sandbar://schema", "sandbar://class/shop/Vault"):
        stage.ask(token, "resources/read", {"uri": uri})
    stage.run("workspace", "create", "spare")
    stage.run("key", "mint", "--name", "spare", "--workspace", "spare", place=ONCE)
    exported = str(stage.folder / "exported")
    stage.run("workspace", "delete", "spare", "--yes", "spare", "--export", exported)
    for words in (
        ("account", "list"), ("key", "list"), ("key", "list", "--json"), ("workspace", "list"),
        ("audit", "list"), ("audit", "export"), ("audit", "verify"), ("audit", "head"),
        ("doctor",), ("connect",), ("pack", "list"), ("call", "entity.query", "class=shop/Vault"),
        ("call", "audit.list", "limit:=200"),
    ):  # fmt: skip
        stage.run(*words)


def _look_around(stage: Stage, admin_url: str | None, data: Path) -> None:
    """The database itself, while the server runs and when it has stopped."""
    for moment in ("while it runs", "after the end"):
        if admin_url is None:
            for name, contents in files_in(data):
                stage.hay.add(f"file {name} {moment}", contents)
        else:
            for name, contents in postgres_tables(admin_url):
                stage.hay.add(f"{name} {moment}", contents)
        stage.stop()
    for name, contents in files_in(stage.folder / "exported"):
        stage.hay.add(f"exported {name}", contents)


# --- what must hold ------------------------------------------------------------------------------


def test_no_secret_is_anywhere(scene: Scene) -> None:
    places = {place: out for place, out in scene.hay.places.items() if not place.startswith(ONCE)}
    places = {place: out for place, out in places.items() if not place.startswith("echo of a")}
    hits = Haystack(places).hits(scene.secrets.planted.items())
    assert not hits, "\n".join(f"{where}: in {place}" for where, place in hits)
    assert len(scene.secrets.planted) >= 60
    assert len(places) >= 50


def test_log_and_audit_have_no_arguments(scene: Scene) -> None:
    quiet = {
        place: out
        for place, out in scene.hay.places.items()
        if any(word in place for word in QUIET)
    }
    assert len(quiet) >= 6, sorted(quiet)
    everything = [*scene.arguments.planted.items(), *scene.ordinary.planted.items()]
    assert Haystack(quiet).hits(everything) == []
    assert len(scene.arguments.planted) >= 10


def test_every_key_is_shown_exactly_once(scene: Scene) -> None:
    shown = {place: out for place, out in scene.hay.places.items() if place.startswith(ONCE)}
    whole = b"".join(shown.values())
    keys = {where: key for where, key in scene.secrets.planted.items() if where.startswith("key ")}
    assert len(keys) == 5
    for where, key in keys.items():
        # In one answer; a result of MCP says it twice, as text and as structured content.
        assert 1 <= whole.count(key.encode()) <= 2, where


def test_what_is_no_secret_is_found(scene: Scene) -> None:
    """The negative control: an ordinary slot is in the database, in answers, in the past."""
    hits = {place for _, place in scene.hay.hits(scene.ordinary.planted.items())}
    assert any("while it runs" in place for place in hits)
    assert any("after the end" in place for place in hits)
    assert "answer of sandbar.entity.query: body" in hits
    assert "answer of sandbar.entity.history: body" in hits
    assert "output of sandbar call entity.query" in hits


def test_what_was_searched_is_what_was_said(scene: Scene) -> None:
    """The negative control of the places: each holds what it should hold."""
    held = scene.hay.places
    assert b"sign-in refused" in held["the server's log"]
    assert b"verb.failed" in held["the server's log"], "the defect was not logged"
    assert b"a message of broken.pack" in held["the server's log"]
    assert b"serve" in held["/proc of the server: cmdline"]
    assert b'"principal"' in held["output of sandbar audit export"]
    assert b"service/boss" in held["answer of sandbar.audit.list: body"]
    assert b"intact" in held["output of sandbar audit verify"]
    assert b"sk-sand-" in held["output of sandbar key list"], "how a key begins is shown"
    assert b"notifications/" in held["the stream"]


@pytest.mark.parametrize("where", ["as it is", "in base64", "in hexadecimal", "in UTF-16"])
def test_the_scanner_finds_what_is_written_otherwise(where: str) -> None:
    canaries = Canaries()
    secret = canaries.secret("x")
    written = {
        "as it is": secret.encode(),
        "in base64": base64.b64encode(b"boss:" + secret.encode() + b"!"),
        "in hexadecimal": secret.encode().hex().encode(),
        "in UTF-16": secret.encode("utf-16-le"),
    }[where]
    assert Haystack({"it": b"..." + written + b"..."}).hits(canaries.planted.items())
    assert not Haystack({"it": written[: len(written) // 2]}).hits(canaries.planted.items())
    minted = "sk-sand-" + "ab" * 32
    assert not Haystack({"it": minted[:14].encode()}).hits([("minted", minted)])
    assert any(minted[14:].encode() == one for one in spellings(minted))
