"""The schema with slots of a user's own."""

from __future__ import annotations

from recall_integrations.facts.question import state_asked
from recall_integrations.facts.slots import DEFAULT, SLOTS, Slots
from tests.rows import each_row

DESK = {"nouns": ("desk",), "kind": "code", "verbs": ("sit at",), "starts": ("move to",)}


def test_none_of_ones_own_is_the_schema_that_ships() -> None:
    assert Slots.of({}) is DEFAULT and tuple(DEFAULT) == SLOTS


def test_what_is_left_out_stays_as_it_was() -> None:
    shipped = DEFAULT.get("home")
    own = Slots.of({"home": {"nouns": ("home", "den")}}).get("home")
    assert shipped is not None and own is not None and own.nouns == ("home", "den")
    assert (own.one, own.kind, own.verbs, own.starts, own.stops) == (
        shipped.one,
        shipped.kind,
        shipped.verbs,
        shipped.starts,
        shipped.stops,
    )
    none = Slots.of({"home": {"nouns": ("home",), "verbs": (), "one": False}}).get("home")
    assert none is not None and none.verbs == () and not none.one and none.starts == shipped.starts


@each_row("query", ["what is my desk?", "where do I sit?", "where am I sitting now?", "where does Priya sit?"])
def test_a_slot_is_asked_for_by_its_name_and_by_where_one_is(query: str) -> None:
    asked = state_asked(query, Slots.of({"desk": DESK}))
    assert asked is not None and asked.slots == ("desk",)
    assert query.startswith("what") or state_asked(query, DEFAULT) is None
