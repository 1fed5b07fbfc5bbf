"""Dates in every language: whatever the text, no exception, spans inside it, and a cost that grows with its length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from functools import cache

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from recall_integrations.languages import READ
from recall_integrations.query.temporal import parse_window
from recall_integrations.query.temporal.translation import reader
from tests.quick import examples

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)
MARKS = list(" .,/-'’:?!()《》、。\n")
MARKS += "1 3 12 31 2023 ２０２３ २०२३ ٣ 三 十 2023-05-08 8.5.2023 30.2.2023 99999999999".split()
languages = st.sampled_from([*READ, None, "ro"])


@cache
def words(code: str) -> list[str]:
    return [*reader(code).lexicon.symbols, *MARKS]


@st.composite
def phrases(draw: st.DrawFn) -> tuple[str, str]:
    code = draw(st.sampled_from(READ))
    joint = draw(st.sampled_from(["", " "]))
    return code, joint.join(draw(st.lists(st.sampled_from(words(code)), max_size=14)))


@settings(deadline=None, max_examples=examples(300))
@given(
    given_text=st.one_of(phrases(), st.tuples(languages, st.text(max_size=120))),
    now=st.datetimes(timezones=st.just(timezone.utc)),
    names=st.sets(st.sampled_from(["mai", "周一", "julio", "märz"]), max_size=2),
)
def test_every_text_has_an_answer(given_text: tuple[str | None, str], now: datetime, names: set[str]) -> None:
    code, text = given_text
    window = parse_window(text, now, names=names, language=code)
    event("a window" if window else "none")
    if window is None:
        return
    start, end = window.span
    assert 0 <= start <= end <= len(text)
    assert 0 < window.confidence <= 1
    if window.start is not None and window.end is not None:
        assert window.start < window.end
    assert window == parse_window(text, now, names=names, language=code)


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    ("code", "piece"),
    [
        *((code, "") for code in READ),  # words of the language
        ("zh", "天"),
        ("zh", "三月"),
        ("zh", "《"),
        ("zh", "十"),
        ("ko", "월"),
        ("ko", "가나다"),
        ("de", "am 3. "),
        ("de", "8.5."),
        ("fr", "l'"),
        ("es", "de la "),
        ("ru", "с "),
        (None, "2023-05-08 "),
        (None, "1."),
        ("de", "x@"),
        ("hi", "ि"),
    ],
)
def test_repeats_cost_in_proportion_to_their_length(code: str | None, piece: str, linear: Callable[..., None]) -> None:
    piece = piece or " ".join(words(str(code))[:40])
    linear(lambda text: parse_window(text, NOW, language=code), piece, whole=50_000)
