"""Parts that can be left out of a recall: arms, kinds of evidence, rules. Each has a key, and a name for people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from recall_integrations.errors import InvalidArgument
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.records import record
from recall_integrations.types import RecallResult

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


def acting(result: RecallResult, known: FeatureSet, *, filtered: bool, weighed: bool) -> tuple[Part, ...]:
    """Return the parts with an effect on a recall: arms asked, evidence that counted in a hit, rules that applied."""
    return tuple(
        part_of(key, known, [arm.name for arm in result.plan.arms])
        for key in (
            *(f"{ARM}:{name}" for name in _asked(result)),
            *((f"{FEATURE}:{name}" for name in _counting(result, known)) if weighed else ()),
            *(
                f"{RULE}:{name}"
                for name, (_, applied) in RULES.items()
                if (filtered and name == "filters") or applied(result)
            ),
        )
    )


def _asked(result: RecallResult) -> Iterator[str]:
    failed = {problem.stage for problem in result.degraded}
    for arm in result.plan.arms:
        if f"arm.{arm.name}" in result.timings_ms or arm.name in failed:
            yield arm.name


def _counting(result: RecallResult, known: FeatureSet) -> Iterator[str]:
    """Yield the kinds of evidence that raised or lowered one of the hits."""
    counted = {c.source for hit in result.hits for c in hit.contributions if abs(c.added) >= LEAST_ADDED}
    for name in _names_of_groups(known):
        if counted.intersection(members(name, known)):
            yield name


def _names_of_groups(known: FeatureSet) -> list[str]:
    named = {group: name for name, (group, _) in _GROUPS.items()}
    return [named.get(group, group.replace(" ", "_")) for group in known.groups]


def _moved(result: RecallResult, source: str) -> bool:
    return any(c.source == source for hit in result.hits for c in hit.contributions)


def names(parts: Iterable[Part], kind: str) -> frozenset[str]:
    """Return the names of the parts of one kind."""
    return frozenset(part.name for part in parts if part.kind == kind)
