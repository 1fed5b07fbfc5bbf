from __future__ import annotations

import itertools
import re
import string
from datetime import datetime
from uuid import UUID

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_integrations.privacy.normal import Plain
from recall_integrations.privacy.redactor import Redactor, find
from tests.planted.contexts import CONTEXTS, planted
from tests.planted.identifiers import KINDS, made
from tests.planted.leaks import left
from tests.quick import examples
from tests.redaction import redact

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
MOBILE = re.compile(r"1[3-9]\d{9}|[78]9\d{9}")  # of China, of Russia
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
@example(datetime(2000, 1, 1), UUID("df77dedb-1c58-ee08-d583-890ac61a2075"), 0)  # its end is an Estonian IBAN
@settings(max_examples=examples(300))
def test_times_uuids_and_counts_stay(moment: datetime, uuid: UUID, number: int) -> None:
    counts = () if MOBILE.fullmatch(str(number)) else (str(number),)
    for text in (moment.isoformat(), str(moment), f"on {moment}", str(uuid), f"id={uuid}", *counts, f"{number:,}"):
        assert redact(text) == (text, 0)


@given(st.lists(st.integers(0, 9), min_size=14, max_size=14), st.sampled_from("456"), st.sampled_from(["", " ", "-"]))
def test_no_card_survives(digits: list[int], first: str, separator: str) -> None:
    body = first + "".join(map(str, digits))
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(map(int, reversed(body))))
    number = body + str(-total % 10)
    written = separator.join(number[i : i + 4] for i in range(0, 16, 4))
    assert written not in redact(f"card {written}!")[0]


PLACEHOLDER = re.compile(r"\[(?:phone|email|card|iban|ssn|ip|secret|address|url|id)-[0-9]+\]")
IDENTIFIERS = st.sampled_from([(kind, name) for kind, makes in KINDS.items() for name in makes])
# Text of all sorts in which nothing is that belongs to an identifier.
AROUND = st.text(st.characters(exclude_categories=["Cs", "Nd", "Cf"], exclude_characters="-+.@/=_%&\\:"), max_size=40)
WRITTEN = st.text(alphabet="0123456789 -.:/@+()[]aA\t\u00a0\u2011\u200b%40&;nbspu\\0１２٣", max_size=60)


@given(IDENTIFIERS, st.integers(0, 10**6), st.sampled_from(CONTEXTS), AROUND, AROUND)
@settings(max_examples=examples(300))
def test_no_identifier_survives(
    identifier: tuple[str, str], number: int, context: str, before: str, after: str
) -> None:
    kind, name = identifier
    written, secret = made(name, KINDS[kind][name], number)
    around = f"{before} {context} {after}"
    out = Redactor().text(f"{before} {planted(context, written)} {after}")
    assert not left(out, secret, around, at_least=9 if kind in ("address", "secret") else 6)


@given(st.one_of(st.text(), AWKWARD, WRITTEN))
def test_nothing_else_changes(text: str) -> None:
    spans = find(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    at = 0
    for piece in PLACEHOLDER.split(Redactor().text(text)):
        assert piece in text[at:]  # in the same order, byte for byte
        at = text.index(piece, at) + len(piece)


@given(st.text(), st.data())
def test_the_plain_form_leads_back(text: str, data: st.DataObject) -> None:
    plain = Plain(text)
    assert len(plain.low) == len(plain.text)
    if plain.text:
        start = data.draw(st.integers(0, len(plain.text) - 1))
        end = data.draw(st.integers(start + 1, len(plain.text)))
        first, last = plain.origin(start, end)
        assert 0 <= first < last <= len(text)
        assert plain.origin(0, len(plain.text))[1] <= len(text)


@given(IDENTIFIERS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_same_value_keeps_its_number(identifier: tuple[str, str], one: int, other: int) -> None:
    kind, name = identifier
    redactor = Redactor()
    first, second = (made(name, KINDS[kind][name], number)[0] for number in (one, other))
    seen = redactor.text(f"x {first} y")
    redactor.text(f"x {second} y")
    assert redactor.text(f"x {first} y") == seen
