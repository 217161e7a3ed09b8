"""Which class a text is about: what it states, within what the caller wants."""

from __future__ import annotations

from sandbar.errors import Incorrect
from sandbar.model import Introspection
from sandbar.suggestions import did_you_mean


def class_of_type(schema: Introspection, word: str, class_: str | None) -> str | None:
    """The class that a `type` leads to: one that declares it, within the one that is wanted.

    A class inherits the types of its parent, so the highest one that has it is meant.
    """
    known = schema.derived("codec types", lambda: _types(schema)).get(word, ())
    found = [one for one in known if class_ is None or schema.is_kind(one, class_)]
    tops = [one for one in found if not any(schema.is_subclass(one, other) for other in found)]
    if len(tops) > 1:
        raise Incorrect(
            "codec.ambiguous-type",
            f"{word[:80]!r} is a type of {' and '.join(tops)}",
            hint=f"write class: {tops[0]}",
        )
    return tops[0] if tops else None


def is_type(schema: Introspection, word: object) -> bool:
    """Whether some class declares this type."""
    return isinstance(word, str) and word in schema.derived("codec types", lambda: _types(schema))


def stated_class(schema: Introspection, given: object, class_: str | None) -> str:
    """The class that a text names, which is the one that is wanted or stands below it."""
    known = schema.derived("codec classes", lambda: frozenset(schema.classes()))
    name = given.removeprefix(":") if isinstance(given, str) else str(given)
    if name not in known:
        near = did_you_mean(name, known)
        raise Incorrect(
            "codec.unknown-class",
            f"there is no class {name[:80]}",
            hint=near or "schema.classes lists them",
        )
    if class_ is not None and not schema.is_kind(name, class_):
        raise Incorrect(
            "codec.other-class",
            f"this is a {name}, not a {class_}",
            hint=f"name {class_} or a class below it, or leave it out",
        )
    return name


def wanted_class(class_: str | None, how: str) -> str:
    """The class that the caller wants, for a text that names none; `how` it could."""
    if class_ is None:
        raise Incorrect(
            "codec.no-class",
            "nothing says of which class this is",
            hint=f"give the class, or {how}",
        )
    return class_


def _types(schema: Introspection) -> dict[str, list[str]]:
    """Type to the classes that have it; abstract ones have no instances."""
    types: dict[str, list[str]] = {}
    for cls in schema.classes():
        if not schema.is_abstract(cls):
            for word in schema.document(cls).types:
                types.setdefault(word, []).append(cls)
    return types
