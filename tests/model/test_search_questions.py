"""Searches as people ask: forms of words, what some of the words find, order, passages, bounds."""

from __future__ import annotations

import base64
import random
from typing import Any

import msgspec
import pytest

from sandbar import Database
from sandbar.errors import Problem
from sandbar.model import ranking, searching
from sandbar.model.cursors import Cursor, write_cursor
from sandbar.model.searching import ENOUGH, WINDOW
from sandbar.model.word_forms import forms_of
from sandbar.store.postgres import words as postgres_words
from tests.model.conftest import Place
from tests.model.shop import define, item


def best(db: Database, query: str, **more: Any) -> list[int]:
    """The ids that a search finds among the items, best first."""
    page = db.workspace.search(query, class_="shop/Item", **more)
    return [hit.entity.entity_id for hit in page.items]


def many(db: Database, texts: list[str]) -> list[int]:
    """An item for each text."""
    made = [{"op": "create", "class": "shop/Item", "slots": {"item/name": text}} for text in texts]
    return [outcome.entity_id for outcome in db.transact(made).outcomes]


def test_a_question_finds_who_has_most_of_it(shop: Database) -> None:
    queue = item(shop, "Jobs moved from Redis to a table", notes=["The queue lost batches."])
    other = item(shop, "Redis keeps the sessions")
    why = item(shop, "Why we did it for the others")
    assert best(shop, "why did we drop Redis for the queue?") == [queue, other]
    assert best(shop, "What's the session in Redis?") == [other]
    assert best(shop, "why did we") == [why]  # there is nothing else to go by
    assert best(shop, "why would we") == []  # and alone they say nothing


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("boot", "boots"), ("batteries", "battery"), ("boxes", "box"), ("planning", "planned"),
        ("hoped", "hoping"), ("merge", "merging"), ("failed", "failures"), ("rotate", "rotation"),
        ("migrations", "migrated"), ("deployment", "deploying"), ("chosen", "choice"),
        ("paid", "payments"), ("organise", "organization"), ("cancel", "cancelled"),
        ("testers", "test"), ("children", "child"), ("sign up", "signup"), ("e-mail", "email"),
    ],
)  # fmt: skip
def test_other_forms_of_a_word_are_found_but_not_in_quotes(
    shop: Database, asked: str, written: str
) -> None:
    one = item(shop, f"something {written} here")
    assert best(shop, asked) == [one]
    assert best(shop, f'"{asked}"') == []
    (hit,) = shop.workspace.search(asked, class_="shop/Item").items
    assert f"**{written}**" in hit.snippet


@pytest.mark.parametrize(
    ("asked", "written"),
    [("plan", "plane"), ("car", "care"), ("rat", "rate"), ("n7", "n7s"), ("us", "use"),
     ("rotation", "rot"), ("universe", "university")],
)  # fmt: skip
def test_other_words_are_not_forms(shop: Database, asked: str, written: str) -> None:
    item(shop, f"something {written} here")
    assert best(shop, asked) == []


def test_forms_are_few_and_begin_with_the_word() -> None:
    for word in ("deploy", "running", "invoices", "ß", "x1", "東", "a" * 40, "responsibilities"):
        forms = forms_of(word)
        assert next(iter(forms)) == word
        assert len(forms) <= 24
        assert forms[word] == max(forms.values())


def test_who_has_the_word_as_written_and_in_the_name_comes_first(shop: Database) -> None:
    form = item(shop, "about lamps")
    body = item(shop, "about it", notes=["there is a lamp"])
    name = item(shop, "about a lamp")
    assert best(shop, "lamp") == [name, form, body]


def test_words_side_by_side_come_first(shop: Database) -> None:
    apart = item(shop, "garden tools and a long plan for them")
    close = item(shop, "tools and a long plan for them garden plan"[22:])
    assert best(shop, "garden plan")[0] == close
    assert set(best(shop, "garden plan")) == {close, apart}


def test_beside_a_few_with_all_words_a_few_with_most_are_shown(shop: Database) -> None:
    both = many(shop, [f"amber walrus {n}" for n in range(2)])
    some = many(shop, [f"walrus {n}" for n in range(9)])
    more = many(shop, [f"amber {n}" for n in range(2)])
    found = best(shop, "amber walrus")
    assert set(found[:2]) == set(both)
    assert len(found) <= ENOUGH
    assert not set(found) & set(some)  # what many have says little
    assert set(found) <= {*both, *more}
    both += many(shop, [f"amber walrus {n}" for n in range(3)])
    assert sorted(best(shop, "amber walrus")) == both


def test_quotes_and_stars_must_be_found_whatever_else_is(shop: Database) -> None:
    one = item(shop, "red walrus")
    item(shop, "red fox")
    assert best(shop, 'big red "walrus"') == [one]
    assert best(shop, "big red walr*") == [one]
    assert best(shop, 'red "wolf"') == best(shop, "red wol*") == []


def test_common_words_count_if_they_are_all_there_is_or_shouted(shop: Database) -> None:
    band = item(shop, "The Who")
    office = item(shop, "Office in the US")
    item(shop, "Office in Rome")
    assert best(shop, "the who") == [band]
    assert best(shop, "US office")[0] == office
    assert len(best(shop, "us office")) == 2


def test_chinese_and_japanese_questions_find_by_pairs(shop: Database) -> None:
    tower = item(shop, "東京タワーの高さ")
    item(shop, "大阪の城")
    assert best(shop, "東京タワーはどこですか")[0] == tower


def test_a_snippet_shows_the_best_passage(shop: Database) -> None:
    far = " and so on " * 40
    item(shop, f"Redis is mentioned here.{far}We dropped Redis for the queue in March.{far}")
    (hit,) = shop.workspace.search("why drop Redis queue", class_="shop/Item").items
    assert "We **dropped** **Redis** for the **queue** in March" in hit.snippet


# --- pages, and what is bounded --------------------------------------------------------------


def _all_pages(db: Database, query: str, limit: int) -> list[int]:
    seen: list[int] = []
    cursor = None
    while True:
        page = db.workspace.search(query, class_="shop/Item", limit=limit, cursor=cursor)
        seen += [hit.entity.entity_id for hit in page.items]
        cursor = page.cursor
        if cursor is None:
            return seen


def test_pages_reach_everybody_who_has_all_words(shop: Database) -> None:
    made = many(shop, [f"lamp {'x ' * (n % 7)}" for n in range(WINDOW * 2 + 30)])
    for limit in (100, 70):
        seen = _all_pages(shop, "lamp", limit)
        assert len(seen) == len(set(seen))
        assert sorted(seen) == made
    assert _all_pages(shop, '"lamp"', 90) == seen


def test_pages_of_a_question_follow_each_other(shop: Database) -> None:
    many(shop, [f"{'amber ' * (n % 2)} walrus {'sleeps ' * (n % 3)} deep" for n in range(60)])
    question = "where does an amber walrus sleep deeply at night?"
    whole = best(shop, question, limit=100)
    assert len(whole) > 20
    assert _all_pages(shop, question, 7) == whole


def test_a_forged_cursor_does_no_harm(shop: Database) -> None:
    many(shop, ["lamp"] * 30)
    cursor = shop.workspace.search("lamp", limit=10).cursor
    assert cursor is not None
    state = shop.workspace.search("lamp", limit=10)
    for key in (b"\xff" * 8, b"\xff" * 99, b"\x01", b"\0" * 8):
        forged = _with_key(cursor, key)
        assert len(shop.workspace.search("lamp", limit=10, cursor=forged).items) <= 10
    assert state.cursor == cursor


def _with_key(word: str, key: bytes) -> str:
    cursor = msgspec.json.decode(
        base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)), type=Cursor
    )
    return write_cursor(msgspec.structs.replace(cursor, key=key))


def test_an_old_one_with_several_common_words_is_found(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index tells only of the youngest who have a common word; who has several is older."""
    for module in (searching, ranking):
        monkeypatch.setattr(module, "COUNTED_MAX", 20)
    old = many(shop, ["amber walrus sleeps"])
    many(shop, [f"{word} {n}" for n in range(40) for word in ("amber", "walrus", "sleeps", "deep")])
    assert best(shop, "deep in winter the amber walrus sleeps")[0] == old[0]
    assert best(shop, "amber walrus winter")[0] == old[0]


def test_what_is_too_long_to_be_weighed_is_found_all_the_same(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = many(shop, ["lamp " + "and " * 9000, *["lamp"] * 40])
    monkeypatch.setattr(searching, "_READ_CHARACTERS_MAX", 100)
    assert sorted(_all_pages(shop, "lamp", 30)) == made
    late = item(shop, "word " * 8000 + " zebra")
    assert best(shop, "zebra") == [late]


def test_who_is_hidden_changes_no_score_and_no_order(shop: Database) -> None:
    for n in range(6):
        item(shop, f"walrus {'amber ' * (n % 2)} {n}")
    query = "where is the amber walrus today, amber or not, sleeping deep?"

    def answer() -> list[tuple[int, float]]:
        page = shop.workspace.search(query, hidden_classes=["shop/Maker"])
        return [(hit.entity.entity_id, hit.score) for hit in page.items]

    before = answer()
    assert len(before) == 6
    for _ in range(12):
        shop.create("shop/Maker", {"maker/name": "amber walrus amber sleeping deep today"})
    assert answer() == before
    shown = shop.workspace.search(query)
    assert [hit.score for hit in shown.items[-6:]] != [score for _, score in before]  # the control


@pytest.mark.parametrize("small", [0, 10])
def test_both_stores_rank_the_same(
    pair: tuple[Place, Place], seed: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_words, "_SMALL", small)
    monkeypatch.setattr(searching, "COUNTED_MAX", 25)
    dice = random.Random(seed)
    words = ["plan", "plans", "planned", "boot", "boots", "queue", "redis", "deploy", "deployed",
             "failure", "fail", "mail", "garden"]  # fmt: skip
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 30))) for _ in range(150)]
    databases = []
    for place in pair:
        db = place.another()
        define(db)
        many(db, texts)
        databases.append(db)
    for _ in range(60):
        query = " ".join(dice.choices([*words, "the", "why", "zebra"], k=dice.randint(1, 7)))
        query += dice.choice(["", "?", ' "boot"', " bo*"])
        answers = []
        for db in databases:
            try:
                page = db.workspace.search(query, class_="shop/Item", limit=100)
            except Problem as problem:
                answers.append(problem.code)
                continue
            hits = [(hit.entity.entity_id, hit.score, hit.snippet) for hit in page.items]
            answers.append(repr((hits, page.cursor is None)))
        assert answers[0] == answers[1], query
