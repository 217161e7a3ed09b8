"""`sandbar migrate`: make or update the tables of a PostgreSQL database."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer


def migrate(
    url: Annotated[str, typer.Argument(help="URL of the database, as its owner or a superuser.")],
    role: Annotated[
        str, typer.Option(help="The role that Sandbar will connect as.")
    ] = "sandbar_app",
    password: Annotated[
        str | None,
        typer.Option(
            help="Its password, if it is to have one. Else SANDBAR_PASSWORD.", show_default=False
        ),
    ] = None,
) -> None:
    """Prepare a PostgreSQL database: tables, row-level security and the role to connect as."""
    from rich.console import Console

    from sandbar.database import prepare_postgres
    from sandbar.settings import Settings

    secret = Settings.from_environment(password=password).password
    app_url = prepare_postgres(url, role=role, password=secret)
    console = Console(highlight=False, markup=False)
    console.print("The database is ready. Open it with:")
    shown = app_url if secret is None else app_url.replace(quote(secret, safe=""), "PASSWORD")
    console.print(f'    sandbar.open("{shown}")', soft_wrap=True)
    console.print(f'    sandbar serve --database "{shown}"', soft_wrap=True)
