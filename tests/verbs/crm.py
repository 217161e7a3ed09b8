"""A small customer file: what a newcomer would define, with people, companies and teams."""

from __future__ import annotations

from typing import Any

from tests.verbs.conftest import Call

TEXT = "db.type/string"

PROPERTIES: dict[str, dict[str, Any]] = {
    "company/name": {"dt/range": TEXT, "db/unique": "identity"},
    "company/city": {"dt/range": TEXT},
    "team/title": {"dt/range": TEXT},
    "person/name": {"dt/range": TEXT, "dt/required?": True},
    "person/given-name": {"dt/range": TEXT},
    "person/nick": {"dt/range": TEXT},
    "person/age": {"dt/range": "db.type/long", "dt/indexed?": True},
    "person/born": {"dt/range": "db.type/instant"},
    "person/company": {"dt/range": "crm/Company"},
    "person/team": {"dt/range": "crm/Team"},
    "person/tags": {"dt/range": "db.type/keyword", "db/cardinality": "many"},
    "person/state": {"dt/range": "db.type/keyword", "dt/one-of": ["lead", "won"]},
    "person/active?": {"dt/range": "db.type/boolean"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "crm/Company": {"dt/slots": ["company/name", "company/city"]},
    "crm/Team": {"dt/slots": ["team/title"]},
    "crm/Person": {"dt/slots": [name for name in PROPERTIES if name.startswith("person/")]},
}


def define(call: Call) -> dict[str, int]:
    """Make the classes and a few entities; returns their ids by name."""
    call("schema.define", {"properties": PROPERTIES, "classes": CLASSES})
    made = [
        ("Acme", "crm/Company", {"company/name": "Acme", "company/city": "Oslo"}),
        ("Red", "crm/Team", {"team/title": "Red"}),
        (
            "Ann",
            "crm/Person",
            {"db/ident": "person/ann", "person/name": "Ann", "person/nick": "Annie"},
        ),
    ]
    return {
        name: call("entity.create", {"class": cls, "attributes": slots})["entity-id"]
        for name, cls, slots in made
    }
