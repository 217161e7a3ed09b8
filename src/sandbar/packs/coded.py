"""The code of packs: what a pack's Python module may bring, and which modules there are.

Code comes with Sandbar or with an installed distribution, through an entry point of the group
`sandbar.packs` (the entry's name is the pack's; its value is the pack's package, or a module in
it). Data never names what is imported.

A module exports any of VERBS, RESOURCES, TEMPLATES, PROMPT_HANDLERS, COMPLETIONS, ACTIVITIES,
EFFECTS, ENDPOINTS, CODECS and SOURCES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata, resources
from importlib.resources.abc import Traversable
from types import ModuleType
from typing import Any

import msgspec

from sandbar.codecs import BASE_CODECS, Codec
from sandbar.errors import Conflict, Fault, Problem
from sandbar.faults import log_fault
from sandbar.projects import Source, built_in_sources
from sandbar.verbs import PREFIX, Context, NeedsInput, Verb, Verbatim
from sandbar.workflow import Activity, EffectHandler

GROUP = "sandbar.packs"

# What a module that somebody else has written fails with, most of the time.
_IMPORT_ERRORS = (
    ImportError,
    SyntaxError,
    AttributeError,
    NameError,
    TypeError,
    ValueError,
    LookupError,
)

_BUILT_IN = {
    "care": "sandbar.packs.care.code",
    "everything": "sandbar.packs.everything.code",
    "memory": "sandbar.packs.memory.code",
}

# What the house and the packs of a workspace call by name: nobody takes a name of the house.
_OUR_FORMATS = frozenset(codec.format for codec in BASE_CODECS)
_OUR_SOURCES = frozenset(source.name for source in built_in_sources())
_OF_A_CODEC = {
    "format": str,
    "media_types": tuple,
    "suffixes": tuple,
    "is_bulk": bool,
    "supports": Callable,
    "parse": Callable,
    "emit": Callable,
}
_OF_A_SOURCE = {"name": str, "recognises": Callable, "items": Callable}

_PATH = re.compile(r"(/[a-z0-9][a-z0-9_-]{0,40}){1,4}")
_OUR_PATHS = frozenset({"mcp", "health"})
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,44}")  # clients' files have it as a key


class PackResource(msgspec.Struct, frozen=True):
    """A resource that a pack serves."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[], str | bytes]


class PackTemplate(msgspec.Struct, frozen=True):
    """Resources that a pack serves under URIs of one form; `match` is None for other URIs."""

    uri_template: str
    name: str
    description: str
    mime_type: str
    match: Callable[[str], str | bytes | None]


class PromptMessages(msgspec.Struct, frozen=True):
    """A prompt that is filled in: messages in the protocol's own JSON."""

    messages: list[dict[str, Any]]
    description: str = ""


class PackEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP endpoint with a few of a pack's tools and nothing else: one POST, one JSON answer."""

    path: str  # of the URL
    name: str  # what the server calls itself there, and clients may call it
    title: str
    version: str
    tools: tuple[str, ...]  # names of exact verbs of the same pack
    instructions: str = ""
    summary: str = ""  # in a few words, for the comment of a client's configuration
    expect: str = ""  # what the first tool answers if it is called without arguments


PromptHandler = Callable[[Context, Mapping[str, str]], PromptMessages | NeedsInput | Verbatim]


class PackCode(msgspec.Struct, frozen=True):
    """What the code of several packs brings together."""

    verbs: tuple[Verb, ...] = ()
    resources: tuple[PackResource, ...] = ()
    templates: tuple[PackTemplate, ...] = ()
    prompt_handlers: dict[str, PromptHandler] = {}  # by the prompt's ident
    completions: dict[tuple[str, str], tuple[str, ...]] = {}  # by prompt's ident and argument
    activities: dict[str, Activity] = {}  # by the names that states call them by
    effects: dict[str, EffectHandler] = {}  # by the names that transitions call them by
    endpoints: tuple[PackEndpoint, ...] = ()
    codecs: tuple[Codec, ...] = ()
    sources: tuple[Source, ...] = ()

    def read(self, uri: str) -> tuple[str | bytes, str] | None:
        """The contents and MIME type of a resource, or None if no pack has it."""
        for resource in self.resources:
            if resource.uri == uri:
                return resource.read(), resource.mime_type
        for template in self.templates:
            contents = template.match(uri)
            if contents is not None:
                return contents, template.mime_type
        return None


def installed_packs() -> list[str]:
    """The names of the packs that installed distributions bring."""
    return sorted(_installed())


def installed_folder(name: str) -> Traversable:
    """The folder of an installed pack's data: that of its package."""
    module = _module(name)
    assert module is not None
    return resources.files(module.__package__ or module.__name__)


def code_of(names: Sequence[str]) -> PackCode:
    """The code of these packs as one; a pack that has none adds nothing."""
    codes = [(name, _exports(name, module)) for name in names if (module := _module(name))]
    _refuse_clashes("tool", ((name, verb.name) for name, code in codes for verb in code.verbs))
    _refuse_clashes("activity", ((name, one) for name, code in codes for one in code.activities))
    _refuse_clashes("effect", ((name, one) for name, code in codes for one in code.effects))
    _refuse_clashes("resource", ((name, one.uri) for name, code in codes for one in code.resources))
    _refuse_clashes("path", ((name, one.path) for name, code in codes for one in code.endpoints))
    _refuse_clashes("format", ((name, one.format) for name, code in codes for one in code.codecs))
    _refuse_clashes("source", ((name, one.name) for name, code in codes for one in code.sources))
    return PackCode(
        tuple(verb for _, code in codes for verb in code.verbs),
        tuple(resource for _, code in codes for resource in code.resources),
        tuple(template for _, code in codes for template in code.templates),
        {ident: handler for _, code in codes for ident, handler in code.prompt_handlers.items()},
        {key: values for _, code in codes for key, values in code.completions.items()},
        {name: run for _, code in codes for name, run in code.activities.items()},
        {name: run for _, code in codes for name, run in code.effects.items()},
        tuple(endpoint for _, code in codes for endpoint in code.endpoints),
        tuple(codec for _, code in codes for codec in code.codecs),
        tuple(source for _, code in codes for source in code.sources),
    )


def known_endpoints() -> list[tuple[str, PackEndpoint]]:
    """The endpoints of all packs that could be loaded, each with the name of its pack.

    What is broken, or wants a path that another pack has, is told to the log and left out: the
    packs that a server has in use must not suffer from one that lies about.
    """
    known: list[str] = []
    found: list[tuple[str, PackEndpoint]] = []
    for name in (*_BUILT_IN, *installed_packs()):
        try:
            code_of([*known, name])
        except Problem as problem:
            log_fault("pack.endpoints-left-out", problem)
            continue
        if endpoints := code_of([name]).endpoints:
            known.append(name)
            found += [(name, endpoint) for endpoint in endpoints]
    return found


@cache
def _installed() -> dict[str, str]:
    """Pack to module. What is installed does not change under a running process."""
    return {entry.name: entry.module for entry in metadata.entry_points(group=GROUP)}


def _module(name: str) -> ModuleType | None:
    try:
        if name in _BUILT_IN:
            return import_module(_BUILT_IN[name])
        if name in _installed():
            return import_module(_installed()[name])
    except _IMPORT_ERRORS as error:
        raise _broken(name, f"it cannot be imported: {error}") from error
    return None


def _exports(name: str, module: ModuleType) -> PackCode:
    code = PackCode(
        getattr(module, "VERBS", ()),
        getattr(module, "RESOURCES", ()),
        getattr(module, "TEMPLATES", ()),
        getattr(module, "PROMPT_HANDLERS", {}),
        getattr(module, "COMPLETIONS", {}),
        getattr(module, "ACTIVITIES", {}),
        getattr(module, "EFFECTS", {}),
        getattr(module, "ENDPOINTS", ()),
        getattr(module, "CODECS", ()),
        getattr(module, "SOURCES", ()),
    )
    exports: tuple[tuple[str, type, Any], ...] = (
        ("VERBS", Verb, code.verbs),
        ("RESOURCES", PackResource, code.resources),
        ("TEMPLATES", PackTemplate, code.templates),
        ("ENDPOINTS", PackEndpoint, code.endpoints),
    )
    for export, kind, items in exports:
        if not isinstance(items, tuple) or not all(isinstance(item, kind) for item in items):
            raise _broken(name, f"{export} is a tuple of {kind.__name__}")
    _check_named(name, "CODECS", code.codecs, _OF_A_CODEC, _OUR_FORMATS)
    _check_named(name, "SOURCES", code.sources, _OF_A_SOURCE, _OUR_SOURCES)
    ours = [verb.name for verb in code.verbs if verb.is_exact and verb.name.startswith(PREFIX)]
    if ours:
        raise _broken(name, f"{', '.join(ours)}: names that begin with {PREFIX} are ours")
    exact = {verb.name for verb in code.verbs if verb.is_exact}
    for endpoint in code.endpoints:
        if wrong := _what_is_wrong(endpoint, exact):
            raise _broken(name, f"ENDPOINTS: {wrong}")
    return code


def _check_named(
    pack: str, export: str, items: Any, parts: Mapping[str, Any], ours: frozenset[str]
) -> None:
    """Refuse what is no codec, or no source, or has a name of the house."""
    if not isinstance(items, tuple):
        raise _broken(pack, f"{export} is a tuple")
    for item in items:
        for part, kind in parts.items():
            if not isinstance(getattr(item, part, None), kind):
                raise _broken(pack, f"{export}: {type(item).__name__} has no {part} that is one")
        name = getattr(item, next(iter(parts)))
        if name in ours:
            raise _broken(pack, f"{export}: {name} is ours")


def _what_is_wrong(endpoint: PackEndpoint, exact: set[str]) -> str | None:
    path = endpoint.path
    if not _PATH.fullmatch(path) or path.split("/")[1] in _OUR_PATHS:
        return f"{path!r} is no path for an endpoint of a pack"
    if not _ENDPOINT_NAME.fullmatch(endpoint.name):
        return f"{endpoint.name!r} is no name for an endpoint"
    unknown = [tool for tool in endpoint.tools if tool not in exact]
    if unknown or not endpoint.tools:
        missing = ", ".join(unknown) or "nothing"
        return f"{path} names {missing}, and needs exact verbs of its pack"
    return None


def _broken(name: str, what: str) -> Fault:
    return Fault(
        "pack.code-broken",
        f"the code of pack {name} is broken: {what}",
        hint="correct or uninstall the distribution that brings it",
    )


def _refuse_clashes(kind: str, given: Iterable[tuple[str, str]]) -> None:
    owners: dict[str, str] = {}
    for pack, name in given:
        if name in owners:
            raise Conflict(
                "pack.code-clash",
                f"packs {owners[name]} and {pack} both have a {kind} {name}",
                hint="a workspace can have one of the two",
            )
        owners[name] = pack
