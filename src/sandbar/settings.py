"""Settings: the only reader of the environment and of a settings file.

What is given on the command line counts first, then `SANDBAR_…` variables, then the TOML file that
`SANDBAR_SETTINGS` names, then the defaults below.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from sandbar.errors import Incorrect

_PREFIX = "SANDBAR_"
_FILE = "SANDBAR_SETTINGS"

ToolListing = Literal["default", "core", "full", "classes", "all"]
LogLevel = Literal["debug", "info", "warning", "error"]


class Settings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Everything that can be set from outside; each command takes the part that it needs."""

    database: str = "sandbar.db"
    workspace: str = "main"
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    packs: tuple[str, ...] = ()
    public_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    tools: ToolListing = "default"
    log_level: LogLevel = "info"
    key_prefix: Annotated[str, msgspec.Meta(pattern=r"^sk-([a-z0-9]+-)*$")] = "sk-sand-"
    projects: str | None = None  # the folder below which agents may export and import
    limits: tuple[str, ...] = ()  # the usual budgets of workspaces, such as entities=10000
    password: str | None = None  # of the PostgreSQL role that `sandbar migrate` makes

    @property
    def is_postgres(self) -> bool:
        """Whether the database is a URL and not a file."""
        return self.database.startswith(("postgresql://", "postgres://"))

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, **given: Any
    ) -> Settings:
        """What is given (None: not given), completed from the environment and the file."""
        variables = os.environ if environment is None else environment
        found = _from_file(variables.get(_FILE)) | _from_variables(variables)
        # The program's own defaults are no wish: an empty list is an option that was not used.
        wishes = {_key(name): value for name, value in given.items() if value not in (None, ())}
        try:
            settings = msgspec.convert(found | wishes, type=cls, strict=False)
        except msgspec.ValidationError as error:
            raise _invalid(str(error)) from error
        _check_public_url(settings.public_url)
        if "://" in settings.database and not settings.is_postgres:
            # Not as a file: its name, and so a password in it, would be shown here and there.
            raise _invalid("the database is a file, or an address that begins with postgresql://")
        return settings


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where programs of this user keep what is to last and concerns nobody else."""
    variables = os.environ if environment is None else environment
    given = Path(variables.get("XDG_STATE_HOME", ""))
    home = Path(variables.get("HOME") or Path.home())
    return (given if given.is_absolute() else home / ".local" / "state") / "sandbar"


def _key(name: str) -> str:
    return name.replace("_", "-")


def _from_variables(variables: Mapping[str, str]) -> dict[str, Any]:
    """The settings that the environment holds; a variable that is empty counts as unset."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = variables.get(_PREFIX + field.name.upper(), "")
        if text:
            is_list = field.default == ()
            found[_key(field.name)] = [p for p in text.split(",") if p] if is_list else text
    return found


def _from_file(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise _invalid(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _invalid(f"{path} is not TOML: {error}") from error


def _check_public_url(url: str | None) -> None:
    if url is None:
        return
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_sound = False
    if not is_sound:
        raise _invalid(f"the public URL must begin with https:// and name a host, not {url!r}")


def _invalid(message: str) -> Incorrect:
    return Incorrect(
        "settings.invalid",
        f"a setting is wrong: {message}",
        hint="settings are options, SANDBAR_… variables or keys of the file SANDBAR_SETTINGS names;"
        " see docs/command-line.md",
    )
