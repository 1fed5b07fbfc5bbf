"""Rules for holidays: one for each row of the table `holidays`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from recall_integrations.query.temporal.calendar import Period
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch
from recall_integrations.query.temporal.holidays import Holiday, every_year


def _holiday(date: Callable[[int], datetime], days: int = 1, capital: bool = False) -> Callable[[RuleMatch], Built]:
    period = Period("day" if days == 1 else "span", cycle=every_year(date, days))
    return lambda hit: None if capital and not hit.ctx.text[hit.tokens[0].start].isupper() else ("H", period)


JULY_FOURTH = (
    Rule("july_fourth", "(the? o:(ORD|DAYNUM) of july|july o2:(ORD|DAYNUM))(?!(SEP|of|in)? YR)",
         lambda h: _holiday(lambda year: datetime(year, 7, 4))(h) if (h.value("o") or h.value("o2")) == 4 else None,
         0.9, "the 4th of July"),
)  # fmt: skip


def holiday_rules(table: Iterable[Holiday]) -> tuple[Rule, ...]:
    """Make one rule for each holiday, named by its example."""
    return tuple(
        Rule("holiday_" + "_".join(row.example.lower().replace("'", "").split()[1:]), row.pattern,
             _holiday(row.date, row.days, row.capital), 0.85, row.example, weak=True)
        for row in table
    )  # fmt: skip
