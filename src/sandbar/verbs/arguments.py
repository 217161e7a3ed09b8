"""Reading the arguments of a verb: one conversion when all is well, every finding when not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect
from sandbar.model import did_you_mean

_SHOWN_MAX = 80
_SHARED = ("limit", "cursor", "as-of", "reason", "idempotency-key")


class Arguments(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """The base of what verbs take."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with the arguments."""

    argument: str
    code: str
    message: str
    hint: str | None = None


class Reader:
    """Turns the arguments of a call into a verb's struct. Its tables are made once per verb."""

    def __init__(self, kind: type[msgspec.Struct], aliases: Mapping[str, str]) -> None:
        self._kind = kind
        self._fields = {field.encode_name: field for field in ordered_fields(kind)}
        self._spellings = {name: name for name in self._fields} | dict(aliases)
        self._compounds = {
            name: decoder
            for name, field in self._fields.items()
            if (decoder := _compound_decoder(field.type)) is not None
        }
        self._descriptions = {name: _description(field) for name, field in self._fields.items()}
        self._is_open = not kind.__struct_config__.forbid_unknown_fields

    def __call__(self, given: Any) -> Any:
        """The arguments as a struct; raises `arguments.invalid` with all that is wrong."""
        try:
            return msgspec.convert(given, self._kind)
        except (msgspec.ValidationError, RecursionError):
            return self._read_carefully(given)

    def _read_carefully(self, given: Any) -> Any:
        """The same for other spellings, nulls and JSON inside strings; or every finding."""
        if not isinstance(given, Mapping):
            found = Finding(
                argument="", code="argument.type", message="arguments are a JSON object"
            )
            raise invalid([found])
        findings: list[Finding] = []
        named = self._named(given, findings)
        values: dict[str, Any] = {}
        for name, field in self._fields.items():
            if name not in named or (named[name] is None and not field.required):
                if field.required:
                    findings.append(self._missing(name))
                continue
            try:
                values[name] = self._value(name, field, named[name])
            except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
                findings.append(self._mistyped(name, error))
        if findings:
            raise invalid(findings)
        return msgspec.convert(values, self._kind)

    def _named(self, given: Mapping[Any, Any], findings: list[Finding]) -> dict[str, Any]:
        """What was given, under our names."""
        named: dict[str, Any] = {}
        for key, value in given.items():
            spelling = str(key).removeprefix(":")
            name = self._spellings.get(spelling) or self._spellings.get(spelling.replace("_", "-"))
            if name is None:
                if not self._is_open:
                    findings.append(self._unknown(spelling[:_SHOWN_MAX]))
            elif name in named:
                findings.append(
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
        decoder = self._compounds.get(name)
        if decoder is not None and isinstance(given, str):
            return decoder.decode(given)
        return msgspec.convert(given, field.type)

    def _missing(self, name: str) -> Finding:
        return Finding(
            argument=name,
            code="argument.missing",
            message=f"{name} is missing",
            hint=f"give {name}: {self._descriptions[name]}",
        )

    def _unknown(self, spelling: str) -> Finding:
        takes = ", ".join(self._fields)
        return Finding(
            argument=spelling,
            code="argument.unknown",
            message=f"there is no argument {spelling}",
            hint=did_you_mean(spelling, self._spellings)
            or (f"the arguments are {takes}" if takes else "this verb takes no arguments"),
        )

    def _mistyped(self, name: str, error: Exception) -> Finding:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        return Finding(
            argument=name,
            code="argument.type",
            message=f"{name}: {reason.replace('`', '').replace(' | null', '')}",
            hint=f"{name} is {self._descriptions[name] or 'a value of that type'}",
        )


def ordered_fields(kind: type[msgspec.Struct]) -> list[msgspec.structs.FieldInfo]:
    """The arguments as a reader wants them: required ones first, what all verbs share last."""
    return sorted(
        msgspec.structs.fields(kind),
        key=lambda field: (not field.required, field.encode_name in _SHARED),
    )


def invalid(findings: list[Finding]) -> Incorrect:
    """The error that carries all findings about arguments."""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    hints = dict.fromkeys(finding.hint for finding in findings if finding.hint)
    return Incorrect(
        "arguments.invalid",
        f"the arguments are wrong: {findings[0].message}{more}",
        hint="; ".join(hints) or None,
        data={"findings": [msgspec.to_builtins(finding) for finding in findings]},
    )


def _compound_decoder(kind: Any) -> msgspec.json.Decoder[Any] | None:
    """A decoder for JSON inside a string, if an argument takes objects or arrays and no text."""
    info = msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    parts = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    compound = (msgspec.inspect.DictType, msgspec.inspect.ListType, msgspec.inspect.NoneType)
    if not all(isinstance(part, compound) for part in parts):
        return None
    return msgspec.json.Decoder(kind)


def _description(field: msgspec.structs.FieldInfo) -> str:
    info = msgspec.inspect.type_info(field.type)
    if isinstance(info, msgspec.inspect.Metadata) and info.extra_json_schema:
        return str(info.extra_json_schema.get("description", ""))
    return ""
