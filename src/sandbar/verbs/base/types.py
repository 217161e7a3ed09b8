"""`types.*` and `property.*`: small questions about kinds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from sandbar.errors import Problem
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments, told_together
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import ENTITY_ALIASES, AsOf, ClassName, EntityName, PropertyName, moment


class InstanceOfArguments(Arguments, frozen=True, kw_only=True):
    """An entity and a class."""

    entity: EntityName
    class_: ClassName = msgspec.field(name="class")
    as_of: AsOf = None


class InstanceOf(Answer, frozen=True, kw_only=True):
    """Whether the entity is of the class or of one below it."""

    class_: str = msgspec.field(name="class")
    entity: int | str
    is_instance: bool = msgspec.field(name="instance-of?")


class SubclassOfArguments(Arguments, frozen=True, kw_only=True):
    """Two classes."""

    parent: ClassName
    child: Annotated[str, Meta(description="class that may stand below it")]
    as_of: AsOf = None


class SubclassOf(Answer, frozen=True, kw_only=True):
    """Whether the child stands below the parent."""

    parent: str
    child: str
    is_subclass: bool = msgspec.field(name="subclass-of?")


class PropertyArguments(Arguments, frozen=True, kw_only=True):
    """The property in question."""

    property: PropertyName
    as_of: AsOf = None


class Domain(Answer, frozen=True, kw_only=True):
    """The classes that have the property as a slot of their own, sorted."""

    property: str
    domain: list[str]


class Range(Answer, frozen=True, kw_only=True):
    """A value type, or the class of the entities referred to."""

    property: str
    range: str


class Cardinality(Answer, frozen=True, kw_only=True):
    """`one` or `many`."""

    property: str
    cardinality: str


def instance_of(context: Context, arguments: InstanceOfArguments) -> InstanceOf:
    """Is this entity one of those?"""
    as_of = moment(arguments.as_of)
    schema = context.db.schema(as_of)
    find = partial(context.db.get, arguments.entity, as_of=as_of)
    try:
        cls, entity = schema.ident(arguments.class_), find()
    except Problem as problem:
        checks: dict[str, Callable[[], object]] = {
            "class": partial(schema.ident, arguments.class_),
            "entity": find,
        }
        raise told_together(problem, checks) from problem
    return InstanceOf(
        class_=cls,
        entity=entity.ident or entity.entity_id,
        is_instance=schema.is_kind(entity.class_, cls),
    )


def subclass_of(context: Context, arguments: SubclassOfArguments) -> SubclassOf:
    """Does this class stand below that one?"""
    schema = context.db.schema(moment(arguments.as_of))
    try:
        parent, child = schema.ident(arguments.parent), schema.ident(arguments.child)
    except Problem as problem:
        checks = {
            "parent": partial(schema.ident, arguments.parent),
            "child": partial(schema.ident, arguments.child),
        }
        raise told_together(problem, checks) from problem
    return SubclassOf(parent=parent, child=child, is_subclass=schema.is_subclass(child, parent))


def domain(context: Context, arguments: PropertyArguments) -> Domain:
    """Who has this slot?"""
    schema = context.db.schema(moment(arguments.as_of))
    name = schema.describe_property(arguments.property)["property"]
    return Domain(property=name, domain=schema.domain(name))


def range_(context: Context, arguments: PropertyArguments) -> Range:
    """What does this slot hold?"""
    schema = context.db.schema(moment(arguments.as_of))
    name = schema.describe_property(arguments.property)["property"]
    return Range(property=name, range=schema.range(name))


def cardinality(context: Context, arguments: PropertyArguments) -> Cardinality:
    """How many values does this slot hold?"""
    schema = context.db.schema(moment(arguments.as_of))
    name = schema.describe_property(arguments.property)["property"]
    return Cardinality(property=name, cardinality=schema.cardinality(name))


VERBS = (
    Verb(
        name="types.instance-of",
        title="Is it an instance?",
        description="Whether an entity is an instance of a class or of one below it.",
        access="read",
        arguments=InstanceOfArguments,
        result=InstanceOf,
        run=instance_of,
        aliases=ENTITY_ALIASES,
        examples=(
            Example(
                "A space boot is footwear",
                {"class": "zorp/Footwear", "entity": "product/hull-walker"},
            ),
        ),
    ),
    Verb(
        name="types.subclass-of",
        title="Is it a subclass?",
        description="Whether a class stands below another. class.parents lists all above it.",
        access="read",
        arguments=SubclassOfArguments,
        result=SubclassOf,
        run=subclass_of,
        examples=(Example("Boots", {"parent": "zorp/Footwear", "child": "zorp/Boot"}),),
    ),
    Verb(
        name="property.domain",
        title="Domain of a property",
        description="The classes that bring this property as a slot.",
        access="read",
        arguments=PropertyArguments,
        result=Domain,
        run=domain,
        examples=(Example("Who has a name", {"property": "footwear/name"}),),
    ),
    Verb(
        name="property.range",
        title="Range of a property",
        description="The value type of a property, or the class it refers to. class.describe "
        "tells this for every slot of a class at once.",
        access="read",
        arguments=PropertyArguments,
        result=Range,
        run=range_,
        examples=(Example("A price", {"property": "footwear/price"}),),
    ),
    Verb(
        name="property.cardinality",
        title="Cardinality of a property",
        description="Whether a property holds one value or many (a list). class.describe tells "
        "this and more for every slot of a class.",
        access="read",
        arguments=PropertyArguments,
        result=Cardinality,
        run=cardinality,
        examples=(Example("A colour", {"property": "footwear/color"}),),
    ),
)
