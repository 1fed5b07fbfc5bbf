from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime, timezone

from recall_integrations import Hit, Memory, Scope
from recall_integrations.adapters.shapes import (
    IF_ANY,
    OF_MEMORY,
    OF_RECALL,
    RESULT,
    Details,
    NodeDetails,
    own,
    places_of,
    said_of,
)
from recall_integrations.types import Highlight

UTC = timezone.utc
WHEN = datetime(2026, 3, 12, tzinfo=UTC)


def test_keys_that_prompts_name_are_always_there() -> None:
    bare = said_of(Hit(memory=Memory("x"), score=0.5), UTC)
    assert set(bare) == {*OF_MEMORY, "recall_score", "recall_reason"}
    assert {bare[key] for key in OF_MEMORY} == {"", "observation"}


def test_what_came_beside_is_told() -> None:
    around = Memory("before", id="b", actor="Sam", event_at=WHEN)
    memory = Memory("x", id="m", thread="t", position=2, refs=["doc:1"], expires_at=WHEN.replace(year=9000))
    held = {"superseded_by": "n", "valid_from": WHEN, "valid_to": WHEN.replace(month=6)}
    hit = Hit(memory=memory, score=0.5, duplicates=("d",), context=(around,), scope=Scope(user_id="u"), **held)
    said = said_of(hit, UTC)
    assert set(said) == {*OF_MEMORY, *OF_RECALL, *IF_ANY} - {"recall_highlights", RESULT}
    assert said["recall_duplicates"] == ["d"] and said["recall_refs"] == ["doc:1"] and said["recall_position"] == 2
    assert said["recall_scope"] == {"user_id": "u"}
    assert said["recall_context"][0]["text"] == "before"
    assert said["recall_context"][0]["recall_date"] == "2026-03-12"
    assert said["recall_superseded_by"] == "n" and said["recall_valid_to"] == "2026-06-12T00:00:00+00:00"
    json.dumps(said)


def test_highlights_are_places_of_what_is_shown() -> None:
    hit = Hit(memory=Memory("tea at five"), score=0.5, highlights=(Highlight(start=0, end=3, kind="word"),))
    assert places_of(hit, "tea at five") == {"recall_highlights": [[0, 3, "word"]]}
    assert places_of(hit, "[2026-03-12] tea at five")["recall_highlights"] == [[13, 16, "word"]]
    assert places_of(hit, "TEA AT FIVE") == {}
    assert places_of(Hit(memory=Memory("tea"), score=0.5), "tea") == {}
    assert places_of(hit, "tea (the cook): tea at five") == {"recall_highlights": [[16, 19, "word"]]}
    assert places_of(hit, "tea at five: tea at five") == {"recall_highlights": [[13, 16, "word"]]}


def test_a_copy_is_of_the_same_kind_and_a_pickle_plain() -> None:
    for kind in (Details, NodeDetails):
        made = kind({"n": [1], "recall_score": 0.5})
        for twin in (made.copy(), copy.copy(made), copy.deepcopy(made)):
            assert type(twin) is kind and dict(twin) == dict(made)
        assert copy.deepcopy(made)["n"] is not made["n"]
        assert type(pickle.loads(pickle.dumps(made))) is dict
        assert json.loads(json.dumps(made)) == dict(made)


def test_two_of_one_memory_are_equal_whatever_was_asked() -> None:
    one, other = Details(n=1, recall_score=0.5, recall_reason="a"), Details(n=1, recall_score=0.7, recall_context=[])
    assert one == other and one != Details(n=2, recall_score=0.5, recall_reason="a")
    assert one == dict(one) and dict(one) == one
    assert one != dict(other) and dict(other) != one


def test_as_text_a_node_shows_what_is_the_users_own() -> None:
    mine = {"file": "a.md", "n": 1}
    made = NodeDetails({**mine, "recall_score": 0.5, "recall_type": "fact"})
    assert str(made) == f"{made}" == str(mine)
    assert "recall_score" in repr(made)
    made["more"] = 2
    assert str(made) == str({**mine, "more": 2})
    assert own(made) == {**mine, "more": 2}
