"""Full-text search: what is found, what is not, and what never can be."""

from __future__ import annotations

import random
import secrets
import sys
from typing import Any

import apsw
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import sandbar
from sandbar import Database, Problem
from sandbar.errors import Incorrect, Unsupported
from sandbar.model.searching import LIMIT_MAX
from sandbar.model.snippets import SNIPPET_CHARACTERS_MAX
from sandbar.model.words import WORD_TIMES_MAX
from tests.model.conftest import Place
from tests.model.shop import define, item
from tests.postgres_server import PostgresServer


def found(db: Database, query: str, **more: Any) -> list[int]:
    """The ids that a search finds, in order of id."""
    return sorted(hit.entity.entity_id for hit in db.workspace.search(query, **more).items)


def test_words_are_found_in_any_order_and_in_quotes_all_must_occur(shop: Database) -> None:
    moon = item(shop, "Moon boots, waterproof")
    sun = item(shop, "Sun boots")
    assert found(shop, "boots", class_="shop/Item") == [moon, sun]
    assert found(shop, "BOOTS moon") == [moon]
    assert found(shop, '"boots" "moon"') == [moon]
    assert found(shop, '"boots" "mars"') == []
    assert found(shop, '"boot"', class_="shop/Item") == []


def test_a_star_finds_beginnings_and_quotes_find_phrases(shop: Database) -> None:
    one = item(shop, "The quick brown fox")
    two = item(shop, "brown and quick")
    assert found(shop, "qui* bro*") == [one, two]
    assert found(shop, '"quick brown"') == [one]
    assert found(shop, '"quick bro"*') == [one]
    assert found(shop, '"brown quick"') == []
    assert found(shop, "quick-brown") == [one]  # as it stands in the text
    assert found(shop, "quick/bro*") == [one]


def test_a_phrase_does_not_reach_from_one_value_into_the_next(shop: Database) -> None:
    one = item(shop, "alpha", notes=["beta gamma", "delta"])
    assert found(shop, '"beta gamma"') == [one]
    assert found(shop, '"alpha beta"') == []
    assert found(shop, '"gamma delta"') == []
    assert found(shop, "alpha delta") == [one]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Crème brûlée", "creme BRULEE"),
        ("creme", "crème"),
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("ﬁne", "fine"),
        ("東京タワー", "京タ"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("x2y_z", '"x2y z"'),
        ("Ünïcödé", "unic*"),
        ("\U0001d400BC", "abc"),
    ],
)
def test_case_accents_and_forms_do_not_count(shop: Database, text: str, query: str) -> None:
    one = item(shop, text)
    assert found(shop, query) == [one]
    (hit,) = shop.workspace.search(query).items
    assert "**" in hit.snippet


def test_every_kind_of_text_is_found_and_nothing_else(db: Database) -> None:
    kinds = {"string": "apple", "keyword": "fruit/apple", "symbol": "apple", "uri": "urn:apple"}
    others = {"json": "apple", "tuple": ["apple"], "bytes": "YXBwbGU="}
    db.define(
        properties={f"k/{k}": {"dt/range": f"db.type/{k}"} for k in {**kinds, **others}}
        | {"k/secret": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"k/Thing": {"dt/slots": [f"k/{k}" for k in {**kinds, **others}] + ["k/secret"]}},
    )
    made = {k: db.create("k/Thing", {f"k/{k}": v}).entity_id for k, v in kinds.items()}
    for kind, value in others.items():
        db.create("k/Thing", {f"k/{kind}": value})
    named = db.create("k/Thing", {"db/ident": "my/apple"}).entity_id
    labelled = db.create("k/Thing", {"dt/label": "An apple"}).entity_id
    db.create("k/Thing", {"k/secret": "apple", "db/doc": "hush"})
    assert found(db, "apple") == sorted([*made.values(), named, labelled])
    (hushed,) = db.workspace.search("hush").items
    assert "apple" not in str(hushed)


def test_the_index_follows_every_write(shop: Database) -> None:
    one = item(shop, "primrose", tags=["t/red"])
    shop.update(one, {"item/name": "daisy"})
    assert (found(shop, "primrose"), found(shop, "daisy")) == ([], [one])
    shop.update(one, add={"item/tags": ["t/blue"]})
    assert found(shop, "daisy red blue") == [one]
    shop.update(one, {"item/stock": 3})
    assert found(shop, "blue") == [one]
    shop.delete(one)
    assert found(shop, "daisy") == found(shop, "blue") == []
    shop.transact([{"op": "restore", "entity": one}])
    assert found(shop, "daisy blue") == [one]


def test_a_refused_write_leaves_no_word(shop: Database) -> None:
    with pytest.raises(Problem):
        item(shop, "ghost", stock="many")
    assert found(shop, "ghost") == []


def test_classes_and_properties_are_found_too(shop: Database) -> None:
    hits = shop.workspace.search("shop/Boot").items
    assert [hit.entity.ident for hit in hits] == ["shop/Boot"]


def test_a_class_narrows_with_its_subclasses_and_hidden_ones_are_not_there(shop: Database) -> None:
    plain = item(shop, "yeti")
    boot = shop.create("shop/Boot", {"item/name": "yeti boot"}).entity_id
    maker = shop.create("shop/Maker", {"maker/name": "yeti"}).entity_id
    boot_class = shop.get("shop/Boot").entity_id
    assert found(shop, "yeti") == [plain, boot, maker]
    assert found(shop, "yeti", class_="shop/Item") == [plain, boot]
    assert found(shop, "yeti", class_="shop/Boot") == [boot]
    assert found(shop, "yeti", hidden_classes={"shop/Item"}) == [maker]
    assert found(shop, "yeti", hidden_classes={boot_class, "no/Such"}) == [plain, maker]
    assert found(shop, "yeti", class_="shop/Item", hidden_classes=["shop/Boot"]) == [plain]
    with pytest.raises(Problem) as caught:
        found(shop, "yeti", class_="shop/Bot")
    assert caught.value.code == "class.unknown"


def test_the_better_match_comes_first(shop: Database) -> None:
    long = item(shop, "moon " + "and other words " * 20)
    short = item(shop, "moon moon")
    scores = [(hit.entity.entity_id, hit.score) for hit in shop.workspace.search("moon").items]
    assert [id for id, _ in scores] == [short, long]
    assert scores[0][1] > scores[1][1] > 0


def test_pages_follow_each_other_without_repeating(shop: Database) -> None:
    made = [item(shop, f"lamp {'x ' * n}") for n in range(25)]
    seen: list[int] = []
    cursor = None
    while True:
        page = shop.workspace.search("lamp", limit=10, cursor=cursor)
        seen += [hit.entity.entity_id for hit in page.items]
        item(shop, "something else")  # whatever does not match does not disturb
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == made
    assert len(set(seen)) == 25
    first = shop.workspace.search("lamp", limit=10).cursor
    for query, more in (("lamps", {}), ("lamp", {"hidden_classes": {"shop/Boot"}})):
        with pytest.raises(Problem) as caught:
            shop.workspace.search(query, limit=10, cursor=first, **more)  # type: ignore[arg-type]
        assert caught.value.code == "cursor.other-query"


def test_a_snippet_shows_the_match_within_its_limit(shop: Database) -> None:
    item(shop, "lead " * 100 + "the golden needle lies here " + "tail " * 100)
    (hit,) = shop.workspace.search("needle golden").items
    assert "the **golden** **needle** lies here" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    item(shop, "w" * 500 + " pin " + "v" * 500)
    item(shop, "pin " * 300)
    for hit in shop.workspace.search("pin").items:
        assert "**pin**" in hit.snippet
        assert len(hit.snippet) <= SNIPPET_CHARACTERS_MAX
    long = "ab" * 150
    item(shop, long)
    (hit,) = shop.workspace.search(long).items
    assert len(hit.snippet) <= SNIPPET_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "search.no-words"),
        ("   ", "search.no-words"),
        ('*** ^ " () - : + {}', "search.no-words"),
        ('""', "search.no-words"),
        ("*", "search.no-words"),
        ("a" * 1001, "search.too-long"),
        ("x y " * 100, None),
        (" ".join(f"w{n}" for n in range(33)), "search.too-long"),
        ("a\0b", "value.nul"),
        ("a\ud800", "value.surrogate"),
        (None, "search.malformed"),
        (["moon"], "search.malformed"),
        ("AND OR NOT NEAR", None),
        ('words:"x" OR y', None),
        ("NEAR(a b, 5)", None),
        ("a' & 'b | !c:*D", None),
        ("\\ \\' %s ?1 $1", None),
        ('"unbalanced phrase', None),
        ("1_x 2_y", None),
        ("rank:1 -x ^y", None),
        ("😀 ☃ a", None),
    ],
)
def test_no_query_can_break_out(shop: Database, query: Any, code: str | None) -> None:
    item(shop, "plain")
    if code is None:
        assert found(shop, query, class_="shop/Item") == []
        return
    with pytest.raises(Incorrect) as caught:
        shop.workspace.search(query)
    assert (caught.value.code, bool(caught.value.hint)) == (code, True)


def test_hostile_words_are_found_as_they_are(shop: Database) -> None:
    for text in ("AND", "NEAR(x)", "words:zed", "it's", 'say "hi"', "50% off", "a\\b"):
        one = item(shop, f"{text} number{secrets.token_hex(4)}")
        assert one in found(shop, text), text


def test_limits_and_moments_are_checked(shop: Database) -> None:
    for limit in (0, LIMIT_MAX + 1, True, "5"):
        with pytest.raises(Incorrect) as caught:
            shop.workspace.search("x", limit=limit)  # type: ignore[arg-type]
        assert caught.value.code == "search.limit"
    with pytest.raises(Unsupported) as past:
        shop.workspace.search("x", as_of=1)
    assert past.value.code == "search.as-of"
    assert past.value.hint
    with pytest.raises(Incorrect) as cursor:
        shop.workspace.search("x", cursor="nonsense")
    assert cursor.value.code == "cursor.malformed"


def test_a_transaction_finds_its_own_words(shop: Database) -> None:
    def work() -> list[int]:
        made = shop.create("shop/Item", {"item/name": "inside job"}).entity_id
        assert found(shop, "inside") == [made]
        shop.update(made, {"item/name": "changed job"})
        assert found(shop, "inside") == []
        return [made]

    assert shop.run(work) == found(shop, '"changed"') != []


def test_workspaces_do_not_find_each_other(place: Place) -> None:
    one, two = place.another(), place.another(f"{place.workspace}-other")
    define(one)
    define(two)
    mine = item(one, "treasure map")
    assert found(one, "treasure") == found(one, "trea*") == [mine]
    assert found(two, "treasure") == found(two, "trea*") == []


def test_a_slot_that_becomes_text_is_found_from_then_on(db: Database) -> None:
    db.define(
        properties={"j/any": {"dt/range": "db.type/json"}}, classes={"j/J": {"dt/slots": ["j/any"]}}
    )
    one = db.create("j/J", {"j/any": "walrus"}).entity_id
    assert found(db, "walrus") == []
    db.define(properties={"j/any": {"dt/range": "db.type/string"}})
    assert found(db, "walrus") == [one]
    db.define(properties={"j/any": {"dt/range": "db.type/json"}})
    assert found(db, "walrus") == []


def test_large_texts_are_bounded_and_alike(pair: tuple[Place, Place]) -> None:
    answers = []
    for place in pair:
        db = place.another()
        define(db)
        often = item(db, "echo " * (WORD_TIMES_MAX + 10) + "final word")
        late = item(db, " ".join(f"n{n}" for n in range(10_500)))
        huge = item(db, "é" * 400_000 + " tiny")
        queries = ['"echo final"', "final", "n9999", "n10400", "tiny", "é" * 300]
        answers.append([found(db, query) for query in queries])
        assert answers[-1][:3] == [[], [often], [late]]
        assert answers[-1][3:] == [[], [huge], [huge]]
    assert answers[0] == answers[1]


def test_both_stores_find_the_same(pair: tuple[Place, Place]) -> None:
    seed = secrets.randbits(32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    pieces = ["moon", "Moons", "boot", "böot", "x-y", "x_y", "x y", "a/b.c", "42", "4,2", "日本",
              "本", "ﬀ", "ff", "I", "ı", "İ", "ß", "ss", "'", '"', "🙂", "\u200d", "Ⅷ", "½",
              "e\u0301", "é", "ก็", "한국", "Ω", "\u00ad", "\ufeff", "a\u0345", "ſ"]  # fmt: skip
    texts = [" ".join(dice.choices(pieces, k=dice.randint(1, 6))) for _ in range(120)]
    texts += ["".join(dice.choices(pieces, k=4)) for _ in range(60)]
    texts += ["".join(chr(_any_character(dice)) for _ in range(6)) for _ in range(60)]
    databases = []
    for place in pair:
        db = place.another()
        define(db)
        operations = [
            {"op": "create", "class": "shop/Item", "slots": {"item/name": t}} for t in texts
        ]
        db.transact(operations)
        databases.append(db)
    matches = 0
    for _ in range(250):
        query = _query(dice, texts)
        answers = [_found_or_code(db, query) for db in databases]
        assert answers[0] == answers[1], (seed, query)
        matches += isinstance(answers[0], list) and len(answers[0]) > 0
    assert matches > 50


def _any_character(dice: random.Random) -> int:
    while True:
        code = dice.choice([dice.randrange(1, 0x3000), dice.randrange(1, 0x20000)])
        if not 0xD800 <= code < 0xE000:
            return code


def _query(dice: random.Random, texts: list[str]) -> str:
    text = dice.choice(texts)
    start = dice.randrange(len(text))
    cut = text[start : start + dice.randint(1, 8)]
    return dice.choice(
        [cut, f'"{cut}"', f"{cut}*", " ".join(dice.sample(text.split() or ["x"], 1))]
    )


def _found_or_code(db: Database, query: str) -> Any:
    try:
        return found(db, query, limit=100)
    except Problem as problem:
        return problem.code


def test_the_difference_would_be_seen(pair: tuple[Place, Place]) -> None:
    """Negative control: one document more, and the stores no longer agree."""
    answers = []
    for place, text in zip(pair, ["moon", "sun"], strict=True):
        db = place.another()
        define(db)
        item(db, text)
        answers.append(_found_or_code(db, "moon"))
    assert answers[0] != answers[1]


def test_a_database_from_before_is_indexed_when_it_is_opened(
    place: Place, postgres_server: PostgresServer
) -> None:
    db = place.open()
    define(db)
    made = [item(db, f"old thing {n}") for n in range(1203)]
    db.close()
    _forget_index(place, postgres_server)
    with place.open() as again:
        assert found(again, "old 7 thing") == [made[7]]
        assert found(again, "thing 1202") == [made[1202]]
        again.update(made[7], {"item/name": "renewed"})
        assert found(again, '"old" "7" "thing"') == []


def _forget_index(place: Place, server: PostgresServer) -> None:
    """Make the database as it is after the migration: an empty index, nothing built."""
    if place.dialect == "sqlite":
        file = apsw.Connection(place.address)
        file.execute("DELETE FROM search WHERE rowid > 0")
        file.execute("INSERT INTO owed SELECT ws, 'index', 0, 0, 0, 0 FROM workspace")
        file.close()
        return
    name = str(conninfo_to_dict(place.address)["dbname"])
    with psycopg.connect(server.url_of(name)) as admin:
        mine = "(SELECT ws FROM sandbar.workspace WHERE name = %s)"
        admin.execute(f"DELETE FROM sandbar.search WHERE ws = {mine}", (place.workspace,))
        owed = f"INSERT INTO sandbar.owed VALUES ({mine}, 'index', 0, 0, 0, 0)"
        admin.execute(owed, (place.workspace,))


def test_a_search_of_a_half_built_index_says_so(
    place: Place, postgres_server: PostgresServer
) -> None:
    db = place.another()
    define(db)
    _forget_index(place, postgres_server)
    with pytest.raises(sandbar.Problem) as caught:
        db.workspace.search("thing")
    assert caught.value.code == "search.building"
