"""Dated questions in ten languages, with the span of time that each one speaks of: `benchmarks/made_up/dates`.

The sentences come from templates with native word order (`templates/CODE.yaml`); what they mean is worked out here,
with nothing but `datetime`, so that a reader of dates is not asked to judge itself. Slots are filled and sentences are
chosen by a generator with a fixed seed. Rows alternate between two halves of the templates, so that the even rows hold
phrases that the odd rows do not: whoever tunes a table looks at one half only.

    python scripts/make_dated_questions.py                # write the files again
    python scripts/make_dated_questions.py --check        # say how often dateparser reads an isolated span the same way

What phrases mean is what `parse_window` promises for English: a month or a day without a year is the newest one that
has begun; a range, and "until", end when their right end is over; "in the last three days" ends now; "after" a day
begins with it, and after anything longer when that is over.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from calendar import monthrange
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent.parent / "benchmarks" / "made_up" / "dates"
NOWS = ("2026-06-17T15:30:00", "2025-01-09T09:10:00", "2024-11-05T20:00:00", "2023-03-30T12:00:00")
SEED = 10
DATED = {"de": 200, "es": 200, "fr": 200, "zh": 200}
DATED_OTHERS = 64

DAY = timedelta(days=1)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
Span = tuple[date | None, date | None]


class Skip(ValueError):
    """A phrase that means several things on this day ("last Monday", said on a Tuesday), or no day there is."""


# ------------------------------------------------------------------------------------------------------- arithmetic


def months_on(day: date, months: int) -> date:
    """A day moved by months; the last day of the month where there is no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def moved(day: date, count: int, unit: str) -> date:
    """A day moved by a count of units."""
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
    return months_on(day, count * months) if months else day + count * {"day": DAY, "week": 7 * DAY}[unit]


class Meaning:
    """What a phrase means on a day: one method per form, `(ago 3 day)` is `ago("3", "day")`."""

    def __init__(self, today: date) -> None:
        self.today = today

    def day(self, offset: str) -> Span:
        start = self.today + int(offset) * DAY
        return start, start + DAY

    def week(self, offset: str) -> Span:
        monday = self.today - self.today.weekday() * DAY + int(offset) * 7 * DAY
        return monday, monday + 7 * DAY

    def weekend(self, offset: str) -> Span:
        saturday = self.today - self.today.weekday() * DAY + (5 + 7 * int(offset)) * DAY
        return saturday, saturday + 2 * DAY

    def month(self, offset: str) -> Span:
        start = months_on(self.today.replace(day=1), int(offset))
        return start, months_on(start, 1)

    def quarter(self, offset: str) -> Span:
        start = months_on(self.today.replace(day=1), -((self.today.month - 1) % 3) + 3 * int(offset))
        return start, months_on(start, 3)

    def year(self, offset: str) -> Span:
        return date(self.today.year + int(offset), 1, 1), date(self.today.year + int(offset) + 1, 1, 1)

    def ago(self, count: str, unit: str) -> Span:
        start = moved(self.today, -int(count), unit)
        return start, start + DAY

    def ahead(self, count: str, unit: str) -> Span:
        start = moved(self.today, int(count), unit)
        return start, start + DAY

    def past(self, count: str, unit: str) -> Span:
        return moved(self.today, -int(count), unit), self.today

    def last_weekday(self, weekday: str) -> Span:
        back = (self.today.weekday() - int(weekday)) % 7
        if back < 2:
            raise Skip(weekday)
        return self.today - back * DAY, self.today - (back - 1) * DAY

    def on_weekday(self, weekday: str) -> Span:
        return self.last_weekday(weekday)

    def weekday_in(self, weekday: str, offset: str) -> Span:
        monday = self.week(offset)[0]
        assert monday is not None
        return monday + int(weekday) * DAY, monday + (int(weekday) + 1) * DAY

    def coming_weekday(self, weekday: str) -> Span:
        start = self.today + ((int(weekday) - self.today.weekday()) % 7 or 7) * DAY
        return start, start + DAY

    def in_month(self, month: str, year: str = "") -> Span:
        start = date(int(year or self.today.year), int(month), 1)
        if not year and start > self.today:
            start = start.replace(year=start.year - 1)
        return start, months_on(start, 1)

    def month_of(self, month: str, offset: str) -> Span:
        return self.in_month(month, str(self.today.year + int(offset)))

    def last_month_named(self, month: str) -> Span:
        start, end = self.in_month(month)
        assert start is not None and end is not None
        return (months_on(start, -12), months_on(end, -12)) if end > self.today else (start, end)

    def date(self, number: str, month: str, year: str = "") -> Span:
        try:
            start = date(int(year or self.today.year), int(month), int(number))
        except ValueError as e:
            raise Skip(number) from e
        if not year and start > self.today:
            start = start.replace(year=start.year - 1)
        return start, start + DAY

    def in_year(self, year: str) -> Span:
        return date(int(year), 1, 1), date(int(year) + 1, 1, 1)

    def quarter_of(self, number: str, year: str = "") -> Span:
        start = date(int(year or self.today.year), 3 * int(number) - 2, 1)
        if not year and start > self.today:
            start = start.replace(year=start.year - 1)
        return start, months_on(start, 3)

    def season(self, name: str, year: str = "") -> Span:
        start = date(int(year or self.today.year), SEASONS[name], 1)
        if not year and start > self.today:
            start = start.replace(year=start.year - 1)
        return start, months_on(start, 3)

    def season_of(self, name: str, offset: str) -> Span:
        return self.season(name, str(self.today.year + int(offset)))

    def this_season(self, name: str) -> Span:
        return self.season(name, str(self.today.year))

    def last_season(self, name: str) -> Span:
        start, end = self.season(name)
        assert start is not None and end is not None
        return (months_on(start, -12), months_on(end, -12)) if end > self.today else (start, end)

    def early(self, whole: Span) -> Span:
        return self._part(whole, 0)

    def mid(self, whole: Span) -> Span:
        return self._part(whole, 1)

    def late(self, whole: Span) -> Span:
        return self._part(whole, 2)

    def _part(self, whole: Span, which: int) -> Span:
        """Thirds of a year; a month turns at its 16th day, and its middle is from the 10th to the 20th."""
        start, end = whole
        assert start is not None and end is not None
        if (end - start).days > 200:
            return months_on(start, 4 * which), months_on(start, 4 * which + 4)
        edges = ((0, 15), (9, 20), (15, (end - start).days))[which]
        return start + edges[0] * DAY, start + edges[1] * DAY

    def since(self, whole: Span) -> Span:
        return whole[0], None

    def before(self, whole: Span) -> Span:
        return None, whole[0]

    def until(self, whole: Span) -> Span:
        return None, whole[1]

    def after(self, whole: Span) -> Span:
        start, end = whole
        assert start is not None and end is not None
        return (start if end - start == DAY else end), None

    def both(self, first: Span, second: Span) -> Span:
        """From the first to the second, both whole."""
        if second[0] is None or first[0] is None or second[0] <= first[0]:
            raise Skip("the wrong way round")
        return first[0], second[1]

    def range(self, first: Span, second: Span) -> Span:
        """From the first to where the second is over."""
        return first[0], self._behind(first, second)[1]

    @staticmethod
    def _behind(first: Span, second: Span) -> Span:
        start, other, end = first[0], second[0], second[1]
        assert start is not None and other is not None and end is not None
        if other == start:
            raise Skip("the same")
        return (other, end) if other > start else (months_on(other, 12), months_on(end, 12))

    def months_in(self, first: str, second: str, year: str) -> Span:
        """From a month to another of the same year."""
        if int(first) >= int(second):
            raise Skip(first)
        return self.range(self.in_month(first, year), self.in_month(second, year))

    def days_in(self, first: str, second: str, month: str, year: str = "") -> Span:
        """From a day to another one of the same month."""
        start = self.date(first, month, year)[0]
        assert start is not None
        if int(first) >= int(second):
            raise Skip(first)
        return start, start.replace(day=int(second)) + DAY


def meaning(formula: str, today: date, slots: dict[str, str]) -> Span:
    """The span that a formula gives: `(since (in_month m))` with the slot `m` filled."""
    stack: list[list[Any]] = [[]]
    for piece in re.findall(r"[()]|[^\s()]+", formula):
        if piece == "(":
            stack.append([])
        elif piece == ")":
            name, *arguments = stack.pop()
            stack[-1].append(getattr(Meaning(today), name)(*arguments))
        else:
            stack[-1].append(slots.get(piece, piece))
    span: Span = stack[0][0]
    return span


# -------------------------------------------------------------------------------------------------------- sentences


def questions(code: str, table: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Dated rows: even ones from the phrases with an even place in the list, odd ones from the others."""
    rng = random.Random(f"{SEED}{code}")
    halves = [table["phrases"][0::2], table["phrases"][1::2]]
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    at = 0
    while len(rows) < count:
        half = halves[len(rows) % 2]
        phrase, formula = half[at // 2 % len(half)].split(" => ")
        at += 1
        now, carrier = rng.choice(NOWS), rng.choice(table["carriers"])
        filled, values = fill(phrase, table["slots"], rng)
        try:
            span = meaning(formula, date.fromisoformat(now[:10]), values)
        except Skip:
            continue
        text = carrier.replace("{when}", filled)
        text = text[0].upper() + text[1:]
        if text in seen:
            continue
        seen.add(text)
        ranges = [[None if edge is None else edge.isoformat() for edge in span]]
        kind = "date" if span[0] and span[1] == span[0] + DAY else "daterange"
        rows.append({"input": text, "reference": now, "kind": kind, "span": filled, "ranges": ranges, "language": code})
    return rows


def fill(phrase: str, slots: dict[str, dict[Any, str]], rng: random.Random) -> tuple[str, dict[str, str]]:
    """A phrase with its slots filled, and the value of each."""
    values: dict[str, str] = {}

    def one(match: re.Match[str]) -> str:
        slot = slots[match[1].rstrip("2")]  # `{month2}` is another month
        value = rng.choice(list(slot))
        values[match[1]] = str(value)
        return str(slot[value])

    return re.sub(r"\{(\w+)\}", one, phrase), values


def talk(code: str, table: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows without a date."""
    return [
        {
            "input": text,
            "reference": NOWS[i % len(NOWS)],
            "kind": "none",
            "span": None,
            "ranges": None,
            "language": code,
        }
        for i, text in enumerate(table["talk"])
    ]


def write() -> None:
    """Write every file again."""
    for path in sorted((FOLDER / "templates").glob("*.yaml")):
        code = path.stem
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
        rows = questions(code, table, DATED.get(code, DATED_OTHERS)) + talk(code, table)
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (FOLDER / f"{code}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{code}: {len(rows)} rows, {sum(row['kind'] == 'none' for row in rows)} of them without a date")


# ------------------------------------------------------------------------------------------------------------ check


def check() -> None:
    """How often dateparser reads an isolated span that means one day as that day."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        days = [row for row in rows if row["kind"] == "date"]
        read = [(row, found) for row in days if (found := _by_dateparser(row)) is not None]
        wrong = [(row, found) for row, found in read if row["ranges"][0][0] != found.isoformat()]
        print(f"{path.stem}: {len(days)} single days, dateparser reads {len(read)}, {len(read) - len(wrong)} alike")
        for row, found in wrong:
            print(f"    {row['reference'][:10]} {row['span']!r}: ours {row['ranges'][0][0]}, dateparser's {found}")


def _by_dateparser(row: dict[str, Any]) -> date | None:
    from datetime import datetime

    import dateparser

    base = datetime.fromisoformat(row["reference"])
    settings: Any = {"PREFER_DATES_FROM": "past", "RELATIVE_BASE": base, "DATE_ORDER": "DMY"}
    if row["language"] in ("zh", "ja", "ko"):
        settings["DATE_ORDER"] = "YMD"
    found = dateparser.parse(row["span"], languages=[row["language"]], settings=settings)
    return found.date() if found else None


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare with dateparser instead of writing")
    check() if parser.parse_args().check else write()


if __name__ == "__main__":
    main()
