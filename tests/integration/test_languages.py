"""A store in one language, asked in it and in others; the plan says where they do not meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from recall_integrations import MemoryStore, QueryOptimizer

GERMAN = (
    "Anna hat gestern den Bericht an die Bank geschickt",
    "Der Arzt sagt, ich darf keine Erdnüsse mehr essen",
    "Wir haben das Haus am See für den Sommer gemietet",
    "Die Häuser in der Straße werden im Herbst gestrichen",
    "Mein Bruder spielt jeden Donnerstag Fußball mit Müller",
    "Das Auto steht seit Montag in der Werkstatt",
    "Im Garten wachsen Tomaten und Bohnen",
    "Ich habe den Zug nach Wien verpasst",
    "Unsere Katze schläft am liebsten auf dem Klavier",
    "Die Rechnung vom Zahnarzt ist noch nicht bezahlt",
)


@pytest.fixture
def german() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(GERMAN)
        yield QueryOptimizer(store)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Welches Haus haben wir gemietet?", 2),
        ("Was wächst im Garten?", 6),
        ("Wer hat die Berichte geschickt?", 0),  # "Berichte": another form
        ("Muller Fussball", 4),  # without umlaut, no language told: that of the scope
        ("Was darf ich nicht essen?", 1),
    ],
)
def test_asked_in_its_own_language(german: QueryOptimizer, query: str, place: int) -> None:
    result = german.recall(query)
    assert result.hits[0].memory.text == GERMAN[place]
    assert result.query.language == "de" and result.query.memories_in is None
    assert "close in meaning" not in result.hits[0].reason  # the bundled vectors know no German


def test_asked_in_another_language_the_plan_says_so_and_names_still_help(german: QueryOptimizer) -> None:
    result = german.recall("What did Anna send to the office?")
    assert result.hits[0].memory.text == GERMAN[0]
    assert result.query.memories_in == "de"
    assert "asked in English, while the memories are in German" in result.plan.reason


def test_a_scope_of_both_is_asked_in_either() -> None:
    english = [f"The {thing} is in the cellar" for thing in "bike ladder saw drill rope tent stove lamp kayak".split()]
    with MemoryStore.open() as store:
        store.remember_many([*GERMAN, *english])
        optimizer = QueryOptimizer(store)
        for query, text in (("Where is the kayak?", english[-1]), ("Was schläft auf dem Klavier?", GERMAN[8])):
            result = optimizer.recall(query)
            assert result.hits[0].memory.text == text
            assert result.query.memories_in is None
            assert "while the memories are" not in result.plan.reason


SUSHI = (
    "我和小明吃了寿司",
    "李雷的生日是八月九号",
    "小明的生日是六月三号",
    "韩梅梅昨天吃了寿司,很好吃",
    "我的猫叫豆豆",
)


@pytest.mark.parametrize(
    ("texts", "query", "left_out", "first"),
    [
        (SUSHI, "谁吃了寿司，除了小明", "小明", 3),
        (SUSHI, "除了小明，谁的生日是什么时候？", "小明", 1),
        (
            ("花子と寿司を食べました。", "健太と寿司を食べました。", "猫の名前はタマです。"),
            "花子以外で寿司を食べたのは誰ですか？",
            "花子",
            1,
        ),
        (
            ("Weber hat die Rechnung bezahlt", "Müller hat die Rechnung bezahlt", "Wir waren gestern im Kino"),
            "Wer hat die Rechnung bezahlt, außer Weber?",
            "Weber",
            1,
        ),
        (
            ("Annas Geburtstag ist im Mai", "Der Geburtstag von Ben ist im Juni", "Wir waren gestern im Kino"),
            "Wann sind die Geburtstage, außer von Anna?",
            "Anna",
            1,
        ),
    ],
)
def test_what_is_left_out_comes_last(texts: tuple[str, ...], query: str, left_out: str, first: int) -> None:
    with MemoryStore.open() as store:
        store.remember_many(texts)
        result = QueryOptimizer(store).recall(query)
        assert result.query.negations == (left_out,)
        assert result.hits[0].memory.text == texts[first]
        assert all(hit.score < 0.2 for hit in result.hits if left_out in hit.memory.text)


@pytest.mark.parametrize(
    "query", ["cat name?", "cat food", "a cat", "todo list", "crème brûlée recipe", "milk yesterday"]
)
def test_a_short_query_in_an_english_store_is_english(query: str) -> None:
    with MemoryStore.open() as store:
        store.remember_many([f"The {thing} is in the cellar" for thing in "cat bike saw drill rope tent stove".split()])
        parsed = QueryOptimizer(store).parse(query)
        assert (parsed.language, parsed.memories_in) == ("en", None)


def test_an_inflected_word_is_not_taken_for_a_misspelt_one() -> None:
    with MemoryStore.open() as store:
        store.remember_many(
            ["Das Auto wurde in die Werkstatt gebracht", "Mein Chef heißt Müller", "Der Geburtstag ist im Mai"]
        )
        optimizer = QueryOptimizer(store)
        for query in ("Was habe ich letzte Woche gemacht?", "Was weißt du über mich?"):
            assert optimizer.parse(query).corrections == ()
        assert [c.word for c in optimizer.parse("Wann ist der Gebutstag?").corrections] == ["gebutstag"]


def test_the_user_said_it_even_where_the_assistant_repeats_the_word() -> None:
    history = [
        HumanMessage("Hi, I am planning a dinner"),
        AIMessage("Sure, what do you like?"),
        HumanMessage("I'm allergic to peanuts and penicillin."),
        AIMessage("Thanks for telling me about your allergies! I'll keep them in mind."),
        HumanMessage("Find me a hotel in Rome"),
        AIMessage("I recommend Hotel Artemide, near Termini."),
    ]
    with MemoryStore.open() as store:
        store.remember_many(history, thread="chat")
        result = QueryOptimizer(store).recall("what did I tell you about my allergies?")
        assert result.hits[0].memory.text == history[2].content
        assert "the user said it" in result.hits[0].reason


ARABIC = (
    "أسكن في القاهرة منذ ثلاث سنوات",
    "عندي قط أسود اسمه فلفل",
    "اشتريت عدس وخبز من السوق",
    "السيارة في المرآب منذ يوم الجمعة",
    "صديقتي تعمل في مستشفى كبير",
    "نسافر إلى تونس في يناير",
)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("أين أسكن؟", 0),
        ("هل عندي قط؟", 1),
        ("عدس", 2),
        ("أين سيارتي؟", 3),
        ("من هي الصديقة؟", 4),
        ("ماذا في يناير؟", 5),
    ],
)
def test_arabic_words_of_content_are_found(query: str, place: int) -> None:
    with MemoryStore.open() as store:
        store.remember_many(ARABIC)
        assert QueryOptimizer(store).recall(query).hits[0].memory.text == ARABIC[place]
