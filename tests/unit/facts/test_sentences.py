"""What the rules read from plain sentences, and what they leave alone."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts.said import IS, ME, NOT, WAS, YOU
from recall_integrations.facts.sentences import said_in
from recall_integrations.facts.slots import Slot, Slots
from tests.rows import each_row
from tests.spent import seconds_of

AT = datetime(2024, 6, 15, tzinfo=UTC)


def _said(text: str) -> list[tuple[str, str, str, str]]:
    return [(said.op, said.subject, said.slot, said.value) for said in said_in(text, AT)]


ONE = [
    ("My phone number is 555-0101.", IS, ME, "phone_number", "555-0101"),
    ("my number is now 555-0101", IS, ME, "phone_number", "555-0101"),
    ("My new number is 555-0101!", IS, ME, "phone_number", "555-0101"),
    ("My old number was 555-0101.", WAS, ME, "phone_number", "555-0101"),
    ("My email address is dana.smith@example.org.", IS, ME, "email", "dana.smith@example.org"),
    ("My address is 12 High Street, Leeds.", IS, ME, "address", "12 High Street, Leeds"),
    ("I live at 12 High Street, Leeds.", IS, ME, "address", "12 High Street, Leeds"),
    ("I live in Berlin with my cat.", IS, ME, "home", "Berlin"),
    ("I live in Berlin these days.", IS, ME, "home", "Berlin"),
    ("I'm based in Berlin.", IS, ME, "home", "Berlin"),
    ("I currently live in Berlin.", IS, ME, "home", "Berlin"),
    ("I'm living in Berlin at the moment", IS, ME, "home", "Berlin"),
    ("I moved to Lisbon.", IS, ME, "home", "Lisbon"),
    ("I just relocated to Lisbon", IS, ME, "home", "Lisbon"),
    ("I've moved to Lisbon.", IS, ME, "home", "Lisbon"),
    ("I used to live in Rome.", WAS, ME, "home", "Rome"),
    ("I no longer live in Rome.", NOT, ME, "home", "Rome"),
    ("I don't live in Rome any more.", NOT, ME, "home", "Rome"),
    ("I work at Acme.", IS, ME, "employer", "Acme"),
    ("I work for Globex now.", IS, ME, "employer", "Globex"),
    ("I started a new job at Globex.", IS, ME, "employer", "Globex"),
    ("I got a new job at Globex.", IS, ME, "employer", "Globex"),
    ("I left my job at Acme.", NOT, ME, "employer", "Acme"),
    ("I no longer work at Acme.", NOT, ME, "employer", "Acme"),
    ("I work as a nurse.", IS, ME, "job", "nurse"),
    ("I got a new job as a data analyst.", IS, ME, "job", "data analyst"),
    ("My favourite colour is blue.", IS, ME, "favourite_colour", "blue"),
    ("My favorite color is green now.", IS, ME, "favourite_colour", "green"),
    ("My favourite tea is oolong.", IS, ME, "open:favourite tea", "oolong"),
    ("My locker code is 4711.", IS, ME, "open:locker code", "4711"),
    ("My wifi password is hunter2!", IS, ME, "wifi_password", "hunter2"),
    ("My app version is v1.2.3.", IS, ME, "open:app version", "v1.2.3"),
    ("I'm vegan now.", IS, ME, "diet", "vegan"),
    ("I've become a vegetarian.", IS, ME, "diet", "vegetarian"),
    ("I went vegan.", IS, ME, "diet", "vegan"),
    ("I'm married.", IS, ME, "marital_status", "married"),
    ("I got divorced.", IS, ME, "marital_status", "divorced"),
    ("I'm 34 years old.", IS, ME, "age", "34"),
    ("I'm allergic to peanuts.", IS, ME, "allergy", "peanuts"),
    ("I speak Spanish.", IS, ME, "language", "Spanish"),
    ("I'm learning Japanese.", IS, ME, "learning", "Japanese"),
    ("I play the cello.", IS, ME, "instrument", "cello"),
    ("I play tennis.", IS, ME, "sport", "tennis"),
    ("I stopped playing the guitar.", NOT, ME, "instrument", "guitar"),
    ("I gave up tennis.", NOT, ME, "sport", "tennis"),
    ("I was born in Leeds.", IS, ME, "hometown", "Leeds"),
    ("I was born on 3 May 1990.", IS, ME, "birthday", "3 May 1990"),
    ("I grew up in Leeds.", IS, ME, "hometown", "Leeds"),
    ("My birthday is May 3rd.", IS, ME, "birthday", "May 3rd"),
    ("My name is Dana.", IS, ME, "name", "Dana"),
    ("I bank with Northbank.", IS, ME, "bank", "Northbank"),
    ("I drive a Tesla.", IS, ME, "car", "Tesla"),
    ("Sam is my manager.", IS, ME, "boss", "Sam"),
    ("My manager is Henrietta.", IS, ME, "boss", "Henrietta"),
    ("I report to Sam.", IS, ME, "boss", "Sam"),
    ("Priya lives in Oslo.", IS, "Priya", "home", "Oslo"),
    ("Priya's number is 555-0202.", IS, "Priya", "phone_number", "555-0202"),
    ("Priya's manager is Sam.", IS, "Priya", "boss", "Sam"),
    ("Priya no longer works at Acme.", NOT, "Priya", "employer", "Acme"),
    ("My sister lives in Oslo.", IS, "my sister", "home", "Oslo"),
    ("My older sister works at Acme.", IS, "my older sister", "employer", "Acme"),
    ("My sister's phone number is 555-0404.", IS, "my sister", "phone_number", "555-0404"),
    ("Your number is 555-0101.", IS, YOU, "phone_number", "555-0101"),
    ("You live in Berlin.", IS, YOU, "home", "Berlin"),
    ("Project Kestrel's deadline is 3 May.", IS, "Project Kestrel", "deadline", "3 May"),
    ("The deadline for Project Kestrel is May 3.", IS, "Project Kestrel", "deadline", "May 3"),
]


@each_row(("text", "op", "subject", "slot", "value"), ONE)
def test_a_plain_sentence_says_one_thing(text: str, op: str, subject: str, slot: str, value: str) -> None:
    assert _said(text) == [(op, subject, slot, value)]


NONE = [
    "I lived in Rome.",
    "I worked at Acme yesterday.",
    "I think my blood type is O negative.",
    "If you need me, my number is 555-0101.",
    "We moved to GitHub.",
    "The standup moved to Wednesday.",
    "Deployments on Friday are fine.",
    "The meter reading was 48210.",
    "User prefers answers in bullet points.",
    "My car is a total wreck.",
    "My job is stressful.",
    "User and Judith got married in August.",
    "Phone: 555-0101",
    "Is my number 555-0101?",
    "My number is 555-0101, right?",
    "Do I live in Berlin?",
    "If I lived in Rome, I'd be happy.",
    "If my number is 555-0101, call it.",
    "I wish I lived in Rome.",
    "I might move to Rome.",
    "I'd love to live in Paris.",
    "I would live in Rome.",
    "I want to move to Rome.",
    "I never lived in Rome.",
    "I didn't move to Rome.",
    "I almost moved to Rome.",
    "I'm moving to Rome.",
    "He thinks my number is 555-0101.",
    "Sam said my number is 555-0101.",
    'She wrote "my number is 555-0101".',
    "My day was great.",
    "My favourite part is when they sing.",
    "My manager is great.",
    "My sister is amazing.",
    "My goal is to help others.",
    "My point is that it works.",
    "My number is one of a kind.",
    "I live in a flat.",
    "I live in fear.",
    "I work from home.",
    "I work with people.",
    "I love it.",
    "I love that song.",
    "I love spending time with you.",
    "I joined a gym.",
    "I joined the club.",
    "I'm a believer.",
    "I'm so tired.",
    "I'm happy for you.",
    "I have a meeting.",
    "I play a lot.",
    "We played some chess yesterday.",
    "I was 10 then.",
    "Imagine I live in Rome.",
    "I hope my number is 555-0101.",
    "I started a running group.",
    "I take the bus.",
    "I studied hard.",
    "You mentioned you were allergic to cats.",
    "Where I live is nice.",
    "Actually, it's fine.",
    "Note: this is a test",
    "",
    "   ",
    "…",
]


OTHERS = [
    ("Ich wohne in Berlin.", IS, ME, "home", "Berlin"),
    ("Ich bin nach Lissabon gezogen.", IS, ME, "home", "Lissabon"),
    ("Ich arbeite nicht mehr bei Siemens.", NOT, ME, "employer", "Siemens"),
    ("Meine Telefonnummer ist 0171 2345678.", IS, ME, "phone_number", "0171 2345678"),
    ("Priyas Telefonnummer ist 0171 2345678.", IS, "Priya", "phone_number", "0171 2345678"),
    ("Jonas wohnt in Kassel.", IS, "Jonas", "home", "Kassel"),
    ("Vivo en Madrid.", IS, ME, "home", "Madrid"),
    ("Ya no vivo en Madrid.", NOT, ME, "home", "Madrid"),
    ("Ana vive en Sevilla.", IS, "Ana", "home", "Sevilla"),
    ("Mi número de teléfono es 600 123 456.", IS, ME, "phone_number", "600 123 456"),
]


@each_row(("text", "op", "subject", "slot", "value"), OTHERS)
def test_german_and_spanish_are_read_by_their_tables(text: str, op: str, subject: str, slot: str, value: str) -> None:
    assert _said(text) == [(op, subject, slot, value)]


def test_what_nobody_owns_is_the_users_whoever_says_it() -> None:
    (said,) = said_in("The door code was changed to 9999.", AT)
    assert (said.op, said.slot, said.value, said.subject) == (IS, "open:door code", "9999", "the")


@each_row("text", NONE)
def test_what_states_nothing_says_nothing(text: str) -> None:
    assert _said(text) == []


@each_row(
    ("text", "value", "instead", "corrects"),
    [
        ("My number is not 555-0101 but 555-0102.", "555-0102", "555-0101", True),
        ("My number is 555-0102, not 555-0101.", "555-0102", "555-0101", True),
        ("My editor changed from vim to Zed.", "Zed", "vim", False),
        ("My favourite drink is tea instead of coffee.", "tea", "coffee", False),
        ("My number is 555-0101, no, 555-0102.", "555-0102", "555-0101", True),
        ("I moved from Berlin to Lisbon.", "Lisbon", "Berlin", False),
        ("Actually, my number is 555-0102.", "555-0102", "", True),
    ],
)
def test_what_takes_the_place_of_what(text: str, value: str, instead: str, corrects: bool) -> None:
    (said,) = said_in(text, AT)
    assert (said.value, said.instead_of, said.corrects) == (value, instead, corrects)


def test_contradictions_are_given_in_order() -> None:
    assert [said[3] for said in _said("I live in Berlin. I live in Lisbon.")] == ["Berlin", "Lisbon"]


@each_row(
    ("text", "since"),
    [
        ("I moved to Lisbon in March.", datetime(2024, 3, 1, tzinfo=UTC)),
        ("I've lived in Porto since 2019.", datetime(2019, 1, 1, tzinfo=UTC)),
        ("I live in Berlin.", None),
        ("I live in Berlin in a flat.", None),
    ],
)
def test_since_when(text: str, since: datetime | None) -> None:
    assert [said.since for said in said_in(text, AT)] == [since]


@each_row(
    ("text", "since", "until"),
    [
        ("I lived in Rome from 2010 to 2015.", "2010-01-01", "2016-01-01"),
        ("I lived in Rome between 2010 and 2015, and loved it", "2010-01-01", "2016-01-01"),
        ("From 2010 to 2015 I lived in Rome.", "2010-01-01", "2016-01-01"),
        ("I worked at Acme (2010-2015)", "2010-01-01", "2016-01-01"),
        ("Priya worked at Siemens from March till May", "2024-03-01", "2024-06-01"),
        ("I was vegan from 2015 until 2018 but not any more", "2015-01-01", "2019-01-01"),
        ("I lived in Rome in 2012.", "2012-01-01", "2013-01-01"),
        ("I worked at Acme until 2019.", None, "2020-01-01"),
        ("I live in Rome from May to September", "2024-05-01", "2024-10-01"),
        ("I lived in Rome from 2010 to 2015 with Anna", "2010-01-01", "2016-01-01"),
        ("I worked at Acme from June to August 2019", "2019-06-01", "2019-09-01"),
        ("I have worked at Acme since 2015, from Monday to Friday", "2015-01-01", None),
        ("In 2012 I lived in Rome", "2012-01-01", "2013-01-01"),
        ("I live in Berlin but was in Rome from 2010 to 2015", None, None),
        ("I live in Berlin until the end of September", None, "2024-10-01"),
        ("I work at Acme until March", None, "2025-04-01"),
        ("I work at Acme until August.", None, "2024-09-01"),
        ("I work at Acme until 2019", None, "2020-01-01"),
        ("I worked at Acme until March", None, "2024-04-01"),
    ],
)
def test_from_when_to_when(text: str, since: str | None, until: str | None) -> None:
    (said,) = said_in(text, AT)
    assert [None if time is None else time.date().isoformat() for time in (said.since, said.until)] == [since, until]


def test_the_span_is_the_place_of_the_value() -> None:
    for text, *_ in ONE:
        for said in said_in(text, AT):
            assert text[said.span[0] : said.span[1]] == said.value


def test_a_slot_of_a_user_is_read() -> None:
    slots = Slots([Slot(name="chair", nouns=("desk chair",), kind="name", verbs=("sit on",), starts=("sit down on",))])
    (said,) = said_in("My desk chair is an Aeron.", AT, slots)
    assert (said.slot, said.value) == ("chair", "Aeron")
    (said,) = said_in("I sit on an Aeron.", AT, slots)
    assert (said.slot, said.value) == ("chair", "Aeron")


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for said in said_in(text, AT):
        assert 0 <= said.span[0] <= said.span[1] <= len(text)
        assert len(said.value) <= 80


@each_row(
    "unit",
    [
        "my ",
        "I ",
        "I live in ",
        "my a is ",
        "A",
        "A ",
        '"',
        "not ",
        "I'm not really ",
        "a: b ",
        "I moved from ",
        "Sam's ",
    ],
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def seconds(chars: int) -> float:
        text = (unit * chars)[:chars]
        return seconds_of(lambda: said_in(text, AT))

    seconds(100)
    assert seconds(20_000) < 1.0
