"""Reading the arguments of a verb: one conversion when all is well, every finding when not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, Findings, findings_in
from sandbar.model import UNREADABLE, said_plainly, shown, what_it_takes
from sandbar.suggestions import SUGGESTIONS_MAX, did_you_mean

_SHOWN_MAX = 80
_OBJECT = msgspec.json.Decoder(dict[str, Any])
# What is said elsewhere for an argument, and what it may be called here.
_SYNONYMS = {
    "order-by": ("sort", "order", "orderby", "sortby", "sort-by"),
    "where": ("filter", "filters", "query", "condition", "conditions", "criteria", "q"),
    "fields": ("select", "columns", "projection", "only", "include"),
    "limit": ("first", "top", "size", "count", "page-size", "per-page", "max"),
    "cursor": ("offset", "page", "skip", "after", "start", "next"),
    "class": ("type", "kind", "table", "model", "entity-type", "of"),
    "attributes": ("data", "values", "value", "properties", "fields", "body", "changes", "record"),
    "entity": ("ref", "name", "key", "target", "object", "subject"),
    "operations": ("ops", "transaction", "transactions", "batch", "statements"),
    "name": ("workflow", "title", "ident"),
    "workflow": ("name", "process", "definition"),
}
_SHARED = ("limit", "cursor", "as-of", "reason", "idempotency-key")


class Arguments(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """The base of what verbs take."""


class _Tables(NamedTuple):
    """What a reader has to know of the fields of a struct."""

    fields: dict[str, msgspec.structs.FieldInfo]
    compounds: dict[str, msgspec.json.Decoder[Any]]
    descriptions: dict[str, str]
    mixed: list[tuple[str, str]]  # a name or an object: no name begins with a brace


@lru_cache(maxsize=1_000)  # the verbs of ours and of packs; whose are offered changes with packs
def _tables_of(kind: type[msgspec.Struct]) -> _Tables:
    """Made once: those of all our verbs take 20 ms."""
    fields = {field.encode_name: field for field in ordered_fields(kind)}
    compounds = {
        name: decoder
        for name, field in fields.items()
        if (decoder := _compound_decoder(field.type)) is not None
    }
    descriptions = {name: _description(field) for name, field in fields.items()}
    mixed = [
        (field.name, name)
        for name, field in fields.items()
        if name not in compounds and _takes(field.type, inspect.DictType)
    ]
    return _Tables(fields, compounds, descriptions, mixed)


class Reader:
    """Turns the arguments of a call into a verb's struct."""

    def __init__(self, kind: type[msgspec.Struct], aliases: Mapping[str, str]) -> None:
        self._kind = kind
        self._fields, self._compounds, self._descriptions, self._mixed = _tables_of(kind)
        self._spellings = {name: name for name in self._fields} | dict(aliases)
        self._is_open = not kind.__struct_config__.forbid_unknown_fields

    def __call__(self, given: Any) -> Any:
        """The arguments as a struct; raises `arguments.invalid` with all that is wrong."""
        try:
            read = msgspec.convert(given, self._kind)
        except UNREADABLE:
            return self._read_carefully(given)
        for attribute, _ in self._mixed:
            value = getattr(read, attribute)
            if type(value) is str and value[:1] == "{":
                return self._read_carefully(given)
        return read

    def _read_carefully(self, given: Any) -> Any:
        """The same for other spellings, nulls and JSON inside strings; or every finding."""
        if not isinstance(given, Mapping):
            raise invalid(Findings.of(not_an_object()))
        findings = Findings()
        named = self._named(given, findings)
        values: dict[str, Any] = {}
        for name, field in self._fields.items():
            if name not in named or (named[name] is None and not field.required):
                if field.required:
                    findings.add(self._missing(name))
                continue
            try:
                values[name] = self._value(name, field, named[name])
            except UNREADABLE as error:
                findings.add(self._mistyped(name, error))
        if findings.told:
            raise invalid(findings)
        return msgspec.convert(values, self._kind)

    def _named(self, given: Mapping[Any, Any], findings: Findings) -> dict[str, Any]:
        """What was given, under our names."""
        named: dict[str, Any] = {}
        for key, value in given.items():
            spelling = (key if isinstance(key, str) else shown(key)).removeprefix(":")
            name = self._spellings.get(spelling) or self._spellings.get(spelling.replace("_", "-"))
            if name is None:
                if not self._is_open:
                    is_guessed = findings.count < SUGGESTIONS_MAX
                    findings.add(self._unknown(spelling[:_SHOWN_MAX], is_guessed=is_guessed))
            elif name in named:
                findings.add(
                    Finding(
                        argument=spelling,
                        code="argument.twice",
                        message=f"{spelling} says the same as another argument",
                        hint=f"give only {name}",
                    )
                )
            else:
                named[name] = value
        return named

    def _value(self, name: str, field: msgspec.structs.FieldInfo, given: Any) -> Any:
        if isinstance(given, str):
            decoder = self._compounds.get(name)
            if decoder is not None:
                return decoder.decode(given)
            if given.startswith("{") and any(name == mixed for _, mixed in self._mixed):
                return _OBJECT.decode(given)
        if isinstance(given, float) and given.is_integer() and _takes(field.type, inspect.IntType):
            given = int(given)  # JSON Schema takes 5.0 for an integer
        return msgspec.convert(given, field.type)

    def _missing(self, name: str) -> Finding:
        return Finding(
            argument=name,
            code="argument.missing",
            message=f"{name} is missing",
            hint=f"give {name}: {self._descriptions[name]}",
        )

    def _unknown(self, spelling: str, *, is_guessed: bool) -> Finding:
        takes = ", ".join(self._fields)
        return Finding(
            argument=spelling,
            code="argument.unknown",
            message=f"there is no argument {spelling}",
            hint=self._meant(spelling)
            or (did_you_mean(spelling, self._spellings) if is_guessed else None)
            or (f"the arguments are {takes}" if takes else "this verb takes no arguments"),
        )

    def _meant(self, spelling: str) -> str | None:
        """What an argument is called here, or where it stands."""
        if "/" in spelling and "attributes" in self._fields:
            return f'slots stand in attributes, as in {{"attributes": {{"{spelling}": …}}}}'
        word = spelling.lower().replace("_", "-")
        known = (name for name, words in _SYNONYMS.items() if word in words)
        found = next((name for name in known if name in self._fields), None)
        return None if found is None else f"use {found}: {self._descriptions[found]}"

    def _part(self, whole: str, name: str) -> str:
        """What a member of an argument is, or at least the argument itself."""
        type_ = inspect.type_info(self._fields[whole].type)
        more = type_.extra_json_schema if isinstance(type_, inspect.Metadata) else None
        part = (more or {}).get("properties", {}).get(name, {}).get("description")
        return f"{name}: {part}" if part else f"as in {whole}, which is {self._descriptions[whole]}"

    def _mistyped(self, name: str, error: Exception) -> Finding:
        takes = what_it_takes(self._fields[name].type) or self._descriptions[name]
        if name in self._compounds and _takes(self._fields[name].type, inspect.ListType):
            takes = f"a list: {takes}"
        whole = takes.rpartition("as in ")[2]
        if "as in " in takes and whole in self._fields:
            takes = takes.replace(f"as in {whole}", self._part(whole, name))
        return Finding(
            argument=name,
            code="argument.type",
            message=said_plainly(name, error),
            hint=f"{name} is {takes}" if takes else None,
        )


def ordered_fields(kind: type[msgspec.Struct]) -> list[msgspec.structs.FieldInfo]:
    """The arguments as a reader wants them: required ones first, what all verbs share last."""
    return sorted(
        msgspec.structs.fields(kind),
        key=lambda field: (not field.required, field.encode_name in _SHARED),
    )


def invalid(findings: Findings) -> Incorrect:
    """The error that carries all findings about arguments."""
    return findings.as_problem("arguments.invalid", "the arguments are wrong: ")


def not_an_object() -> Finding:
    """The finding about arguments that have no names."""
    return Finding(argument="", code="argument.type", message="arguments are a JSON object")


def told_together(problem: Problem, checks: Mapping[str, Callable[[], object]]) -> Problem:
    """A problem with one argument, or one refusal if others are wrong, too.

    Each check looks at one argument and raises what is wrong with it.
    """
    findings = Findings()
    for argument, check in checks.items():
        try:
            check()
        except Problem as found:
            said = {finding.message for finding in findings.told}
            for one in findings_in(found):
                if one.message not in said:
                    findings.add(one.moved(argument=argument, at=None, entity=None))
    return invalid(findings) if findings.count > 1 else problem


def _parts(kind: Any) -> list[inspect.Type]:
    """The types that a type is a union of, without what is said about them."""
    info = inspect.type_info(kind)
    if isinstance(info, inspect.Metadata):
        info = info.type
    parts = info.types if isinstance(info, inspect.UnionType) else (info,)
    return [part.type if isinstance(part, inspect.Metadata) else part for part in parts]


def _takes(kind: Any, part: type[inspect.Type]) -> bool:
    return any(isinstance(one, part) for one in _parts(kind))


def _compound_decoder(kind: Any) -> msgspec.json.Decoder[Any] | None:
    """A decoder for JSON inside a string, if an argument takes objects or arrays and no text."""
    compound = (inspect.DictType, inspect.ListType, inspect.NoneType)
    if not all(isinstance(part, compound) for part in _parts(kind)):
        return None
    return msgspec.json.Decoder(kind)


def _description(field: msgspec.structs.FieldInfo) -> str:
    info = inspect.type_info(field.type)
    for part in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(part, inspect.Metadata) and part.extra_json_schema:
            return str(part.extra_json_schema.get("description", ""))
    return ""
