"""What a batch begins, against a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbar.store.begun import Begun
from sandbar.store.pieces import Pair

WS = 7
NAME, KIND = (5, b"name"), (6, b"kind")

_ids = st.integers(1, 3)
_pairs = st.tuples(st.integers(1, 2), st.sampled_from([b"a", b"b"]))
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), _ids, st.lists(_pairs, unique=True)),
        st.tuples(st.just("take back"), _ids, _pairs),
        st.tuples(st.just("ask"), _pairs),
    )
)


@given(_steps)
def test_it_is_a_dictionary(steps: list[tuple[object, ...]]) -> None:
    begun, model = Begun(), dict[tuple[Pair, int], int]()
    for t, step in enumerate(steps):
        match step:
            case ("begin", int(id), list(pairs)):
                new = [pair for pair in pairs if (pair, id) not in model]
                begun.begin(new, id, t)
                model.update({(pair, id): t for pair in new})
            case ("take back", int(id), (int(property), bytes(key))):
                assert begun.take_back((property, key), id) == model.pop(
                    ((property, key), id), None
                )
            case ("ask", (int(property), bytes(key))):
                holding = [id for pair, id in model if pair == (property, key)]
                assert sorted(begun.holders((property, key))) == sorted(holding)
    expected = [(WS, *pair, id, since) for (pair, id), since in model.items()]
    assert sorted(begun.rows(WS)) == sorted(expected)


def test_what_was_asked_for_and_what_came_after_are_both_written() -> None:
    begun = Begun()
    begun.begin([NAME, KIND], 1, 10)
    assert list(begun.holders(KIND)) == [1]
    begun.begin([KIND], 2, 11)
    assert begun.rows(WS) == [(WS, *NAME, 1, 10), (WS, *KIND, 1, 10), (WS, *KIND, 2, 11)]
    assert begun.take_back(KIND, 1) == 10
    assert list(begun.holders(KIND)) == [2]
