"""A store in one language, asked in it and in others; the plan says where they do not meet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.text import stems

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


TERSE = {
    language: notes.split("; ")
    for language, notes in {
        "de": "Zahnarzt gestern; Weber hat die Rechnung bezahlt; Miete überwiesen; Müller angerufen; "
        "Besprechung mit Anna; Besprechung mit Ben; Fahrrad repariert",
        "es": "Vendí la moto; reunión con Ana; reunión con Pablo; Pagué el alquiler; Llamé a mamá; Coche al taller",
        "fr": "Payé le loyer hier; Réunion avec Anne; Réunion avec Paul; Acheté du pain; Vendu la moto; "
        "Voiture au garage; Vélo réparé",
    }.items()
}


@pytest.mark.parametrize(
    ("language", "query", "dated", "left_out", "first"),
    [
        ("de", "Miete gestern", True, (), 2),
        ("de", "Besprechung außer Ben", False, ("Ben",), 4),
        ("es", "moto ayer", True, (), 0),
        ("es", "reunión sin Ana", False, ("Ana",), 2),
        ("fr", "loyer hier", True, (), 0),
        ("fr", "réunion sauf Paul", False, ("Paul",), 1),
    ],
)
def test_terse_notes_are_asked_in_their_language(
    language: str, query: str, dated: bool, left_out: tuple[str, ...], first: int
) -> None:
    with MemoryStore.open() as store:
        for text in TERSE[language]:
            store.remember(text)
        result = QueryOptimizer(store).recall(query)
        parsed = result.query
        assert (parsed.language, parsed.memories_in) == (language, None)
        assert (parsed.temporal_window is not None, parsed.negations) == (dated, left_out)
        assert result.hits[0].memory.text == TERSE[language][first]


def test_what_is_forgotten_no_longer_tells_the_language() -> None:
    english = [f"The {thing} is in the cellar" for thing in "bike saw drill rope tent stove".split()]
    with MemoryStore.open() as store:
        ids = store.remember_many(TERSE["es"])
        store.remember_many(english)
        optimizer = QueryOptimizer(store)
        assert optimizer.parse("reunión sin Ana").language == "en"  # half of both
        more = store.remember_many(
            ["Perdí las llaves", "Renové el pasaporte", "Devolví el libro", "Cita dentista martes"]
        )
        for memory_id in (*ids, *more):
            store.forget(memory_id)
        store.remember_many(TERSE["de"])
        assert optimizer.parse("reunión sin Ana").language == "en"


@pytest.mark.parametrize("query", ["bike yesterday", "hotel sin patio", "cat food", "Ana hier", "die cast model"])
def test_terse_notes_in_english_are_asked_in_english(query: str) -> None:
    notes = "Sold the bike; Dentist Tuesday; Milk, eggs; Call mom; Email Müller; El Sol tacos; Visa bill; Son soccer"
    with MemoryStore.open() as store:
        store.remember_many(notes.split("; "))
        parsed = QueryOptimizer(store).parse(query)
        assert (parsed.language, parsed.memories_in) == ("en", None)


@pytest.mark.parametrize(
    ("texts", "query", "language", "first"),
    [
        (
            ("Tôi thích uống cà phê sữa", "Chìa khóa ở trong ngăn kéo", "Con mèo tên là Mướp"),
            "Con mèo tên gì?",
            "vi",
            2,
        ),
        (("Tôi thích uống cà phê sữa", "Chìa khóa ở trong ngăn kéo", "Con mèo tên là Mướp"), "Tôi thích gì?", "vi", 0),
        (("กุญแจอยู่ในลิ้นชัก", "แมวของฉันชื่อมะลิ"), "แมวชื่ออะไร", "th", 1),
        (("Anahtar çekmecede", "Kedinin adı Pamuk", "Dün motosikleti sattım"), "Anahtar nerede?", "tr", 0),
        (("Τα κλειδιά είναι στο συρτάρι", "Η γάτα λέγεται Μίτσι"), "Πώς λέγεται η γάτα;", "el", 1),
    ],
)
def test_short_questions_to_a_tiny_store(texts: tuple[str, ...], query: str, language: str, first: int) -> None:
    with MemoryStore.open() as store:
        store.remember_many(texts)
        result = QueryOptimizer(store).recall(query)
        assert result.query.language == language
        assert result.hits[0].memory.text == texts[first]


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


NOW = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
ASKED_WHAT_WAS_DONE = [
    (
        "What did I do last Tuesday?",
        ("Swam two kilometres in the lake", "Dinner with Anna at the Thai place", "The dentist pulled a tooth"),
        ("I did the homework with Leo and did it well", "What I do at work is boring, I did nothing"),
    ),
    (
        "上周二我做了什么？",
        ("在湖里游泳两公里", "和安娜吃泰国菜", "牙医拔牙"),
        ("我做了作业", "我昨天做了蛋糕，不知道做了什么"),
    ),
    (
        "先週の火曜日に私は何をしましたか？",
        ("湖で2キロ泳いだ", "アンナとタイ料理の夕食", "歯医者で歯を抜いた"),
        ("私は宿題をしました", "何をしましたかと母に聞かれた"),
    ),
    (
        "지난주 화요일에 내가 뭐 했어?",
        ("호수에서 수영 2킬로미터", "안나와 태국 음식 저녁", "치과에서 이를 뽑음"),
        ("내가 숙제를 했어", "뭐 했어 라고 엄마가 물었다"),
    ),
    (
        "पिछले मंगलवार को मैंने क्या किया?",
        ("झील में दो किलोमीटर तैराकी", "अन्ना के साथ थाई भोजन", "दाँत निकलवाया"),
        ("मैंने गृहकार्य किया", "मैंने काम किया, क्या पता"),
    ),
    (
        "Was habe ich letzten Dienstag gemacht?",
        (
            "Zwei Kilometer im See geschwommen",
            "Abendessen mit Anna beim Thailänder",
            "Beim Zahnarzt einen Zahn gezogen",
        ),
        ("Ich habe die Hausaufgaben gemacht", "Sie hat einen Kuchen gemacht, und ich, was ich konnte"),
    ),
    (
        "¿Qué hice el martes pasado?",
        ("Nadé dos kilómetros en el lago", "Cena con Anna en el tailandés", "El dentista sacó una muela"),
        ("Hice los deberes con Leo", "Hice una tarta"),
    ),
    (
        "Qu'est-ce que j'ai fait mardi dernier ?",
        ("Nagé deux kilomètres dans le lac", "Dîner avec Anna au restaurant thaï", "Le dentiste arrache une dent"),
        ("J'ai fait les devoirs avec Léo", "J'ai fait un gâteau"),
    ),
    (
        "Che cosa ho fatto martedì scorso?",
        ("Nuotato due chilometri nel lago", "Cena con Anna al thailandese", "Il dentista ha tolto un dente"),
        ("Ho fatto i compiti con Leo", "Ho fatto una torta, cosa che amo"),
    ),
    (
        "O que eu fiz na terça passada?",
        ("Nadei dois quilômetros no lago", "Jantar com Anna no tailandês", "O dentista arrancou um dente"),
        ("Fiz a lição de casa com Leo", "Eu fiz um bolo"),
    ),
    (
        "Что я делал в прошлый вторник?",
        ("Проплыл два километра в озере", "Ужин с Анной в тайском ресторане", "Стоматолог удалил зуб"),
        ("Я делал уроки с Лёвой", "Я делал торт, что вышло плохо"),
    ),
]


@pytest.mark.parametrize(("query", "then", "else_"), ASKED_WHAT_WAS_DONE, ids=lambda v: v if type(v) is str else "")
def test_what_was_done_in_a_time_is_what_lies_in_it(query: str, then: tuple[str, ...], else_: tuple[str, ...]) -> None:
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store)
        window = optimizer.parse(query, now=NOW).temporal_window
        assert window is not None and window.start is not None
        inside, outside = window.start + timedelta(hours=10), window.start - timedelta(days=9)
        store.remember_many(Memory(text, event_at=inside) for text in then)
        store.remember_many(Memory(text, event_at=outside) for text in else_)
        result = optimizer.recall(query, now=NOW)
        terms = set(result.query.terms)
        assert not any(terms & set(stems(text, result.query.language)) for text in else_)
        assert {hit.memory.text for hit in result.hits[:3]} == set(then)


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("de", "Was ist gestern passiert?"),
        ("de", "Was war gestern los?"),
        ("es", "¿Qué pasó ayer?"),
        ("fr", "Que s'est-il passé hier ?"),
        ("it", "Che cosa è successo ieri?"),
        ("pt", "O que aconteceu ontem?"),
        ("ru", "Что случилось вчера?"),
        ("zh", "昨天发生了什么？"),
    ],
)
def test_what_happened_is_no_keyword(code: str, question: str) -> None:
    now = datetime(2026, 6, 10, 12, tzinfo=timezone.utc)
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store)
        parsed = optimizer.parse(question, now=now)
        optimizer.close()
    assert (parsed.language, parsed.terms) == (code, ())
    assert parsed.temporal_window is not None
