"""`sandbar migrate`: make or update the tables of a PostgreSQL database."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console


def migrate(
    url: Annotated[str, typer.Argument(help="URL of the database, as its owner or a superuser.")],
    role: Annotated[
        str, typer.Option(help="The role that Sandbar will connect as.")
    ] = "sandbar_app",
    password: Annotated[
        str | None,
        typer.Option(help="Its password, if it is to have one.", envvar="SANDBAR_PASSWORD"),
    ] = None,
) -> None:
    """Prepare a PostgreSQL database: tables, row-level security and the role to connect as."""
    from sandbar.database import prepare_postgres

    app_url = prepare_postgres(url, role=role, password=password)
    console = Console(highlight=False)
    console.print("The database is ready. Open it with:")
    shown = app_url if password is None else app_url.replace(quote(password, safe=""), "PASSWORD")
    console.print(f'    sandbar.open("{shown}")', soft_wrap=True)
