from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.adapters.scopes import find_scope, parse_scope, scope_text
from recall_integrations.errors import InvalidScope, NotFound
from recall_integrations.types import Scope
from tests.rows import each_row

PART = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12).filter(lambda t: not t or bool(t.strip()))
KNOWN = [(Scope("locomo", "", "conv-26"), 419), (Scope("locomo", "", "conv-30"), 369), (Scope("ann", "helper"), 2)]


@each_row(
    ("text", "scope"),
    [
        ("", Scope()),
        ("-", Scope()),
        ("ann", Scope("ann")),
        ("ann/helper", Scope("ann", "helper")),
        ("locomo//conv-26", Scope("locomo", "", "conv-26")),
        ("locomo/-/conv-26", Scope("locomo", "", "conv-26")),
        ("a%2Fb/%2D/50%25", Scope("a/b", "-", "50%")),
    ],
)
def test_syntax(text: str, scope: Scope) -> None:
    assert parse_scope(text) == scope


def test_too_many_parts_is_an_error_that_shows_the_syntax() -> None:
    with pytest.raises(InvalidScope, match=r"4 parts.*user\[/agent\[/namespace\]\]"):
        parse_scope("a/b/c/d")


@given(PART, PART, PART)
def test_a_scope_survives_being_written_and_read(user: str, agent: str, namespace: str) -> None:
    scope = Scope(user, agent, namespace)
    assert parse_scope(scope_text(scope)) == scope


def test_a_full_scope_is_taken_as_written() -> None:
    assert find_scope("ann/helper", KNOWN) == Scope("ann", "helper")


@pytest.mark.parametrize("part", ["conv-26", "conv-30"])
def test_a_part_that_only_one_scope_has_stands_for_it(part: str) -> None:
    assert find_scope(part, KNOWN) == Scope("locomo", "", part)


def test_a_scope_that_is_written_in_full_goes_before_one_that_has_it_as_a_part() -> None:
    known = [(Scope("x", "helper"), 1), (Scope("helper"), 1)]
    assert find_scope("helper", known) == Scope("helper")


def test_a_part_that_several_scopes_have_is_an_error_that_names_them() -> None:
    with pytest.raises(InvalidScope, match=r"locomo/-/conv-26, locomo/-/conv-30"):
        find_scope("locomo", KNOWN)


def test_an_unknown_scope_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"no scope 'conv-99'.*locomo/-/conv-26.*ann/helper/-"):
        find_scope("conv-99", KNOWN)


def test_no_scope_is_the_default_one_and_never_another() -> None:
    assert find_scope(None, [*KNOWN, (Scope(), 1)]) == Scope()
    with pytest.raises(NotFound, match=r"default scope holds nothing.*ann/helper/-.*--scope"):
        find_scope(None, [(Scope("ann", "helper"), 2)])


def test_an_empty_store_says_so() -> None:
    with pytest.raises(NotFound, match="empty"):
        find_scope(None, [])


def test_a_long_list_is_cut() -> None:
    with pytest.raises(NotFound, match="and 15 more"):
        find_scope(None, [(Scope(f"u{i}"), 1) for i in range(25)])
