from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.features import KINDS, conversational, find_identifiers, router_mode

PIECES = st.sampled_from(
    "a Ab aB ABC 123 0x é 日 本 \ud800 \u0301 \x00 _ __ . .. / // \\ : :: # @ - -- ' ’ \" “ ” ‘ ` ( ) () [ ] { } , ; "
    "? ! = & + ~ $ http:// www. .com .py ABC-1 v2 e10 error status issue and/or".split(" ")
)
TEXTS = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=40).map("".join),
    st.lists(PIECES, max_size=40).map(" ".join),
)


@given(TEXTS)
def test_spans_point_at_the_identifiers_and_do_not_overlap(text: str) -> None:
    found = find_identifiers(text)
    for item in found:
        start, end = item.span
        assert text[start:end] == item.text == item.text.strip() != ""
    starts = [item.span[0] for item in found[1:]]
    assert all(item.span[1] <= start for item, start in zip(found, starts, strict=False))
    assert {item.kind for item in found} <= {"quoted", *(kind.name for kind in KINDS)}


@given(TEXTS, TEXTS)
def test_what_stands_on_another_line_changes_nothing_before_it(text: str, more: str) -> None:
    """Context reaches to the neighbouring words; a wall of ordinary ones shuts it out."""
    wall = " so we went on with it all " * 2
    before = find_identifiers(text + "\n" + wall)
    both = find_identifiers(text + "\n" + wall + "\n" + more)
    quoted = {"quoted", "url"}  # a quotation may reach across the wall
    end = len(text)
    assert [i for i in before if i.kind not in quoted] == [i for i in both if i.span[1] <= end and i.kind not in quoted]


@given(TEXTS)
def test_routing_takes_any_text(text: str) -> None:
    verdict = conversational(text, rare=lambda _: False)
    assert 0 <= verdict.domain_signal <= 1
    assert 0 <= verdict.stopword_ratio <= 1
    assert not (verdict.conversational and verdict.has_code)
    assert router_mode(text) == router_mode(text)
    assert router_mode(text).mode in ("knowledge", "neural", "hybrid")


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    "unit",
    [
        "a_",
        "a.",
        "aB",
        "a/",
        "1.",
        "::",
        "a@",
        '"a',
        "'a ",
        "“",
        "#1 ",
        "http://a ",
        "www.",
        "a-",
        "x=1&",
        "ABC-1/",
        "`a ",
        "a_b ",
        "1.2.3 ",
    ],
)
def test_long_texts_cost_in_proportion_to_their_length(unit: str, linear: Callable[..., None]) -> None:
    linear(router_mode, unit, whole=100_000)
    linear(lambda text: conversational(text, rare=lambda _: False), unit, whole=100_000)
