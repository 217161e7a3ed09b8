"""How commands that call verbs do it: settings, the database, and the turnstile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbar.database import Database
    from sandbar.model import SchemaBounds
    from sandbar.settings import Settings
    from sandbar.verbs import Channel, Verb


def settings_of(database: str | None, workspace: str | None) -> Settings:
    """What is given, completed from the environment and the file."""
    from sandbar.settings import Settings

    return Settings.from_environment(database=database, workspace=workspace)


def opened(settings: Settings, *, server: bool = False) -> Database:
    """The database and its workspace, as the library opens them: made, if they are not there."""
    from sandbar.database import open_database

    check_limits(settings)
    return open_database(
        settings.database,
        settings.workspace,
        server=server,
        bounds=bounds_of(settings),
        limits=settings.limits,
    )


def bounds_of(settings: Settings) -> SchemaBounds:
    """How large the metamodels of workspaces may grow: what is set, else the model's own."""
    from sandbar.model import SchemaBounds

    given = {name: getattr(settings, name) for name in SchemaBounds._fields}
    return SchemaBounds(**{name: most for name, most in given.items() if most is not None})


def check_limits(settings: Settings) -> None:
    """Refuse a wrong SANDBAR_LIMITS by its name; reading settings alone does not know budgets."""
    from sandbar.errors import Incorrect
    from sandbar.model import read_limits

    try:
        read_limits(settings.limits)
    except Incorrect as problem:
        raise Incorrect(
            "settings.invalid",
            "a setting is wrong: SANDBAR_LIMITS, or limits in the settings file:"
            f" {problem.message}",
            hint=problem.hint,
        ) from None


def existing(settings: Settings) -> Database:
    """The same for commands that look, or end something: a typing error makes nothing."""
    from sandbar.errors import NotFound
    from sandbar.suggestions import did_you_mean

    names = workspaces_in(settings)
    if names is None:
        raise NotFound(
            "store.no-database",
            f"there is no database at {Path(settings.database).absolute()}",
            hint="go to its folder, or name it with --database or SANDBAR_DATABASE; to make a new"
            " one: `sandbar serve`, `sandbar key mint --name NAME`, `sandbar pack add NAME` or"
            " `sandbar project import --apply`",
        )
    if settings.workspace not in names:
        raise NotFound(
            "workspace.unknown",
            f"there is no workspace {settings.workspace[:80]} in this database",
            hint=did_you_mean(settings.workspace, names)
            or "`sandbar workspace list` lists them; `sandbar workspace create NAME` makes one",
        )
    return opened(settings)


def workspaces_in(settings: Settings) -> tuple[str, ...] | None:
    """The names of the workspaces that there are; None if there is no such file."""
    from sandbar.database import examine_database

    if not settings.is_postgres and not Path(settings.database).exists():
        return None
    return examine_database(settings.database).workspaces


def call_verb(
    db: Database,
    name: str,
    arguments: dict[str, Any],
    channel: Channel | None = None,
    verb: Verb | None = None,
) -> Any:
    """Through the turnstile, as at every other door: so that the audit has it."""
    from sandbar.access import local_caller
    from sandbar.verbs import Call

    caller = local_caller(db.workspace_name, is_at_machine=True)
    return db.perform(Call(caller, name, arguments, verb, surface="cli", channel=channel))
