"""Words that no digit stands beside are cut without the long pattern; nothing changes by it."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.temporal import grammar, tokens
from recall_integrations.query.temporal.grammar import Context
from recall_integrations.query.temporal.parser import _grammar
from recall_integrations.query.temporal.tokens import tokenize

NOW = datetime(2024, 5, 15, 12, tzinfo=timezone.utc)
PIECES = (
    "FY 24|fy'24|cy 2024|FY|Q3|q3 2021|May5|5May|Dec31|june88|3pm|3 o'clock|'98|90s|the|don't|don't5|rock'5|dogs'|"
    "ab_c|a5|x@y.z|http://a.b|www.a|WWW.b|<a href|2024-05-03|12:30|3d ago|21st|İ|ſ|日本|will|they'll|going to|"
    "temperature|hot|é’s|’"
).split("|")
VOCABULARY = _grammar().vocabulary
TEXTS = st.one_of(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([" ", " ", "", "-", ", ", "\n"])), max_size=8).map(
        lambda parts: "".join(piece + gap for piece, gap in parts)
    ),
    st.text(alphabet="aFy5 '’_@.:/<w", max_size=20),
    st.text(max_size=30),
)


@given(TEXTS)
def test_nothing_changes(text: str) -> None:
    quick = tokenize(text, VOCABULARY, NOW), Context.of(text, NOW, 0, ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_PLAIN_WORD", re.compile(r"(?!)(x)"))
        patch.setattr(grammar, "_IN_MEASURES", ("",))
        slow = tokenize(text, VOCABULARY, NOW), Context.of(text, NOW, 0, ())
    assert repr(quick) == repr(slow)
