"""Recalls without some parts (arms, kinds of evidence, rules), beside the recall with all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from recall_integrations.config import ARMS, CacheConfig, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.feature_sum import Ranker, Ranking, known_of
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.recall.runner import FunctionStage, RecallState
from recall_integrations.records import changed, record
from recall_integrations.types import RecallResult, ScopeLike
from recall_integrations.types.numbers import is_number

ARM, FEATURE, RULE = "arm", "feature", "rule"
LEAST_ADDED = 0.005  # of a kind of evidence, in the ranker's units: less is not worth a recall


@record(frozen=True, slots=True, kw_only=True)
class Part:
    """A part that can be left out."""

    kind: str  # `arm`, `feature` or `rule`
    name: str  # of the arm, of the kind of evidence, of the rule
    label: str  # its name for people

    @property
    def key(self) -> str:
        """The key of the part: `arm:lexical`, `feature:words`, `rule:negation`."""
        return f"{self.kind}:{self.name}"


_ARMS = {
    "semantic": "search by meaning",
    "lexical": "search by words",
    "graph": "search by names",
    "temporal": "search by time",
    "type_filter": "search by type",
}
# Kinds of evidence: as they are given → the group of features, and what people call it.
_GROUPS = {
    "words": ("word", "the query's words"),
    "alike": ("soft match", "words alike in meaning"),
    "letters": ("spelling", "words spelled alike"),
    "pairs": ("pair", "pairs of words"),
    "around": ("neighbour", "what stands around it"),
    "thread": ("thread", "its conversation"),
    "shared": ("feedback", "words shared with the best matches"),
    "meaning": ("vector", "meaning"),
    "speaker": ("speaker", "who said it"),
    "answers": ("question", "questions and their answers"),
    "dates": ("date", "dates in the text"),
    "links": ("graph", "links between names"),
    "newness": ("recency", "newness and importance"),
}
# What people call a rule, and whether it applied in a recall.
RULES: Mapping[str, tuple[str, Callable[[RecallResult], bool]]] = {
    "filters": ("the filters you set", lambda _: False),  # the caller says so
    "names": ("names read as people and things", lambda r: any(ref.stage != IMPLICIT for ref in r.query.entity_refs)),
    "time": ("the time read from the query", lambda r: r.query.temporal_window is not None),
    "session": ("the conversation asked for", lambda r: r.query.session is not None),
    "negation": ("what the query excludes", lambda r: bool(r.query.negations) or _moved(r, "negation")),
    "types": ("the type of memory asked for", lambda r: bool(r.plan.type_hints)),
    "spelling": ("corrected spelling", lambda r: bool(r.query.corrections)),
    "identifiers": ("ids letter by letter", lambda r: r.plan.exact_match),
    "newer": ("newer ones preferred", lambda r: r.plan.time_bias),
    "router": ("the kind of memory preferred", lambda r: bool(r.plan.prefers)),
    "rewrite": ("other words for the query", lambda r: r.rewrite.used),
    "rerank": ("the reranker", lambda r: r.rerank.used),
    "diversity": ("variety of the hits", lambda r: r.plan.diversity),
    "repeats": ("repeats folded away", lambda r: any(hit.duplicates for hit in r.hits)),
}


def part_of(key: str, known: FeatureSet, arms: Collection[str]) -> Part:
    """Find the part that a key names: `arm:lexical`, `feature:words`, `rule:time`."""
    kind, _, name = key.partition(":")
    if kind == ARM and name in arms:
        return Part(kind=ARM, name=name, label=_ARMS.get(name, f"search by {name.replace('_', ' ')}"))
    if kind == RULE and name in RULES:
        return Part(kind=RULE, name=name, label=RULES[name][0])
    if kind == FEATURE and members(name, known):
        return Part(kind=FEATURE, name=name, label=_GROUPS[name][1] if name in _GROUPS else name.replace("_", " "))
    every = [*(f"{ARM}:{one}" for one in arms), *(f"{FEATURE}:{one}" for one in _names_of_groups(known))]
    every += [f"{RULE}:{one}" for one in RULES]
    raise InvalidArgument(f"There is no part {key!r} of a recall to leave out. There are: {', '.join(every)}.")


def members(name: str, known: FeatureSet) -> tuple[str, ...]:
    """Return the features of a kind of evidence."""
    return known.groups.get(_GROUPS[name][0] if name in _GROUPS else name.replace("_", " "), ())


def _names_of_groups(known: FeatureSet) -> list[str]:
    named = {group: name for name, (group, _) in _GROUPS.items()}
    return [named.get(group, group.replace(" ", "_")) for group in known.groups]


def _moved(result: RecallResult, source: str) -> bool:
    return any(c.source == source for hit in result.hits for c in hit.contributions)


def names(parts: Iterable[Part], kind: str) -> frozenset[str]:
    """Return the names of the parts of one kind."""
    return frozenset(part.name for part in parts if part.kind == kind)


PLACES_MAX = 200  # of the candidates whose place is told
FOLDS_NOTHING = 2.0  # of `ranking.duplicate_similarity`


class Without:
    """A ranker without some features: the terms that they added are taken out of the sum."""

    def __init__(self, ranker: Ranker, gone: Collection[str], *, may_hang: bool = True) -> None:
        self._ranker, self._gone, self.may_hang = ranker, frozenset(gone), may_hang
        self.name, self.version = ranker.name, ranker.version
        self.known: FeatureSet = known_of(ranker)
        # Name and version select the shipped calibration: scores stay comparable with those of the whole sum.
        self.calibration = getattr(ranker, "calibration", None)

    def score(self, features: Features) -> Ranking:
        whole = self._ranker.score(features)
        scores = whole.scores
        for name in sorted(self._gone & set(whole.added)):
            scores = scores - whole.added[name]
        return Ranking(scores=scores, added={k: v for k, v in whole.added.items() if k not in self._gone})


def unread(state: RecallState, rules: Collection[str]) -> RecallState:
    """Forget, after `parse`, properties read from the query."""
    parsed = state.query
    if "names" in rules:
        parsed = replace(parsed, entity_refs=tuple(r for r in parsed.entity_refs if r.stage == IMPLICIT))
    if "session" in rules:
        parsed = replace(parsed, session=None)
    if "negation" in rules:
        parsed = replace(parsed, negations=())
    if "types" in rules:
        parsed = replace(parsed, type_hints=(), type_cues=(), type_filters=())
    return changed(state, parsed=parsed, unread=frozenset(rules))


def unplanned(state: RecallState, arms: Collection[str], rules: Collection[str]) -> RecallState:
    """Take arms and rules out of the plan, after `plan`."""
    plan = state.plan
    plan = replace(
        plan,
        arms=tuple(arm for arm in plan.arms if arm.name not in arms),
        exact_match=plan.exact_match and "identifiers" not in rules,
        time_bias=plan.time_bias and "newer" not in rules,
        prefers=() if "router" in rules else plan.prefers,
        rewrite=plan.rewrite and "rewrite" not in rules,
        rerank=plan.rerank and "rerank" not in rules,
        diversity=plan.diversity and "diversity" not in rules,
    )
    return changed(state, planned=plan)


def settings(config: RecallConfig, arms: Collection[str], rules: Collection[str]) -> RecallConfig:
    """Return the settings of a recall without cache, without the parts of them that serve some arms and rules."""
    config = replace(config, mode="rule", cache=CacheConfig())
    if "spelling" in rules:
        config = replace(config, query=replace(config.query, spelling=False))
    if "repeats" in rules:
        config = replace(config, ranking=replace(config.ranking, duplicate_similarity=FOLDS_NOTHING))
    if "graph" in arms:  # documents reach others by the graph, whatever arms the plan has
        others = tuple(name for name in config.planner.arms if name != "graph")
        config = replace(config, planner=replace(config.planner, arms=others or ARMS))
    return config


BUDGET_MS = 5_000.0


@record(frozen=True, slots=True, kw_only=True)
class Move:
    """The place of a memory with all parts, and without those left out."""

    id: str
    text: str  # its beginning
    before: int | None
    after: int | None
    hit_before: bool  # whether it is one of the hits
    hit_after: bool
    score_before: float | None  # score of the hit, rounded; `None` where it is none
    score_after: float | None

    @property
    def moved(self) -> bool:
        return (self.before, self.hit_before) != (self.after, self.hit_after)


@record(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A recall without some parts."""

    parts: tuple[Part, ...]  # the parts left out
    result: RecallResult | None  # the result; `None` = there was no time left for it
    # Every memory that is a hit with or without the parts, in the order of the places before.
    moves: tuple[Move, ...] = ()

    @property
    def label(self) -> str:
        return ", ".join(part.label for part in self.parts)

    @property
    def effect(self) -> float:
        """Share of the answer that depends on the parts: 0 = nothing, 1 = all. Places count for 1 / log2(1 + place)."""
        before = [move for move in self.moves if move.hit_before]
        if not before:
            return float(bool(self.moves))
        lost = sum(max(0.0, _worth(m.before) - (_worth(m.after) if m.hit_after else 0.0)) for m in before)
        return round(lost / sum(_worth(m.before) for m in before), 6)

    @property
    def summary(self) -> str:
        if self.result is None:
            return "not tried: there was no time left"
        gone = sum(move.hit_before and not move.hit_after for move in self.moves)
        come = sum(move.hit_after and not move.hit_before for move in self.moves)
        shifted = sum(move.moved and move.hit_before and move.hit_after for move in self.moves)
        if not (gone or come or shifted):
            return "nothing changes"
        said = [
            f"{count} {verb[count != 1]}"
            for count, verb in (
                (gone, ("hit leaves", "hits leave")),
                (come, ("comes in", "come in")),
                (shifted, ("changes place", "change places")),
            )
            if count
        ]
        before = next((move.id for move in self.moves if move.hit_before and move.before == 1), None)
        after = next((move.id for move in self.moves if move.hit_after and move.after == 1), None)
        said.append("the first stays first" if before == after else "another comes first" if after else "none is left")
        return ", ".join(said)


@record(frozen=True, slots=True, kw_only=True)
class Counterfactuals:
    """A recall, and the same recall without some of its parts."""

    whole: RecallResult  # the recall with all parts
    parts: tuple[Part, ...]  # the parts that can be left out: those with an effect on it
    without: tuple[LeftOut, ...]  # a recall for each list of parts left out, in the order of the request


def counterfactuals(
    optimizer: QueryOptimizer,
    query: str,
    *,
    leave_out: Sequence[Sequence[str]] | None = None,
    budget_ms: float = BUDGET_MS,
    **asked: Any,
) -> Counterfactuals:
    """Recall with all parts, and again with fewer."""
    began = time.monotonic()
    trial = _Trial(optimizer, query, asked, lambda: budget_ms - (time.monotonic() - began) * 1e3)
    wanted = None if leave_out is None else [trial.parts(keys) for keys in leave_out]
    whole, places = trial.recalled(())
    known = parts_of(optimizer, whole, asked.get("scope"), filtered=bool(asked.get("filters")))
    without = [trial.left_out(parts, whole, places) for parts in ([(p,) for p in known] if wanted is None else wanted)]
    return Counterfactuals(whole=whole, parts=known, without=tuple(without))


def parts_of(
    optimizer: QueryOptimizer, result: RecallResult, scope: ScopeLike | None = None, *, filtered: bool = False
) -> tuple[Part, ...]:
    """Return the parts that can be left out: arms asked, evidence that counted in a hit, rules that applied."""
    ranker = optimizer.ranker or resolve_ranker(optimizer.config_of(scope).ranking)
    known, arms = known_of(ranker), [arm.name for arm in result.plan.arms]
    failed = {problem.stage for problem in result.degraded}
    keys = [f"{ARM}:{name}" for name in arms if f"arm.{name}" in result.timings_ms or name in failed]
    if ranker is not None:
        counted = {c.source for hit in result.hits for c in hit.contributions if abs(c.added) >= LEAST_ADDED}
        evidence = (name for name in _names_of_groups(known) if counted.intersection(members(name, known)))
        keys += [f"{FEATURE}:{name}" for name in evidence]
    rules = (n for n, (_, applied) in RULES.items() if applied(result) or (filtered and n == "filters"))
    keys += [f"{RULE}:{name}" for name in rules]
    return tuple(part_of(key, known, arms) for key in keys)


class _Trial:
    def __init__(
        self, optimizer: QueryOptimizer, query: str, asked: dict[str, Any], remaining_ms: Callable[[], float]
    ) -> None:
        self._optimizer, self._query, self._asked = optimizer, query, dict(asked)
        self._remaining_ms = remaining_ms
        self._config = optimizer.config_of(asked.get("scope"))
        self._ranker: Ranker | None = optimizer.ranker or resolve_ranker(self._config.ranking)
        self._features = known_of(self._ranker)
        self._took_ms = 0.0

    def parts(self, keys: Iterable[str]) -> tuple[Part, ...]:
        found = tuple(dict.fromkeys(part_of(key, self._features, self._optimizer.arms) for key in keys))
        if self._ranker is None and any(part.kind == FEATURE for part in found):
            raise InvalidArgument(
                "Nothing can be taken out of an order that is no sum of features (ranking.strategy). Leave out arms "
                "and rules."
            )
        return found

    def recalled(self, parts: tuple[Part, ...]) -> tuple[RecallResult, dict[str, int]]:
        """Recall without some parts; return the result, and the places of its candidates."""
        arms, rules = names(parts, ARM), names(parts, RULE)
        gone = [name for part in parts if part.kind == FEATURE for name in members(part.name, self._features)]
        places: dict[str, int] = {}

        def note(state: RecallState) -> RecallState:
            rows = state.candidates.rows[:PLACES_MAX].tolist()
            places.update((state.scope.ids[row], place) for place, row in enumerate(rows, start=1))
            return state

        own = self._optimizer.ranker is not None
        other = self._optimizer.varied(
            config=settings(self._config, arms, rules),
            ranker=Without(self._ranker, gone, may_hang=own) if gone and self._ranker is not None else None,
            stages=(
                FunctionStage("without.read", "parse", partial(unread, rules=rules), essential=True),
                FunctionStage("without.plan", "plan", partial(unplanned, arms=arms, rules=rules), essential=True),
                FunctionStage("without.places", "arrange", note),
            ),
        )
        asked = dict(self._asked)
        if "filters" in rules:
            asked.pop("filters", None)
        if "time" in rules:
            asked["window"] = False
        own_ms = asked.get("time_budget_ms", self._config.limits.time_budget_ms)
        if self._took_ms and is_number(own_ms):
            asked["time_budget_ms"] = max(1.0, min(own_ms, self._remaining_ms()))
        result = other.recall(self._query, **asked)
        if "now" not in asked or asked["now"] is None:
            self._asked["now"] = result.query.now  # the same moment for all
        self._took_ms = self._took_ms or result.timings_ms["total"]
        return result, places

    def left_out(self, parts: tuple[Part, ...], whole: RecallResult, places: dict[str, int]) -> LeftOut:
        """Recall without some parts, and compare with the whole; without a result where there is no time for it."""
        if self._remaining_ms() < self._took_ms:
            return LeftOut(parts=parts, result=None)
        result, own = self.recalled(parts)
        return LeftOut(parts=parts, result=result, moves=tuple(_moves(whole, result, places, own)))


TEXT_CHARS = 240  # of a memory that comes in
DECIMALS = 6


def _moves(whole: RecallResult, less: RecallResult, before: dict[str, int], after: dict[str, int]) -> Iterable[Move]:
    old = {str(hit.memory.id): (place, hit) for place, hit in enumerate(whole.hits, start=1)}
    new = {str(hit.memory.id): (place, hit) for place, hit in enumerate(less.hits, start=1)}
    for key in dict.fromkeys((*old, *new)):
        was, hit = old.get(key, (before.get(key), None))
        place, other = new.get(key, (after.get(key), None))
        shown = other or hit
        text = "" if shown is None else shown.memory.text
        yield Move(
            id=key,
            text=text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rstrip()}…",
            before=was,
            after=place,
            hit_before=hit is not None,
            hit_after=other is not None,
            score_before=None if hit is None else round(hit.score, DECIMALS),
            score_after=None if other is None else round(other.score, DECIMALS),
        )


def _worth(place: int | None) -> float:
    return 0.0 if place is None else 1 / math.log2(1 + place)


def counterfactuals_data(found: Counterfactuals) -> dict[str, Any]:
    """Return counterfactuals as `{parts, without}`.

    `parts` are `{key, kind, label}`; each of `without` is `{parts, label, reached, effect, summary, degraded, moves}`,
    and a move is the fields of `Move`.
    """
    return {
        "parts": [part_data(part) for part in found.parts],
        "without": [
            {
                "parts": [part.key for part in one.parts],
                "label": one.label,
                "reached": one.result is not None,
                "effect": one.effect,
                "summary": one.summary,
                "degraded": [asdict(problem) for problem in (() if one.result is None else one.result.degraded)],
                "moves": [asdict(move) for move in one.moves],
            }
            for one in found.without
        ],
    }


def part_data(part: Part) -> dict[str, str]:
    """Return a part as plain data."""
    return {"key": part.key, "kind": part.kind, "label": part.label}
