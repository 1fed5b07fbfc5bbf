"""Every kind of memory next to the others: one line for each, the worst first.

A retriever that is tuned on one kind of text may lose on the next, and a mean over questions hides it: the kind with
the most of them decides. So each kind is set against the peer that is best *at that kind*, and the mean over kinds
counts each the same, as a kind counts each of its data sets the same. The best peer is picked by the questions that
it is then compared on, which favours it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets import jsonl
from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import LANGUAGES, load
from benchmarks.everyday import stores
from benchmarks.quality.means import mean_difference, spread
from benchmarks.quality.report import OURS, QualityReport
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import OVERALL, Interval

METRIC = "ndcg@10"  # of the order, the ratio and the difference
BESIDE = "recall@5"
MEAN, ONE_PEER = "mean", "mean, one peer"
EVERYDAY = "everyday"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What memories may be made of.

    Args:
        name: on the command line; the folder.
        title: in tables.
        files: data set → pattern of a file that it has in the data folder.
    """

    name: str
    title: str
    files: Mapping[str, str]


def _own(name: str, title: str) -> Kind:
    return Kind(name=name, title=title, files={name: f"{name}/{jsonl.MEMORIES}"})


KINDS = (
    Kind(name="locomo", title="chats of two people", files={"locomo": "locomo/*.json"}),
    Kind(name="locomo-when", title="a day or session asked for", files={"locomo-when": "locomo/*.json"}),
    _own("assistant", "chats with assistant"),
    _own("projects", "project chats"),
    _own("phone", "phone records"),
    _own("documents", "documents"),
    _own("talk", "many speakers"),
    _own("preferences", "requests for advice"),
    _own("code", "code search"),
    _own("claims", "scientific claims"),
    Kind(
        name="multihop",
        title="encyclopaedia chains",
        files={name: f"multihop/{name}*_corpus.json" for name in ("hotpotqa", "musique")},
    ),
    Kind(name=LANGUAGES, title="other languages", files={f"{LANGUAGES}/*": f"{LANGUAGES}/*/{jsonl.MEMORIES}"}),
    Kind(name=EVERYDAY, title="small stores of new users", files={f"{EVERYDAY}/*": f"{EVERYDAY}/*/{jsonl.MEMORIES}"}),
)


def wanted(kinds: Sequence[str] = (), skip: Sequence[str] = ()) -> tuple[Kind, ...]:
    """The kinds called `kinds`, or all, without those called `skip`.

    Raises:
        InvalidArgument: an unknown name, or none is left.
    """
    names = [kind.name for kind in KINDS]
    unknown = [name for name in (*kinds, *skip) if name not in names]
    if unknown:
        raise InvalidArgument(f"Unknown kind {unknown[0]!r}. Use one of: {', '.join(names)}.")
    chosen = tuple(kind for kind in KINDS if (not kinds or kind.name in kinds) and kind.name not in skip)
    if not chosen:
        raise InvalidArgument("No kind is left to measure. Skip fewer.")
    return chosen


def found(data: str | Path, kinds: Sequence[Kind] = KINDS) -> tuple[dict[str, Kind], list[str]]:
    """The data sets that a data folder has, in order, each with its kind; and the names of those that it lacks.

    Raises:
        InvalidArgument: it is no folder, or has none of them.
    """
    folder = Path(data)
    there: dict[str, Kind] = {}
    missing: list[str] = []
    for kind in kinds:
        for name, pattern in kind.files.items():
            files = sorted(folder.glob(pattern))
            if not files:
                missing.append(name)
            elif name.endswith("/*"):
                there.update({file.parent.relative_to(folder).as_posix(): kind for file in files})
            else:
                there[name] = kind
    if not there:
        raise InvalidArgument(f"{folder} has none of the data sets: {', '.join(missing)}.")
    return there, missing


def read(data: str | Path, name: str) -> EvaluationData:
    """Read a data set that `found` names.

    Raises:
        InvalidArgument: a file is missing or wrong.
    """
    if name.startswith(f"{EVERYDAY}/"):
        (only,) = stores.read(Path(data) / name)
        return replace(only, name=name)
    return load(data, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A kind, or a mean over kinds.

    Args:
        title: in tables.
        datasets: whose questions it is made of.
        questions: how many.
        ours: our nDCG@10.
        recall: our recall@5.
        peer: the peer of the comparison; empty without peers, and for the mean over the best of each kind.
        theirs: its nDCG@10; `None` without peers.
        difference: ours minus theirs, paired.
    """

    title: str
    datasets: tuple[str, ...]
    questions: int
    ours: Interval
    recall: float
    peer: str = ""
    theirs: Interval | None = None
    difference: Interval | None = None

    @property
    def ratio(self) -> float | None:
        """Ours ÷ theirs; `None` where there is nothing to divide by."""
        return self.ours.mean / self.theirs.mean if self.theirs is not None and self.theirs.mean > 0 else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        gap = self.difference
        return {
            "title": self.title,
            "datasets": list(self.datasets),
            "questions": self.questions,
            METRIC: self.ours.mean,
            BESIDE: self.recall,
            "peer": self.peer,
            f"peer_{METRIC}": None if self.theirs is None else self.theirs.mean,
            "ratio": self.ratio,
            "difference": None if gap is None else {"mean": gap.mean, "low": gap.low, "high": gap.high},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Kinds side by side.

    Args:
        kinds: name → line, the worst ratio first; without peers in their own order.
        means: over the kinds: against the best peer of each, and against the one that is best over all.
        missing: data sets that the folder lacks.
    """

    kinds: Mapping[str, Line]
    means: Mapping[str, Line]
    missing: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """Kinds, then means."""
        return (*self.kinds.values(), *self.means.values())

    def as_dict(self) -> dict[str, Any]:
        """For JSON: keys of the whole report."""
        return {
            "kinds": {name: line.as_dict() for name, line in self.kinds.items()},
            "kinds_mean": {name: line.as_dict() for name, line in self.means.items()},
            "kinds_missing": list(self.missing),
        }


def summarise(reports: Sequence[QualityReport], kinds: Mapping[str, Kind], missing: Sequence[str] = ()) -> Summary:
    """The kinds of what was measured.

    Args:
        reports: at least one.
        kinds: data set → its kind.
        missing: data sets that could not be measured.
    """
    groups: dict[str, list[QualityReport]] = {}
    for report in reports:
        groups.setdefault(kinds[report.dataset].name, []).append(report)
    lines = {name: _line(kinds[own[0].dataset].title, own, [best_peer(own)] * len(own)) for name, own in groups.items()}
    # A kind without a ratio has no peer that found anything.
    order = sorted(lines, key=lambda name: (lines[name].ratio is None, lines[name].ratio or 0.0))
    means: dict[str, Line] = {}
    if len(groups) > 1:
        parts = [report for own in groups.values() for report in own]
        weights = [1 / (len(groups) * len(own)) for own in groups.values() for _ in own]
        best = [lines[name].peer for name, own in groups.items() for _ in own]
        title = f"mean of {len(groups)} kinds"
        means[MEAN] = _line(title, parts, best, weights)
        overall = best_peer(parts, weights)
        if overall != means[MEAN].peer:
            means[ONE_PEER] = _line(title, parts, [overall] * len(parts), weights)
    return Summary(kinds={name: lines[name] for name in order}, means=means, missing=tuple(missing))


def best_peer(reports: Sequence[QualityReport], weights: Sequence[float] | None = None) -> str:
    """The peer with the highest mean nDCG@10, the first of equals; empty where there are no peers."""
    shares = weights or [1 / len(reports)] * len(reports)
    peers = [name for name in reports[0].systems("peer") if all(name in report.scores for report in reports)]
    means = {
        name: sum(
            share * report.averages[name][OVERALL].values[METRIC] for share, report in zip(shares, reports, strict=True)
        )
        for name in peers
    }
    return max(means, key=lambda name: means[name]) if means else ""


def _line(
    title: str, reports: Sequence[QualityReport], peers: Sequence[str], weights: Sequence[float] | None = None
) -> Line:
    """`peers`: whom we are compared with, in each report; all empty = nobody."""
    ours = [report.scores[OURS] for report in reports]
    theirs = [report.scores[peer] for report, peer in zip(reports, peers, strict=True) if peer]
    compared = len(theirs) == len(ours)
    pairs = list(zip(ours, theirs, strict=True)) if compared else []
    return Line(
        title=title,
        datasets=tuple(report.dataset for report in reports),
        questions=sum(len(report.questions) for report in reports),
        ours=spread(ours, METRIC, weights),
        recall=spread(ours, BESIDE, weights).mean,
        peer=peers[0] if len(set(peers)) == 1 else "",
        theirs=spread(theirs, METRIC, weights) if compared else None,
        difference=mean_difference(pairs, METRIC, weights=weights) if compared else None,
    )
