"""Signs that distinguish are words: "C++" is not "C#", -18 is not 18."""

from __future__ import annotations

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.text import content, stems, tokenize
from recall_integrations.text.analyser import is_signed, signs, unsigned, with_signs, words_with_signs
from recall_integrations.text.by_language import placed
from tests.rows import each_row


@each_row(
    ("text", "read"),
    [
        ("C++, C# and C++17; F♯ minor, B♭, g++, .NET, A* search", "c++ c# c++ f# b♭ g++ .net A a*"),
        ("O+ or O-, AB−, O–, HER2-, a Rh-.", "o+ o- ab- o- her2- rh-"),
        ("A+ or A-", "A a+ A a-"),
        ("-18 or −18 or –2.25, +1,75, -$5, UTC-5, minus 3", "-18 -18 -2.25 +1.75 -5 -5 -3"),
        ("👍🏽 ❤️ 🇫🇷 👩‍💻 ✅", "👍 ❤ 🇫🇷 👩 💻 ✅"),
        ("€5, 5 €, $5, 5 %, 18°, §3, ≤5", "€ € $ % ° § <"),
        ("#help and @sam", "#help @sam"),
        ("vitamin A, plan A.", "A A"),
        ("温度-18度，用C++写的，Ｃ＃", "-18 c++ c#"),
    ],
)
def test_what_is_read(text: str, read: str) -> None:
    assert [token.word for token in signs(text)] == read.split()


@each_row(
    "text",
    [
        "a well-known e-mail of 2023-2025, 10:00-12:00, pre- and postwar",
        "Haus- und Gartenarbeit, I- I was, 5日-18日",
        "- milk\n# Heading\n**bold** and *this*, a*b, 1+1, x - 3, --force",
        "me@example.org, issue#12, end.Next ... &#39; $HOME %s <b> ->",
        "A cat. I saw you in World War I!",
    ],
)
def test_what_is_no_sign(text: str) -> None:
    assert signs(text) == ()


def test_a_sign_stands_beside_its_plain_word_at_its_place() -> None:
    text = "Use C++ at -18.5 °C"
    read = with_signs(text, tokenize(text))
    assert [token.word for token in read] == "use c c++ at 18 5 -18.5 ° c".split()
    assert [text[t.start : t.end] for t in read if is_signed(t.word)] == ["C++", "-18.5", "°"]
    assert words_with_signs(text) == [token.word for token in read]
    assert content(text) == [p.token.word for p in placed(text)] and "c++" in stems(text)


def test_what_a_signed_word_is_not() -> None:
    assert [unsigned(word) for word in ("c++", "-18", "a-", "+18", "#help", "$")] == [
        ["c"],
        ["18"],
        ["a", "A"],
        [],
        [],
        [],
    ]


@each_row(
    ("query", "right", "others"),
    [
        ("who has blood type O+?", "My partner's blood group is O+.", ["My blood group is O-."]),
        ("C++ tips", "A tip for C++: use RAII.", ["A tip for C: check pointers.", "A tip for C#: use LINQ."]),
        ("C tips", "A tip for C: check pointers.", ["A tip for C++: use RAII.", "A tip for C#: use LINQ."]),
        ("where was it −18 °C?", "In Oslo it was -18 °C.", ["In Bern it was 18 °C."]),
        ("where was it 18 °C?", "In Bern it was 18 °C.", ["In Oslo it was -18 °C."]),
        ("who reacted with 👎?", "Kim reacted with 👎 to the plan.", ["Tim reacted with 👍🏽 to the plan."]),
        ("who has blood type A?", "Ben has blood type A+.", ["Ann has blood type B+."]),
        ("vitamin A dose", "My vitamin A dose is two drops.", ["My vitamin D dose is 20 drops."]),
        ("¿quién tiene sangre A+?", "Luis tiene sangre A+.", ["Ana tiene sangre A-."]),
        ("谁的血型是O+？", "她的血型是O+。", ["我的血型是O-。"]),
        ("من فصيلة دمه O+؟", "فصيلة دم سامي O+.", ["فصيلة دم أحمد O-."]),
    ],
)
def test_the_right_sign_comes_first(query: str, right: str, others: list[str]) -> None:
    for texts in ([right, *others], [*others, right]):
        with MemoryStore.open() as store:
            store.remember_many([Memory(text=text) for text in texts])
            first, second, *_ = QueryOptimizer(store).recall(query).hits
            assert first.memory.text == right
            assert first.score > second.score + 0.1


def test_without_its_sign_a_word_is_found_with_any() -> None:
    with MemoryStore.open() as store:
        store.remember_many(["My blood group is O-.", "Her blood group is O+.", "I like green tea."])
        hits = QueryOptimizer(store).recall("blood type O").hits
    assert {hit.memory.text for hit in hits[:2]} == {"My blood group is O-.", "Her blood group is O+."}


def test_a_highlight_holds_the_sign() -> None:
    with MemoryStore.open() as store:
        store.remember("The freezer is at -18 degrees, says @sam.")
        hit = QueryOptimizer(store).recall("did @sam set -18?").hits[0]
    assert {hit.memory.text[h.start : h.end] for h in hit.highlights} >= {"-18", "@sam"}


def test_nothing_of_a_hidden_number_stays_among_the_terms() -> None:
    with MemoryStore.open() as store:
        store.remember("Call me at +49 170 1234567 about the boat.")
        result = QueryOptimizer(store).recall("whose number is +49 170 1234567?", privacy="redact")
    assert not {"+49", "49", "170"} & set(result.query.terms)
