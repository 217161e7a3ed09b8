"""How commands that call verbs do it: settings, the database, and the turnstile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbar.database import Database
    from sandbar.settings import Settings


def settings_of(database: str | None, workspace: str | None) -> Settings:
    """What is given, completed from the environment and the file."""
    from sandbar.settings import Settings

    return Settings.from_environment(database=database, workspace=workspace)


def opened(settings: Settings) -> Database:
    """The database and its workspace, as the library opens them."""
    from sandbar.database import open_database

    return open_database(settings.database, settings.workspace)


def call_verb(db: Database, verb: str, arguments: dict[str, Any]) -> Any:
    """Through the turnstile, as at every other door: so that the audit has it."""
    from sandbar.access import local_caller

    return db.call_as(local_caller(db.workspace_name), verb, arguments, surface="cli")
