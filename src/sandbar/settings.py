"""Settings: the only reader of the environment and of a settings file.

What is given on the command line counts first, then `SANDBAR_…` variables, then the TOML file that
`SANDBAR_SETTINGS` names, then the defaults below.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import inspect

from sandbar.errors import Incorrect
from sandbar.findings import Findings, data_of
from sandbar.serving import Serving

_PREFIX = "SANDBAR_"
_FILE = "SANDBAR_SETTINGS"
_OTHERS = {_FILE, "SANDBAR_TOKEN"}  # the second one is for clients
_ALIKE = 0.88  # how much, of a variable and a setting, makes the one a typing error of the other
_LONGER = 1  # letters, at most, that a typing error adds or leaves out
_POSTGRES = ("postgresql://", "postgres://")
_SECRET = ("database", "password")  # such values are not shown
_OPTIONS = {  # those that are not called like their setting
    "packs": "--pack",
    "allowed_hosts": "--allowed-host",
    "trusted_proxies": "--trusted-proxy",
}
_WANTED = {  # what a type does not say
    "database": "a file, or an address that begins with postgresql://",
    "public_url": "a URL that begins with https:// and names a host",
    "trusted_proxies": "addresses or networks, such as 10.0.0.7 or 10.0.0.0/24",
    "key_prefix": "sk- and words of small letters and digits that end in -, such as sk-shop-",
}
_PLACES = (
    "settings are options, SANDBAR_… variables or keys of the file SANDBAR_SETTINGS names;"
    " see docs/command-line.md"
)
_NAMED = "SANDBAR_SETTINGS names a file in TOML"

Most = Annotated[int, msgspec.Meta(ge=1)]
LogLevel = Literal["debug", "info", "warning", "error"]


class _Given(NamedTuple):
    """A value, and where it was given."""

    where: str
    value: Any


class Settings(Serving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set from outside; each command takes the part that it needs."""

    log_level: LogLevel = "info"
    key_prefix: Annotated[str, msgspec.Meta(pattern=r"^sk-([a-z0-9]+-)*$")] = "sk-sand-"
    projects: str | None = None  # the folder below which agents may export and import
    limits: tuple[str, ...] = ()  # the usual budgets of workspaces, such as entities=10000
    password: str | None = None  # of the PostgreSQL role that `sandbar migrate` makes
    class_parents: Most | None = None  # how large metamodels may grow; None: the model's own
    class_depth: Most | None = None
    class_ancestors: Most | None = None
    class_slots: Most | None = None
    inheritance: Most | None = None
    definitions: Most | None = None
    definitions_at_once: Most | None = None

    @property
    def is_postgres(self) -> bool:
        """Whether the database is a URL and not a file."""
        return self.database.startswith(_POSTGRES)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, **given: Any
    ) -> Settings:
        """What is given (None: not given), completed from the environment and the file."""
        variables = os.environ if environment is None else environment
        findings = Findings()
        found = _from_file(variables.get(_FILE), findings) | _from_variables(variables, findings)
        for name, value in given.items():
            # The program's own defaults are no wish: an empty list is an option that was not used.
            if value not in (None, ()):
                found[_key(name)] = _Given(_OPTIONS.get(name, f"--{_key(name)}"), value)
        settings: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            if (one := found.get(_key(field.name))) is not None:
                try:
                    settings[field.name] = msgspec.convert(one.value, field.type, strict=False)
                    _check(field.name, settings[field.name])
                except ValueError:  # and so what msgspec raises
                    findings.complain("settings.invalid", one.where, _unfit(field, one))
        if findings.told:
            raise _invalid(findings)
        return cls(**settings)


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Variables that look like ours and set nothing; the misspelt ones are refused already."""
    variables = os.environ if environment is None else environment
    ours = {_PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)}
    return sorted(
        name for name in variables if name.startswith(_PREFIX) and name not in ours | _OTHERS
    )


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where programs of this user keep what is to last and concerns nobody else."""
    variables = os.environ if environment is None else environment
    given = Path(variables.get("XDG_STATE_HOME", ""))
    home = Path(variables.get("HOME") or Path.home())
    return (given if given.is_absolute() else home / ".local" / "state") / "sandbar"


def _key(name: str) -> str:
    return name.replace("_", "-")


def _from_variables(variables: Mapping[str, str], findings: Findings) -> dict[str, _Given]:
    """The settings that the environment holds; a variable that is empty counts as unset."""
    found: dict[str, _Given] = {}
    fields = {_PREFIX + field.name.upper(): field for field in msgspec.structs.fields(Settings)}
    for variable, field in fields.items():
        if text := variables.get(variable, ""):
            is_list = field.default == ()
            value = [part for part in text.split(",") if part] if is_list else text
            found[_key(field.name)] = _Given(variable, value)
    # Others may have reasons for such names, Kubernetes for one; a typing error has none.
    for variable in unknown_variables(variables):
        likely = [one for one in (*fields, _FILE) if abs(len(one) - len(variable)) <= _LONGER]
        if meant := get_close_matches(variable, likely, 1, _ALIKE):
            hint = f"is {meant[0]} meant?"
            findings.complain("settings.invalid", variable, "there is no such setting", hint)
    return found


def _from_file(path: str | None, findings: Findings) -> dict[str, _Given]:
    if not path:
        return {}
    try:
        with open(path, "rb") as file:
            read = tomllib.load(file)
    except OSError as error:
        findings.complain("settings.invalid", path, f"it cannot be read: {error.strerror}", _NAMED)
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        findings.complain("settings.invalid", path, f"it is not TOML: {error}", _NAMED)
        return {}
    keys = [_key(field.name) for field in msgspec.structs.fields(Settings)]
    for key in (one for one in read if one not in keys):
        meant = get_close_matches(key, keys, 1)
        hint = f"is {meant[0]} meant?" if meant else f"there are {', '.join(keys)}"
        findings.complain("settings.invalid", f"{key} in {path}", "there is no such setting", hint)
    return {key: _Given(f"{key} in {path}", read[key]) for key in keys if key in read}


def _check(name: str, value: Any) -> None:
    """Raise ValueError if something is wrong that its type does not say."""
    if name == "public_url":
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError
    elif name == "trusted_proxies":
        for one in value:
            ip_network(one, strict=False)
    elif name == "database" and "://" in value and not value.startswith(_POSTGRES):
        # Not as a file: its name, and so a password in it, would be shown here and there.
        raise ValueError


def _unfit(field: msgspec.structs.FieldInfo, given: _Given) -> str:
    shown = "" if field.name in _SECRET else f", not {given.value!r}"
    return f"it must be {_wanted(field)}{shown}"


def _wanted(field: msgspec.structs.FieldInfo) -> str:
    if field.name in _WANTED:
        return _WANTED[field.name]
    kind = inspect.type_info(field.type)
    if isinstance(kind, inspect.UnionType):  # with None, which cannot be given
        kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        *most, last = get_args(field.type)  # msgspec sorts them
        return f"{', '.join(most)} or {last}"
    if isinstance(kind, inspect.IntType):
        if kind.le is None:
            return f"a whole number, {kind.ge} or more"
        return f"a number from {kind.ge} to {kind.le}"
    return "a list of texts" if isinstance(kind, inspect.VarTupleType) else "a text"


def _invalid(findings: Findings) -> Incorrect:
    if findings.count == 1:
        found = findings.told[0]
        message = f"a setting is wrong: {found.at}: {found.message}"
        return Incorrect("settings.invalid", message, hint=found.hint or _PLACES)
    message = f"{findings.count} settings are wrong"
    listed = [{"hint": None} | one for one in data_of(findings.told)]
    return Incorrect("settings.invalid", message, hint=_PLACES, data={"findings": listed})
