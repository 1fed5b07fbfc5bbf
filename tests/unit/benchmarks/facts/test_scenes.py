"""Scenes: their files, and what they are asked among."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.facts import scenes
from benchmarks.facts.generator.phrasings import sections
from recall_integrations.errors import InvalidArgument

GYM = """? now which gym do I go to?
- gym: PureGym, mornings
+ gym now: Fit4
~ So sore from the gym.

? other why was the gym shut?
+ The gym was shut for a burst pipe
~ The gym shuts at ten
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GYM, encoding="utf-8")
    now, other = scenes.scenes(tmp_path / "a.txt")
    assert (now.kind, now.query, len(now.told)) == ("now", "which gym do I go to?", 3)
    assert (other.kind, other.told[0]) == ("other", ("+", "The gym was shut for a burst pipe"))


@pytest.mark.parametrize(
    "text",
    ["which gym?\n+ a", "? when which gym?\n+ a", "? now which gym?\n- a", "? now g?\n+ a\n+ b", "? now g?\n+ a\nb"],
)
def test_what_is_no_scene_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="no scene.*scenes.py"):
        scenes.scenes(tmp_path / "a.txt")


def test_a_scene_is_among_other_things_and_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GYM, encoding="utf-8")
    now, other = scenes.stages(tmp_path / "a.txt", ["Tea is ready.", "Rain again."])
    assert (now.right, now.stale) == ({"+1"}, {"-0"}) and not other.right and not other.stale
    own = [memory.id for memory in now.memories if not memory.id.startswith("x")]
    assert own == ["-0", "+1", "~2"] and len(now.memories) > 3
    assert all(memory.event_at is not None and memory.event_at < scenes.ASKED_AT for memory in now.memories)
    assert {"PureGym", "Fit4"}.isdisjoint(" ".join(m.text for m in other.memories if m.id.startswith("x")).split())
    assert next(scenes.stages(tmp_path / "a.txt", ["Tea is ready.", "Rain again."])) == now  # the same every time
    alone = scenes.by_itself(now)
    assert [memory.id for memory in alone.memories] == own and alone.scope != now.scope and alone.right == now.right


def test_who_says_it_is_written_before_it(tmp_path: Path) -> None:
    told = "? now which gym does Ana go to?\n+ <Ana> PureGym!\n~ <Bo Li> Nice, <3\n~ <3 it there\n~ Ana: mornings\n"
    (tmp_path / "a.txt").write_text(told, encoding="utf-8")
    (stage,) = scenes.stages(tmp_path / "a.txt", ())
    assert [(one.actor, one.text) for one in stage.memories] == [
        ("Ana", "PureGym!"),
        ("Bo Li", "Nice, <3"),
        (None, "<3 it there"),
        (None, "Ana: mornings"),
    ]


def test_what_comes_first_is_counted(tmp_path: Path) -> None:
    text = "? now what is my phone number?\n- My phone number is 555-0101\n+ My phone number is 555-0202\n"
    (tmp_path / "a.txt").write_text(f"{text}\n{GYM}", encoding="utf-8")
    assert scenes.measured(tmp_path / "a.txt", facts=True, alone=True).keys() == {"now", "then", "other"}
    found = scenes.measured(tmp_path / "a.txt", facts=True)
    assert found["now"].count == 2 and found["other"].count == 1 and found["then"].count == 0
    assert found["now"].right >= 1 and found["now"].right + found["now"].stale <= 2


def test_those_that_teach_are_many_and_not_those_that_measure() -> None:
    texts = [text for file in scenes.files() for scene in scenes.scenes(file) for _, text in scene.told]
    measured = {
        text
        for name in ("dev", "test", "free")
        for keys in sections(name).values()
        for given in keys.values()
        for text in given
    }
    for file in scenes.UNSEEN:
        measured.update(text for scene in scenes.scenes(file) for _, text in scene.told)
    assert len(texts) > 4_000 and measured.isdisjoint(texts)
