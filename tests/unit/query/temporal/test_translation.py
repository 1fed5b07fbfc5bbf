"""How a table of another language is read: its format, numbers, names, spans, and what every table must hold."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, tables
from recall_integrations.query.temporal import explain, parse_window
from recall_integrations.query.temporal.atoms import digit_date, folded, han_number, normal
from recall_integrations.query.temporal.calendar import unit_shifted
from recall_integrations.query.temporal.translation import Reader, in_calendar, is_unit, only_time, reader
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)
DATED = [code for code in READ if tables(code).sections["dates"]]
WORDS = {"unit": {"day": "dag dager"}, "number": {3: "tre"}, "month": {"May": "mai"}}
AMBIGUOUS = {("hi", "कल", 1)}  # yesterday and tomorrow: the past is meant
MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def read(phrases: str, text: str, *, rejected: str = "", names: tuple[str, ...] = ()) -> list[str]:
    table = Reader("no", {"words": WORDS, "phrases": phrases, "not": rejected})
    return [fragment.english for fragment in table.fragments(text, NOW, names)]


def test_a_phrase_becomes_english() -> None:
    assert read("for {number} {unit} siden -> {number} {unit} ago", "Hva skjedde for tre dager siden?") == ["3 day ago"]


def test_phrases_build_on_earlier_ones() -> None:
    phrases = "{month} -> {month}\nfra {a:p} til {b:p} -> from {a} to {b}"
    table = Reader("no", {"words": {"month": {"May": "mai", "June": "juni"}}, "phrases": phrases})
    assert [f.english for f in table.fragments("fra mai til juni", NOW)] == ["from May to June"]


def test_what_is_no_date_is_taken_away_first() -> None:
    assert read("{month} -> {month}", "fru Mai", rejected="fru {month}") == []
    assert read("{month} -> {month}", "i mai", rejected="fru {month}") == ["in May"]


def test_an_optional_slot_that_is_missing_leaves_nothing() -> None:
    assert read("{number}? {unit} -> {number} {unit}", "dager") == ["day"]


def test_number_shapes_and_changes() -> None:
    assert read("{day} . {mon} . -> {mon:month} {day:ord}", "8. 5. i fjor") == ["May 8th"]
    assert read("{day} . {mon} . -> {mon:month} {day:ord}", "8. 13. i fjor") == []
    assert read("{year} -> {year}", "99 1999 99999") == ["in 1999"]


def test_look_behinds_may_differ_in_length() -> None:
    phrases = "(?<=(i|frem til)) {month} -> {month}"
    assert read(phrases, "i mai") == read(phrases, "frem til mai") == ["in May"]
    assert read("(?<!(ikke|om ikke)) {month} -> {month}", "ikke mai") == []


def test_a_weak_phrase_gives_way_to_a_known_name() -> None:
    assert read("~ {month} -> {month}", "Hvor er Mai?") == ["in May"]
    assert read("~ {month} -> {month}", "Hvor er Mai?", names=("mai",)) == []
    assert read("~ {month} -> {month}", "Hvor er Mai Lin?", names=("mai lin",)) == []
    assert read("{month} -> {month}", "Hvor er Mai?", names=("mai",)) == ["in May"]


def test_a_known_name_is_no_date_in_a_script_without_spaces() -> None:
    assert parse_window("周一鸣在哪里？", NOW, language="zh") is not None
    assert parse_window("周一鸣在哪里？", NOW, language="zh", names={"周一鸣"}) is None
    assert parse_window("Vive avec Juin", NOW, language="fr", names={"juin"}) is None


@each_row(
    ("table", "said"),
    [
        ({"phrase": ""}, "unknown keys phrase"),
        ({"script": "runes"}, "script must be"),
        ({"phrases": "{nothing} -> x"}, "no class of words 'nothing'"),
        ({"phrases": "mai -> {month}"}, "no slot month"),
        ({"phrases": "mai"}, "must be `pattern -> English`"),
        ({"not": "mai -> May"}, "must be `pattern`"),
        ({"phrases": "(mai -> May"}, "cannot read"),
        ({"phrases": "mai } -> May"}, "cannot read"),
        ({"words": {"number": {"three": "tre"}}}, "must be a whole number"),
        ({"words": {"year": {"x": "y"}}}, "built in"),
        ({"compounds": ["{unit}"]}, "two classes"),
        ({"words": {"unit": "dag"}}, "must be a mapping"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error_that_says_why(table: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match="no.yaml") as e:
        Reader("no", table)
    assert said in str(e.value)


@each_row(
    ("run", "value"),
    [("三", 3), ("十", 10), ("十二", 12), ("二十三", 23), ("一百零五", 105), ("二〇二三", 2023), ("两", 2)],
)
def test_chinese_numbers(run: str, value: int) -> None:
    assert han_number(run)[0] == value


@each_row(
    ("run", "day_first", "wanted"),
    [
        ("8.5.2023", True, "2023-05-08"),
        ("5/13/2023", True, "2023-05-13"),
        ("8.5.23", True, "2023-05-08"),
        ("2023/5/8", None, "2023-05-08"),
        ("8/5/2023", None, None),
        ("8.5.2023", None, "2023-05-08"),
        ("13/5/2023", None, "2023-05-13"),
        ("30.2.2023", True, None),
        ("123.4.5678", True, None),
        ("8-5-23", True, None),
    ],
)
def test_dates_in_digits(run: str, day_first: bool | None, wanted: str | None) -> None:
    mark = next(c for c in run if not c.isdigit())
    assert digit_date(run, mark, NOW, day_first=day_first) == wanted


def test_normal_forms() -> None:
    assert normal("MA\u0308RZ") == "märz"
    assert normal("aujourd’hui") == "aujourd'hui"
    assert normal("ＱＱ") == "qq"
    assert folded("miércoles") == "miercoles"
    assert folded("हफ्ते") == "हफ्ते"


@each_row(
    ("code", "text", "span"),
    [
        ("de", "Was war denn vor drei Tagen los?", "vor drei Tagen"),
        ("de", "Was war im März 2023 los?", "März 2023"),
        ("de", "Was hat Anna am Dienstagabend gesagt?", "am Dienstagabend"),
        ("es", "¿Qué dije entre enero y marzo?", "entre enero y marzo"),
        ("fr", "Qu’a-t-il dit l’année dernière ?", "l’année dernière"),
        ("zh", "我上周二说了什么？", "上周二"),
        ("ja", "去年の３月に何を？", "去年の３月"),
        ("ko", "지난주 화요일에 뭐 했어?", "지난주 화요일"),
        ("hi", "मैंने पिछले हफ्ते क्या कहा?", "पिछले हफ्ते"),
        ("ru", "Что было 3 мая 2025 года?", "3 мая 2025 года"),
        ("de", "Wann? Um die 2020-05-08T10:00:00Z herum?", "2020-05-08T10:00:00Z"),
    ],
)
def test_the_span_is_the_place_in_the_text(code: str, text: str, span: str) -> None:
    window = parse_window(text, NOW, language=code)
    assert window is not None
    assert text[slice(*window.span)] == span


def test_of_several_dates_the_surer_and_then_the_first_counts(days: Callable[[str, str], str]) -> None:
    assert days("de", "Was war gestern, und was am 3. Mai 2025?") == "2026-06-16..2026-06-17"
    assert days("es", "¿Qué dije el martes? ¿Y el 3 de mayo de 2025?") == "2026-06-16..2026-06-17"


@each_row("code", [None, "ro", "tlh", ""])
def test_other_languages_have_dates_in_digits_only(code: str | None, days: Callable[[str | None, str], str]) -> None:
    assert days(code, "ce s-a întâmplat pe 2023-05-08?") == "2023-05-08..2023-05-09"
    assert days(code, "8.5.2023, 10 lei") == "2023-05-08..2023-05-09"
    assert days(code, "last week, letzte Woche, 上周") == ""
    assert days(code, "in May 2023") == ""
    assert days(code, "la 5/8/2023") == ""
    assert days(code, "versiunea 1.2.3, 10.5") == ""


def test_english_does_not_look_at_tables(days: Callable[[str, str], str]) -> None:
    assert days("en", "letzte Woche") == ""
    assert days("en", "last week") == "2026-06-08..2026-06-15"


def test_explain_shows_the_english() -> None:
    assert explain("Was war letzte Woche?", NOW, language="de")[0] == "last week"


def test_a_hint_stays_a_hint() -> None:
    window = parse_window("Was habe ich neulich gelesen?", NOW, language="de")
    assert window is not None
    assert (window.span, window.confidence) == ((0, 0), 0.4)


@each_row("code", DATED)
def test_the_names_are_those_of_the_locale_data(code: str) -> None:
    """Months and weekdays of the table against dateparser's locales: what they call a May is no other month here."""
    info = importlib.import_module(f"dateparser.data.date_translation_data.{code}").info
    values = reader(code).lexicon.values
    table = {**values.get("month", {}), **values.get("weekday", {}), **values.get("short", {})}
    seen = 0
    for name in (*MONTHS, *WEEKDAYS):
        for form in info[name]:
            known = table.get(normal(form))
            seen += known is not None
            assert known is None or known.lower() == name, form
    assert code in ("zh", "ja", "ko") or seen >= 19


@each_row(
    ("code", "relative", "kept", "unit"),
    [
        ("de", "letzten vor drei gestern seit", "märz sommer kuchen 2023", "woche"),
        ("es", "pasada hace tres ayer", "marzo verano", "semana"),
        ("fr", "dernière depuis trois hier", "mars été", "semaine"),
        ("ru", "прошлой назад три вчера", "марте летом", "неделе"),
        ("zh", "昨天 上周二 三天", "三月 夏天", "周"),
    ],
)
def test_words_of_a_date_that_are_no_evidence(code: str, relative: str, kept: str, unit: str) -> None:
    assert [word for word in relative.split() if not only_time(word, code)] == []
    assert [word for word in kept.split() if only_time(word, code)] == []
    assert is_unit(unit, code)
    assert in_calendar(kept.split()[:1], code)
    assert not in_calendar(relative.split(), code)
    assert not only_time("letzten", "ro")


def relative_phrases(code: str) -> list[tuple[str, int, str]]:
    """Phrases of dateparser's locale data for a day, week, month or year near now, without abbreviations."""
    info = importlib.import_module(f"dateparser.data.date_translation_data.{code}").info
    found = []
    for key, forms in info["relative-type"].items():
        match = re.fullmatch(r"(in )?(\d) (day|week|month|year)(?: ago)?", key)
        if match:
            offset = int(match[2]) * (1 if match[1] else -1)
            found += [
                (form, offset, match[3]) for form in forms if not re.search(r"\.|\b(sem|sett|эт|пр|след?|г)\b", form)
            ]
    return found


@each_row("code", DATED)
def test_relative_phrases_of_the_locale_data_mean_the_same(code: str) -> None:
    phrases = [one for one in relative_phrases(code) if (code, *one[:2]) not in AMBIGUOUS]
    assert phrases
    for phrase, offset, unit in phrases:
        wanted = unit_shifted(NOW.replace(tzinfo=None), unit, offset, 0)
        window = parse_window(phrase, NOW, language=code)
        assert window is not None, phrase
        assert window.start is not None and window.end is not None
        assert (window.start.replace(tzinfo=None), window.end.replace(tzinfo=None)) == (wanted.start, wanted.end), (
            phrase
        )
