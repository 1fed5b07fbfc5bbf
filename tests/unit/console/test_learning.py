"""`recall feedback` and `recall learn`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.cli import main
from recall_integrations.learning.making import learnable
from recall_integrations.learning.versions import Shelf, Version
from recall_integrations.ranking.feature_sum import FixedWeights

Recall = Callable[..., Result]
U1, U2 = Scope("u1"), Scope("u2")
ASKED = "who runs the deploy?"


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch) -> Recall:
    for name in ("RECALL_EMBEDDING", "RECALL_CONFIG", "RECALL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments, **more: CliRunner().invoke(main, [str(a) for a in arguments], **more)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with MemoryStore.open(path) as opened:
        said = ["Priya runs the deploy", "The deploy is on Friday", "Sam drinks tea"]
        opened.remember_many([Memory(text, id=f"m{i}") for i, text in enumerate(said, start=1)], scope=U1)
        opened.remember(Memory("Henrietta runs it", id="x1"), scope=U2)
    return path


@pytest.fixture
def versions(store: Path) -> Path:
    """A store with two versions in u1."""
    one, other = learnable()[:2]
    with MemoryStore.open(store) as opened:
        shelf = Shelf(opened.learned, opened.entity_key)
        name = shelf.name_of(U1)
        shelf.put(name, Version(id="v1", steps={one: 0.1}, ranker=FixedWeights.version))
        shelf.put(
            name,
            Version(
                id="v2",
                parent="v1",
                steps={one: 0.125, other: -0.5},
                arms={"graph": 1.1},
                plans={"plain, vague, short": "precise"},
                ranker=FixedWeights.version,
            ),
        )
    return store


def ok(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def failed(result: Result, *words: str) -> None:
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ") and "Traceback" not in result.output
    assert all(word in result.stderr for word in words), result.stderr


# -- feedback ----------------------------------------------------------------------------------------------------------


def test_feedback_says_what_is_kept_and_status_shows_it(store: Path, recall: Recall) -> None:
    given = ("feedback", store, "--query", ASKED, "--scope", "u1")
    said = ok(recall(*given, "--helpful", "m1", "--wrong", "m3", "--helpful", "gone"))
    assert said == "m1 helped (u1/-/-) m3 did not help (u1/-/-) Not there, and left out: gone"
    ok(recall(*given, "--rating", "up"))
    shown = ok(recall("learn", store, "status"))
    assert "u1/-/- serves rules and shipped weights" in shown
    assert "judged 2 recalls: in 2 something helped, 2 can be learned from, 30 are needed" in shown
    assert "nDCG@5 rules " in shown and "nDCG@5 by plan " in shown
    assert "mode is rule in these settings" in shown


def test_feedback_on_one_result_is_put_together(store: Path, recall: Recall) -> None:
    given = ("feedback", store, "r-1", "--query", ASKED, "--scope", "u1", "--json")
    for more in (["--helpful", "m1"], ["--cited", "m2"], ["--asked-again"], ["--rating", "0.2"]):
        kept = json.loads(recall(*given, *more).stdout)
        assert (kept["format"], kept["result_id"], kept["anew"]) == (1, "r-1", True)
    assert set(kept["kept"]) == {"u1/-/-"}
    (row,) = [s for s in json.loads(ok(recall("learn", store, "status", "--json")))["scopes"] if s["judged"]]
    assert (row["scope"], row["judged"], row["helpful"]) == ("u1/-/-", 1, 1)


def test_no_text_of_a_query_is_in_the_store(store: Path, recall: Recall) -> None:
    ok(recall("feedback", store, "--query", "zebra crossing permit", "--helpful", "m1", "--scope", "u1"))
    assert not [path for path in store.rglob("*") if path.is_file() and b"zebra" in path.read_bytes()]


def test_feedback_that_is_none_is_told(store: Path, recall: Recall) -> None:
    failed(recall("feedback", store, "--helpful", "m1"), "--query TEXT")
    failed(recall("feedback", store, "r-1", "--helpful", "m1"), "--query TEXT", "r-1")
    failed(recall("feedback", store, "--query", ASKED, "--scope", "u1"), "Say something")
    failed(recall("feedback", store, "--query", ASKED, "--scope", "u1", "--rating", "7"), "from 0 to 1")
    failed(recall("feedback", store, "--query", ASKED, "--scope", "nobody", "--rating", "up"), "no scope")
    assert recall("feedback", store, "--query", ASKED, "--rating", "fine").exit_code == 2


# -- learning ----------------------------------------------------------------------------------------------------------


def test_a_store_without_feedback_says_how_to_give_some(store: Path, recall: Recall) -> None:
    assert "recall feedback STORE --query" in ok(recall("learn", store, "status"))
    assert "-/-/-" not in ok(recall("learn", store, "status"))
    assert "No recall was judged yet" in ok(recall("learn", store, "run"))


def test_a_run_says_of_each_scope_why(store: Path, recall: Recall) -> None:
    ok(recall("feedback", store, "--query", ASKED, "--scope", "u1", "--helpful", "m1"))
    steps = json.loads(ok(recall("learn", store, "run", "--force", "--json")))["steps"]
    assert [(s["scope"], s["step"], s["version"]) for s in steps] == [("u1/-/-", "skipped", None)]
    assert "30 are needed" in steps[0]["because"]
    assert "u1/-/- not now - 1 judged helpful and replayed: 1 recall, 30" in ok(
        recall("learn", store, "run", "--scope", "u1")
    )


def test_a_version_is_promoted_and_taken_back_by_the_commands_that_are_shown(versions: Path, recall: Recall) -> None:
    said = ok(recall("learn", versions, "promote", "v2", "--scope", "u1"))
    assert "In u1/-/-, from the next recall on: serves v2 since" in said
    undo = said.split("To undo it: recall ")[1].split()
    assert undo == ["learn", str(versions), "rollback", "--scope", "u1/-/-"]
    found = json.loads(recall("search", versions, ASKED, "--scope", "u1", "--json").stdout)
    assert found["version"] == "rules" and found["id"]
    back = ok(recall(*undo))
    assert "serves v1 since" in back and "held back" in back and "promote v2 --scope u1/-/-" in back
    redo = back.split("To undo it: recall ")[1].split()
    assert "serves v2 since" in ok(recall(*redo))
    shown = json.loads(ok(recall("learn", versions, "status", "--scope", "u1", "--json")))["scopes"][0]
    assert shown["serving"] == "v2" and shown["versions"] == ["v1", "v2"] and not shown["held_back"]
    assert [one["step"] for one in shown["steps"]] == ["promoted", "rolled_back", "promoted"]


def test_only_mode_learned_answers_by_a_version(versions: Path, recall: Recall, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("recall: {mode: learned}\n", encoding="utf-8")
    ok(recall("learn", versions, "promote", "v1", "--scope", "u1"))
    asked = (versions, ASKED, "--scope", "u1", "--config", config)
    assert json.loads(recall("search", *asked, "--json").stdout)["version"] == "v1"
    assert "answered by v1" in ok(recall("explain", *asked))
    assert "answered by v1" in ok(recall("search", *asked))
    other = (versions, ASKED, "--scope", "u2", "--config", config)
    assert json.loads(recall("search", *other, "--json").stdout)["version"] == "rules"
    assert "mode is" not in ok(recall("learn", versions, "status", "--config", config))
    assert "answered by" not in ok(recall("search", versions, ASKED, "--scope", "u1"))


def test_what_cannot_be_done_is_told(versions: Path, recall: Recall, tmp_path: Path) -> None:
    failed(recall("learn", versions, "promote", "v9", "--scope", "u1"), "v9", "v1, v2")
    failed(recall("learn", versions, "rollback", "--scope", "u1"), "Rules serve already")
    failed(recall("learn", tmp_path / "none", "status"), "There is no store")


def test_beside_an_app_it_learns_and_is_told(versions: Path, recall: Recall) -> None:
    with MemoryStore.open(versions) as app:
        assert recall("learn", versions, "status", "--scope", "u1").exit_code == 0
        said = recall("feedback", versions, "--query", ASKED, "--scope", "u1", "--rating", "up")
        assert said.exit_code == 0, said.output
        assert app.judgements.counts()[Scope(user_id="u1")] > 0
        with Shelf(app.learned, app.entity_key).alone():
            failed(recall("learn", versions, "run"), "Another process is learning")


def test_what_others_wrote_cannot_steer_the_terminal(store: Path, recall: Recall) -> None:
    given = ("feedback", store, "--query", ASKED, "--scope", "u1", "--helpful", "m1", "--wrong", "m\x1b[31m")
    assert "\x1b" not in ok(recall(*given))
