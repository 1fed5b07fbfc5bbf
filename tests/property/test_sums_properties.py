"""Whatever moves hits after ranking, what was added to each sums to the order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult
from recall_integrations.config import BreakerConfig, PlannerConfig, RankingConfig, RerankConfig, RewritingConfig
from recall_integrations.ranking.arranging import newer
from recall_integrations.ranking.arranging.moves import HAIR, MOVERS, longest_falling, placed
from recall_integrations.ranking.calibration import Logistic
from recall_integrations.rewriting import asking
from tests.quick import examples

NOW = datetime(2026, 6, 15, 12, tzinfo=timezone.utc)
ROUNDING = 1e-4  # of float32 sums of about thirty parts
SAID = (
    "Kestrel launches in June",
    "Kestrel launches in June.",
    "The budget of Kestrel was cut",
    "We moved the meeting about the budget",
    "I prefer tea to coffee",
    "No coffee after lunch, please",
    "The garden needs water",
    "Priya waters the garden on Fridays",
    "The launch party is in the garden",
    "Deploy with the blue script",
)
ACTORS = ("Priya", "Sam", None)
TYPES = ("fact", "preference", "event", "skill", "observation")
SUBJECTS = ("Kestrel", "the budget", "tea", "the garden", "the launch", "what Priya said", "my preferences", "events")
LIMITS = ("", " but not the budget", " without coffee", " except Kestrel and not the garden", ", not tea")
TIMES = ("", " yesterday", " last week", " in May", " today", " in our last session")
OPENINGS = ("", "What about ", "What did we talk about ", "Tell me about ", "What did I say of ")


@pytest.fixture(scope="module", autouse=True)
def _no_contract() -> Iterator[None]:
    """Whatever became of earlier rewrites, the next is asked for."""
    with patch.multiple(asking, FALLBACK_MAX=1.0, EMPTY_MAX=1.0):
        yield


def by_its_letters(query: str, texts: list[str]) -> list[float]:
    """A reranker with an opinion of its own."""
    return [crc32(f"{query}{text}".encode()) % 7 / 7 for text in texts]


def long_words_of(prompt: str) -> str:
    """A language model that says the long words of the query, one by one, and the garden."""
    asked = next((line for line in prompt.splitlines() if line.startswith("Request:")), "")
    return "\n".join([*sorted(set(re.findall(r"[a-z]{5,}", asked))), "what about the budget of the garden party"])


EVERYWHERE = PlannerConfig(precise_threshold=1.0, exploratory_threshold=1.0)  # every plan diversifies
TRUSTING = RewritingConfig(mode="full")
NEVER_OPEN = BreakerConfig(failures_max=1_000)  # many of its phrasings are about something else
CONFIGS = {
    "default": RecallConfig(),
    "diverse": RecallConfig(planner=EVERYWHERE, ranking=RankingConfig(diversity_lambda=0.3)),
    "weighted": RecallConfig().with_settings([("ranking.strategy", "weighted")]),
    "rrf": RecallConfig(planner=EVERYWHERE).with_settings([("ranking.strategy", "rrf")]),
    "strict": RecallConfig(ranking=RankingConfig(negation_threshold=0.1, duplicate_similarity=0.5)),
    "rewritten": RecallConfig(planner=EVERYWHERE, rewriting=TRUSTING, breakers=NEVER_OPEN),
    "rewritten and reranked": RecallConfig(
        planner=EVERYWHERE,
        rewriting=TRUSTING,
        rerank=RerankConfig(regret_max=0),
        breakers=NEVER_OPEN,
    ),
    "reranked": RecallConfig(planner=EVERYWHERE, rerank=RerankConfig(regret_max=0)),
    "trimmed": RecallConfig(planner=EVERYWHERE, rerank=RerankConfig(regret_max=0, threshold=0.3)),
}


@pytest.fixture(scope="module")
def optimizers() -> Iterator[dict[str, QueryOptimizer]]:
    memories = [
        Memory(
            f"{SAID[i % len(SAID)]}{'' if i % 3 else ' again'}",
            id=f"m{i:02}",
            type=TYPES[i % len(TYPES)],
            actor=ACTORS[i % len(ACTORS)],
            thread=f"chat-{i // 12}",
            position=i % 12,
            event_at=NOW - timedelta(hours=17 * i),
        )
        for i in range(48)
    ]
    for i, (code, length) in enumerate(
        (("4711", "42 kilometres on Sunday morning"), ("4712", "35 kilometres on Sunday evening"))
    ):
        when = NOW - timedelta(days=90 - 40 * i)
        memories += [
            Memory(f"My locker code is {code}", id=f"f{i}", event_at=when),
            Memory(f"The marathon training plan says {length}", id=f"n{i}", event_at=when),
        ]
    with ExitStack() as stack:
        # Of two that are alike the newer one first, always: what the weights of the package move is another matter.
        weights = np.asarray([2.0 * (name == "newer·1") for name in newer.INPUTS])
        bound = np.full(len(weights), np.inf)
        pairs = Logistic(names=newer.INPUTS, weights=weights, low=-bound, high=bound, bias=-1.0)
        model = newer.PairModel(pairs=pairs, words=np.zeros((0, 512)), version="by hand")
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(newer, "shipped", lambda: model)
        store = stack.enter_context(MemoryStore.open())
        store.remember_many(memories)
        made = {}
        for name, config in CONFIGS.items():
            reranker = by_its_letters if "reranked" in name else None
            llm = long_words_of if "rewritten" in name else None
            made[name] = QueryOptimizer(store, llm=llm, reranker=reranker, config=config)
            stack.callback(made[name].close)
        yield made


def sums(result: RecallResult) -> list[float]:
    return [sum(c.added for c in hit.contributions) for hit in result.hits]


queries = st.builds(
    lambda opening, subject, time, limit: f"{opening}{subject}{time}{limit}?",
    *(st.sampled_from(parts) for parts in (OPENINGS, SUBJECTS, TIMES, LIMITS)),
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(CONFIGS)), query=queries, k=st.sampled_from([3, 10, 60]))
def test_sums_of_what_was_added_never_rise(
    optimizers: dict[str, QueryOptimizer], name: str, query: str, k: int
) -> None:
    result = optimizers[name].recall(query, k=k, now=NOW)
    found = sums(result)
    assume(len(found) > 1)
    assert np.diff(found).max() <= ROUNDING
    for hit in result.hits:
        sources = [c.source for c in hit.contributions]
        assert len(sources) == len(set(sources))


def test_every_mover_is_seen(optimizers: dict[str, QueryOptimizer]) -> None:
    """The property above is about something."""
    asked = (
        "What about the budget but not Kestrel?",
        "my preferences",
        "What did Priya say about the garden last week?",
        "What did we talk about yesterday?",
        "Kestrel",
        "what is my locker code?",
        "what was my locker code before?",
        "how many kilometres does the marathon training plan say for Sunday morning?",
    )
    seen = {
        c.source
        for optimizer in optimizers.values()
        for query in asked
        for hit in optimizer.recall(query, k=60, now=NOW).hits
        for c in hit.contributions
        if c.added
    }
    assert seen >= set(MOVERS)


values = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


@given(values=values, data=st.data())
def test_only_those_that_do_not_stay_change_and_the_list_falls(values: list[float], data: st.DataObject) -> None:
    before = np.asarray(values)
    some = np.asarray(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    stays = np.zeros(len(values), dtype=bool)
    chosen = np.flatnonzero(some)
    stays[chosen[longest_falling(before[chosen])]] = True
    after = placed(before, stays)
    assert (np.diff(after) <= 0).all()
    assert (after[stays] == before[stays]).all()
    own = after == before
    for place in np.flatnonzero(~own).tolist():  # next to one whose sum stands
        assert np.abs(after[place] - before[own]).min() <= HAIR * len(values)


@given(values=values)
def test_as_many_as_can_stay(values: list[float]) -> None:
    before = np.asarray(values)
    mask = longest_falling(before)
    assert (np.diff(before[mask]) <= 0).all()
    best = [1] * len(values)
    for i in range(len(values)):
        best[i] = 1 + max((best[j] for j in range(i) if values[j] >= values[i]), default=0)
    assert mask.sum() == max(best)
