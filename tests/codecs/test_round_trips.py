"""parse(emit(x)) is x and emit(parse(t)) is t: every kind of value, every codec, hostile texts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbar.codecs import Codecs, emit_one
from sandbar.codecs.document_text import split_document
from sandbar.model import Introspection
from tests.codecs.catalog import KINDS
from tests.codecs.checking import FORMATS, check, entity, kept
from tests.codecs.values import HOSTILE, RAW, idents, json_values, names, texts

_KEYS = [
    "title",
    "name",
    "type",
    "class",
    "ident",
    "extra",
    "body",
    "size",
    "cited-by",
    "note/name",
]
_JSON = json_values.filter(lambda value: value is not None)

# Every day other examples are tried: a few each time go far. `make test-long` tries many at once.
of_every_format = pytest.mark.parametrize("format", FORMATS)
of_every_kind = pytest.mark.parametrize("kind", [*KINDS, "ref", "any"])


@of_every_format
@of_every_kind
@settings(max_examples=15)
@given(data=st.data())
def test_every_kind_survives(
    kind: str, format: str, schema: Introspection, codecs: Codecs, data: st.DataObject
) -> None:
    check_kind(kind, format, schema, codecs, data)


@pytest.mark.long
@of_every_format
@of_every_kind
@settings(max_examples=200)
@given(data=st.data())
def test_many_values_of_every_kind_survive(
    kind: str, format: str, schema: Introspection, codecs: Codecs, data: st.DataObject
) -> None:
    check_kind(kind, format, schema, codecs, data)


def check_kind(
    kind: str, format: str, schema: Introspection, codecs: Codecs, data: st.DataObject
) -> None:
    """A single value of the kind, and several."""
    slots = {
        f"one/{kind}": kept(schema, f"one/{kind}", data.draw(RAW[kind])),
        f"many/{kind}": kept(schema, f"many/{kind}", data.draw(st.lists(RAW[kind], max_size=4))),
    }
    check(codecs.named(format), schema, entity("kind/Every", slots))


@of_every_format
@settings(max_examples=30)
@given(data=st.data(), ident=st.none() | idents)
def test_several_kinds_together_survive(
    format: str, schema: Introspection, codecs: Codecs, data: st.DataObject, ident: str | None
) -> None:
    check_several(format, schema, codecs, data, ident)


@pytest.mark.long
@of_every_format
@settings(max_examples=500)
@given(data=st.data(), ident=st.none() | idents)
def test_several_kinds_together_survive_many_times(
    format: str, schema: Introspection, codecs: Codecs, data: st.DataObject, ident: str | None
) -> None:
    check_several(format, schema, codecs, data, ident)


def check_several(
    format: str, schema: Introspection, codecs: Codecs, data: st.DataObject, ident: str | None
) -> None:
    """Values of some kinds, with and without a name."""
    kinds = data.draw(st.lists(st.sampled_from(list(RAW)), unique=True, max_size=8))
    slots: dict[str, Any] = {
        f"one/{kind}": kept(schema, f"one/{kind}", data.draw(RAW[kind])) for kind in kinds
    }
    slots["db/ident"] = ident
    slots["db/doc"] = data.draw(st.none() | texts)
    check(codecs.named(format), schema, entity("kind/Every", slots))


_DOCUMENTS = st.fixed_dictionaries(
    {
        "note/name": texts,
        "note/body": st.none() | texts,
        "note/extra": st.none()
        | _JSON
        | st.dictionaries(
            st.sampled_from(_KEYS) | texts | names, json_values | st.just("note"), max_size=5
        ),
        "db/ident": st.none() | idents,
        "note/type": st.none() | st.sampled_from(["note", "card", "memory", "idea"]),
    }
)
_DOCUMENT_CLASSES = st.sampled_from(["book/Note", "book/Letter"])


@of_every_format
@settings(max_examples=50)
@given(class_=_DOCUMENT_CLASSES, slots=_DOCUMENTS)
def test_documents_with_body_rest_and_names_survive(
    format: str, schema: Introspection, codecs: Codecs, class_: str, slots: dict[str, Any]
) -> None:
    check(codecs.named(format), schema, entity(class_, slots))


@pytest.mark.long
@of_every_format
@settings(max_examples=1000)
@given(class_=_DOCUMENT_CLASSES, slots=_DOCUMENTS)
def test_many_documents_with_body_rest_and_names_survive(
    format: str, schema: Introspection, codecs: Codecs, class_: str, slots: dict[str, Any]
) -> None:
    check(codecs.named(format), schema, entity(class_, slots))


@of_every_format
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[1:30])
def test_hostile_texts_survive_everywhere(
    text: str, format: str, schema: Introspection, codecs: Codecs
) -> None:
    slots = {
        "note/name": text,
        "note/version": text,
        "note/body": text,
        "db/doc": text,
        "note/extra": {"kept": text, "deep": [text, {"x": text}], text: 1},
    }
    check(codecs.named(format), schema, entity("book/Note", slots))
    many = entity("kind/Every", {"many/string": [text], "many/json": [text], "one/tuple": [text]})
    check(codecs.named(format), schema, many)


@settings(max_examples=100)
@given(text=texts)
def test_other_readers_of_yaml_see_the_same_text(
    schema: Introspection, codecs: Codecs, text: str
) -> None:
    """A reader that guesses takes a text for a text: in a slot, in a list, as a key."""
    check_as_yaml(schema, codecs, text)


@pytest.mark.long
@settings(max_examples=2000)
@given(text=texts)
def test_other_readers_of_yaml_see_the_same_of_many_texts(
    schema: Introspection, codecs: Codecs, text: str
) -> None:
    check_as_yaml(schema, codecs, text)


def check_as_yaml(schema: Introspection, codecs: Codecs, text: str) -> None:
    """What another reader makes of the front matter."""
    rest = {"k": [text], "m": {text: text}}
    named = {"note/name": "x", "db/ident": "nb/x"}
    one = entity("book/Note", {**named, "note/version": text, "note/extra": rest})
    front = split_document(emit_one(codecs.named("markdown"), one, schema)).front_matter
    if "!json" not in front:  # a key was too long
        assert yaml.safe_load(front) == {"title": "x", **rest, "version": text}


@of_every_format
@pytest.mark.parametrize(
    "slots",
    [
        {"many/long": list(range(5000))},
        {"many/string": ["x" * 200_000, "y" * 200_000, "é\n" * 100_000]},
        {"many/ref": [f"a/{number}" for number in range(9999)]},
        {"one/json": [[[number]] for number in range(3000)]},
        {"one/json": {"x" * 2000: 1, "y": {"'" * 300: "'"}}},
        {"one/json": msgspec.json.decode("[" * 63 + "1" + "]" * 63)},
        {"one/string": "x" * (1 << 20), "db/doc": "\x01" * (1 << 15)},
        pytest.param({"db/doc": "\x01" * (1 << 19)}, marks=pytest.mark.long),
        {"one/json": {f"k{number}": number for number in range(20_000)}},
        {
            f"many/{kind}": ["1.5"] * 1 + [f"{n}.5" for n in range(900)]
            for kind in ("bigdec", "json")
        },
    ],
    ids=lambda slots: "+".join(slots),
)
def test_large_values_survive(
    slots: dict[str, Any], format: str, schema: Introspection, codecs: Codecs
) -> None:
    stored = {slot: kept(schema, slot, value) for slot, value in slots.items()}
    assert None not in stored.values()
    check(codecs.named(format), schema, entity("kind/Every", stored))


@of_every_format
def test_thousands_of_undeclared_keys_survive(
    format: str, schema: Introspection, codecs: Codecs
) -> None:
    rest = {f"key {number}": {"of": number} for number in range(3000)}
    check(codecs.named(format), schema, entity("book/Note", {"note/name": "x", "note/extra": rest}))


@of_every_format
def test_a_difference_would_be_seen(format: str, schema: Introspection, codecs: Codecs) -> None:
    class Forgetful:
        """A codec that loses a digit."""

        def __getattr__(self, name: str) -> Any:
            return getattr(codecs.named(format), name)

        def emit(self, entities: Any, schema: Any, *, with_class: bool = False) -> Any:
            for text in codecs.named(format).emit(entities, schema, with_class=with_class):
                yield text.replace("42", "4")

    broken: Any = Forgetful()
    with pytest.raises(AssertionError):
        check(broken, schema, entity("kind/Every", {"one/long": 42}))
