from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.delivery.packing import CUT_REASON, estimate_tokens, pack
from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.door import Door
from recall_integrations.types import Hit, Memory
from tests.rows import each_row


def words(text: str) -> int:
    return len(text.split())


def hits(*texts: str) -> list[Hit]:
    return [Hit(memory=Memory(t, id=str(i), metadata={"n": i}), score=1 - i / 10) for i, t in enumerate(texts)]


def texts(kept: tuple[Hit, ...]) -> list[str]:
    return [h.memory.text for h in kept]


@each_row(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("a", 1, 2),
        ("I prefer asynchronous updates over meetings.", 7, 14),
        ("word " * 300, 400, 400),
        ("x = {'a': [1, 2, 3], 'b': f(y)[0]}", 18, 30),
        ("会議は来週の火曜日", 9, 9),
        ("1234567890", 4, 4),
        ("party 🎉", 4, 6),
    ],
)
def test_the_estimate_is_about_right(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_no_budget_keeps_everything() -> None:
    given_hits = hits("a b", "c")
    assert pack(given_hits, None) == (tuple(given_hits), 0, False)


def test_best_first_until_the_budget_is_used() -> None:
    kept, dropped, _ = pack(hits("a b", "c d", "e f"), 4, words)
    assert (texts(kept), dropped) == (["a b", "c d"], 1)


def test_what_does_not_fit_makes_room_for_smaller_ones_and_the_order_stays() -> None:
    kept, dropped, _ = pack(hits("a b", "c d e f", "g", "h i"), 4, words)
    assert (texts(kept), dropped) == (["a b", "g"], 2)


def test_the_best_is_cut_and_not_skipped() -> None:
    kept, dropped, cut = pack(hits("a b c d", "e f"), 3, words)
    assert (texts(kept), dropped, cut) == (["a b c…"], 1, True)


def test_the_best_is_cut_at_a_word_if_no_sentence_fits() -> None:
    given_hits = hits("one two three four", "five six seven eight nine")
    kept, dropped, cut = pack(given_hits, 3, words)
    assert (texts(kept), dropped, cut) == (["one two three…"], 1, True)
    assert CUT_REASON in kept[0].reason
    assert (kept[0].memory.id, kept[0].memory.metadata, kept[0].score) == ("0", {"n": 0}, 1.0)
    assert given_hits[0].memory.text == "one two three four"


@each_row(
    ("text", "budget", "count", "cut"),
    [
        ("We met Dr. Lee on 3. March. She was late! Then we left", 8, words, "We met Dr. Lee on 3. March. …"),
        ("We paid 3.50 today, e.g. for tea. It was good. Really good", 8, words, "We paid 3.50 today, e.g. for tea. …"),
        ('He said "stop." Then he left. And came back', 4, words, 'He said "stop." …'),
        ("Der Zug kam um 8 Uhr. Danach war z. B. nichts los. Ende", 7, words, "Der Zug kam um 8 Uhr. …"),
        ("¿Dónde está? En la mesa. Gracias a todos", 3, words, "¿Dónde está? …"),
        ("Πού είναι; Στο τραπέζι. Ευχαριστώ πολύ όλους", 3, words, "Πού είναι; …"),
        ("क्या हुआ? ट्रेन देर से आई। फिर हम चले गए", 8, words, "क्या हुआ? ट्रेन देर से आई। …"),
        ("متى وصل؟ وصل أمس مساء. ثم غادر", 3, words, "متى وصل؟ …"),
        ("会议改到周二。地点不变。请带上报告", 9, len, "会议改到周二。 …"),
        ("会議は火曜日の午後に変わりました", 5, len, "会議は火…"),
        ("first line\nsecond line is longer", 4, words, "first line …"),
        ("รถไฟมาช้า", 7, len, "รถไฟมา…"),
        ("one; two; three", 2, words, "one; two;…"),
    ],
)
def test_sentences_end_as_their_language_ends_them(text: str, budget: int, count: object, cut: str) -> None:
    kept = pack(hits(text), budget, count).kept  # type: ignore[arg-type]
    assert texts(kept) == [cut]


def test_of_the_others_those_come_that_add_most_for_their_tokens() -> None:
    one, long, two, three = hits("a", "b c d e", "f g", "h i")
    scored = [one, *(replace(hit, score=s) for hit, s in ((long, 0.5), (two, 0.4), (three, 0.4)))]
    kept, dropped, cut = pack(scored, 5, words)
    assert (texts(kept), dropped, cut) == (["a", "f g", "h i"], 1, False)


def test_short_junk_does_not_take_the_place_of_what_is_relevant() -> None:
    one, long, junk = hits("a", "b c d e", "f")
    scored = [one, replace(long, score=0.8), replace(junk, score=0.3)]
    kept, _, _ = pack(scored, 5, words)
    assert texts(kept) == ["a", "b c d e"]


def test_what_cannot_be_cut_leaves_its_place_to_others() -> None:
    kept, dropped, cut = pack(hits("Donaudampfschifffahrtsgesellschaft", "a"), 2)
    assert (texts(kept), dropped, cut) == (["a"], 1, False)


@pytest.mark.parametrize("budget", [0, 1])
def test_nothing_rather_than_too_much(budget: int) -> None:
    assert pack(hits("Donaudampfschifffahrtsgesellschaft"), budget) == ((), 1, False)


def test_withheld_texts_cost_nothing() -> None:
    blocked = [Hit(memory=Door("block").memory(h.memory), score=h.score) for h in hits("a b c", "d")]
    assert pack(blocked, 0) == (tuple(blocked), 0, False)


def test_no_hits() -> None:
    assert pack([], 10) == ((), 0, False)


@each_row("budget", [-1, 1.5, "10", True])
def test_what_is_no_budget_is_refused(budget: object) -> None:
    with pytest.raises(InvalidArgument, match="tokens_max"):
        pack(hits("a"), budget)  # type: ignore[arg-type]


@each_row("answer", [-1, 1.5, None, True])
def test_a_counter_must_count(answer: object) -> None:
    with pytest.raises(InvalidArgument, match="counter"):
        pack(hits("a"), 5, lambda text: answer)  # type: ignore[arg-type, return-value]


@given(
    st.lists(
        st.text(min_size=1).filter(lambda t: t.strip() and not any("\ud800" <= c <= "\udfff" for c in t)), max_size=8
    ),
    st.integers(0, 60),
    st.sampled_from([words, estimate_tokens, len]),
)
def test_the_budget_is_never_exceeded(given_texts: list[str], budget: int, count: object) -> None:
    given_hits = hits(*given_texts)
    kept, dropped, _ = pack(given_hits, budget, count)  # type: ignore[arg-type]
    assert sum(count(h.memory.text) for h in kept) <= budget  # type: ignore[operator]
    assert len(kept) + dropped == len(given_hits)
    ids = [h.memory.id for h in kept]
    assert ids == sorted(ids)  # type: ignore[type-var]
