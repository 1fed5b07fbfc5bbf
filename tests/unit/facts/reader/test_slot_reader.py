"""The slot reader: what it sees of a text, its file, and what it has learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from recall_integrations.facts.reader import SlotReader, slot_reader
from recall_integrations.facts.reader.features import BUCKETS, places, rarity, weights_of
from recall_integrations.facts.reader.slot_reader import (
    ASKED,
    FILE,
    NOTHING,
    OTHER,
    SAYS,
    STATES,
    TOLD,
    WAS,
    Part,
    load,
    quantised,
    save,
)
from recall_integrations.facts.shipped import SHIPPED


def test_places_are_of_words_and_pairs_and_shapes_of_numbers() -> None:
    found = places("Ring me on 555-0101")
    assert found.tolist() == sorted(set(found.tolist())) and found.max() < BUCKETS
    assert len(found) == 11  # five words, and six pairs with both ends
    assert np.array_equal(found, places("ring ME on 555-9942"))
    assert not np.array_equal(found, places("ring me on 5550101"))
    assert places("").tolist() == places(" … ").tolist() and len(places("")) == 1


def test_what_one_text_holds_counts_nothing_and_what_few_hold_counts_more() -> None:
    texts = [places(text) for text in ("my gym", "my car", "my car", "a bike")]
    rare = rarity(texts)
    mine, car, bike = (
        next(iter(set(places(one)) - set(places("")) - set(places("x")))) for one in ("my", "car", "bike")
    )
    assert rare[bike] == 0 and rare[car] > rare[mine] > 0
    weights = weights_of(texts[1], rare)
    assert float(weights @ weights) == pytest.approx(1.0)
    assert not weights_of(places("zebra"), rare).any()


def _part(classes: tuple[str, ...], seed: int) -> Part:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(len(classes), bundled().dimensions + BUCKETS))
    return quantised(classes, weights, rng.normal(size=len(classes)), np.ones(BUCKETS, dtype=np.float32), 256)


def test_a_model_is_kept_and_read(tmp_path: Path) -> None:
    slots = ("car", "gym", OTHER)
    parts = {ASKED: _part(slots, 0), TOLD: _part(slots, 1), SAYS: _part((STATES, "ends", NOTHING, WAS), 2)}
    save(parts, tmp_path / "reader")
    reader, again = SlotReader(parts), SlotReader(load(tmp_path / "reader"))
    assert again.slots == reader.slots == ("car", "gym")
    shares, other = reader.asked("what do I drive?")
    assert float(shares.sum()) + other == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(again.asked("what do I drive?")[0], shares)
    told, says = reader.read(["a Volvo", "at Boulderhaus"])
    assert told.shape == (2, 2) and np.array_equal(told, again.read(["a Volvo", "at Boulderhaus"])[0])
    assert says.shape == (2, 4) and np.allclose(says.sum(axis=1), 1)


def test_rounding_moves_no_weight_by_more_than_half_a_step() -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 4 + BUCKETS))
    part = quantised(("a", "b", "c"), weights, np.zeros(3), np.ones(BUCKETS, dtype=np.float32), 4)
    whole = np.concatenate([part.vector.T * part.scales[0][:, None], part.words.T * part.scales[1][:, None]], axis=1)
    steps = np.concatenate(
        [np.repeat(part.scales[0][:, None], 4, 1), np.repeat(part.scales[1][:, None], BUCKETS, 1)], 1
    )
    assert np.all(np.abs(whole - weights) <= steps / 2 + 1e-6)


@pytest.mark.parametrize("content", [b"", b"not a model", FILE.read_bytes()[:5_000]])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "reader"
    with pytest.raises(EmbeddingError, match="Cannot read the slot reader"):
        load(file)
    file.write_bytes(content)
    with pytest.raises(EmbeddingError, match="Reinstall"):
        load(file)


def test_what_ships_fits_the_schema_and_the_bundled_model() -> None:
    parts = load(FILE)
    assert set(slot_reader().slots) <= set(SHIPPED) and len(slot_reader().slots) > 40
    assert all(part.vector.shape == (bundled().dimensions, len(part.classes)) for part in parts.values())
    assert all(part.words.shape == (BUCKETS, len(part.classes)) for part in parts.values())
    assert FILE.stat().st_size < 2_000_000
    assert slot_reader() is slot_reader()


@pytest.mark.parametrize(
    ("query", "slot"),
    [
        ("which digits would a courier need to reach me?", "phone_number"),
        ("where do I go to lift weights these days?", "gym"),
        ("who looks after my teeth?", "dentist"),
        ("what do I type to get on the wlan at home?", "wifi_password"),
        ("who collects the money for my flat?", "landlord"),
    ],
)
def test_questions_for_a_slot(query: str, slot: str) -> None:
    shares, other = slot_reader().asked(query)
    assert slot_reader().slots[int(shares.argmax())] == slot and other < 0.5


@pytest.mark.parametrize(
    "query",
    ["what happened at the party on Saturday?", "write a poem about the rain", "why did Sam quit so suddenly?", ""],
)
def test_questions_for_none(query: str) -> None:
    shares, other = slot_reader().asked(query)
    assert other > 0.5 or shares.max() < 0.12


def test_statements() -> None:
    reader = slot_reader()
    texts = ["lost the handset on the tram, so ring me on 555-0202 from now on", "the gym was packed again, awful"]
    told, says = reader.read(texts)
    stated = told * says[:, :2].sum(axis=1, keepdims=True)
    assert reader.slots[int(stated[0].argmax())] == "phone_number" and stated[0].max() > 0.3
    assert stated[1].max() < 0.3
