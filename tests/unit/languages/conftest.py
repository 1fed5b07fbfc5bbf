"""What a sentence is read as, by the kind of reading: the test file of a language is a table of sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recall_integrations.query.by_table.cues import type_cues
from recall_integrations.query.by_table.negation import find_negations
from recall_integrations.query.by_table.person import asked_role, first_person
from recall_integrations.query.by_table.sessions import read_session

Read = Callable[[str, str, str], Any]


def _negated(text: str, code: str) -> list[str]:
    found = find_negations(text, code)
    for negation in found:
        start, end = negation.term_span
        assert text[start:end] == negation.term
        assert negation.span[0] <= start < end <= negation.span[1] <= len(text)
    return [n.term for n in found]


def _role(text: str, code: str) -> str | None:
    role = asked_role(text, code).role
    return None if role is None else role.value


def _session(text: str, code: str) -> tuple[int, ...] | str | None:
    found = read_session(text, language=code)
    if found is None:
        return None
    return found.places or found.part


def _person(text: str, code: str) -> str | None:
    found = first_person(text, code)
    return None if found is None else text[slice(*found)].lower()


def _type(text: str, code: str) -> str | None:
    types = type_cues(text, code)[1]
    return types[0].value if types else None


@pytest.fixture(scope="session")
def read() -> Read:
    """The reading of a text: by language, kind (negated, role, session, person, type) and text."""
    readers = {"negated": _negated, "role": _role, "session": _session, "person": _person, "type": _type}
    return lambda code, kind, text: readers[kind](text, code)
