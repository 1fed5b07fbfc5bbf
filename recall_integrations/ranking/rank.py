"""The ranking stage: candidates of the arms, ordered by the evidence in `features/`.

    lists of the arms ─ union, and neighbours of lexical hits ─▶ features ─▶ ranker ─▶ what the plan lifts
         ─▶ order ─▶ calibrated scores

It needs the scope's `TextColumns`. Where there are none (they do not fit into memory, or are switched off) the caller
falls back to the fusion of the arms' scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.arms.second_hop import SecondHop, Via
from recall_integrations.config import RankingConfig
from recall_integrations.indexes.columns import TextColumns, replies_after, window_rows
from recall_integrations.indexes.kernels import Values, distinct
from recall_integrations.indexes.kind import HALF, briefness, how_long
from recall_integrations.indexes.lexicon import TERMS_MAX, QueryTerms, query_terms
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView, of_types
from recall_integrations.indexes.windows import asked_shares
from recall_integrations.query.asking import small_talk
from recall_integrations.ranking.calibration import Calibration, unknown_share
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker, Ranking, known_of
from recall_integrations.ranking.features.compute import FEATURES, Features, compute
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.ranking.features.reading import (
    OWNER,
    Asker,
    Denial,
    agreement,
    exact_shares,
    is_asker,
    owners,
    titled,
)
from recall_integrations.ranking.fusion import (
    Fused,
    FusionInput,
    OnDemand,
    Scores,
    arm_ranks,
    cosines,
    nowhere,
    scattered,
)
from recall_integrations.records import record
from recall_integrations.text import idf, length_in_words
from recall_integrations.types import MemoryType, ParsedQuery

WINDOW_ROWS = 30  # neighbours of lexical hits that become candidates
REPLIES_FROM, REPLY_ROWS = 10, 8  # best lexical hits behind which replies become candidates, and how many do
HOP_FROM, HOP_ROWS = 2, 10  # best lexical hits whose second hop become candidates, and how many do
EXACT_POOL = 50  # candidates whose text is searched for the query's identifiers
# Lifts for what the plan asks for, in the ranker's units: one is about a standard deviation of a strong feature.
TYPE_LIFT, EDGE_LIFT, TITLE_LIFT, EXACT_LIFT = 0.5, 8.0, 3.0, 8.0
MODE_LIFT = 0.2  # of the types that the router mode prefers
RECENCY_LIFT = 1.0  # of recency, where the query asks for what is new
DENIAL = "denial"
# Whose a text is, and what it denies. Together the first two outweigh that somebody else's text has more of the words.
OWN_LIFT, OTHER_LIFT, DENIAL_LIFT = 5.0, 3.0, 4.0


@record(frozen=True, slots=True, kw_only=True)
class RankInput:
    """Input of the ranking stage besides the arms' lists."""

    fusion: FusionInput  # the view, the plan, the vectors and their cosines, the window, the time
    parsed: ParsedQuery  # the query
    frequency: Callable[[str], int]  # memories of the scope that hold a stem
    count: int  # living memories of the scope
    allowed: Mask | None  # rows that may be returned; `None` = all
    texts: Callable[[Rows], list[str]]  # indexed texts of rows; asked only where the query holds identifiers
    k: int  # how many hits are wanted
    hop: SecondHop | None = None  # the second hop of the graph arm; `None` = there is none
    # contributions that an arm's weight in the plan scales, whichever arm brought the candidate
    evidence: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lifts: Mapping[str, float] = field(default_factory=dict)  # lift of the best match of each arm of the user's own
    asker: Asker | None = None  # the asker, where the query speaks in the first person
    denial: Denial | None = None  # the query's denial
    share: float = 1.0  # of the scope's memories that meet the filters


def resolve_ranker(config: RankingConfig) -> Ranker | None:
    """Return the ranker of the configured strategy; `None` where the arms' scores are fused."""
    return FixedWeights() if config.strategy == FixedWeights.name else None


def evidence_of(arms: Iterable[ArmSpec], known: FeatureSet = FEATURES) -> dict[str, tuple[str, ...]]:
    """Return the names that each arm's weight scales, by its name: features of which it is the `arm`, and lifts."""
    return {
        spec.name: tuple(dict.fromkeys((*known.evidence.get(spec.name, ()), *(spec.evidence or (spec.name,)))))
        for spec in arms
    }


@cache
def calibration_of(name: str, version: str) -> Calibration | None:
    """Return the shipped calibration of a ranker with shipped weights."""
    return Calibration.load(name, version)


def rank(
    results: Sequence[ArmResult], given: RankInput, text: TextColumns, ranker: Ranker, config: RankingConfig
) -> tuple[Fused, float | None]:
    """Order the candidates, with the probability that one of the first k is relevant (`None`: no calibration).

    Scores are probabilities of relevance where the ranker is calibrated.
    """
    view = given.fusion.view
    by_arm = {r.arm: r for r in results if len(r.rows)}
    rows = _candidates(by_arm, given, text)
    query = query_terms(given.parsed)
    features = _features(by_arm, rows, query, given, text, ranker)
    ranking = _lifted(ranker.score(features), features, rows, by_arm, given, config)
    # A question of several sentences is about its words; one that leads from document to document is short, or names
    # something.
    gates, long = features.gates, how_long(length_in_words(query.sequence))
    pointed = np.float32(1 - max(gates.get("long", 0.0), long * gates.get("documents", 0.0)))
    ranking = _read(ranking, rows, text, given, config, pointed)
    ranking = _titled(ranking, rows, text, query, view, pointed)
    direct = ranking
    ranking, via = _bridged(ranking, rows, text, given, pointed)
    order = view.order_by_id(rows, ranking.scores)
    scores, confidence = _calibrated(features, direct, ranking, order, ranker, given)
    fused = Fused(
        rows=rows,
        scores=scores,
        added=ranking.added,
        raw=OnDemand(_raw(by_arm, rows, features, ranking, given)),
        ranks=OnDemand({name: partial(arm_ranks, own, rows) for name, own in by_arm.items()}),
        via=via,
    )
    return fused.take(order, scores[order]), confidence


def _features(
    by_arm: Mapping[str, ArmResult],
    rows: Rows,
    query: QueryTerms,
    given: RankInput,
    text: TextColumns,
    ranker: Ranker,
) -> Features:
    """Compute the features for the ranker."""
    view, graph = given.fusion.view, by_arm.get("graph")
    return compute(
        FeatureInput(
            columns=text,
            rows=rows,
            query=query,
            frequency=given.frequency,
            count=given.count,
            at=view.at,
            dated=view.dated,
            told=lambda: view.told,
            cosine=lambda some: cosines(given.fusion, some),
            graph=None if graph is None else scattered(rows, graph.support_rows, graph.support_scores, 0.0),
            importance=view.importance,
            now=given.fusion.now,
            half_life_days=given.fusion.half_life_days,
            cosine_worth=given.fusion.cosine_worth,
            cosine_spread=given.fusion.cosine_spread,
            word_worth=given.fusion.word_worth,
            frequencies=text.frequencies,
        ),
        known_of(ranker),
    )


def _raw(
    by_arm: Mapping[str, ArmResult], rows: Rows, features: Features, ranking: Ranking, given: RankInput
) -> dict[str, Callable[[], Scores]]:
    """Return the raw evidence by source, before any weight."""
    plan, view = given.fusion.plan, given.fusion.view
    column, read = features.columns.get, features.__getitem__
    raw: dict[str, Callable[[], Scores]] = {
        name: partial(read, name) for name in ranking.added if column(name) is not None
    }
    for name, own in by_arm.items():
        raw[name] = partial(scattered, rows, own.rows, own.scores, np.nan)
    if "semantic" in by_arm:  # a cosine that is worth nothing is no reason
        nothing = partial(np.full, len(rows), np.nan, np.float32)
        raw["semantic"] = partial(features.__getitem__, "cosine") if given.fusion.cosine_worth > 0 else nothing
    if "graph" in by_arm or "graph" in ranking.added:
        raw["graph"] = partial(features.__getitem__, "graph")
    window = given.fusion.window
    if window is not None:
        raw["temporal"] = lambda: asked_shares(view, window)[rows]
    if plan.type_hints:
        raw["type_filter"] = lambda: of_types(view, plan.type_hints, rows).astype(np.float32)
    return raw


def _calibrated(
    features: Features, direct: Ranking, ranking: Ranking, order: NDArray[np.int64], ranker: Ranker, given: RankInput
) -> tuple[Scores, float | None]:
    """Return probabilities, and the confidence of the ranking without a second hop (`direct`).

    For a ranker without a calibration, falling numbers in [0, 1] that are no probabilities, and no confidence.
    """
    calibration = getattr(ranker, "calibration", None) or calibration_of(ranker.name, ranker.version)
    if calibration is None:
        spread = max(float(ranking.scores.std()), 1e-6) if features.size else 1.0
        centred = ranking.scores - (ranking.scores.mean() if features.size else 0)
        return np.asarray(1 / (1 + np.exp(2 - centred / spread)), dtype=np.float32), None
    unknown = unknown_share(given.parsed.terms, given.frequency, given.count)
    confidence = calibration.confidence(features, direct, unknown, k=given.k)
    scores = calibration.probabilities(features, ranking, order, unknown, given.share)
    asks = _asks(features, given.parsed)
    return scores * np.float32(asks), confidence * asks


def _asks(features: Features, query: ParsedQuery) -> float:
    """Return the probability that the query asks for something: small talk does as far as a memory says its words."""
    unsaid = 1 - min(float(features["idf_coverage"].max(initial=0.0)), 1.0)
    if unsaid <= 0:
        return 1.0
    return 1 - small_talk(query.point, query.language) * unsaid


def _candidates(by_arm: Mapping[str, ArmResult], given: RankInput, text: TextColumns) -> Rows:
    """Collect the rows of all arms, and the best neighbours of the lexical hits."""
    lists = [own.rows for own in by_arm.values()]
    if "lexical" in by_arm:
        own = by_arm["lexical"]
        beside = window_rows(text, own.rows, own.scores, WINDOW_ROWS)
        lists.append(_allowed(beside, given))
        if text.kind.pairs or text.kind.crowd:  # people answer each other
            replies = replies_after(text, own.rows[:REPLIES_FROM], np.concatenate(lists), REPLY_ROWS)
            lists.append(_allowed(replies, given))
    if given.hop is not None and lists:
        best = by_arm["lexical"].rows if "lexical" in by_arm else lists[0]
        given.hop.look(best[:HOP_FROM])
        if len(given.hop.links.rows):
            lists.append(given.hop.reach(np.concatenate(lists), HOP_ROWS))
    return distinct(np.concatenate(lists)) if lists else np.empty(0, dtype=np.int64)


def _allowed(rows: Rows, given: RankInput) -> Rows:
    """Return the rows that may be returned and live."""
    if given.allowed is not None:
        rows = rows[given.allowed[rows]]
    return rows[given.fusion.view.alive[rows]]


def _titled(
    ranking: Ranking, rows: Rows, text: TextColumns, query: QueryTerms, view: ScopeView, pointed: np.float32
) -> Ranking:
    """Lift documents whose subject the query names; a note of one sentence has no title."""
    documents = of_types(view, (MemoryType.CHUNK,), rows)
    if not documents.any():
        return ranking
    subject = titled(text, rows, documents, query.sequence)
    if not subject.any():
        return ranking
    long = (1 - briefness(1 / (1 + text.lengths[rows] / HALF))).astype(np.float32)
    added = np.float32(TITLE_LIFT) * pointed * long * subject
    if not added.any():
        return ranking
    return Ranking(scores=ranking.scores + added, added={**ranking.added, "title": added})


def _bridged(
    ranking: Ranking, rows: Rows, text: TextColumns, given: RankInput, pointed: np.float32
) -> tuple[Ranking, Callable[[int], Via | None]]:
    """Lift documents that the best candidates lead to, and return how they do."""
    hop = given.hop
    if hop is None or pointed <= 0:
        return ranking, nowhere
    named = ranking.added.get("title")
    found = bridged(
        hop, text, rows, ranking.scores, given.parsed.terms, given.frequency, given.count, named, float(pointed)
    )
    graph = ranking.added.get("graph", np.float32(0)) + found.added
    lifted = Ranking(scores=ranking.scores + found.added, added={**ranking.added, "graph": graph})
    led = (found.before >= 0).nonzero()[0]
    if not len(led):
        return lifted, nowhere
    before = dict(zip(rows[led].tolist(), found.before[led].tolist(), strict=True))
    return lifted, lambda row: hop.via(before[row], row) if row in before else None


def _lifted(
    ranking: Ranking,
    features: Features,
    rows: Rows,
    by_arm: Mapping[str, ArmResult],
    given: RankInput,
    config: RankingConfig,
) -> Ranking:
    """Lift what the plan asks for: time, edges, types, types of the router mode, new memories, arms of one's own."""
    plan, view = given.fusion.plan, given.fusion.view
    added = dict(ranking.added)
    graph = by_arm.get("graph")
    if graph is not None and len(graph.stated_rows):
        stated = np.ones(len(graph.stated_rows), dtype=np.float32)
        added["edge"] = EDGE_LIFT * scattered(rows, graph.stated_rows, stated, 0)
    if plan.type_hints:
        added["type_filter"] = TYPE_LIFT * of_types(view, plan.type_hints, rows).astype(np.float32)
    for name, lift in given.lifts.items():
        if (own := by_arm.get(name)) is not None:
            shares = scattered(rows, own.rows, own.scores, 0) / np.float32(max(own.ceiling, 1e-9))
            added[name] = np.float32(lift) * np.clip(shares, 0, 1)
    if plan.prefers:
        added["router"] = np.float32(MODE_LIFT) * of_types(view, plan.prefers, rows).astype(np.float32)
    if plan.time_bias:
        added["recency"] = added.get("recency", np.float32(0)) + np.float32(RECENCY_LIFT) * features["recency"]
    for arm in plan.arms:
        if arm.weight != 1:
            weight = np.float32(arm.weight)
            own_evidence = [name for name in given.evidence.get(arm.name, ()) if name in added]
            added.update([(name, added[name] * weight) for name in own_evidence])
    scores, before = ranking.scores, ranking.added
    changed = [value - before.get(name, 0) for name, value in added.items() if value is not before.get(name)]
    if changed:
        scores = scores + sum(changed)
    return Ranking(scores=np.asarray(scores, dtype=np.float32), added=added)


def _read(
    ranking: Ranking, rows: Rows, text: TextColumns, given: RankInput, config: RankingConfig, pointed: np.float32
) -> Ranking:
    """Add evidence from the texts of the best candidates alone: identifiers, whose they are, what they deny."""
    readers: dict[str, Callable[[Sequence[str], Rows], Scores]] = {}
    if given.fusion.plan.exact_match:
        readers["exact"] = lambda texts, _: EXACT_LIFT * exact_shares(texts, given.parsed.identifiers)
    if pointed and (asker := given.asker) is not None:
        readers[OWNER] = lambda texts, best: pointed * _owned(texts, best, text, asker)
    if pointed and (denial := given.denial) is not None:
        readers[DENIAL] = lambda texts, _: pointed * DENIAL_LIFT * agreement(texts, denial)
    if not readers or not len(rows):
        return ranking
    best = (-ranking.scores).argsort(kind="stable")[:EXACT_POOL]
    texts, added, scores = given.texts(rows[best]), dict(ranking.added), ranking.scores
    for name, read in readers.items():
        added[name] = np.zeros(len(rows), dtype=np.float32)
        added[name][best] = read(texts, rows[best])
        scores = scores + added[name]
    return Ranking(scores=scores, added=added)


def _owned(texts: Sequence[str], rows: Rows, text: TextColumns, asker: Asker) -> Scores:
    """Return the gain of texts about the asker, and the loss of texts about somebody else."""
    names = [text.actor_names[code] if code >= 0 else None for code in text.actors[rows].tolist()]
    plain = [t.removeprefix(f"{name}: ") if name else t for t, name in zip(texts, names, strict=True)]
    known: dict[tuple[str, ...], bool] = text.memo.setdefault("asker_speaks", {})
    if asker.names not in known:
        known[asker.names] = any(
            is_asker(text.actor_names[c], asker) for codes in text.actor_words.values() for c in codes
        )
    found = owners(plain, names, asker, speaks=known[asker.names])
    return np.where(found < 0, OTHER_LIFT, OWN_LIFT) * found


WEIGHTS = (1.0, 0.5, 0.25)  # of the second hop, by the place of the candidate that leads
MISSING = 3.0
NEAR = 0.5


@record(frozen=True, slots=True, kw_only=True)
class Bridge:
    """Contribution of the second hop."""

    added: Values  # float32 `(candidates,)`, at least 0, in a ranker's units
    before: Rows  # int64 `(candidates,)`: row that led to each; -1 = none did


def bridged(
    hop: SecondHop,
    text: TextColumns,
    rows: Rows,
    scores: Values,
    terms: Sequence[str],
    frequency: Callable[[str], int],
    count: int,
    named: Values | None = None,
    worth: float = 1.0,
) -> Bridge:
    """Compute the second hop from the best candidates.

        approach(d) = WEIGHTS[place of a] · value(a to d) · (1 + MISSING · share)

    for each of the first candidates `a`; `share`: of the query's idf, what d holds and a does not. The best counts. It
    brings a document close to the one that led to it, and never past it, nor past others of the first that the query
    names: from NEAR below on, the rest of the way gets ever harder. Only documents that were looked at lead anywhere:
    the best lexical hits, and the best candidate. The constants, here and in `second_hop`, were chosen on HotpotQA and
    MuSiQue.
    """
    added, before = np.zeros(len(rows), dtype=np.float32), np.full(len(rows), -1, dtype=np.int64)
    hop.look(_best(hop, rows, scores))
    links = hop.links
    if not len(links.rows) or not len(rows):
        return Bridge(added=added, before=before)
    first, goals = hop.view.top(rows, scores, len(WEIGHTS))
    if named is not None:
        goals = np.minimum(goals, goals[named[np.searchsorted(rows, first)] > 0].min(initial=np.inf))
    place = np.full(len(links.rows), -1, dtype=np.int64)
    for i, row in enumerate(first.tolist()):
        place[links.starts == row] = i
    to = np.minimum(np.searchsorted(rows, links.rows), len(rows) - 1)
    led = np.flatnonzero((place >= 0) & (rows[to] == links.rows))
    place, to, values = place[led], to[led], links.values[led]
    held, shares = _held(text, np.concatenate([first, rows[to]]), terms[:TERMS_MAX], frequency, count)
    missing = np.einsum("i,ij->j", shares, held[:, len(first) :] & ~held[:, place])
    wanted = scores[to] + np.asarray(WEIGHTS, dtype=np.float32)[place] * np.float32(worth) * values * (
        1 + MISSING * missing
    )
    gain = _approach(wanted, goals[place]) - scores[to]
    rising = np.lexsort((-place, gain))
    rising = rising[gain[rising] > 0]
    added[to[rising]] = gain[rising]  # of several ways to a candidate the last one stays: the highest gain
    before[to[rising]] = first[place[rising]]
    return Bridge(added=added, before=before)


def _best(hop: SecondHop, rows: Rows, scores: Values) -> Rows:
    """Return the best candidate."""
    best: Rows = rows[scores == np.maximum.reduce(scores, initial=-np.inf)]
    return best if len(best) < 2 else hop.view.top(best, np.zeros(len(best), dtype=np.float32), 1)[0]


def _approach(wanted: NDArray[np.floating], goals: NDArray[np.floating]) -> NDArray[np.floating]:
    """Keep scores below `goals`: as wanted up to NEAR below, then ever closer."""
    beyond = np.maximum(wanted - (goals - NEAR), 0) / NEAR
    return np.where(beyond > 0, goals - NEAR / (1 + beyond), wanted)


def _held(
    text: TextColumns, rows: Rows, terms: Sequence[str], frequency: Callable[[str], int], count: int
) -> tuple[NDArray[np.bool_], Values]:
    """Flag the terms that each row holds, `(terms, rows)`, and return each term's share in the idf of all."""
    known = {number: term for term in terms if (number := text.lexicon.stem_of(term)) >= 0}
    worth = np.asarray([idf(frequency(term), count) for term in known.values()], dtype=np.float32)
    stems = text.lexicon.stems
    which = np.full(text.lexicon.stem_count, -1, dtype=np.int8)
    which[list(known)] = np.arange(len(known))
    begins, counts = text.starts[rows], text.starts[rows + 1] - text.starts[rows]
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(begins - (ends - counts), counts)
    said = which[stems[text.words[places]]]
    found = np.flatnonzero(said >= 0)
    held = np.zeros((len(known), len(rows)), dtype=np.bool_)
    held[said[found], np.searchsorted(ends, found, side="right")] = True
    return held, worth / max(float(worth.sum()), 1e-9)
