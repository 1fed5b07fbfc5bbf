"""Asking: once for the same question, of what may leave, and what is learned from it."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recall_integrations.config import RewritingConfig
from recall_integrations.privacy.door import Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard, Pace
from recall_integrations.rewriting.asking import CALLS_MIN, Contract, RewriteCache, Rewriting
from recall_integrations.types import ParsedQuery, RetrievalPlan, Scope
from tests.rows import each_row

QUERY = ParsedQuery(original="that thing I mentioned about storage", specificity=0.1)
PLAN = RetrievalPlan(name="balanced", arms=(), rewrite=True)
LATER = Deadline.after(None)


class Model:
    """Says the same; `ready` lets it."""

    def __init__(self, answer: str = "what storage system it was") -> None:
        self.answer, self.prompts = answer, list[str]()
        self.asked, self.ready = threading.Event(), threading.Event()
        self.ready.set()

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        self.asked.set()
        assert self.ready.wait(20)
        return self.answer


def made(model: Callable[[str], str] | None, path: Path | None = None, **settings: object) -> Rewriting:
    cache = None if path is None else RewriteCache(path / "rewrites.json")
    slo = None if path is None else Contract(path / "rewriting.json")
    return Rewriting(model, Guard("rewrite"), RewritingConfig(**settings), cache, slo)


def ask(rewriting: Rewriting, query: ParsedQuery = QUERY, scope: Scope | None = None, mode: str = "allow") -> object:
    asking = rewriting.begin(query, scope or Scope(), Door(mode), LATER)
    answer = rewriting.end(asking, LATER, lambda texts: not texts)
    return answer.value, asking.cached, asking.mine


def test_who_asks_the_same_waits_for_the_call_that_is_under_way() -> None:
    model = Model()
    model.ready.clear()
    rewriting = made(model)
    asking = [rewriting.begin(QUERY, Scope(), Door(), LATER) for _ in range(5)]
    assert [each.mine for each in asking] == [True, False, False, False, False]
    model.ready.set()
    found = [rewriting.end(each, LATER, lambda texts: not texts) for each in asking]
    assert {each.value for each in found} == {("what storage system it was",)} and len(model.prompts) == 1
    assert ask(rewriting)[1] is True and len(model.prompts) == 1  # type: ignore[index]


def test_nobody_joins_a_call_that_is_late() -> None:
    model = Model()
    model.ready.clear()
    rewriting = made(model)
    first = rewriting.begin(QUERY, Scope(), Door(), Deadline.after(0.001))
    assert first.mine
    while first.call is not None and not first.call.limit.over:
        pass
    assert rewriting.begin(QUERY, Scope(), Door(), LATER).mine
    model.ready.set()


def test_what_was_found_lately_is_not_asked_again(tmp_path: Path) -> None:
    model = Model()
    assert ask(made(model, tmp_path)) == (("what storage system it was",), False, True)
    again = made(model, tmp_path)  # as in another process
    assert ask(again) == (("what storage system it was",), True, True)
    assert ask(again, ParsedQuery(original="That thing I  mentioned about storage?")) == (
        ("what storage system it was",),
        True,
        True,
    )
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"scope": Scope(user_id="other")},
        {"mode": "redact"},
        {"settings": {"strategy": "hypothetical"}},
        {"settings": {"prompt": "Say it again: {query}"}},
        {"model": lambda _prompt: "what storage system it was"},
    ],
)
def test_another_context_is_another_question(tmp_path: Path, other: dict[str, object]) -> None:
    ask(made(Model(), tmp_path))
    model = other.get("model", Model())
    rewriting = made(model, tmp_path, **other.get("settings", {}))  # type: ignore[arg-type, dict-item]
    assert ask(rewriting, scope=other.get("scope"), mode=other.get("mode", "allow"))[1] is False  # type: ignore[arg-type, index]


def test_the_model_is_given_what_may_leave() -> None:
    model = Model()
    ask(made(model), ParsedQuery(original="what did ann@example.com say of storage"), mode="redact")
    assert "ann@example.com" not in model.prompts[0] and "storage" in model.prompts[0]
    assert made(model).needless(QUERY, PLAN, 0.8, Door("block")) == "skip.privacy"


def test_a_prompt_of_ones_own_is_used() -> None:
    model = Model()
    ask(made(model, prompt="Noch einmal: {query}"))
    assert model.prompts == ['Noch einmal: "that thing I mentioned about storage"']


def test_a_line_of_the_prompt_is_no_phrasing() -> None:
    def echo(prompt: str) -> str:
        return prompt

    assert ask(made(echo))[0] == ()  # type: ignore[index]


@each_row(
    ("query", "plan", "why"),
    [
        (QUERY, PLAN, None),
        (ParsedQuery(original=QUERY.original, specificity=0.9), RetrievalPlan(name="p", arms=()), "skip.specific"),
        (QUERY, RetrievalPlan(name="p", arms=()), "skip.plan"),
        (ParsedQuery(original="badge number"), PLAN, "skip.short_query"),
    ],
)
def test_why_nothing_is_asked(query: ParsedQuery, plan: RetrievalPlan, why: str | None) -> None:
    assert made(Model()).needless(query, plan, 0.8, Door()) == why
    assert made(None).needless(query, plan, 0.8, Door()) == "skip.disabled"
    assert made(Model(), mode="off").needless(query, plan, 0.8, Door()) == "skip.disabled"


def test_outside_of_its_contract_it_is_off(tmp_path: Path) -> None:
    model = Model("")
    rewriting = made(model, tmp_path)
    for i in range(CALLS_MIN):
        rewriting._guard = Guard("rewrite")
        ask(rewriting, ParsedQuery(original=f"question number {i} about storage"))
    asking = rewriting.begin(QUERY, Scope(), Door(), LATER)
    assert asking.answer is not None and asking.answer.reason == "skip.slo" and "gave nothing" in asking.answer.detail
    assert len(model.prompts) == CALLS_MIN


def test_one_that_had_no_time_says_nothing_of_the_model(tmp_path: Path) -> None:
    model = Model()
    model.ready.clear()
    rewriting = made(model, tmp_path)
    for i in range(CALLS_MIN):
        rewriting._guard = Guard("rewrite")
        query = ParsedQuery(original=f"question {i} about storage")
        while True:
            asking = rewriting.begin(query, Scope(), Door(), Deadline.after(2))
            reason = rewriting.end(asking, LATER, lambda texts: not texts).reason
            if reason != "skip.budget":  # a pause of the machine took the time before it was asked
                break
        assert reason == "timeout"
    model.ready.set()
    assert ask(made(model, tmp_path))[0] == ("what storage system it was",)  # type: ignore[index]


def test_a_probe_that_the_guard_refuses_is_none(tmp_path: Path) -> None:
    rewriting = made(Model(), tmp_path)
    contract = Contract(tmp_path / "rewriting.json")
    for _ in range(CALLS_MIN):
        contract.record("failed", 10)
    old = (tmp_path / "rewriting.json").read_text()
    (tmp_path / "rewriting.json").write_text(re.sub(r'"probed": [\d.]+', '"probed": 1.0', old))
    late = rewriting.begin(QUERY, Scope(), Door(), Deadline.after(0))
    assert late.answer is not None and late.answer.reason == "skip.budget"
    assert ask(rewriting)[0] == ("what storage system it was",)  # type: ignore[index]


def test_who_joins_gives_up_the_processor_meanwhile() -> None:
    waits: list[str] = []

    @contextlib.contextmanager
    def waiting() -> Iterator[None]:
        waits.append("wait")
        yield

    model = Model()
    model.ready.clear()
    rewriting = Rewriting(model, Guard("rewrite", waiting=waiting), RewritingConfig())
    rewriting.begin(QUERY, Scope(), Door(), LATER)
    joined = rewriting.begin(QUERY, Scope(), Door(), LATER)
    threading.Timer(0.05, model.ready.set).start()
    answer = rewriting.end(joined, LATER, lambda texts: not texts)
    assert not joined.mine and answer.reason == "success" and waits == ["wait"] and answer.took_ms > 0


def test_a_late_answer_is_there_for_the_next(tmp_path: Path) -> None:
    model = Model()
    model.ready.clear()
    rewriting = made(model, tmp_path)
    asking = rewriting.begin(QUERY, Scope(), Door(), Deadline.after(20))
    assert rewriting.end(asking, LATER, lambda texts: not texts).reason == "timeout"
    model.ready.set()
    assert asking.call is not None
    asking.call.future.result(timeout=20)
    assert ask(rewriting)[1] is True  # type: ignore[index]
    assert len(model.prompts) == 1


def test_late_answers_are_successes_of_the_model(tmp_path: Path) -> None:
    model, contract = Model(), Contract(tmp_path / "rewriting.json")
    guard = Guard("rewrite", fair_ms=1)
    rewriting = Rewriting(model, guard, RewritingConfig(), RewriteCache(), contract)
    for i in range(4):  # as failures, three would open the breaker
        model.ready.clear()
        guard.pace = Pace()  # else it is not asked where it takes longer than there is time
        asking = rewriting.begin(
            ParsedQuery(original=f"question {i} about storage"), Scope(), Door(), Deadline.after(50)
        )
        assert rewriting.end(asking, LATER, lambda texts: not texts).reason == "timeout" and asking.call is not None
        assert guard.breaker.known.failures == 1
        model.ready.set()
        asking.call.future.result(timeout=20)
        while guard.breaker.known.failures:
            pass
    outcomes = [outcome for outcome, _ in contract._file.read().calls]
    assert outcomes == ["success"] * 4


def test_phrasings_that_are_good_for_no_time_are_not_written(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "rewrites.json", ttl_s=0)
    cache.put("key", ("another way to ask",))
    assert not (tmp_path / "rewrites.json").exists() and cache.get("key") is None
