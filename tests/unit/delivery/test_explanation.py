from __future__ import annotations

import pytest

from recall_integrations.delivery.explanation import led, reason
from recall_integrations.records import Contribution, Memory, ParsedQuery
from recall_integrations.retrievers.second_hop import Via

MEMORY = Memory("Priya Raman grew up by the sea.", id="m1", type="chunk")


def via(name: str = "Priya Raman", *, about: bool = True) -> Via:
    return Via(memory="m0", name=name, about=about)


@pytest.mark.parametrize(
    ("way", "mode", "said"),
    [
        (via(), "allow", "named in m0: Priya Raman"),
        (via(about=False), "allow", "shares Priya Raman with m0"),
        (via(), "redact", "named in m0: Priya Raman"),
        (via(), "block", "named in m0"),
        (via(about=False), "block", "shares a name with m0"),
        (None, "allow", ""),
        (None, "block", ""),
    ],
)
def test_how_a_document_was_reached(way: Via | None, mode: str, said: str) -> None:
    assert led(way, mode) == said


def test_a_name_that_is_personal_data_is_redacted() -> None:
    assert "555" not in led(via("+1 415 555 2671"), "redact")


def test_a_way_is_no_link_to_what_the_query_names() -> None:
    graph = Contribution(source="graph", score=0.0, added=3.0)
    text = reason(ParsedQuery(original="where"), MEMORY, (graph,), way=led(via()))
    assert "named in m0: Priya Raman" in text
    assert "linked" not in text


def test_support_of_the_graph_is_a_link() -> None:
    graph = Contribution(source="graph", score=0.5, added=0.5)
    assert "linked to what came up lately" in reason(ParsedQuery(original="where"), MEMORY, (graph,))


@pytest.mark.parametrize(
    ("role", "added", "said"),
    [("user", 0.1, True), ("assistant", 0.1, True), ("user", 0.0, False), ("user", -0.1, False), (None, 0.1, False)],
)
def test_who_said_it_is_a_reason_where_it_counted(role: str | None, added: float, said: bool) -> None:
    memory = Memory("I cannot eat peanuts.", id="m1", role=role)
    parsed = ParsedQuery(original="what about peanuts", terms=("peanut",))
    text = reason(parsed, memory, (Contribution(source="role", score=1.0, added=added),))
    assert text == "says: peanuts" + (f"; the {role} said it" if said else "")
