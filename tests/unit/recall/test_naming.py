"""Later memories that name what is held, and small stores."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer

BEGIN = datetime(2026, 1, 10, tzinfo=timezone.utc)
NOW = BEGIN + timedelta(days=100)
OTHERS = [
    f"{who} {what}"
    for who in ("The neighbour", "Our intern", "Uncle Ben", "The plumber", "My colleague")
    for what in (
        "watched a film about penguins",
        "told the same joke again",
        "baked banana bread",
        "was twenty minutes late",
        "found some old photos",
        "saw a rainbow over the lake",
    )
]


def first(texts: list[str], query: str, others: int) -> str:
    """The id of the first hit; `m0`, `m1` … are the texts, in order of time."""
    with MemoryStore.open() as store:
        store.remember_many(
            [
                *(Memory(t, id=f"m{n}", created_at=BEGIN + timedelta(days=20 * n)) for n, t in enumerate(texts)),
                *(
                    Memory(t, id=f"d{n}", created_at=BEGIN + timedelta(days=2 * n))
                    for n, t in enumerate(OTHERS[:others])
                ),
            ]
        )
        return str(QueryOptimizer(store).recall(query, now=NOW, k=3).hits[0].memory.id)


@pytest.mark.parametrize("others", [0, 30])
@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["My gym is PureGym", "I cancelled PureGym and joined the Y"], "which gym do I go to?"),
        (["My dentist is Dr. Patel", "Dr. Patel retired, I see Dr. Young now"], "who is my dentist?"),
        (["Our office wifi is GuestNet", "They renamed GuestNet to HubNet"], "what's the office wifi called?"),
        (["The rent is 1200", "The landlord raised the rent to 1,350"], "how much is the rent?"),
        (["The standup is at 9:30", "From next Monday the standup moves to 10"], "when is the standup?"),
        (["Sarah manages the data team", "Sarah handed the data team over to Miguel"], "who manages the data team?"),
    ],
)
def test_what_changed_comes_first(texts: list[str], query: str, others: int) -> None:
    assert first(texts, query, others) == "m1"


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["My gym is PureGym", "I had lunch near PureGym with Nina"], "which gym do I go to?"),
        (["My gym is PureGym", "My sister cancelled PureGym and joined the Y"], "which gym do I go to?"),
        (["My dentist is Dr. Patel", "Dr. Patel has a lovely garden"], "who is my dentist?"),
    ],
)
def test_what_only_names_it_does_not(texts: list[str], query: str) -> None:
    assert first(texts, query, 30) == "m0"


def test_what_an_assistant_answers_is_not_what_holds() -> None:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                {"role": "user", "content": "My doctor found two allergies: peanuts and penicillin."},
                {"role": "assistant", "content": "Noted. Allergies to peanuts call for care with satay sauce."},
            ],
            thread="chat",
        )
        hit = QueryOptimizer(store).recall("what am I allergic to?", k=1).hits[0]
        assert str(hit.memory.role) == "user"
