from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from benchmarks.planning import worth
from benchmarks.planning.worth import DEFAULT, Asked


def test_it_asks_an_embedding_behind_a_network_and_counts_its_calls() -> None:
    data = Path(worth.__file__).parents[1] / "made_up"
    done = CliRunner().invoke(worth.main, [str(data), "--limit", "1", "--kind", "everyday", "--no-parts"])
    assert done.exit_code == 0, done.output
    row = next(line for line in done.output.splitlines() if line.startswith("small stores"))
    assert row.split()[5:8] == ["3", "1.00", "0%"]  # questions, calls a question, of which none is saved


def test_a_gain_is_the_mean_of_kinds_that_count_the_same() -> None:
    gaps = iter([("a", [1.0, 0.0]), ("b", [0.5]), ("c", [0.0] * 9), ("d", [])])
    assert worth.mean_of(gaps, {"a": "x", "b": "x", "c": "y", "d": "z"}) == 0.25
    own = Asked(scores={"q": 1.0}, plan={"q": "temporal"}, ids={"q": ("m",)})
    other = Asked(scores={"q": 0.25})
    answers = {"set": {DEFAULT: own, "arm graph": other}}
    assert list(worth._gaps(answers, DEFAULT, "arm graph", lambda one: one.scores)) == [("set", [0.75])]
    assert list(worth._gaps(answers, DEFAULT, "arm graph", lambda one: one.scores, "precise")) == [("set", [])]
