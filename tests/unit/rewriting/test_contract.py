"""The contract by examples and against a plain count, with its clock and its file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.rewriting.asking import (
    CALLS_MIN,
    EMPTY,
    FAILED,
    PROBE_SECONDS,
    PROBES_MIN,
    SUCCESS,
    WINDOW,
    Contract,
)
from tests.rows import each_row


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def kept(calls: list[tuple[str, float]], path: Path | None = None) -> tuple[Contract, Clock]:
    clock = Clock()
    contract = Contract(path, clock)
    for outcome, ms in calls:
        contract.record(outcome, ms)
    return contract, clock


@each_row(
    ("calls", "said"),
    [
        ([(SUCCESS, 100)] * 20, ""),
        ([(FAILED, 100)] * (CALLS_MIN - 1), ""),  # too few to say
        ([(SUCCESS, 100)] * 16 + [(FAILED, 100)] * 4, ""),  # a fifth, as is allowed
        ([(SUCCESS, 100)] * 15 + [(FAILED, 100)] * 5, "25% of the last 20 rewrites gave nothing; at most 20% may."),
        ([(SUCCESS, 100)] * 19 + [(EMPTY, 100)], ""),  # one in twenty
        ([(SUCCESS, 100)] * 18 + [(EMPTY, 100)] * 2, "10% of the last 20 rewrites were empty; at most 5% may be."),
        ([(SUCCESS, 1_200)] * 20, ""),
        ([(SUCCESS, 1_201)] * 20, "The last 20 rewrites took 1201 ms (median); at most 1200 are allowed."),
        ([(SUCCESS, 10_000)] * 9 + [(SUCCESS, 100)] * 11, ""),  # the median is what counts
    ],
)
def test_what_it_says_of_calls(calls: list[tuple[str, float]], said: str) -> None:
    assert kept(calls)[0].refuses() == said


def test_it_finds_its_way_back() -> None:
    contract, clock = kept([(FAILED, 100)] * 20)
    assert contract.refuses()
    for _ in range(PROBES_MIN):
        clock.now += PROBE_SECONDS
        assert contract.refuses() == ""  # a probe may be made,
        assert contract.refuses() == ""  # until one is
        contract.begun()
        assert contract.refuses()
        contract.record(SUCCESS, 50)
    assert contract.refuses() == "" and contract.refuses() == ""


@each_row("bad", [(FAILED, 50.0), (EMPTY, 50.0), (SUCCESS, 5_000.0)])
def test_a_bad_probe_begins_the_count_again(bad: tuple[str, float]) -> None:
    contract, clock = kept([(FAILED, 100)] * 20)
    for outcome, ms in [(SUCCESS, 50.0), (SUCCESS, 50.0), bad, (SUCCESS, 50.0), (SUCCESS, 50.0)]:
        clock.now += PROBE_SECONDS
        assert contract.refuses() == ""
        contract.begun()
        contract.record(outcome, ms)
    assert contract.refuses()


def test_a_clock_that_was_put_back_holds_nothing_up() -> None:
    contract, clock = kept([(FAILED, 100)] * 20)
    clock.now -= 3_600
    assert contract.refuses() == ""
    contract.begun()
    assert contract.refuses()


def test_processes_share_it_and_a_damaged_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rewriting.json"
    kept([(FAILED, 100)] * 20, path)
    assert Contract(path, Clock()).refuses()
    for text in ("", "[]", "{}", '{"off": "", "probed": 0, "calls": [["odd", 1]]}', '{"off": 1, "probed": 0}'):
        path.write_text(text)
        assert Contract(path, Clock()).refuses() == ""


@given(st.lists(st.tuples(st.sampled_from([SUCCESS, EMPTY, FAILED]), st.floats(0, 3_000)), max_size=120))
def test_it_is_on_as_long_as_the_contract_is_kept(calls: list[tuple[str, float]]) -> None:
    contract, _ = kept([])
    seen: list[tuple[str, float]] = []
    for outcome, ms in calls:
        if contract.refuses():
            break
        contract.record(outcome, ms)
        seen = [*seen, (outcome, ms)][-WINDOW:]
        bad = sum(o != SUCCESS for o, _ in seen) / len(seen)
        times = sorted(ms for _, ms in seen)
        middle = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        empty = sum(o == EMPTY for o, _ in seen) / len(seen)
        broken = len(seen) >= CALLS_MIN and (bad > 0.2 or empty > 0.05 or middle > 1_200)
        assert bool(contract.refuses()) == broken
