from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.delivery.packing import CUT_REASON, estimate_tokens, pack
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Hit, Memory


def words(text: str) -> int:
    return len(text.split())


def hits(*texts: str) -> list[Hit]:
    return [Hit(memory=Memory(t, id=str(i), metadata={"n": i}), score=1 - i / 10) for i, t in enumerate(texts)]


def texts(kept: tuple[Hit, ...]) -> list[str]:
    return [h.memory.text for h in kept]


@pytest.mark.parametrize(
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
    assert pack(given_hits, None) == (tuple(given_hits), 0)


def test_best_first_until_the_budget_is_used() -> None:
    kept, dropped = pack(hits("a b", "c d", "e f"), 4, words)
    assert (texts(kept), dropped) == (["a b", "c d"], 1)


def test_what_does_not_fit_makes_room_for_smaller_ones_and_the_order_stays() -> None:
    kept, dropped = pack(hits("a b", "c d e f", "g", "h i"), 4, words)
    assert (texts(kept), dropped) == (["a b", "g"], 2)


def test_a_best_hit_that_is_too_long_yields_to_what_fits() -> None:
    kept, dropped = pack(hits("a b c d", "e f"), 3, words)
    assert (texts(kept), dropped) == (["e f"], 1)


def test_the_best_is_cut_if_nothing_fits() -> None:
    given_hits = hits("one two three four", "five six seven eight nine")
    kept, dropped = pack(given_hits, 3, words)
    assert (texts(kept), dropped) == (["one two three…"], 1)
    assert CUT_REASON in kept[0].reason
    assert (kept[0].memory.id, kept[0].memory.metadata, kept[0].score) == ("0", {"n": 0}, 1.0)
    assert given_hits[0].memory.text == "one two three four"


@pytest.mark.parametrize("budget", [0, 1])
def test_nothing_rather_than_too_much(budget: int) -> None:
    assert pack(hits("Donaudampfschifffahrtsgesellschaft"), budget) == ((), 1)


def test_withheld_texts_cost_nothing() -> None:
    from recall_integrations.privacy.redactor import apply

    blocked = [Hit(memory=apply(h.memory, "block"), score=h.score) for h in hits("a b c", "d")]
    assert pack(blocked, 0) == (tuple(blocked), 0)


def test_no_hits() -> None:
    assert pack([], 10) == ((), 0)


@pytest.mark.parametrize("budget", [-1, 1.5, "10", True])
def test_what_is_no_budget_is_refused(budget: object) -> None:
    with pytest.raises(InvalidArgument, match="tokens_max"):
        pack(hits("a"), budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [-1, 1.5, None, True])
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
    kept, dropped = pack(given_hits, budget, count)  # type: ignore[arg-type]
    assert sum(count(h.memory.text) for h in kept) <= budget  # type: ignore[operator]
    assert len(kept) + dropped == len(given_hits)
    ids = [h.memory.id for h in kept]
    assert ids == sorted(ids)  # type: ignore[type-var]
