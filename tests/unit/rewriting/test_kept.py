"""Kept phrasings against a plain dict."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.rewriting.asking import RewriteCache, key_of
from tests.quick import examples
from tests.rows import each_row


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_it_is_there_for_three_minutes_and_in_every_process(tmp_path: Path) -> None:
    path, clock = tmp_path / "rewrites.json", Clock()
    RewriteCache(path, clock=clock).put("a", ("one", "two"))
    other = RewriteCache(path, clock=clock)
    assert other.get("a") == ("one", "two") and other.get("b") is None
    clock.now += 179
    assert other.get("a") == ("one", "two")
    clock.now += 1
    assert other.get("a") is None
    clock.now -= 3_600  # nobody knows how old it is
    assert other.get("a") is None


def test_the_oldest_leaves(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "r.json", entries_max=2, clock=Clock())
    cache.put("a", ("1",))
    cache.put("b", ("2",))
    assert cache.get("a")
    cache.put("c", ("3",))
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, ("2",), ("3",))


@pytest.mark.parametrize("text", ["", "[]", '{"a": []}', '{"a": [1]}', '{"a": ["x", "y"]}', '{"a": [1, 2]}', "{"])
def test_a_damaged_file_is_an_empty_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    cache = RewriteCache(path, clock=Clock())
    assert cache.get("a") is None
    cache.put("a", ("1",))
    assert RewriteCache(path, clock=Clock()).get("a") == ("1",)


def test_where_nothing_can_be_written_this_process_remembers(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "missing" / "r.json", clock=Clock())
    cache.put("a", ("1",))
    assert cache.get("a") == ("1",)


@each_row("other", ["WHAT about  storage?", " what about storage", "What about ｓtorage!?"])
def test_queries_that_differ_in_form_alone_are_one(other: str) -> None:
    assert key_of("What about storage?", "p", 1) == key_of(other, "p", 1)


@each_row("other", [("what about storages", "p", 1), ("what about storage", "q", 1), ("what", "p", 2)])
def test_other_queries_and_other_contexts_have_other_keys(other: tuple[str, str, int]) -> None:
    assert key_of("what about storage", "p", 1) != key_of(*other)


def test_the_parts_of_a_key_do_not_run_together() -> None:
    assert key_of("a", "b", "c") != key_of("a", "bc", "") != key_of("a", "b c")
    assert key_of("\ud800", "x")  # half a character


@settings(deadline=None, max_examples=examples(60))  # it writes files
@given(
    st.lists(
        st.tuples(st.sampled_from("pgw"), st.sampled_from("abcd"), st.integers(0, 120)),
        max_size=30,
    )
)
def test_it_is_a_dict_that_forgets(steps: list[tuple[str, str, int]]) -> None:
    clock, model = Clock(), dict[str, tuple[float, tuple[str, ...]]]()
    with tempfile.TemporaryDirectory() as made:
        cache = RewriteCache(Path(made) / "r.json", ttl_s=180, entries_max=3, clock=clock)
        for i, (what, key, seconds) in enumerate(steps):
            clock.now += seconds
            model = {k: v for k, v in model.items() if clock.now - v[0] < 180}
            if what == "p":
                cache.put(key, (str(i),))
                model.pop(key, None)
                model[key] = clock.now, (str(i),)
                model = dict(list(model.items())[-3:])
            else:
                found = cache.get(key)
                assert found == (model[key][1] if key in model else None)
