"""Families of phrases, each with its days worked out by hand against Wednesday, 17 June 2026."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

from recall_integrations.query.temporal import parse_window
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)


def days(text: str, now: datetime = NOW) -> str | None:
    """The window in whole days, "start end", its end rounded up unless it is now; `-` is open."""
    window = parse_window(text, now)
    if window is None:
        return None
    start = "-" if window.start is None else window.start.date().isoformat()
    if window.end is None:
        return f"{start} -"
    end: date = window.end.date()
    if window.end != now and window.end.time() != datetime.min.time():
        end += timedelta(days=1)
    return f"{start} {end}"


FAMILIES = {
    "other orders of words": """
        eighteen hundred forty eight | 1848-01-01 1849-01-01
        in two thousand and five | 2005-01-01 2006-01-01
        the seventeenth of April | 2026-04-17 2026-04-18
        2021/Nov/17 | 2021-11-17 2021-11-18
        November-2021-17 | 2021-11-17 2021-11-18
        October third 11 | 2011-10-03 2011-10-04
        on March 5, 98 | 1998-03-05 1998-03-06
        in 2024 June | 2024-06-01 2024-07-01
        born in August of 91 | 1991-08-01 1991-09-01
        June 26 to 28, 2020 | 2020-06-26 2020-06-29
        in Q3 of 2024 | 2024-07-01 2024-10-01
        in 2024, Q3 | 2024-07-01 2024-10-01
        quarter 3 of 2024 | 2024-07-01 2024-10-01
        the third quarter of 2024 | 2024-07-01 2024-10-01
        2024, the third quarter | 2024-07-01 2024-10-01
        Q1 to Q3 2018 | 2018-01-01 2018-10-01
        in the mid-nineties | 1994-01-01 1997-01-01
        who sang it in nineties | 1990-01-01 2000-01-01
        at the end of summer | 2025-08-01 2025-09-01
        next 6/21 | 2026-06-21 2026-06-22
        6/2-6/9/2021 | 2021-06-02 2021-06-10
        at Acme 2019 - present | 2019-01-01 2026-06-17
        up to 2020 | - 2021-01-01
        2019 and later | 2019-01-01 -
        between 2015 and 2019 | 2015-01-01 2020-01-01
        in the April | 2026-04-01 2026-05-01
        the day after tomorrow | 2026-06-19 2026-06-20
        what did Priya say yesterday | 2026-06-16 2026-06-17
        what is due tomorrow | 2026-06-18 2026-06-19
        in three days on Friday | 2026-06-19 2026-06-20
        four months from today on Friday | 2026-10-23 2026-10-24
        end of week | 2026-06-18 2026-06-22
        Q3 of last year | 2025-07-01 2025-10-01
        on Black Friday 2014 | 2014-11-28 2014-11-29
        the weekend of Christmas | 2025-12-25 2025-12-29
        in Christmas week | 2025-12-22 2025-12-29
        on Memorial Day weekend | 2026-05-23 2026-05-26
        on the morning of 3 May | 2026-05-03 2026-05-04
        from 9am to 11am yesterday | 2026-06-16 2026-06-17
        for 3 days from last Monday | 2026-06-15 2026-06-18
        3 days, from last Monday | 2026-06-15 2026-06-18
        > 2019 | 2020-01-01 -
        < 2019 | - 2019-01-01
        starting October 6th | 2025-10-06 -
    """,
    "the same unit": """
        they split up the same week | 2026-06-15 2026-06-22
        that same month | 2026-06-01 2026-07-01
        born the same year | 2026-01-01 2027-01-01
    """,
    "said in other words": """
        on 8.5.2023 | 2023-05-08 2023-05-09
        31 January, two of us | 2026-01-31 2026-02-01
        1.5 years ago | 2024-12-17 2024-12-18
        three and a half weeks ago | 2026-05-24 2026-05-25
        this time last year | 2025-06-17 2025-06-18
        the same day next month | 2026-07-17 2026-07-18
        two nights ago | 2026-06-15 2026-06-17
        we met the year before | 2025-01-01 2026-01-01
        last week-end in May | 2026-05-30 2026-06-01
        3Q24 | 2024-07-01 2024-10-01
        1H 2023 | 2023-01-01 2023-07-01
        in late Q1 | 2026-03-01 2026-04-01
        the 4th qtr of 2018 | 2018-10-01 2019-01-01
        the Sunday from last week | 2026-06-14 2026-06-15
        the third month 2021 | 2021-03-01 2021-04-01
        after 2018: what was decided | 2019-01-01 -
        revenue 2019 | 2019-01-01 2020-01-01
        winter of 2021/22 | 2021-12-01 2022-03-01
        on the 5th or 6th of May | 2026-05-05 2026-05-07
        the July 10 weekend retreat | 2025-07-10 2025-07-14
        over the 3 May weekend | 2026-05-02 2026-05-04
        in July 10 weekends were wet | 2025-07-01 2025-08-01
        in 1990 and 2020 | 1990-01-01 2021-01-01
        in March or in August we met | 2025-08-01 2026-04-01
        what did I do Fri evening | 2026-06-12 2026-06-13
    """,
    "parts of a year beside another": """
        later this year | 2026-07-01 2027-01-01
        earlier this year | 2026-01-01 2026-06-17
        early next year | 2027-01-01 2027-07-01
        late last year | 2025-07-01 2026-01-01
        in the middle of last year | 2025-04-01 2025-10-01
        late 2019 | 2019-09-01 2020-01-01
        earlier this month | 2026-06-01 2026-06-16
        later this month | 2026-06-17 2026-07-01
    """,
    "the week around a day": """
        the week of the 18th | 2026-06-15 2026-06-22
        the week of the 3rd | 2026-06-01 2026-06-08
        week of sep 16 | 2025-09-15 2025-09-22
        the weekend of the 6th | 2026-06-06 2026-06-08
        the month of September 16th | 2025-09-01 2025-10-01
    """,
    "weeks by number": """
        week 35 of 2018 | 2018-08-27 2018-09-03
        week 35, 2018 | 2018-08-27 2018-09-03
        2018 week 35 | 2018-08-27 2018-09-03
        the 35th week of 2018 | 2018-08-27 2018-09-03
        week number 10 | 2026-03-02 2026-03-09
    """,
    "day and month without a space": """
        it ended on Nov30, 1987 | 1987-11-30 1987-12-01
        22April 2017 | 2017-04-22 2017-04-23
        the talk on 22April | 2026-04-22 2026-04-23
        12Jan2021 | 2021-01-12 2021-01-13
        Jan12,2021 | 2021-01-12 2021-01-13
        05Mar21 | 2021-03-05 2021-03-06
        3rdNov 2020 | 2020-11-03 2020-11-04
        Mar2019 | 2019-03-01 2019-04-01
        by dec31 | - 2026-01-01
    """,
    "decades": """
        songs of the nineties | 1990-01-01 2000-01-01
        who was famous in nineties | 1990-01-01 2000-01-01
        in the early nineties | 1990-01-01 1994-01-01
        in the mid-seventies | 1974-01-01 1977-01-01
        80's music | 1980-01-01 1990-01-01
        90s music | 1990-01-01 2000-01-01
    """,
    "runs of days in figures": """
        from 4/22 to 4/23 | 2026-04-22 2026-04-24
        4/22 - 4/23 | 2026-04-22 2026-04-24
        13/5 - 15/5 | 2026-05-13 2026-05-16
        from 12/28 to 1/3 | 2025-12-28 2026-01-04
        from 8/3-8/9, 2021 | 2021-08-03 2021-08-10
        2/27-3/2 | 2026-02-27 2026-03-03
        4-23 May | 2026-05-04 2026-05-24
        the meeting on 5.12 | 2026-05-12 2026-05-13
    """,
    "a year in another place": """
        in 2016 October | 2016-10-01 2016-11-01
        Jan and Feb 2020 | 2020-01-01 2020-03-01
        fiscal year 08 | 2008-01-01 2009-01-01
        the school year 2017 | 2017-01-01 2018-01-01
        Labor Day weekend 2019 | 2019-08-31 2019-09-03
        the first Friday next month | 2026-07-03 2026-07-04
    """,
    "years ago": """
    """,
    "beside a holiday or a date": """
        two weeks after Christmas | 2026-01-08 2026-01-09
        the day before Thanksgiving | 2025-11-26 2025-11-27
        3 days before May 5th | 2026-05-02 2026-05-03
        the Friday after Thanksgiving | 2025-11-28 2025-11-29
    """,
    "bounds": """
        due by tomorrow | - 2026-06-19
        not before 2019 | 2019-01-01 -
        no earlier than May 5 2020 | 2020-05-05 -
        on or before May 5 2020 | - 2020-05-06
        on or after May 5 2020 | 2020-05-05 -
        in or after 2016 | 2016-01-01 -
        2019 - present | 2019-01-01 2026-06-17
        at Acme from May 2019 to present | 2019-05-01 2026-06-17
        on 1/2/2016 and after my birthday | 2016-01-02 2016-01-03
    """,
    "holidays that follow the moon": """
        eid al-fitr 2021 | 2021-05-12 2021-05-13
        during Ramadan 2022 | 2022-04-02 2022-05-02
        Chinese New Year 2020 | 2020-01-25 2020-01-26
        Hanukkah 2020 | 2020-12-11 2020-12-19
        the week after Yom Kippur 2020 | 2020-09-29 2020-10-06
    """,
    "days of a month": """
        on the first of the month | 2026-06-01 2026-06-02
        the 15th and 16th of May | 2026-05-15 2026-05-17
        May 15th and 16th | 2026-05-15 2026-05-17
        June 8–10 | 2026-06-08 2026-06-11
        the week containing May 5 2020 | 2020-05-04 2020-05-11
    """,
    "working days": """
        this work week | 2026-06-15 2026-06-20
        the last business day | 2026-06-16 2026-06-17
        Friday after next | 2026-07-03 2026-07-04
        Monday after next | 2026-06-29 2026-06-30
        on the Sunday after next | 2026-07-05 2026-07-06
        Monday before last | 2026-06-08 2026-06-09
        last year's summer | 2025-06-01 2025-09-01
        present month | 2026-06-01 2026-07-01
    """,
    "compared with a year": """
        greater than or equal to 2015 | 2015-01-01 -
        less than or equal to 2015 | - 2016-01-01
        after or equal to 2015 | 2015-01-01 -
        either before May 2019 or after 2020 | - 2019-05-01
    """,
    "lists": """
        in 2017, 2018 and 2019 | 2017-01-01 2020-01-01
        the 5th, 6th and 7th of May | 2026-05-05 2026-05-08
        Thursday or Friday next week | 2026-06-25 2026-06-27
    """,
    "parts by number": """
        quarter 3 of 2019 | 2019-07-01 2019-10-01
        FY19 Q1 | 2019-01-01 2019-04-01
        the 100th day of 2019 | 2019-04-10 2019-04-11
        the last Friday of the month | 2026-06-26 2026-06-27
        the last Friday of next month | 2026-07-31 2026-08-01
        next 5th of June | 2027-06-05 2027-06-06
        year-to-date | 2026-01-01 2026-06-17
        the noughties | 2000-01-01 2010-01-01
    """,
    "runs beside a date": """
        the three days before Christmas 2019 | 2019-12-22 2019-12-25
        the day following Christmas 2019 | 2019-12-26 2019-12-27
        the day prior to Christmas 2019 | 2019-12-24 2019-12-25
        the first two weeks after Easter 2019 | 2019-04-22 2019-05-06
    """,
    "runs and years in other words": """
        the fair runs 13/5 to 15/5 | 2026-05-13 2026-05-16
        4/22 to 4/25/2019 | 2019-04-22 2019-04-26
        Apr22-Apr25 | 2026-04-22 2026-04-26
        22 Apr-25 Apr | 2026-04-22 2026-04-26
        2019Dec25 | 2019-12-25 2019-12-26
        In 2016, in October | 2016-10-01 2016-11-01
        in 2016 on May 5 | 2016-05-05 2016-05-06
        the eighties and nineties | 1980-01-01 2000-01-01
        the 80s and 90s | 1980-01-01 2000-01-01
        the first 3 weeks of 2019 | 2018-12-31 2019-01-21
        Tuesday 2 weeks after March 4th 2021 | 2021-03-16 2021-03-17
        from the 28th to the 2nd of April | 2026-03-28 2026-04-03
        after mid-May | 2026-05-21 -
        after the middle of May | 2026-05-16 -
        by mid-March | - 2026-03-16
        from late July 2023 to mid-August 2023 | 2023-07-16 2023-08-16
        May 5, 2020 onwards | 2020-05-05 -
    """,
    "a year as an adjective": """
        what changed at the 2019 meeting | 2019-01-01 2020-01-01
        the 2019 movie we saw | 2019-01-01 2020-01-01
        between 1969 and 1971 Bath was small | 1969-01-01 1972-01-01
        the 1960-1967 citations | 1960-01-01 1968-01-01
        the rate of growth in the 1960's | 1960-01-01 1970-01-01
        March 8 - March 14 | 2026-03-08 2026-03-15
    """,
    "about so long ago": """
        3 or 4 days ago | 2026-06-13 2026-06-15
        a day or two ago | 2026-06-15 2026-06-17
        2-3 weeks ago | 2026-05-27 2026-06-04
        we spoke 5d ago | 2026-06-12 2026-06-13
        3mo ago | 2026-03-17 2026-03-18
        the summer before last | 2024-06-01 2024-09-01
        the Christmas before last | 2024-12-25 2024-12-26
        between the years 2010 and 2015 | 2010-01-01 2016-01-01
        in Excel 2016 and later versions | 2016-01-01 -
    """,
    "what follows does not matter": """
        did they meet Mon 15th with Jim | 2026-06-15 2026-06-16
        on Monday 15 with Jim | 2026-06-15 2026-06-16
        To date we have sold nine | - 2026-06-17
        how many were sold to date in Rome | - 2026-06-17
    """,
    "nights and days from now": """
        the night before last | 2026-06-15 2026-06-17
        2 Sundays from now | 2026-06-28 2026-06-29
        on Monday week | 2026-06-29 2026-06-30
        3 business days ago | 2026-06-12 2026-06-13
        the rest of my week | 2026-06-17 2026-06-22
    """,
}
ROWS = [
    tuple(part.strip() for part in line.split("|"))
    for table in FAMILIES.values()
    for line in table.strip().splitlines()
]


@each_row(("text", "wanted"), ROWS)
def test_families(text: str, wanted: str) -> None:
    assert days(text) == wanted


DATELESS = """
    it was hot, in the high nineties
    paid in twenties and fifties
    retry after 30s
    it finished in 90s
    we are on 3.11 now
    is the cluster on 22.04
    upgrade from 5.12 to 5.13
    mix 1/2 - 3/4 cup of sugar
    a 3/16 - 5/16 inch bit
    my user name is june88
    what do we do on Saturday mornings
    self-care on Tuesday and Thursday mornings
    it takes 2h 24 min
    a year end closing
    what is our end goal
    who knows the PIN 4711
    2.5 miles
    decode it with dec2hex
    the answer is all the same
    same here
    same-day delivery
    the day shift
    week one is the hardest
    sku 2024-11
    the Christmas tree shop
    he wed her quietly
    she wants to date someone
    the second of the two
    the rest of the team
    the flat is on the 21st floor
    this may or may not help
    this may not work
    this may, or may not, help
    the device may 3 of 4 times fail
    1000s of people
    the $DEC farm
    the easter egg in the app
    at the end of the day it works
    during the march of progress
    the 60s limit
    I had an epiphany
    enjoy the rest of your day
    the song Yesterday's Hero is by whom
    to date or not to date
    a movie called Friday
    did we watch Monday Night Football
    Is this valid? 2015-13
    Tel: 030-2015-86
    rates at 3.125%
    month to month lease
    she is going to date him
    Have a lovely summer
    the new branch-dec12
    everyone every fortnight
    in a 2 weeks notice
    it took 2 years
""".strip().splitlines()


@each_row("text", [line.strip() for line in DATELESS])
def test_no_date(text: str) -> None:
    assert days(text) is None


def test_the_same_week_filters_nothing() -> None:
    window = parse_window("they split up the same week", NOW)
    assert window is not None and window.confidence < 0.5


def test_last_weekday_is_not_yesterday() -> None:
    assert days("last Tuesday") == "2026-06-09 2026-06-10"
    assert days("last Monday") == "2026-06-15 2026-06-16"
    assert days("this past Tuesday") == "2026-06-16 2026-06-17"


def test_a_month_of_small_letters_is_a_month_where_it_can_be_one() -> None:
    assert days("we meet this may") == "2026-05-01 2026-06-01"
    assert days("in may or june") == "2026-05-01 2026-07-01"
