"""The answer of a recall, its reasons, and the places of a text that speak for a hit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from recall_integrations.errors import InvalidArgument
from recall_integrations.records import record
from recall_integrations.types.memory import Memory, Scope
from recall_integrations.types.numbers import is_whole
from recall_integrations.types.query import ParsedQuery, RetrievalPlan

WORD, NEAR, NAME, TIME, PASSAGE = "word", "near", "name", "time", "passage"
KINDS = (WORD, NEAR, NAME, TIME, PASSAGE)
MARKED = frozenset({WORD, NEAR, NAME, TIME})
HIGHLIGHTS_MAX = 32  # highlights of one hit, its passage included
CUT = "…"
_FULL_STOPS = (". ", "! ", "? ", "。", "！", "？", "\n")


@record(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A place in the text of a memory that speaks for it.

    Args:
        start: first character, in `memory.text` as it was delivered.
        end: character after the last.
        kind: `word` a word of the query, in any inflection, or an identifier of it; `near` a word close in meaning to
            one that the text does not say; `name` an entity that the query names; `time` a date in the time that is
            asked for, or, where the query asks when, any date; `passage` the part of a long text that says most.
        of: word or date of the query that it answers, in small letters, or the name; for a passage "".
        weight: how much it says, in [0, 1]: for a word its rarity in the scope, for a near one that times its cosine,
            for a passage the share of the query that it holds.
    """

    start: int
    end: int
    kind: str
    of: str = ""
    weight: float = 1.0


def passage_of(highlights: Iterable[Highlight]) -> Highlight | None:
    """Return the passage among highlights; `None` where there is none."""
    return next((found for found in highlights if found.kind == PASSAGE), None)


def pieces(
    text: str, highlights: Iterable[Highlight], kinds: Collection[str] = MARKED
) -> Iterator[tuple[str, Highlight | None]]:
    """Yield the whole text in parts, each with its highlight, `None` = it has none.

    With `passage` among `kinds` the words in a passage are part of it.
    """
    at = 0
    for found in highlights:
        if found.kind not in kinds or found.start < at:
            continue
        if found.start > at:
            yield text[at : found.start], None
        yield text[found.start : found.end], found
        at = found.end
    if at < len(text):
        yield text[at:], None


def marked(
    text: str,
    highlights: Iterable[Highlight],
    before: str,
    after: str,
    escape: Callable[[str], str] | None = None,
    kinds: Collection[str] = MARKED,
) -> str:
    """Return the text with `before` and `after` around each highlight. Arguments as for `Hit.marked`."""
    shown = ((part if escape is None else escape(part), found) for part, found in pieces(text, highlights, kinds))
    return "".join(part if found is None else f"{before}{part}{after}" for part, found in shown)


def excerpt(text: str, highlights: Sequence[Highlight], chars: int) -> tuple[int, int]:
    """Return the place of the `chars` characters that say most; cut between words where there are spaces."""
    if not is_whole(chars) or chars < 1:
        raise InvalidArgument(f"snippet(chars=…) takes a whole number from 1 on, not {chars!r}.")
    if len(text) <= chars:
        return 0, len(text)
    passage = passage_of(highlights)
    first, last = _around(text, passage, [h for h in highlights if h.kind != PASSAGE], chars)
    return _between_words(text, first, last)


def _around(text: str, passage: Highlight | None, marks: Sequence[Highlight], chars: int) -> tuple[int, int]:
    """Return the window of so many characters with the heaviest marks, if possible from the start of a sentence."""
    if passage is not None:
        marks = [h for h in marks if passage.start <= h.start < passage.end]
        if passage.end - passage.start <= chars:
            start = min(passage.start, len(text) - chars)
            return start, start + chars
    start, end, best = 0 if passage is None else passage.start, 0, 0.0
    for mark in marks:  # few: of the windows that begin with one, the heaviest
        held = [h for h in marks if mark.start <= h.start and h.end <= mark.start + chars]
        total = sum(h.weight for h in held)
        if total > best:
            best, start, end = total, mark.start, held[-1].end
    start = min(_sentence_start(text, start, chars - max(end - start, 0)), len(text) - chars)
    return start, start + chars


def _sentence_start(text: str, at: int, back: int) -> int:
    """Return where the sentence begins, if that is at most so many characters before; else half of them before."""
    first = max(at - back, 0)
    found = max((text.rfind(stop, first, at) for stop in _FULL_STOPS), default=-1)
    if found >= 0:
        start = found + 1
        while start < at and text[start].isspace():
            start += 1
        return start
    return first if not first else at - back // 2


def _between_words(text: str, first: int, last: int) -> tuple[int, int]:
    """Return a place without words that are cut, where spaces part them."""
    start, end = first, last
    if start and not text[start - 1].isspace() and text[start].isalnum() and text[start - 1].isalnum():
        gap = next((i for i in range(start, min(start + 24, end)) if text[i].isspace()), None)
        start = start if gap is None else gap + 1
    if end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        gap = next((i for i in range(end, max(end - 24, start), -1) if text[i - 1].isspace()), None)
        end = end if gap is None else gap - 1
    return (start, end) if start < end else (first, last)


def within(highlights: Iterable[Highlight], start: int, end: int) -> list[Highlight]:
    """Return the highlights that lie in a part of a text, as places of that part."""
    return [
        Highlight(start=h.start - start, end=h.end - start, kind=h.kind, of=h.of, weight=h.weight)
        for h in highlights
        if start <= h.start and h.end <= end
    ]


@record(frozen=True, slots=True, kw_only=True)
class Contribution:
    """A source's contribution to a hit.

    Args:
        source: an arm (`semantic`, `lexical`, …), a ranking term (`recency`, `importance`, …), or what moved the hit
            after ranking (`rerank`, `diversity`, `type_first`, `time_first`, `negation`).
        rank: 1-based place in that arm's list; `None` for terms that do not rank.
        score: the source's own score (cosine, BM25, …), on its own scale.
        added: what it added to the sum that orders the hits, or took from it, in the ranker's units.
        note: meaning of the score in words, where that is known (`relevant`).
    """

    source: str
    rank: int | None = None
    score: float
    added: float = 0.0
    note: str = ""


class Why(Protocol):
    """The source of a hit's reasons, when somebody reads them. It stays the same, and so do they."""

    def contributions(self) -> tuple[Contribution, ...]:
        """Return the contributions; see `Hit`."""
        ...

    def reason(self, memory: Memory) -> str:
        """Return the reason; see `Hit`."""
        ...


Marks = Callable[[Memory], tuple[Highlight, ...]]
"""What the highlights of a memory are made with, as it was delivered; for all hits of a recall the same."""


class _ReadLater:
    """Fields that are made when they are first read, each by its function in `_later`; until then its slot is empty."""

    __slots__ = ("_later",)

    if TYPE_CHECKING:
        _later: dict[str, Callable[[Memory], Any]]
    else:  # a type checker need not know: every field of a hit is declared

        def __getattr__(self, name: str) -> Any:
            make = self._later.get(name) if name in _LATER else None
            if make is None:  # no such attribute; or another thread has just made it
                return object.__getattribute__(self, name)
            made = make(self.memory)
            _PUT[name](self, made)
            self._later.pop(name, None)
            return made


_LATER = frozenset({"reason", "contributions", "highlights"})


@record(frozen=True, slots=True, kw_only=True)
class Hit(_ReadLater):
    """A memory that was found.

    Hits of a recall make `reason`, `contributions` and `highlights` when they are first read. Until then they hold
    some kilobytes for all of them together: the numbers of their own places and the query as it was understood; no
    columns, no other memory. Comparing, printing, copying and pickling read them. Under `redact` and `block` the first
    two are made at once.

    Args:
        memory: the memory; under `privacy="redact"` every text in it is redacted, under `"block"` it has none.
        score: probability that the memory is relevant, in [0, 1], calibrated for `ranking.strategy: fixed_weights`
            (docs/ranking.md); with other strategies a number in [0, 1] that only orders. Hits come in falling order
            of it. A reranker or the diversity stage changes the order and shares out the scores.
        reason: reason for the hit, in words.
        contributions: one for each source, largest first. Their sums fall along the hits, but for the rounding of
            float32.
        duplicates: ids of memories that say the same, best first; a place is theirs only where nothing else is left.
        context: with `recall(context=n)`, the memories up to n places before and after in the same thread, in order;
            without the hit itself, withheld as it is under `redact` and `block`.
        scope: scope in which it was found, as the caller named it.
        superseded_by: id of the memory that ended what this one says (docs/facts.md); `None` = none of it has ended,
            no memory ended it, or it tells of no slot.
        valid_from: when what it says began to hold; `None` = nobody says, or it tells of no slot, or of several.
        valid_to: when what it says ceased to hold, exclusive; `None` = it holds.
        highlights: the places of `memory.text` that speak for it, in order, at most 32. None overlaps another, but for
            the passage of a long text, which holds those inside of it. Empty where nothing in its own text does, as of
            a memory that a neighbour or the graph led to. Under `redact` they are places of the redacted text, none of
            them in a placeholder; under `block` there are none.
    """

    memory: Memory
    score: float
    reason: str = ""
    contributions: tuple[Contribution, ...] = ()
    duplicates: tuple[str, ...] = ()
    context: tuple[Memory, ...] = ()
    scope: Scope | None = None
    superseded_by: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    highlights: tuple[Highlight, ...] = ()

    @property
    def passage(self) -> str:
        """The part of a long text that says most; for a short text all of it."""
        found = passage_of(self.highlights)
        return self.memory.text if found is None else self.memory.text[found.start : found.end]

    def marked(
        self,
        before: str,
        after: str,
        *,
        escape: Callable[[str], str] | None = None,
        kinds: Collection[str] = MARKED,
    ) -> str:
        """Return the text with marks around its highlights.

        Args:
            before, after: text put around each, such as `<mark>` and `</mark>`.
            escape: function through which each part goes first, such as `html.escape`: a memory may hold markup.
            kinds: kinds of highlights that are marked; default all but the passage.
        """
        return marked(self.memory.text, self.highlights, before, after, escape, kinds)

    def snippet(
        self, chars: int = 200, before: str = "", after: str = "", *, escape: Callable[[str], str] | None = None
    ) -> str:
        """Return the part of the text that says most, with "…" where it is cut.

        Args:
            chars: number of characters that it may have, without the marks.
            before, after, escape: as for `marked`.

        Raises:
            InvalidArgument: `chars` is no whole number from 1 on.
        """
        text = self.memory.text
        start, end = excerpt(text, self.highlights, chars)
        shown = marked(text[start:end], within(self.highlights, start, end), before, after, escape)
        first, last = CUT if start else "", CUT if end < len(text) else ""
        return f"{first}{shown}{last}"


_PUT = {f.name: getattr(Hit, f.name).__set__ for f in fields(Hit)}
_DEFAULTS = {f.name: f.default for f in fields(Hit)}
_put_later = _ReadLater.__dict__["_later"].__set__


def hit_explained_later(why: Why, marks: Marks | None = None, **values: Any) -> Hit:
    """Make a hit whose reasons and highlights are made when they are read. Without `marks` it has no highlights."""
    later: dict[str, Any] = {"reason": why.reason, "contributions": lambda _memory: why.contributions()}
    return _made(values, later if marks is None else {**later, "highlights": marks})


def hit_marked_later(hit: Hit, marks: Marks) -> Hit:
    """Return the same hit, whose highlights are made when somebody reads them."""
    return _again(hit, {}, marks)


def marks_of(hit: Hit) -> Marks | None:
    """Return the maker of a hit's highlights; `None` = they are made, or there are none."""
    marks: Marks | None = getattr(hit, "_later", {}).get("highlights")
    return marks


def hit_like(hit: Hit, **changes: Any) -> Hit:
    """Change a hit as `dataclasses.replace`, but make highlights that nobody has read later, of its new memory."""
    return _again(hit, changes, None if "highlights" in changes else marks_of(hit))


def _again(hit: Hit, changes: dict[str, Any], marks: Marks | None) -> Hit:
    later = {} if marks is None else {"highlights": marks}
    return _made({name: getattr(hit, name) for name in _PUT if name not in later} | changes, later)


def _made(values: Mapping[str, Any], later: dict[str, Any]) -> Hit:
    """Make a hit of values, of functions for those that are made later, and of defaults for the others."""
    hit = object.__new__(Hit)
    for name, put in _PUT.items():
        if name not in later:
            put(hit, values.get(name, _DEFAULTS[name]))
    _put_later(hit, later)
    return hit


NOT_SEARCHED = "not_searched"  # reason of a `Degradation`: the hits are empty because nothing could be looked at


@record(frozen=True, slots=True, kw_only=True)
class Degradation:
    """A step that was skipped, cut short or failed.

    Args:
        stage: name of the stage or arm.
        reason: a reason code, such as `timeout`, `error`, `skip.budget`, `index.rebuilt`.
        detail: details for people.
    """

    stage: str
    reason: str
    detail: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Note:
    """A note on an answer with which nothing is wrong.

    Args:
        reason: a reason code:
            `scope.unknown` nothing was ever remembered in the scope; `scope.empty` all of it was forgotten;
            `filters.key` a filter asks for a key that no memory of the scope has in its metadata; `filters.nothing` no
            memory of the scope meets the filters; `settings.scope` an entry of `scopes` of the settings acts here.
        detail: details for people.
    """

    reason: str
    detail: str = ""


@record(frozen=True, slots=True, kw_only=True)
class RewriteOutcome:
    """Outcome of the optional LLM rewrite.

    Args:
        strategy: `disabled` there is no LLM, or it is not to be asked; `skipped` it was not asked; `llm` its phrasings
            were searched for; `cache` those of a like query of the last minutes were; `fallback` it was asked, and gave
            nothing that could be searched for in time.
        reason: a reason code:
            `success`; `cache_hit`;
            `skip.disabled`; `skip.privacy` no text may leave the recall; `skip.specific` the query says plainly what it
            is after; `skip.plan` the plan does without; `skip.literal_query` all of it is quoted; `skip.identifier` all
            of it is ids, paths or URLs; `skip.command` it begins with show, find, list, get or open;
            `skip.short_query` it is no more than three words; `skip.sure` the first hit is sure enough;
            `skip.no_memories` there is nothing to find; `skip.budget` it does not fit into the time that is left;
            `skip.busy` as many calls as may be have not returned; `skip.slo` it fell back, came back empty or was slow
            too often lately; `circuit_open` it failed three times in a row;
            `failure.timeout`; `failure.error`; `failure.cancelled`; `failure.empty`; `failure.off_topic` an
            instruction is in what it gave.
        provider: the class of the LLM, and its model where it says that; empty where there is none.
        duration_ms: milliseconds from the question to the answer, or until it was given up; 0 if nothing was asked.
        used: whether phrasings were searched for.
        saved_ms: milliseconds that asking would have taken, by the median of recent calls; `None` = it was asked, or
            the median is not known.
        refused: number of phrasings that came with an instruction, or could not be read.
        moved: number of the first k places that hold another memory than without it.
        usage: what this call took by the model's own account: `tokens_in`, `tokens_out`, `cost`; each where it says so.
    """

    strategy: str = "disabled"
    reason: str = "skip.disabled"
    provider: str = ""
    duration_ms: float = 0.0
    used: bool = False
    saved_ms: float | None = None
    refused: int = 0
    moved: int = 0
    usage: Mapping[str, float] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class CacheOutcome:
    """Outcome of the result cache (docs/caching.md).

    Args:
        strategy: `disabled`, `miss` (the answer was computed) or `hit` (it was kept from an earlier recall, and
            `query`, `plan`, `rewrite` and `rerank` say what was done for that one).
        reason: a reason code:
            `skip.disabled` nothing is kept; `same` the query was asked in the same letters; `alike` it was written
            differently and reads the same; of an answer that was computed, `kept` for later or why not:
            `degraded` it is not whole; `unsettled` the reranker or the rewriter was left out for now, or the scope's
            vocabulary is still being read; `written` the scope was written to meanwhile.
        age_ms: for a hit, milliseconds since the answer was computed.
    """

    strategy: str = "disabled"
    reason: str = "skip.disabled"
    age_ms: float = 0.0

    @property
    def hit(self) -> bool:
        """True where the answer was kept from an earlier recall."""
        return self.strategy == "hit"


@record(frozen=True, slots=True, kw_only=True)
class RerankOutcome:
    """Outcome of the optional rerank.

    Args:
        reranker: the reranker's name; empty where none is configured.
        reason: a reason code:
            `skip.disabled` no reranker; `skip.plan` the plan does without; `skip.few` too few candidates;
            `skip.privacy` under `privacy="block"` none outside of this process is asked; `skip.breaker` it
            failed several times in a row and is off for a while; `skip.busy` as many calls as may be have
            not returned; `skip.cold` its model is still being loaded; `skip.certain` even a perfect
            reranker could add next to nothing; `skip.budget` it does not fit into the time that is left;
            `skip.slow` it does not fit into its own budget; `success`; `success.partial` the time sufficed
            for some of the candidates only; `failure.timeout`, `failure.error`, `failure.load`.
        used: whether the order is the reranker's.
        duration_ms: milliseconds of the stage, 0 if it was skipped.
        candidates: number of candidates it could have scored.
        scored: number of candidates it scored.
        pairs_saved: pairs of query and text that the gate spared it; 0 if it ran, or failed.
        saved_ms: milliseconds that these would have taken, by the median of its recent runs; `None` = not known yet.
        moved: number of the first k places that hold another memory than before.
        regret_max: the most that a perfect reranker could have added, as `reranking.regret_max` computes it; `None` =
            the gate did not come so far.
        trimmed: number of candidates that `rerank.threshold` left out.
    """

    reranker: str = ""
    reason: str = "skip.disabled"
    used: bool = False
    duration_ms: float = 0.0
    candidates: int = 0
    scored: int = 0
    pairs_saved: int = 0
    saved_ms: float | None = None
    moved: int = 0
    regret_max: float | None = None
    trimmed: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Decision:
    """Decision of facts in a recall (docs/facts.md).

    Args:
        subject: subject of the slot; empty = the user.
        slot: the slot that is asked for, such as `phone_number`; `open:…` = one that the schema does not have; empty =
            a model decided, and nobody can say which.
        mode: `now`, `then`, `previous`, `history` or `when`.
        at: the time of the question: `as_of`, else `now`.
        first: ids of the memories that were put first.
        beneath: ids of memories of the same slot that were not.
        confidence: probability that the first ones are what is asked for, in [0, 1].
    """

    subject: str
    slot: str
    mode: str
    at: datetime
    first: tuple[str, ...]
    beneath: tuple[str, ...] = ()
    confidence: float = 0.9


@record(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer of `QueryOptimizer.recall`. Iterating over it gives its hits.

    Args:
        hits: best first, ties by id.
        query: the query as it was understood; under `privacy="redact"` it speaks of the redacted query, under `"block"`
            it has no words.
        plan: the plan of the query.
        rewrite: outcome of the LLM rewrite.
        rerank: outcome of the cross-encoder, and what its gate saved.
        cache: whether the answer was kept from an earlier recall.
        degraded: steps that failed or were left out; empty when all went well.
        notes: notes on an answer with which nothing is wrong, such as a scope in which nothing was ever remembered.
        timings_ms: milliseconds per stage, and `total`; those of a hit of the cache are `cache` and `total`.
        confidence: probability that at least one hit is relevant, at most the sum of their scores, 0 where nothing was
            found; where the scores are not calibrated, the best hit's score.
        facts: what facts decided; `None` = the query asks for no state, or nothing is known of it.
        parts: for a recall of several scopes, the result of each, in their order, without hits; `query`, `plan`,
            `rewrite` and `rerank` are those of the first.
        id: id by which feedback names this answer (`QueryOptimizer.feedback`); every answer has another one.
        version: plans and weights that made it: `rules`, or what was learned from use, such as `v3` (docs/learning.md);
            of several scopes, that of the first.
    """

    hits: tuple[Hit, ...]
    query: ParsedQuery
    plan: RetrievalPlan
    rewrite: RewriteOutcome = field(default_factory=RewriteOutcome)
    rerank: RerankOutcome = field(default_factory=RerankOutcome)
    cache: CacheOutcome = field(default_factory=CacheOutcome)
    degraded: tuple[Degradation, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    notes: tuple[Note, ...] = ()
    facts: Decision | None = None
    parts: tuple[RecallResult, ...] = ()
    id: str = field(default="", compare=False)
    version: str = "rules"

    @property
    def searched(self) -> bool:
        """True where there are hits, or the memories were searched and none answers. `False` = the answer says nothing
        of what is remembered: loading took too long, or what compares the memories failed; `degraded` says why."""
        return bool(self.hits) or all(problem.reason != NOT_SEARCHED for problem in self.degraded)

    @property
    def degradation_steps(self) -> tuple[str, ...]:
        """Reductions under pressure, in order: `reduced_top_k`, `simplified_scoring`, `minimal`."""
        return tuple(d.reason for d in self.degraded if d.stage == "admission")

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
