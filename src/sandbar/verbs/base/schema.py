"""`schema.*`: the metamodel as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from sandbar.errors import Incorrect, Problem
from sandbar.model import Entity, Introspection, Receipt
from sandbar.verbs.answers import Answer, Reference, reference_to
from sandbar.verbs.arguments import told_together
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import PagedAsOf, Writing, moment
from sandbar.verbs.paging import fitting, page_of_names, read_place, write_place

_COUNTED_MAX = 10_000
_ENTITIES_DEFAULT = 100
# Namespaces of what runs the house; shown only to whoever asks for them.
_SYSTEM = ("dt/", "db/", "db.type/", "auth/", "pack/", "prompt/", "workflow/")
# Of these there may be many: they are not even looked at.
_PASSED_OVER = (
    "dt/Class",
    "dt/Property",
    "workflow/Definition",
    "workflow/State",
    "workflow/Transition",
    "workflow/Process",
    "workflow/History",
)

_Definitions: TypeAlias = dict[str, dict[str, Any]]


class Classes(Answer, frozen=True, kw_only=True):
    """Class idents, sorted."""

    classes: list[str]
    cursor: str | None = None


class Properties(Answer, frozen=True, kw_only=True):
    """Property idents, sorted."""

    properties: list[str]
    cursor: str | None = None


class Datatypes(Answer, frozen=True, kw_only=True):
    """The value types that a property may have as its range."""

    datatypes: list[str]
    cursor: str | None = None


class EntitiesArguments(PagedAsOf, frozen=True, kw_only=True):
    """Which classes to look at."""

    classes: Annotated[list[str], Meta(description="default: all but the system's")] = (
        msgspec.field(default_factory=list)
    )


class Entities(Answer, frozen=True, kw_only=True):
    """Entities by their own class; the totals come with the first page."""

    by_class: dict[str, list[Reference]]
    total_classes: int
    total_entities: int | None = None
    total_is_partial: bool = False
    cursor: str | None = None


class DefineArguments(Writing, frozen=True, kw_only=True):
    """Definitions by ident."""

    properties: Annotated[
        _Definitions,
        Meta(
            description="{ns/name: {dt/range: db.type/string or class, dt/required?, dt/indexed?, "
            "dt/default, dt/one-of, dt/pattern, dt/min, dt/max, db/unique: identity, db/doc}}"
        ),
    ] = msgspec.field(default_factory=dict)
    classes: Annotated[
        _Definitions,
        Meta(
            description="{ns/Name: {dt/slots: [property], dt/subclass-of: [class], dt/abstract?, "
            "db/doc}}"
        ),
    ] = msgspec.field(default_factory=dict)


class Defined(Answer, frozen=True, kw_only=True):
    """What became of one definition."""

    entity_id: int
    ident: str | None
    created: bool
    changed: bool


class DefineAnswer(Answer, frozen=True, kw_only=True):
    """What became of each definition, in the order given: properties, then classes."""

    defined: list[Defined]
    receipt: Receipt
    replayed: bool = False


def classes(context: Context, arguments: PagedAsOf) -> Classes:
    """List the classes."""
    names = context.db.schema(moment(arguments.as_of)).classes()
    question = ("schema.classes", arguments.as_of)
    page, cursor = page_of_names(names, arguments.limit, arguments.cursor, *question)
    return Classes(classes=page, cursor=cursor)


def properties(context: Context, arguments: PagedAsOf) -> Properties:
    """List the properties."""
    names = context.db.schema(moment(arguments.as_of)).properties()
    question = ("schema.properties", arguments.as_of)
    page, cursor = page_of_names(names, arguments.limit, arguments.cursor, *question)
    return Properties(properties=page, cursor=cursor)


def datatypes(context: Context, arguments: PagedAsOf) -> Datatypes:
    """List the value types."""
    names = context.db.schema(moment(arguments.as_of)).datatypes()
    question = ("schema.datatypes", arguments.as_of)
    page, cursor = page_of_names(names, arguments.limit, arguments.cursor, *question)
    return Datatypes(datatypes=page, cursor=cursor)


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: in which of the roots, and where in its query."""

    root: int
    cursor: str | None


class _Walk:
    """A walk over the instances of several classes, each entity once."""

    def __init__(self, context: Context, arguments: EntitiesArguments) -> None:
        self.db = context.db
        self.as_of = moment(arguments.as_of)
        self.schema: Introspection = self.db.schema(self.as_of)
        asked = self._asked(arguments.classes)
        self.is_default = not asked
        self.roots = ["dt/Resource"] if self.is_default else self._highest(asked)
        self.classes = self._concrete()
        known = self.schema.classes() if self.is_default else ()
        self._passed_over = [name for name in _PASSED_OVER if name in known]

    def _asked(self, names: list[str]) -> set[str]:
        try:
            return {self.schema.ident(name) for name in names}
        except Problem as problem:
            checks = {f"classes[{at}]": partial(self.schema.ident, n) for at, n in enumerate(names)}
            raise told_together(problem, checks) from problem

    def _highest(self, asked: set[str]) -> list[str]:
        """The classes that do not stand below another one that was asked for."""
        return sorted(name for name in asked if asked.isdisjoint(self.schema.ancestors(name)))

    def _concrete(self) -> dict[str, int]:
        """The classes to be shown, each with the first root that leads to it."""
        found: dict[str, int] = {}
        for number, root in enumerate(self.roots):
            for name in (root, *self.schema.subclasses(root)):
                if not self.schema.is_abstract(name) and not self._is_hidden(name):
                    found.setdefault(name, number)
        return found

    def _is_hidden(self, name: str) -> bool:
        return self.is_default and name.startswith(_SYSTEM)

    def page(self, place: _Place, limit: int) -> tuple[list[Entity], _Place | None]:
        """Entities from a place on, and the place after them."""
        while place.root < len(self.roots):
            found = self.db.query(
                self.roots[place.root],
                fields=[],
                limit=limit,
                cursor=place.cursor,
                as_of=None if place.cursor else self.as_of,
                hidden=self._passed_over,
            )
            kept = [one for one in found.items if self.classes.get(one.class_) == place.root]
            if found.cursor is not None:
                place = _Place(place.root, found.cursor)
            else:
                place = _Place(place.root + 1, None)
            if kept:
                return kept, place if place.root < len(self.roots) else None
        return [], None

    def everything(self) -> Iterator[Entity]:
        """Every entity."""
        place: _Place | None = _Place(0, None)
        while place is not None:
            found, place = self.page(place, 1000)
            yield from found


def entities(context: Context, arguments: EntitiesArguments) -> Entities:
    """List entities by class."""
    walk = _Walk(context, arguments)
    first = arguments.cursor is None
    question = ("schema.entities", *walk.roots, arguments.as_of)
    start = _Place(0, None)
    if arguments.cursor is not None:
        start = read_place(arguments.cursor, _Place, *question)
    limit = arguments.limit or _ENTITIES_DEFAULT
    found, place = walk.page(start, limit)
    if arguments.limit is None and (room := fitting([reference_to(e) for e in found])) < len(found):
        found, place = walk.page(start, room)
    by_class: dict[str, list[Reference]] = {}
    for entity in found:
        by_class.setdefault(entity.class_, []).append(reference_to(entity))
    count = 0
    if first:
        count = sum(1 for _, _ in zip(range(_COUNTED_MAX + 1), walk.everything(), strict=False))
    return Entities(
        by_class=dict(sorted(by_class.items())),
        total_classes=len(walk.classes),
        total_entities=min(count, _COUNTED_MAX) if first else None,
        total_is_partial=count > _COUNTED_MAX,
        cursor=None if place is None else write_place(place, *question),
    )


def define(context: Context, arguments: DefineArguments) -> DefineAnswer:
    """Define properties and classes in one transaction."""
    if not arguments.properties and not arguments.classes:
        raise Incorrect(
            "define.malformed",
            "nothing is defined here",
            hint='for example {"properties": {"a/name": {"dt/range": "db.type/string"}}}',
        )
    written = context.db.define(
        arguments.properties,
        arguments.classes,
        reason=arguments.reason,
        idempotency_key=arguments.idempotency_key,
    )
    defined = [
        Defined(
            entity_id=outcome.entity_id,
            ident=outcome.ident,
            created=outcome.created,
            changed=outcome.changed,
        )
        for outcome in written.outcomes
    ]
    return DefineAnswer(defined=defined, receipt=written.receipt, replayed=written.replayed)


VERBS = (
    Verb(
        name="schema.classes",
        title="List classes",
        description="List every class of this workspace. class.describe tells all about one.",
        access="read",
        arguments=PagedAsOf,
        result=Classes,
        run=classes,
        is_core=True,
        examples=(Example("All classes", {}), Example("The first five", {"limit": 5})),
    ),
    Verb(
        name="schema.properties",
        title="List properties",
        description="List every property of the workspace by ident only. For the slots of one "
        "class, with ranges, use class.describe.",
        access="read",
        arguments=PagedAsOf,
        result=Properties,
        run=properties,
        examples=(Example("The first ten", {"limit": 10}),),
    ),
    Verb(
        name="schema.datatypes",
        title="List value types",
        description="List the value types that a property may have as its range.",
        access="read",
        arguments=PagedAsOf,
        result=Datatypes,
        run=datatypes,
        examples=(Example("All of them", {}),),
    ),
    Verb(
        name="schema.entities",
        title="List entities by class",
        description="List entities grouped by class, with totals. To filter, sort or read slots "
        "use entity.query.",
        access="read",
        arguments=EntitiesArguments,
        result=Entities,
        run=entities,
        examples=(
            Example("Everything but the system's own", {}),
            Example("Boots and sandals", {"classes": ["zorp/Boot", "zorp/Sandal"]}),
        ),
    ),
    Verb(
        name="schema.define",
        title="Define classes and properties",
        description="Create properties and classes in one transaction. Adding is for writers, "
        "changing what exists for admins; refused with a report if data would break. "
        "For several values db/cardinality: many.",
        access="write",
        arguments=DefineArguments,
        result=DefineAnswer,
        run=define,
        is_idempotent=True,
        is_destructive=True,
        examples=(
            Example(
                "A class with a required slot",
                {
                    "properties": {
                        "planet/name": {"dt/range": "db.type/string", "dt/required?": True}
                    },
                    "classes": {
                        "astro/Planet": {
                            "db/doc": "A wandering star.",
                            "dt/subclass-of": ["dt/Ref"],
                            "dt/slots": ["planet/name"],
                        }
                    },
                },
            ),
        ),
    ),
)
