"""Slots of a user's own in the settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recall_integrations import RecallConfig
from recall_integrations.config.sections import own_slots
from recall_integrations.errors import ConfigError
from recall_integrations.facts.slots import SHIPPED
from tests.rows import each_row

DESK = {"nouns": ["Desk", " desk  number"], "kind": "code", "verbs": ["sit at"], "starts": ["Move to"], "one": False}


def test_what_is_said_of_a_slot_is_kept_and_nothing_else() -> None:
    assert own_slots({"desk": DESK, "badge": {"nouns": ["badge"]}}) == {
        "desk": {
            "nouns": ("desk", "desk number"),
            "one": False,
            "kind": "code",
            "verbs": ("sit at",),
            "starts": ("move to",),
        },
        "badge": {"nouns": ("badge",)},
    }
    config = RecallConfig.from_mapping({"facts": {"slots": {"desk": DESK}}})
    assert config == RecallConfig.from_mapping({"facts": {"slots": json.loads(json.dumps(config.facts.slots))}})
    assert config != RecallConfig() and hash(config) == hash(RecallConfig())


@each_row(
    ("given", "says"),
    [
        (["desk"], "must be a mapping from names to slots"),
        ({"Desk": {"nouns": ["desk"]}}, "The name 'Desk'"),
        ({"d" * 61: {"nouns": ["desk"]}}, "at most 60"),
        ({"desk\n": {"nouns": ["desk"]}}, "must be lower-case"),
        ({"": {"nouns": ["desk"]}}, "The name ''"),
        ({3: {"nouns": ["desk"]}}, "The name 3"),
        ({"a:b": {"nouns": ["desk"]}}, "The name 'a:b'"),
        ({"desk": {"nouns": [""]}}, "facts.slots.desk.nouns must list"),
        ({"desk": "desk"}, "facts.slots.desk must be a mapping with `nouns`"),
        ({"desk": {"nouns": ["desk"], "verb": ["sit at"]}}, "facts.slots.desk has no verb: it may have `nouns`"),
        ({"desk": {}}, "facts.slots.desk.nouns must list what people call it"),
        ({"desk": {"nouns": "desk"}}, "facts.slots.desk.nouns must list"),
        ({"desk": {"nouns": []}}, "facts.slots.desk.nouns must list"),
        ({"desk": {"nouns": [4]}}, "facts.slots.desk.nouns must list"),
        (
            {"desk": {"nouns": ["desk"], "verbs": ["sit {at}"]}},
            "facts.slots.desk.verbs must list what leads to a value",
        ),
        (
            {"desk": {"nouns": ["desk"], "stops": ["x" * 61]}},
            "facts.slots.desk.stops must list what tells that it ended",
        ),
        ({"desk": {"nouns": ["desk"], "one": 1}}, "facts.slots.desk.one must be true or false, not 1"),
        ({"desk": {"nouns": ["desk"], "kind": "seat"}}, "facts.slots.desk.kind must be one of any, person"),
    ],
)
def test_what_is_wrong_is_said_by_its_name(given: Any, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RecallConfig.from_mapping({"facts": {"slots": given}})
    assert says in str(caught.value)


def test_slots_of_the_package_are_as_those_of_a_user_must_be() -> None:
    assert own_slots(SHIPPED) == {name: dict(row) for name, row in SHIPPED.items()}
