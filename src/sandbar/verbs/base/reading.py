"""`entity.find`, `entity.query`, `entity.validate`, `search.text`: entities as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.access import add_leads, lead_to
from sandbar.errors import NotFound, Problem
from sandbar.model import Create, Entity, Question, Search
from sandbar.verbs.answers import Answer, Reference
from sandbar.verbs.arguments import Arguments, told_together
from sandbar.verbs.base.documents import as_text
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.class_tools import slots_by_ident
from sandbar.verbs.context import Context
from sandbar.verbs.fields import (
    ENTITY_ALIASES,
    SLOT_ALIASES,
    AsOf,
    ClassName,
    Cursor,
    EntityName,
    PagedAsOf,
    Slots,
    moment,
)
from sandbar.verbs.paging import fitting, page_of_entities

_HITS_DEFAULT = 20
_HITS_MAX = 100
# Every order leaves several of these, all with the same words: whoever wants them names the class.
_RECORDS_OF_WORK = (
    "workflow/History",
    "workflow/Process",
    "workflow/State",
    "workflow/Transition",
)


class FindArguments(Arguments, frozen=True, kw_only=True):
    """Which entity, and when."""

    entity: EntityName
    as_of: AsOf = None
    format: Annotated[
        str | None, Meta(description="as a document: markdown, json; codec.list lists them")
    ] = None


class Found(Answer, frozen=True, kw_only=True):
    """The entity with its slots; or, if a format was named, with the document that states them."""

    entity: Entity
    source: str | None = None


class QueryArguments(PagedAsOf, frozen=True, kw_only=True):
    """Which entities, in which order, and what of them."""

    class_: ClassName = msgspec.field(name="class")
    where: Annotated[
        dict[str, Any] | None,
        Meta(
            description="{slot: value} or {slot: {op: value}}; ops = != < <= > >= in exists "
            "starts-with contains; {ref: {slot: value}} follows it; and, or: [filter], not: filter"
        ),
    ] = None
    order_by: Annotated[
        str | None,
        Meta(description="an indexed slot (class.describe shows indexed?), -slot for descending"),
    ] = None
    fields: Annotated[list[str] | None, Meta(description="only these slots")] = None


class Entities(Answer, frozen=True, kw_only=True):
    """A page of entities as of `t`."""

    entities: list[Entity]
    t: int
    cursor: str | None = None


class ValidateArguments(Arguments, frozen=True, kw_only=True):
    """A class, and the slots of a would-be instance."""

    class_: ClassName = msgspec.field(name="class")
    attributes: Slots = msgspec.field(default_factory=dict)


class Validity(Answer, frozen=True, kw_only=True):
    """Whether entity.create would accept it, and if not, everything that is wrong."""

    is_valid: bool = msgspec.field(name="valid?")
    errors: list[dict[str, Any]]


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """Words, and where to look for them."""

    query: Annotated[str, Meta(description="words or a question")]
    class_: Annotated[str | None, Meta(description="only its instances")] = msgspec.field(
        default=None, name="class"
    )
    limit: (
        Annotated[
            int,
            Meta(ge=1, le=_HITS_MAX, description=f"per page, 1 to {_HITS_MAX}"),
        ]
        | None
    ) = None
    cursor: Cursor = None


class Hit(Reference, frozen=True, kw_only=True):
    """An entity that has the words, best first."""

    snippet: str


class Hits(Answer, frozen=True, kw_only=True):
    """A page of hits."""

    hits: list[Hit]
    cursor: str | None = None


def find(context: Context, arguments: FindArguments) -> Found:
    """One entity."""
    as_of = arguments.as_of
    try:
        found = context.db.get(
            context.named(arguments.entity), as_of=None if as_of is None else moment(as_of)
        )
    except NotFound as problem:
        raise _deleted_or(problem, context, arguments) from problem
    if arguments.format is None:
        return Found(entity=found)
    schema = context.db.schema(None if as_of is None else moment(as_of))
    text = as_text(context, found, arguments.format, schema)
    return Found(entity=msgspec.structs.replace(found, slots={}), source=text)


def _deleted_or(problem: NotFound, context: Context, arguments: FindArguments) -> NotFound:
    """The same refusal; of an entity that was there it says how to get it back."""
    entity = context.named(arguments.entity)
    if arguments.as_of is not None:
        return _called_then(problem, context, entity, arguments.as_of)
    former = context.db.former(entity)
    if former is not None and former.is_living:
        return problem  # it has another name, which the turnstile adds
    try:
        first = context.db.history(entity, limit=1)
    except Problem:
        return problem  # it never was there, or is none of the caller's business
    if problem.code != "entity.unknown" or first[0].kind == "purged":
        return problem
    hint = "entity.restore brings it back; entity.history tells what it was"
    if former is not None:
        hint = lead_to(context.db, entity, former)
    return NotFound(
        problem.code, f"{problem.message}: it was deleted", hint=hint, data=problem.data
    )


def _called_then(problem: NotFound, context: Context, entity: Any, as_of: int | str) -> NotFound:
    """The same refusal; of an entity that had another name at a moment it says which."""
    try:
        now = context.db.get(entity)
        then = context.db.get(now.entity_id, as_of=moment(as_of))
    except Problem:
        return problem  # it was not there, or is none of the caller's business
    name = then.entity_id if then.ident is None else then.ident
    return NotFound(
        problem.code,
        f"{problem.message} at that moment",
        hint=f"it was called {name} then: use {then.entity_id}, which never changes",
        data=problem.data,
    )


def query(context: Context, arguments: QueryArguments) -> Entities:
    """A page of entities that satisfy a filter."""
    question = Question(
        arguments.class_,
        arguments.where,
        order_by=arguments.order_by,
        fields=arguments.fields,
        cursor=arguments.cursor,
    )
    try:
        page = page_of_entities(
            lambda limit, at: context.db.ask(question._replace(limit=limit, as_of=at)),
            arguments.limit,
            moment(arguments.as_of),
        )
    except Problem as problem:
        raise _beside_the_moment(problem, context, arguments) from problem
    return Entities(entities=page.items, t=page.t, cursor=page.cursor)


def _beside_the_moment(problem: Problem, context: Context, arguments: QueryArguments) -> Problem:
    """If the moment is wrong, the other arguments are looked at as of now, to tell it all."""
    look_then = partial(context.db.schema, moment(arguments.as_of))
    ask = partial(context.db.query, arguments.class_, limit=1)
    try:
        look_then()
    except Problem:
        checks: dict[str, Callable[[], object]] = {
            "as-of": look_then,
            "class": ask,
            "where": partial(ask, arguments.where),
            "order-by": partial(ask, order_by=arguments.order_by),
            "fields": partial(ask, fields=arguments.fields),
        }
        return told_together(problem, checks)
    return problem


def validate(context: Context, arguments: ValidateArguments) -> Validity:
    """Would entity.create accept this?"""
    schema = context.db.schema()
    cls = schema.ident(arguments.class_)
    slots = slots_by_ident(schema, cls, arguments.attributes)
    errors = context.db.validate([Create(class_=cls, slots=slots)])
    add_leads(context.db, errors)
    return Validity(is_valid=not errors, errors=errors)


def search(context: Context, arguments: SearchArguments) -> Hits:
    """A page of entities that have the words."""
    asked = Search(
        arguments.query,
        class_=arguments.class_,
        cursor=arguments.cursor,
        hidden=_left_out(context, arguments.class_),
    )
    page = _hits(context, asked._replace(limit=arguments.limit or _HITS_DEFAULT))
    if arguments.limit is None and (room := fitting(page.hits)) < len(page.hits):
        page = _hits(context, asked._replace(limit=room))
    return page


def _hits(context: Context, asked: Search) -> Hits:
    page = context.db.look_for(asked)
    hits = [
        Hit(
            entity_id=hit.entity.entity_id,
            ident=hit.entity.ident,
            class_=hit.entity.class_,
            snippet=hit.snippet,
        )
        for hit in page.items
    ]
    return Hits(hits=hits, cursor=page.cursor)


def _left_out(context: Context, class_: str | None) -> Sequence[str]:
    """The classes that a search does not look at, unless one of them is what it asks for."""
    if class_ is None:
        return _RECORDS_OF_WORK
    schema = context.db.schema()
    records = schema.derived("search.records", lambda: schema.below(_RECORDS_OF_WORK))
    return () if class_.removeprefix(":") in records else _RECORDS_OF_WORK


VERBS = (
    Verb(
        name="entity.find",
        title="Find an entity",
        description="Read one entity by id, ident or {unique slot: value}, now or in the past. "
        "If you only know what it says, use search.text or entity.query.",
        access="read",
        arguments=FindArguments,
        result=Found,
        run=find,
        aliases=ENTITY_ALIASES,
        is_core=True,
        is_point_read=True,
        examples=(Example("By ident", {"entity": "product/mud-lord"}),),
    ),
    Verb(
        name="entity.query",
        title="Query entities",
        description="Find entities of a class, subclasses included, by the values of slots; "
        "filtered, sorted and paged. For words in any text use search.text.",
        access="read",
        arguments=QueryArguments,
        result=Entities,
        run=query,
        is_core=True,
        examples=(
            Example(
                "Cheap footwear, cheapest first",
                {
                    "class": "zorp/Footwear",
                    "where": {"footwear/price": {"<": "100"}},
                    "order-by": "footwear/price",
                    "fields": ["footwear/name", "footwear/price"],
                },
            ),
            Example(
                "Through a reference: the classes right below footwear, but for one",
                {
                    "class": "dt/Class",
                    "where": {
                        "dt/subclass-of": {"db/ident": "zorp/Footwear"},
                        "not": {"db/ident": "zorp/Boot"},
                    },
                    "fields": ["db/ident"],
                },
            ),
        ),
    ),
    Verb(
        name="entity.validate",
        title="Validate values",
        description="Check values for a new instance of a class and report everything that is "
        "wrong, without writing. entity.create does the same and writes.",
        access="read",
        arguments=ValidateArguments,
        result=Validity,
        run=validate,
        aliases=SLOT_ALIASES,
        examples=(
            Example("A boot without a name", {"class": "zorp/Boot", "attributes": {}}),
            Example("A good one", {"class": "zorp/Boot", "attributes": {"footwear/name": "Ok"}}),
        ),
    ),
    Verb(
        name="search.text",
        title="Search text",
        description="Find entities by words in any of their texts, best first, with snippets. "
        "For exact values use entity.query.",
        access="read",
        arguments=SearchArguments,
        result=Hits,
        run=search,
        is_core=True,
        examples=(Example("Moon boots", {"query": "moon", "class": "zorp/Boot"}),),
    ),
)
