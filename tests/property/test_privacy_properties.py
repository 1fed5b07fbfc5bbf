from __future__ import annotations

import re
import string
from datetime import datetime
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.privacy.redactor import redact

WORDS = string.ascii_letters + string.digits
EMAILS = st.builds(
    lambda a, b, c: f"{a}@{b}.{c}",
    st.text(WORDS + "._+-", min_size=1, max_size=40),
    st.text(WORDS, min_size=1, max_size=20),
    st.text(string.ascii_lowercase, min_size=2, max_size=10),
)
SSNS = st.from_regex(r"[0-9]{3}-[0-9]{2}-[0-9]{4}", fullmatch=True)
EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")
SSN = re.compile(r"\b\d{3}-\d{2}-\d{4}\b", re.ASCII)
AWKWARD = st.text(alphabet="0123456789 -.:/@+()[]a€’“\u200b", max_size=60)


@given(st.one_of(st.text(), AWKWARD))
def test_any_text_is_taken_and_redacting_again_changes_nothing(text: str) -> None:
    once, count = redact(text)
    assert (count == 0) == (once == text)
    assert redact(once) == (once, 0)


@given(st.one_of(st.text(), AWKWARD), EMAILS, st.one_of(st.text(), AWKWARD))
def test_no_email_survives(before: str, email: str, after: str) -> None:
    assert not EMAIL.search(redact(f"{before} {email} {after}")[0])


@given(st.one_of(st.text(), AWKWARD), SSNS, st.one_of(st.text(), AWKWARD))
def test_no_ssn_survives(before: str, ssn: str, after: str) -> None:
    assert not SSN.search(redact(f"{before} {ssn} {after}")[0])


@given(st.datetimes(), st.uuids(), st.integers(0, 10**12 - 1))
@settings(max_examples=300)
def test_times_uuids_and_counts_stay(moment: datetime, uuid: UUID, number: int) -> None:
    for text in (moment.isoformat(), str(moment), f"on {moment}", str(uuid), f"id={uuid}", str(number), f"{number:,}"):
        assert redact(text) == (text, 0)


@given(st.lists(st.integers(0, 9), min_size=14, max_size=14), st.sampled_from("456"), st.sampled_from(["", " ", "-"]))
def test_no_card_survives(digits: list[int], first: str, separator: str) -> None:
    body = first + "".join(map(str, digits))
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(map(int, reversed(body))))
    number = body + str(-total % 10)
    written = separator.join(number[i : i + 4] for i in range(0, 16, 4))
    assert written not in redact(f"card {written}!")[0]
