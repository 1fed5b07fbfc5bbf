"""What the model of candidates is taught from."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.facts import scenes, teaching, teaching_latest
from benchmarks.facts.generator.histories import room
from benchmarks.facts.generator.phrasings import NOW, sections
from benchmarks.facts.taught_slots import hands, listed, style_of, taught_slots
from benchmarks.facts.teaching_latest import (
    ASKS_STATE,
    FOLDS,
    KINDS,
    QUERIES,
    Shown,
    Taught,
    by_folds,
    nets,
    of_rooms,
    of_sets,
)
from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.evidence import FEATURES
from recall_integrations.facts.latest.model import OTHER, STATE, LatestModel
from recall_integrations.facts.reader import slot_reader
from recall_integrations.facts.reader.features import places
from recall_integrations.facts.reader.slot_reader import ASKED, ENDS, NOTHING, SAYS, STATES, TOLD, WAS, Linear
from recall_integrations.recall import likely


def test_no_phrasing_is_of_what_is_measured() -> None:
    def lines(*names: str) -> set[str]:
        return {text for name in names for keys in sections(name).values() for given in keys.values() for text in given}

    own = lines(*map(style_of, hands()))
    assert len(own) > 15_000 and not own & lines("dev", "test", "free")


def test_every_hand_and_set_is_in_one_fold() -> None:
    assert sorted(one for fold in FOLDS for one in fold) == sorted(
        (*(file.stem for file in (*hands(), *teaching_latest.scene_files())), *KINDS)
    )


def test_what_teaches_nothing_yet_is_there_and_left_out() -> None:
    every, teach = ({file.stem for file in files()} for files in (scenes.files, teaching_latest.scene_files))
    assert every - teach == teaching_latest.NOT_TAUGHT


def test_every_slot_has_values() -> None:
    rng = random.Random(0)
    for style in map(style_of, hands()):
        for slot in taught_slots(style):
            assert (slot.value(rng) and len(slot.distinct(4, rng)) == 4 and slot.noun) or slot.name == "home"
    assert listed()["bus_line"][:2] == ("person", "bus line")


def test_what_is_seen_of_questions_is_kept() -> None:
    style = style_of(hands()[0])
    made = [room(f"x{n}", style, taught_slots(style), style, 2) for n in range(3)]
    found = list(of_rooms(made, "hand"))
    assert found and all(one.group == "hand" and len(one.candidates) == len(one.at) == len(one.own) for one in found)
    assert all(one.right.any() and not (one.right & one.stale).any() for one in found)
    assert all(one.own[one.right | one.stale].all() for one in found)
    asked = [each.text for one in made for history in one.histories for each in history.questions if each.kind == NOW]
    assert {one.query for one in found} & set(asked)
    assert likely.seen.__module__ == likely.__name__  # nobody watches any more


def test_questions_for_no_state_have_nothing_right(tmp_path: Path) -> None:
    (tmp_path / "talk").mkdir()
    memories = [{"id": f"m{n}", "text": text} for n, text in enumerate(("Tea is ready.", "I made the tea myself."))]
    (tmp_path / "talk" / "memories.jsonl").write_text("\n".join(map(json.dumps, memories)), encoding="utf-8")
    asked = {"id": "q", "query": "what tea do I like to make?", "relevant": ["m1"]}
    (tmp_path / "talk" / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    (found,) = of_sets(tmp_path, "talk")
    assert not found.right.any() and not found.stale.any() and found.group == "talk"


def test_what_is_seen_of_scenes_says_which_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("talk", "phone", "projects"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "memories.jsonl").write_text('{"text": "Tea is ready, come down."}', encoding="utf-8")
    file = tmp_path / "made.txt"
    file.write_text(
        "? now which gym do I go to?\n- gym: PureGym on Harrow Rd, mornings\n+ gym now: Fit4, Mon/Thu\n\n"
        "? other what recipe do I like?\n+ I like the soup recipe\n~ My soup is cold\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(scenes, "files", lambda: (file,))
    found = {one.query: one for one in teaching_latest.of_scenes(tmp_path, file)}
    gym, soup = found["which gym do I go to?"], found["what recipe do I like?"]
    texts = [one.text for one in gym.candidates]
    assert texts[int(np.argmax(gym.right))] == "gym now: Fit4, Mon/Thu"
    assert texts[int(np.argmax(gym.stale))] == "gym: PureGym on Harrow Rd, mornings"
    assert gym.group == "made" and not soup.right.any() and not soup.stale.any()


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
    model = LatestModel(part, nets(shown, count=1, epochs=300), latest_model().comparing)
    right = [
        one.right[int(np.argmax(model.telling(one.found, one.at.tolist())[1]))] for one in shown if one.right.any()
    ]
    assert np.mean(right) > 0.97
    nothing = [model.telling(one.found, one.at.tolist())[1].sum() for one in shown if not one.right.any()]
    assert len(nothing) > 5 and np.mean(nothing) < 0.3


def test_a_group_counts_by_the_root_of_its_size() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    many = [f"what is the code of door {word}" for word in "one two three four five six seven eight nine ten".split()]
    asked = {STATE: {"a": many * 40, "b": ["where does Ana live"] * 4}, OTHER: {"c": ["where did Ana go"] * 4}}
    part = teaching_latest.asking_part(asked)
    query = "where does Ana live"
    shares = Linear(part).shares(bundled().embed_query(query), places(query))
    assert shares[0] > 0.6  # four queries beside four hundred
    assert Linear(part).shares(bundled().embed_query("where did Ana go"), places("where did Ana go"))[0] < 0.4


def test_queries_are_of_a_state_or_of_none() -> None:
    lines = [line for file in QUERIES.glob("*.txt") for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 3_000 and {line.split(" ")[0] for line in lines} == {scenes.NOW, scenes.OTHER}
    assert all(line.partition(" ")[2].strip() for line in lines)


def test_what_is_seen_of_a_hand_is_by_what_did_not_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    asked = {
        STATE: {"a": ["where do I live now?", "which gym is mine?"], "b": ["what car do I drive?", "what do I drive?"]},
        OTHER: {"c": ["why did he quit?", "what did they say?"], "d": ["tell me a joke about tea", "a joke please"]},
    }
    taught_without = []

    def given(files: list[Path], _data: Path, without: tuple[str, ...] = ()) -> list[teaching.Example]:
        taught_without.append(without)
        return [
            teaching.Example(part=part, text=f"{word} here", label=label)
            for part, labels in (
                (ASKED, ("gym", "car", "home", "other")),
                (TOLD, ("gym", "car", "home", "other")),
                (SAYS, (STATES, ENDS, WAS, NOTHING)),
            )
            for word, label in zip(("lifting", "driving", "living", "tea"), labels, strict=True)
        ]

    monkeypatch.setattr(teaching_latest, "queries", lambda _: asked)
    monkeypatch.setattr(teaching_latest, "FOLDS", (("a",), ("c", "d")))
    monkeypatch.setattr(teaching, "given", given)
    style = style_of(hands()[0])
    made = list(of_rooms([room("x", style, taught_slots(style), style, 2)], "a"))[:1]
    one = replace(made[0], query="which gym is mine?")
    model, asking = latest_model(), teaching_latest.asking_part(asked)
    whole = Taught(reader=slot_reader(), asking=asking, comparing=model.comparing)
    (unseen, seen) = by_folds(Path(), [one, replace(one, group="elsewhere")], whole, {}, 1)
    assert 0 < unseen.found[0, ASKS_STATE] < seen.found[0, ASKS_STATE] < 1
    assert unseen.found.shape == (int(one.own.sum()), len(FEATURES)) and taught_without == [("a",)]
