"""Every example of every verb runs in a fresh workspace and is answered as the schema says."""

from __future__ import annotations

import jsonschema
import pytest

from sandbar.verbs import Example, Verb, base_catalogue
from tests.verbs.conftest import Call
from tests.verbs.placeholders import filled

VERBS = list(base_catalogue())
EXAMPLES = [(verb, example) for verb in VERBS for example in verb.examples]


@pytest.mark.parametrize(
    ("verb", "example"), EXAMPLES, ids=[f"{v.name}: {e.title}" for v, e in EXAMPLES]
)
def test_examples_work_as_printed(call: Call, verb: Verb, example: Example) -> None:
    jsonschema.validate(example.arguments, verb.takes)
    answers = verb.gives
    assert answers is not None
    arguments = filled(call, example.arguments)
    for name in (verb.name, verb.dotted, verb.portable):
        if name == verb.name or verb.access == "read":
            jsonschema.validate(call(name, arguments), closed(answers))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_an_example(verb: Verb) -> None:
    assert verb.examples


def closed(schema: dict[str, object]) -> dict[str, object]:
    """The schema of an answer, refusing whatever it does not mention."""
    return {**schema, "additionalProperties": False}


def test_an_answer_that_the_schema_does_not_know_is_caught() -> None:
    schema = VERBS[0].gives
    assert schema is not None
    for wrong in ({}, {"classes": [1]}, {"classes": [], "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, closed(schema))
