"""`class.*`: one class, its slots, its relatives and its instances."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sandbar.model import Walk
from sandbar.patience import check as check_patience
from sandbar.verbs.answers import Answer, Reference
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import AsOf, ClassName, PagedAsOf, moment
from sandbar.verbs.paging import fitting, page_of_entities, page_of_names

_SUBCLASSES_SHOWN = 100
_CHECKED_AT_ONCE = 200
_BROKEN_SHOWN = 20

Projection = Annotated[Literal["metadata-only", "full"], Meta(description="full: with their slots")]


class ClassArguments(Arguments, frozen=True, kw_only=True):
    """The class in question."""

    class_: ClassName = msgspec.field(name="class")
    as_of: AsOf = None


class ClassNow(Arguments, frozen=True, kw_only=True):
    """The class in question, as it is."""

    class_: ClassName = msgspec.field(name="class")


class ClassPage(PagedAsOf, frozen=True, kw_only=True):
    """The class in question, and a page."""

    class_: ClassName = msgspec.field(name="class")


class InstancesArguments(ClassPage, frozen=True, kw_only=True):
    """The class in question, and how much to show of each instance."""

    projection: Projection = "metadata-only"


class Described(Answer, frozen=True, kw_only=True):
    """All that is known of a class."""

    class_: str = msgspec.field(name="class")
    doc: str | None
    label: str | None
    is_abstract: bool = msgspec.field(name="abstract?")
    parents: list[str]
    ancestors: list[str]
    subclasses: list[str]
    subclass_count: int
    slots: list[dict[str, Any]]
    validators: list[str]
    json_schema: dict[str, Any]


class SlotsAnswer(Answer, frozen=True, kw_only=True):
    """Slots of a class, sorted."""

    class_: str = msgspec.field(name="class")
    slots: list[str]
    cursor: str | None = None


class Subclasses(Answer, frozen=True, kw_only=True):
    """The classes below a class, sorted."""

    class_: str = msgspec.field(name="class")
    subclasses: list[str]
    cursor: str | None = None


class Parents(Answer, frozen=True, kw_only=True):
    """The classes above a class, sorted."""

    class_: str = msgspec.field(name="class")
    parents: list[str]
    ancestors: list[str]


class Instance(Reference, frozen=True, kw_only=True):
    """An instance; its slots only if they were asked for."""

    slots: dict[str, Any] | None = None


class Instances(Answer, frozen=True, kw_only=True):
    """A page of the instances of a class and its subclasses."""

    class_: str = msgspec.field(name="class")
    instances: list[Instance]
    cursor: str | None = None


class Broken(Reference, frozen=True, kw_only=True):
    """An instance that its class would refuse today."""

    errors: list[dict[str, Any]]


class Report(Answer, frozen=True, kw_only=True):
    """What a validation of all instances found."""

    checked: int
    valid: int
    invalid: int
    entities: list[Broken]


class ValidateAnswer(Answer, frozen=True, kw_only=True):
    """The report on a class."""

    class_: str = msgspec.field(name="class")
    report: Report


def describe(context: Context, arguments: ClassArguments) -> Described:
    """Everything about one class."""
    schema = context.db.schema(moment(arguments.as_of))
    facts = schema.describe(arguments.class_)
    return Described(
        class_=facts["class"],
        doc=facts["doc"],
        label=facts["label"],
        is_abstract=facts["abstract?"],
        parents=facts["parents"],
        ancestors=facts["ancestors"],
        subclasses=facts["subclasses"][:_SUBCLASSES_SHOWN],
        subclass_count=len(facts["subclasses"]),
        slots=facts["slots"],
        validators=facts["validators"],
        json_schema=schema.json_schema(arguments.class_),
    )


def slots(context: Context, arguments: ClassPage) -> SlotsAnswer:
    """All slots of a class."""
    schema = context.db.schema(moment(arguments.as_of))
    names = schema.slots(arguments.class_)
    return _slots("class.slots", schema.ident(arguments.class_), names, arguments)


def direct_slots(context: Context, arguments: ClassPage) -> SlotsAnswer:
    """The slots that a class adds."""
    schema = context.db.schema(moment(arguments.as_of))
    names = schema.direct_slots(arguments.class_)
    return _slots("class.direct-slots", schema.ident(arguments.class_), names, arguments)


def required_slots(context: Context, arguments: ClassPage) -> SlotsAnswer:
    """The slots that an instance must have."""
    schema = context.db.schema(moment(arguments.as_of))
    names = schema.required_slots(arguments.class_)
    return _slots("class.required-slots", schema.ident(arguments.class_), names, arguments)


def _slots(verb: str, cls: str, names: list[str], arguments: ClassPage) -> SlotsAnswer:
    question = (verb, cls, arguments.as_of)
    page, cursor = page_of_names(names, arguments.limit, arguments.cursor, *question)
    return SlotsAnswer(class_=cls, slots=page, cursor=cursor)


def subclasses(context: Context, arguments: ClassPage) -> Subclasses:
    """All classes below."""
    schema = context.db.schema(moment(arguments.as_of))
    names = schema.subclasses(arguments.class_)
    cls = schema.ident(arguments.class_)
    question = ("class.subclasses", cls, arguments.as_of)
    page, cursor = page_of_names(names, arguments.limit, arguments.cursor, *question)
    return Subclasses(class_=cls, subclasses=page, cursor=cursor)


def parents(context: Context, arguments: ClassArguments) -> Parents:
    """All classes above."""
    schema = context.db.schema(moment(arguments.as_of))
    return Parents(
        class_=schema.ident(arguments.class_),
        parents=schema.parents(arguments.class_),
        ancestors=schema.ancestors(arguments.class_),
    )


def instances(context: Context, arguments: InstancesArguments) -> Instances:
    """A page of instances."""
    as_of = moment(arguments.as_of)
    is_full = arguments.projection == "full"
    page = page_of_entities(
        lambda limit, at: context.db.query(
            arguments.class_,
            fields=None if is_full else [],
            limit=limit,
            cursor=arguments.cursor,
            as_of=at,
        ),
        arguments.limit,
        as_of,
    )
    return Instances(
        class_=context.db.schema(as_of).ident(arguments.class_),
        instances=[
            Instance(
                entity_id=one.entity_id,
                ident=one.ident,
                class_=one.class_,
                slots=one.slots if is_full else None,
            )
            for one in page.items
        ],
        cursor=page.cursor,
    )


def validate_all_instances(context: Context, arguments: ClassNow) -> ValidateAnswer:
    """Check every stored instance against its class as it is now."""
    total = context.db.instance_count(arguments.class_)
    checked = invalid = 0
    shown: list[Broken] = []
    walk: Walk | None = None
    while True:
        page = context.db.judged(arguments.class_, walk, limit=_CHECKED_AT_ONCE)
        checked, invalid = checked + page.checked, invalid + len(page.invalid)
        shown += [
            Broken(entity_id=one.entity_id, ident=one.ident, class_=one.class_, errors=one.errors)
            for one in page.invalid[: _BROKEN_SHOWN - len(shown)]
        ]
        context.progress(checked, max(total, checked), f"{checked} checked, {invalid} invalid")
        walk = page.rest
        if walk is None:
            break
        check_patience()
    report = Report(
        checked=checked,
        valid=checked - invalid,
        invalid=invalid,
        entities=shown[: fitting(shown)],
    )
    return ValidateAnswer(class_=context.db.schema().ident(arguments.class_), report=report)


VERBS = (
    Verb(
        name="class.describe",
        title="Describe a class",
        description="Everything about one class: doc, parents, subclasses, slots with range and "
        "cardinality, and the JSON Schema of an instance. Call it before entity.create.",
        access="read",
        arguments=ClassArguments,
        result=Described,
        run=describe,
        is_core=True,
        examples=(Example("A space boot", {"class": "zorp/SpaceBoot"}),),
    ),
    Verb(
        name="class.slots",
        title="List slots",
        description="List every slot of a class, inherited ones too. class.describe tells their "
        "ranges.",
        access="read",
        arguments=ClassPage,
        result=SlotsAnswer,
        run=slots,
        examples=(Example("Slots of a boot", {"class": "zorp/Boot"}),),
    ),
    Verb(
        name="class.direct-slots",
        title="List own slots",
        description="List the slots that a class adds to those of its parents. For all slots with "
        "their ranges use class.describe.",
        access="read",
        arguments=ClassPage,
        result=SlotsAnswer,
        run=direct_slots,
        examples=(Example("What a boot adds", {"class": "zorp/Boot"}),),
    ),
    Verb(
        name="class.required-slots",
        title="List required slots",
        description="List the slots that every instance of a class must have.",
        access="read",
        arguments=ClassPage,
        result=SlotsAnswer,
        run=required_slots,
        examples=(Example("What a boot needs", {"class": "zorp/Boot"}),),
    ),
    Verb(
        name="class.instances",
        title="List instances",
        description="List the instances of a class and its subclasses: ids and idents, with slots "
        "if projection is full. To filter, sort or choose slots use entity.query.",
        access="read",
        arguments=InstancesArguments,
        result=Instances,
        run=instances,
        examples=(
            Example("Boots", {"class": "zorp/Boot"}),
            Example("Two with slots", {"class": "zorp/Boot", "projection": "full", "limit": 2}),
        ),
    ),
    Verb(
        name="class.subclasses",
        title="List subclasses",
        description="List all classes below a class, e.g. the concrete ones of an abstract class "
        "to give to entity.create.",
        access="read",
        arguments=ClassPage,
        result=Subclasses,
        run=subclasses,
        examples=(Example("Kinds of footwear", {"class": "zorp/Footwear"}),),
    ),
    Verb(
        name="class.parents",
        title="List superclasses",
        description="List the direct parents and all ancestors of a class.",
        access="read",
        arguments=ClassArguments,
        result=Parents,
        run=parents,
        examples=(Example("Above a space boot", {"class": "zorp/SpaceBoot"}),),
    ),
    Verb(
        name="class.validate-all-instances",
        title="Validate all instances",
        description="Check every stored instance of a class against its definition and report "
        "what is wrong. For many of them use validation.start; before writing, entity.validate.",
        access="read",
        arguments=ClassNow,
        result=ValidateAnswer,
        run=validate_all_instances,
        is_long=True,
        examples=(Example("All footwear", {"class": "zorp/Footwear"}),),
    ),
)
