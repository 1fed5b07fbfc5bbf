"""The places of a text that speak for a hit, and the text with them marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from recall_integrations.errors import InvalidArgument
from recall_integrations.records import record
from recall_integrations.types.numbers import is_whole

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
