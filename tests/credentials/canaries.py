"""Canaries: secrets that nobody can guess, and a scanner that finds them in whatever came out."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql


class Canaries:
    """Secrets by where they were planted; `secret` draws one."""

    def __init__(self) -> None:
        self.planted: dict[str, str] = {}

    def secret(self, where: str) -> str:
        """A new one: text that is a good key, and nothing else."""
        return self.plant(where, "kanari-" + secrets.token_hex(16))

    def plant(self, where: str, value: str) -> str:
        """One that somebody else has drawn."""
        assert where not in self.planted
        self.planted[where] = value
        return value


@dataclass
class Haystack:
    """Everything that came out, by where it came out."""

    places: dict[str, bytes] = field(default_factory=dict)

    def add(self, place: str, out: str | bytes) -> None:
        """Keep an output; several of one place are kept together."""
        given = out.encode("utf-8", "surrogateescape") if isinstance(out, str) else out
        self.places[place] = self.places.get(place, b"") + b"\n" + given

    def hits(self, canaries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Which secret is in which place."""
        needles = [(where, tuple(spellings(value))) for where, value in canaries]
        return [
            (where, place)
            for place, text in self.places.items()
            for where, spelled in needles
            if any(one in text for one in spelled)
        ]


def spellings(secret: str) -> Iterator[bytes]:
    """A secret as it may be written down: as it is, encoded, or as bytes are printed.

    Of a minted key the prefix and six digits are shown in lists: only the rest is secret.
    """
    rest = secret[14:] if secret.startswith("sk-sand-") else secret
    plain = rest.encode()
    yield plain
    yield rest.encode("utf-16-le")
    yield quote(rest, safe="").encode()
    yield plain.hex().encode()
    yield plain[::-1]
    for shift in range(3):  # wherever it stands in what was encoded
        yield base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4]


def files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, byte for byte."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()


def postgres_tables(admin_url: str) -> Iterator[tuple[str, bytes]]:
    """Every table of ours as it would be dumped."""
    with psycopg.connect(admin_url) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert tables, "this database has no tables"
        for schema, table in tables:
            copy = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(schema, table))
            with connection.cursor().copy(copy) as rows:
                yield f"table {table}", b"".join(bytes(row) for row in rows)
