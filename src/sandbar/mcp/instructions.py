"""What a model reads first: how to find its way, and what the packs of this workspace hold."""

from __future__ import annotations

from sandbar.mcp.exchange import Exchange

INSTRUCTIONS_MAX = 1500

_WAY = """\
Sandbar is a self-describing, versioned database: classes and properties are entities too, and \
every write is kept as history.
- Find your way: {classes} lists classes, {describe} gives one class with its exact JSON Schema.
- Read: {query} filters by class and slots, {text} searches words, {find} gets one entity by id, \
ident or unique slot.
{write}{work}- Idents look like ns/name. A refused call lists every finding with a hint: follow \
it."""

_WRITE = """\
- Write: {create}, {update}, {delete}; several at once, all or nothing: {transact}. New kinds of \
things: {define}. A write answers with a receipt; `reason` says why in the history.
"""

_WORK = """\
- Work in steps: {workflows} lists workflows, {start} begins a process, {transition} moves it on. \
What takes long answers with a task-id: {task} follows it.
"""

_WORK_SEEN = """\
- Work in steps: {workflows} lists workflows, {state} shows where a process stands. What takes \
long answers with a task-id: {task} follows it.
"""

_VERBS = {
    "classes": "schema.classes",
    "describe": "class.describe",
    "query": "entity.query",
    "text": "search.text",
    "find": "entity.find",
    "create": "entity.create",
    "update": "entity.update",
    "delete": "entity.delete",
    "transact": "entity.transact",
    "define": "schema.define",
    "workflows": "workflow.find",
    "start": "workflow.start-process",
    "transition": "workflow.transition",
    "state": "workflow.process-state",
    "task": "task.get",
}


def instructions_for(exchange: Exchange) -> str:
    """At most 1.5 kB; tools are named in the spelling in which the client sees them."""
    offer = exchange.database.offer
    names = {key: tool_name(exchange, name) for key, name in _VERBS.items()}
    may_write = exchange.caller.may("write")
    write = _WRITE.format(**names) if may_write else ""
    work = (_WORK if may_write else _WORK_SEEN).format(**names)
    text = _WAY.format(**names, write=write, work=work)
    for pack in offer.packs:
        line = f"\n- {pack.title}: {pack.instructions}" if pack.instructions else ""
        if len((text + line).encode()) > INSTRUCTIONS_MAX:
            break
        text += line
    return text


def tool_name(exchange: Exchange, verb_name: str) -> str:
    """The tool of a verb in the spelling in which the client sees it."""
    verb = exchange.database.catalogue.find(verb_name)
    assert verb is not None, verb_name
    return verb.dotted if exchange.spelling == "seed" else verb.portable
