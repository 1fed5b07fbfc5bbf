"""What the slot reader is taught from."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from benchmarks.facts import teaching
from benchmarks.facts.generator.phrasings import sections, sections_of
from benchmarks.facts.generator.slots import SLOTS
from benchmarks.facts.taught_slots import hands
from benchmarks.facts.taught_values import value
from recall_integrations.facts.reader import SlotReader
from recall_integrations.facts.reader.slot_reader import ASKED, ENDS, NOTHING, OTHER, SAYS, STATES, TOLD, WAS

PHRASED = """
[gym]
is: bench day at {v}, then home
no: quit {v}, nothing else yet
was: {I} lifted at {v} as a student
non: the {n} next door smells
now?: where [do|does] {I} lift
[car]
is: {I} [drive|drives] a {v} to work
now?: what [do|does] {I} drive
[gate_code]
is: the gate opens with {v}
now?: what opens the gate
"""


@pytest.fixture
def phrased(tmp_path: Path) -> Path:
    file = tmp_path / "hand.txt"
    file.write_text(PHRASED, encoding="utf-8")
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "talk").mkdir()
    (tmp_path / "talk" / "questions.jsonl").write_text(json.dumps({"query": "who came to tea?"}), encoding="utf-8")
    (tmp_path / "talk" / "memories.jsonl").write_text(json.dumps({"text": "Tea is ready."}), encoding="utf-8")
    return tmp_path


def test_each_phrasing_is_an_example_of_what_it_says(phrased: Path) -> None:
    made = list(teaching.examples([phrased]))
    labels = {(example.part, example.label) for example in made}
    assert labels == {
        (ASKED, "gym"), (ASKED, "car"), (ASKED, OTHER), (TOLD, "gym"), (TOLD, "car"), (TOLD, OTHER),
        (SAYS, STATES), (SAYS, ENDS), (SAYS, WAS), (SAYS, NOTHING),
    }  # fmt: skip
    assert made == list(teaching.examples([phrased])) != list(teaching.examples([phrased], seed=1))
    assert not any(re.search(r"[{}|\[\]]", example.text) for example in made)


def test_texts_about_no_slot(data: Path) -> None:
    made = {(example.part, example.label, example.text) for example in teaching.of_others(data)}
    assert {
        (ASKED, OTHER, "who came to tea?"),
        (TOLD, OTHER, "Tea is ready."),
        (SAYS, NOTHING, "Tea is ready."),
    } <= made
    assert all(label in (OTHER, NOTHING) for _, label, _ in made)
    without = {example.text for example in teaching.given([], data, without=["talk"])}
    assert "who came to tea?" not in without and without < {text for _, _, text in made}


def test_it_learns(phrased: Path, data: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    reader = SlotReader(teaching.taught([*teaching.examples([phrased]), *teaching.of_others(data)]))
    assert reader.slots == ("car", "gym")
    for query, slot in (("Where do I lift", 1), ("What do I drive", 0)):
        shares, other = reader.asked(query)
        assert shares.argmax() == slot and shares.max() > other
    assert reader.asked("who came to tea?")[1] > 0.5


def test_no_value_and_no_phrasing_is_of_what_is_measured() -> None:
    rng = random.Random(0)
    measured = {
        text
        for style in ("dev", "test", "free")
        for keys in sections(style).values()
        for t in keys.values()
        for text in t
    }
    taught = {text for file in hands() for keys in sections_of(file).values() for t in keys.values() for text in t}
    assert len(taught) > 2_000 and not taught & measured
    listed = {each for slot in SLOTS for each in slot.values if not re.search(r"[#^<]", each)}
    assert not {value(slot.name, rng) for slot in SLOTS for _ in range(30)} & listed
