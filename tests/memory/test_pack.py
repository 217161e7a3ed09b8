"""The data of the pack: its classes, prompts and instructions, and memories as Markdown."""

from __future__ import annotations

import re
from typing import Any

import pytest

import sandbar
from sandbar.access import local_caller
from sandbar.codecs import base_codecs, emit_one, parse_one, read_document
from sandbar.packs import PromptMessages, code_of, get_prompt
from sandbar.verbs import Call as VerbCall
from sandbar.verbs import Context
from tests.memory.conftest import CATALOGUE, Call, remember

PROMPTS = {
    "remember": {"what": "We chose SQLite."},
    "recall": {"question": "Why SQLite?"},
    "review-decision": {"decision": "decisions/use-sqlite"},
    "weekly-digest": {"since": "2026-11-09"},
}
VERB = re.compile(r"\b(?:entity|search|memory|schema|class)\.[a-z-]+\b")


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_names_tools_classes_and_slots_that_there_are(
    memory: sandbar.Database, name: str
) -> None:
    caller = local_caller(memory.workspace_name)
    context = Context(VerbCall(caller, "prompts/get"), memory.guarded(caller), memory)
    filled = get_prompt(context, code_of(["memory"]), name, PROMPTS[name])
    assert isinstance(filled, PromptMessages)
    text = filled.messages[0]["content"]["text"]
    assert next(iter(PROMPTS[name].values())) in text
    assert "{{" not in text
    verbs = set(VERB.findall(text))
    assert len(verbs) >= 3
    assert [verb for verb in verbs if CATALOGUE.find(verb) is None] == []
    slots = set(re.findall(r"\b(?:memory|tag|relation|section|db)/[a-z-]+", text))
    assert slots - set(memory.schema.properties()) == set()
    classes = set(re.findall(r"\bmm/[A-Z]\w+", text))
    assert classes <= set(memory.schema.classes())


def test_the_instructions_fit_and_name_what_there_is(memory: sandbar.Database) -> None:
    text = memory.get("pack/memory")["pack/instructions"]
    assert len(text) <= 400
    for verb in VERB.findall(text):
        assert CATALOGUE.find(verb) is not None, verb
    for slot in re.findall(r"\bmemory/[a-z-]+", text):
        assert slot in memory.schema.properties()


def test_the_recall_prompt_can_be_followed_to_the_letter(
    memory: sandbar.Database, call: Call
) -> None:
    """Search, find, links, backlinks, superseded-by: each step gives what the next one needs."""
    remember(memory, "decisions/redis", name="The queue is in Redis", type="decision")
    remember(
        memory,
        "decisions/database",
        name="The queue is in the database",
        supersedes=["decisions/redis"],
        body="Redis lost two jobs in May.",
    )
    remember(memory, "bugs/lost", name="Lost jobs", cites=["decisions/redis"])
    hits = call("search.text", {"query": "queue Redis", "class": "mm/Memory"}, role="reader")[
        "hits"
    ]
    assert {hit["ident"] for hit in hits} >= {"decisions/redis", "decisions/database"}
    found = call("entity.find", {"entity": "decisions/redis"}, role="reader")["entity"]["slots"]
    assert found["memory/superseded-by"] == ["decisions/database"]
    linked = call("memory.backlinks", {"memory": "decisions/redis"}, role="reader")["backlinks"]
    assert [one["ident"] for one in linked] == ["bugs/lost", "decisions/database"]


FULL: dict[str, Any] = {
    "db/ident": "decisions/full",
    "db/doc": "All: of it.",
    "memory/name": "Full",
    "memory/aliases": ["Whole", "no", "1.10"],
    "memory/type": "decision",
    "memory/scope": "yes",
    "memory/status": "in progress",
    "memory/created": "2026-01-12T08:30:00Z",
    "memory/tags": ["tag/x"],
    "memory/supersedes": ["mm/other"],
    "memory/related": ["mm/other"],
    "memory/observations": ["One.", "- two", "#three", ""],
    "memory/entity-type": "thing",
    "memory/body": "---\nnot: front matter\n---\n# T\r\n\n",
    "memory/extra": {
        "type": "meeting",
        "name": 5,
        "mood": None,
        "ident": "x",
        "a b": [1, {"c": "d"}],
    },
}


def test_a_memory_with_everything_is_a_document_and_back(memory: sandbar.Database) -> None:
    memory.create("mm/Tag", {"db/ident": "tag/x", "tag/name": "x"})
    remember(memory, "mm/other")
    memory.create("mm/Memory", FULL)
    codecs = base_codecs()
    codec = codecs.native(memory.schema, "mm/Memory")
    assert codec.format == "markdown"
    entity = memory.get("decisions/full")
    text = emit_one(codec, entity, memory.schema)
    assert text.splitlines()[:4] == ["---", "ident: decisions/full", "name: Full", "aliases:"]
    parsed = parse_one(codec, text, memory.schema, "mm/Memory")
    assert parsed.slots == {**entity.slots, "db/ident": "decisions/full"}
    other = emit_one(codec, memory.get("mm/other"), memory.schema)
    assert other == "---\nname: Other\n---\n", "what is computed is not written"


def test_a_document_of_no_class_is_read_as_it_is() -> None:
    read = read_document("\ufeff---\na: 1.10\nb: [x, 2]\nc: {d: e}\n---\nbody\n")
    assert (read.body, read.body_line, read.trouble) == ("body\n", 6, None)
    assert {key: (one.value, one.words, one.line) for key, one in read.keys.items()} == {
        "a": ("1.10", ("1.10",), 2),
        "b": (["x", 2], ("x", "2"), 3),
        "c": ({"d": "e"}, None, 4),
    }
    for text in ("---\na: [\n---\nx\n", "---\na: 1\na: 2\n---\nx\n", "---\n- a\n---\n"):
        broken = read_document(text)
        assert (broken.keys, broken.body, broken.body_line) == ({}, text, 1)
        assert broken.trouble is not None
