from __future__ import annotations

import string
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations import Hit, Memory
from recall_integrations.adapters.shapes import FIELDS, format_of
from recall_integrations.errors import InvalidArgument
from tests.rows import each_row

UTC = timezone.utc
WHEN = datetime(2026, 3, 12, 23, 30, tzinfo=UTC)


def hit(**fields: Any) -> Hit:
    return Hit(memory=Memory("We chose tea", id="m", **fields), score=0.5, reason="says: tea")


FULL = hit(actor="Priya", event_at=WHEN, created_at=WHEN + timedelta(days=9), metadata={"source": "wiki", "n": 3})


@each_row(
    ("given_format", "shown"),
    [
        ("text", "We chose tea"),
        ("dated", "[2026-03-12, Priya] We chose tea"),
        ("{text}", "We chose tea"),
        ("{actor}: {text}", "Priya: We chose tea"),
        ("{when:%d.%m.} {text} {score:.2f}", "12.03. We chose tea 0.50"),
        ("{{{type}}} {text} {metadata[source]}/{metadata[n]:>2}", "{observation} We chose tea wiki/ 3"),
        ("{text} ({reason}; {id}{thread}{position}{channel}{role})", "We chose tea (says: tea; m)"),
        ("{text} {metadata[none]:>10}{metadata[none]!r}", "We chose tea "),
    ],
)
def test_how_a_text_reads(given_format: str, shown: str) -> None:
    assert format_of(given_format)(FULL, UTC) == shown


@each_row(
    ("one", "shown"),
    [
        (hit(created_at=WHEN), "[2026-03-12] We chose tea"),
        (hit(actor="Sam"), "[Sam] We chose tea"),
        (hit(), "We chose tea"),
    ],
)
def test_what_is_not_known_is_left_out(one: Hit, shown: str) -> None:
    assert format_of("dated")(one, UTC) == shown
    assert format_of("{when:%H:%M}{event_at}{actor}{text}")(hit(), UTC) == "We chose tea"


def test_a_day_is_one_of_the_zone_and_the_calendar_may_end() -> None:
    assert format_of("dated")(FULL, ZoneInfo("Asia/Tokyo")) == "[2026-03-13, Priya] We chose tea"
    last = hit(event_at=datetime.max.replace(tzinfo=UTC))
    assert format_of("dated")(last, ZoneInfo("Asia/Tokyo")) == "[9999-12-31] We chose tea"


def test_a_value_that_a_template_cannot_write_costs_the_template_and_not_the_answer() -> None:
    assert format_of("{text} {metadata[source]:d}")(hit(metadata={"source": 7}), UTC) == "We chose tea 7"
    assert format_of("{text} {metadata[source]:d}")(FULL, UTC) == "We chose tea"


@each_row(
    ("wrong", "said"),
    [
        ("", "must hold {text}"),
        ("Dated", "must hold {text}"),
        ("{actor}", "must hold {text}"),
        ("{text", "cannot be read"),
        ("{text} {}", "no field ''"),
        ("{text} {speaker}", "no field 'speaker'"),
        ("{text.__class__}", "no field 'text.__class__'"),
        ("{text} {metadata.x}", "no field 'metadata.x'"),
        ("{text} {metadata[x].real}", "no field"),
        ("{text} {metadata}", "metadata.key"),
        ("{text:{score}}", "no field within another"),
        ("{text} {score:%d.%z}", "cannot be filled"),
        ("{text!x}", "cannot be filled"),
        (None, "must be text"),
        (3, "must be text"),
    ],
)
def test_a_template_is_checked_when_it_is_given(wrong: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said) as error:
        format_of(wrong)
    assert "fields are" in str(error.value)


@given(st.text(alphabet=string.ascii_lowercase + "{}[]!:.%", max_size=30))
def test_any_text_is_a_format_or_an_error_that_says_why(text: str) -> None:
    try:
        made = format_of(text)
    except InvalidArgument:
        return
    assert "We chose tea" in made(FULL, UTC)
    assert "We chose tea" in made(hit(), UTC)


def test_every_field_can_be_written() -> None:
    names = [name if name != "metadata" else "metadata[source]" for name in FIELDS]
    assert format_of("|".join(f"{{{name}}}" for name in names))(FULL, UTC).count("|") == len(FIELDS) - 1
