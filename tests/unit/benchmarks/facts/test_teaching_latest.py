"""What the model of candidates is taught from."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.facts import teaching, teaching_latest
from benchmarks.facts.histories import room
from benchmarks.facts.phrasings import NOW, sections
from benchmarks.facts.taught_slots import listed, styles, taught_slots
from benchmarks.facts.teaching_latest import ASKS_STATE, Shown, nets, of_rooms, of_sets, with_asking
from recall_integrations.facts.latest.evidence import FEATURES
from recall_integrations.facts.latest.model import OTHER, STATE, LatestModel
from recall_integrations.recall import likely


def test_no_phrasing_is_of_what_is_measured_or_of_what_the_slot_reader_was_taught() -> None:
    def lines(*names: str) -> set[str]:
        return {text for name in names for keys in sections(name).values() for given in keys.values() for text in given}

    measured = lines("dev", "test", "free")
    own = lines(*styles())
    assert len(own) > 5_000 and not own & measured
    taught = lines(*(f"taught/{file.stem}" for file in teaching.hands()))
    assert len(own & taught) < 0.01 * len(own)  # short ones: "what gym do I go to?"


def test_every_slot_has_values() -> None:
    rng = random.Random(0)
    for style in styles():
        for slot in taught_slots(style):
            assert (slot.value(rng) and len(slot.distinct(4, rng)) == 4 and slot.noun) or slot.name == "home"
    assert listed()["bus_line"][:2] == ("person", "bus line")


def test_what_is_seen_of_questions_is_kept() -> None:
    style = styles()[0]
    made = [room(f"x{n}", style, taught_slots(style), style, 2) for n in range(3)]
    found = list(of_rooms(made, "hand"))
    assert found and all(one.group == "hand" and one.found.shape == (len(one.at), len(FEATURES)) for one in found)
    assert all(one.right.any() and not (one.right & one.stale).any() for one in found)
    asked = [each.text for one in made for history in one.histories for each in history.questions if each.kind == NOW]
    assert {one.query for one in found} & set(asked)
    assert likely.seen.__module__ == likely.__name__  # nobody watches any more


def test_questions_for_no_state_have_nothing_right(tmp_path: Path) -> None:
    (tmp_path / "talk").mkdir()
    memories = [{"id": f"m{n}", "text": text} for n, text in enumerate(("Tea is ready.", "I made the tea myself."))]
    (tmp_path / "talk" / "memories.jsonl").write_text("\n".join(map(json.dumps, memories)), encoding="utf-8")
    asked = {"id": "q", "query": "what tea do I like to make?", "relevant": ["m1"]}
    (tmp_path / "talk" / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    (found,) = of_sets(tmp_path, ["talk"])
    assert not found.right.any() and not found.stale.any() and found.group == "talk"


@pytest.mark.slow  # loads torch, and trains
def test_it_learns_who_is_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    shown = []
    for _ in range(300):
        told = rng.random(4) < 0.5
        found = rng.normal(size=(4, len(FEATURES))).astype(np.float32)
        found[:, 0] = np.where(told, 2, -2)
        at = rng.permutation(4).astype(np.int64)
        right = told & (at == max(at[told], default=-1))
        shown.append(Shown(query="", group="a", found=found, at=at, right=right, stale=told & ~right))
    part = teaching_latest.asking_part({STATE: {"a": ["where do I live now?"] * 2}, OTHER: {"b": ["why not?"] * 2}})
    monkeypatch.setattr(teaching_latest, "FALLS", 1.0)
    model = LatestModel(part, nets(shown, count=1, epochs=300))
    right = [
        one.right[int(np.argmax(model.telling(one.found, one.at.tolist())[1]))] for one in shown if one.right.any()
    ]
    assert np.mean(right) > 0.97
    nothing = [model.telling(one.found, one.at.tolist())[1].sum() for one in shown if not one.right.any()]
    assert len(nothing) > 5 and np.mean(nothing) < 0.3


def test_the_share_of_asking_is_of_a_part_that_did_not_see_the_hand() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    asked = {
        STATE: {"a": ["where do I live now?", "which gym is mine?"], "b": ["what car do I drive?", "what do I drive?"]},
        OTHER: {"c": ["why did he quit?", "what did they say?"], "d": ["tell me a joke about tea", "a joke please"]},
    }
    whole = teaching_latest.asking_part(asked)
    empty = np.zeros((1, len(FEATURES)), dtype=np.float32)
    none = np.zeros(1, dtype=np.bool_)
    one = Shown(query="which gym is mine?", group="a", found=empty, at=np.zeros(1, np.int64), right=none, stale=none)
    (unseen,) = with_asking([one], asked, whole)
    (seen,) = with_asking([replace(one, group="elsewhere")], asked, whole)
    assert 0 < unseen.found[0, ASKS_STATE] < seen.found[0, ASKS_STATE] < 1 and not one.found.any()
