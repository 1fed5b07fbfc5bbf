"""Table files are found, read and checked."""

from __future__ import annotations

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, SECTIONS, checked, tables, unread
from tests.rows import each_row

WHOLE = "zh es de fr pt ja ru it ko hi".split()


@each_row("code", READ)
def test_every_file_is_what_a_table_file_has_to_be(code: str) -> None:
    found = tables(code)
    assert found.name


def test_the_ten_languages_used_most_are_there() -> None:
    assert set(WHOLE) <= set(READ)


@each_row("code", WHOLE)
def test_each_of_the_ten_has_every_section(code: str) -> None:
    assert all(tables(code).sections[section] for section in SECTIONS)


@each_row("code", READ)
def test_what_is_unread_is_what_the_file_leaves_out(code: str) -> None:
    there = [section for section in SECTIONS if tables(code).sections[section]]
    assert there
    assert unread(code) == tuple(section for section in SECTIONS if section not in there)


def test_what_is_not_there_says_what_is() -> None:
    with pytest.raises(InvalidArgument, match=r"'tlh'.*de"):
        tables("tlh")


@each_row(
    ("content", "message"),
    [
        ([], "mapping with the language's `name`"),
        ({"dates": {}}, "`name`"),
        ({"name": "German", "dats": {}}, "dats.*known: dates"),
        ({"name": "German", "dates": ["gestern"]}, "`dates` must be a mapping"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(content: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        checked("de", content)


def test_sections_that_are_left_out_are_empty() -> None:
    found = checked("de", {"name": "German"})
    assert found.sections == {section: {} for section in SECTIONS}
