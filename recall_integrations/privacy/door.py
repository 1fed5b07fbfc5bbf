"""The one door through which everything leaves a recall: to the caller, an LLM, a reranker, an observer or a log."""

from __future__ import annotations

import copy
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from recall_integrations.errors import InvalidArgument, InvalidFilter, RecallError
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text import stem
from recall_integrations.types import Degradation, Memory
from recall_integrations.types.filters import Condition, Every, Filters, Opposite, Some, Test, keys_of

if TYPE_CHECKING:
    from recall_integrations.privacy.redactor import Redactor

MODES = ("allow", "redact", "block")


def check_mode(mode: object) -> str:
    """Return `mode` if it is `allow`, `redact` or `block`."""
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidArgument(f"Unknown privacy mode {mode!r}. Use one of: {', '.join(MODES)}.")
    return mode


WORD = re.compile(r"[^\W_]+")
SAID_MIN = 3  # characters from which a hidden word is not said again; "am" and "42" stand for too much else
_PLACEHOLDER = regex(r"\[[a-z][a-z0-9_-]{0,63}\]")


@record(frozen=True, slots=True)
class Seen:
    """A text with its redacted form."""

    original: str  # the text
    text: str  # its redacted form
    # `(start, end, place)` of the parts of the original that stay as they are, in order, and where they begin in
    # `text`
    kept: tuple[tuple[int, int, int], ...]
    hidden: frozenset[str]  # words, in lower case, that occur nowhere in `text`

    def hides(self, span: tuple[int, int]) -> bool:
        """Say whether any character of a span of the original is hidden."""
        if span[0] >= span[1]:
            return False
        i = bisect_right(self.kept, span[0], key=itemgetter(0)) - 1
        return i < 0 or self.kept[i][1] < span[1]

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return the span in `text` of a span of the original, or of its placeholder; of an empty one, `(0, 0)`."""
        if span[0] >= span[1]:
            return (0, 0)
        return self._begin(span[0]), self._end(span[1])

    def _begin(self, at: int) -> int:
        """Return the place of a character of the original in `text`, or the start of the placeholder that hides it."""
        i = bisect_right(self.kept, at, key=itemgetter(0)) - 1
        if i < 0:
            return 0
        start, end, place = self.kept[i]
        return place + min(at, end) - start

    def _end(self, at: int) -> int:
        """Return the end in `text` of the character before `at`, or the end of the placeholder that hides it."""
        i = bisect_left(self.kept, at, key=itemgetter(0)) - 1
        if i >= 0 and at <= self.kept[i][1]:
            return self.kept[i][2] + at - self.kept[i][0]
        return self.kept[i + 1][2] if i + 1 < len(self.kept) else len(self.text)


def seen(original: str, text: str) -> Seen:
    """Compare `original` with `text`, in which placeholders such as `[phone-1]` replace parts of it.

    The parts between the placeholders are looked for in the original, each after the one before. Where they are not
    found, or words of them in several places, nothing counts as seen. Where a part is found too early, more counts as
    hidden than is.
    """
    if original == text:
        return Seen(original, text, ((0, len(text), 0),), frozenset())
    kept = tuple(_kept(original, text))
    shown = {m[0].casefold() for m in WORD.finditer(text)}
    hidden: set[str] = set()
    ends = [0, *(edge for start, end, _ in kept for edge in (start, end)), len(original)]
    for start, end in list(pairwise(ends))[::2]:
        words = [m[0].casefold() for m in WORD.finditer(original, start, end)]
        hidden.update(words, map(stem, words), ["".join(words)])
        hidden.add("".join(filter(str.isdigit, original[start:end])))
    return Seen(original, text, kept, frozenset(w for w in hidden - shown if len(w) >= SAID_MIN))


def _kept(original: str, text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the parts that stay as they are; none where they are not all found."""
    found: list[tuple[int, int, int]] = []
    at = place = 0
    marks = list(_PLACEHOLDER.finditer(text))
    for i, mark in enumerate([*marks, None]):
        literal = text[place : len(text) if mark is None else mark.start()]
        if literal:
            if i == 0:
                start = 0 if original.startswith(literal) else -1
            elif mark is None:
                start = len(original) - len(literal) if original.endswith(literal, at) else -1
            else:
                start = original.find(literal, at + 1)  # what a placeholder stands for is not empty
                if WORD.search(literal) and original.find(literal, start + 1) >= 0:
                    return  # it may stand in what is hidden: nobody knows
            if start < 0:
                return
            found.append((start, start + len(literal), place))
            at = start + len(literal)
        place = len(text) if mark is None else mark.end()
    yield from found


WITHHELD = "[withheld]"  # a word that was hidden in the query
TOLD = ("effective_timeout_ms", "degradation_steps_applied")  # numbers and codes of ours
OPTIONS = ("retry_with_reduced_scope", "skip_experience_path", "return_minimal")
DETAIL_CHARS_MAX = 1_000  # longer ones quote what they were given; cut, they would show half of it
_KIND = regex(r"[A-Za-z_][\w.]{0,80}(?=:)")

T = TypeVar("T")
Own = Sequence[tuple[str, re.Pattern[str]]]


class Door:
    """The privacy mode of one recall, applied to everything that leaves it. Threads may share one.

    A hidden value has the same placeholder throughout the recall.
    """

    def __init__(self, mode: str = "allow", own: Own = ()) -> None:
        self.mode = check_mode(mode)
        # Constant: a recall asks some hundred times.
        self.open, self.blocked = mode == "allow", mode == "block"
        self.own = own
        self._queries: dict[str, Seen] = {}
        self._hidden: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @cached_property
    def _redactor(self) -> Redactor:
        """The redactor. An open door has none, and its tables are not even loaded then."""
        from recall_integrations.privacy.redactor import Redactor

        with self._lock:  # two would give one value two placeholders
            made: Redactor = self.__dict__.get("_redactor") or Redactor(self.own)
            self.__dict__["_redactor"] = made
        return made

    def text(self, text: str) -> str:
        """Return the text as it may be seen: itself, redacted, or empty."""
        if self.open or self.blocked:
            return text if self.open else ""
        return self._redactor.text(text)

    def hides(self, text: str) -> bool:
        """Say whether anything in a text is hidden, as `redact` hides it; `block` hides as much."""
        return not self.open and self._redactor.text(text) != text

    def memory(self, memory: Memory) -> Memory:
        """Return the memory as it may be seen."""
        if self.open:
            return memory
        return self.bare(memory) if self.blocked else self._redactor.memory(memory)

    def bare(self, memory: Memory) -> Memory:
        """Return the memory without its texts, whatever the mode; its references and its thread are redacted."""
        return self._redactor.withheld(memory)

    # -- the query -------------------------------------------------------------------------------------------------

    def query(self, text: str) -> Seen:
        """Return the part of the query that may be seen; from here on `said` leaves out its hidden words."""
        if (known := self._queries.get(text)) is not None:
            return known
        if self.open:
            return seen(text, text)
        found = seen(text, self.text(text))
        self.hide(found.hidden)
        self._queries[text] = found
        return found

    def withhold(self, text: str) -> None:
        """Withhold the whole query, since it cannot be redacted in time."""
        self._queries[text] = found = seen(text, "")
        self.hide(found.hidden)

    def hide(self, words: Iterable[str]) -> None:
        """Add words, in lower case, that `said` leaves out from here on."""
        with self._lock:
            self._hidden |= frozenset(words)

    def said(self, text: str) -> str:
        """Return a text about the recall, redacted, and without words that are hidden in the query.

        This catches a part of a hidden number, and a hidden name that stands alone, which no pattern recognises.
        """
        if self.open or self.blocked:
            return text if self.open else ""
        shown, hidden = self.text(text), self._hidden
        if not hidden:
            return shown
        return WORD.sub(lambda m: WITHHELD if m[0].casefold() in hidden else m[0], shown)

    # -- what went wrong -------------------------------------------------------------------------------------------

    def detail(self, text: str) -> str:
        """Return the text of a failure. A component may quote its input: long texts keep only the kind of error."""
        if self.open or self.blocked:
            return text if self.open else ""
        if len(text) <= DETAIL_CHARS_MAX:
            return self.said(text)
        kind = _KIND.match(text)
        return f"{kind[0] + ': ' if kind else ''}[{len(text)} characters withheld]"

    def degradations(self, found: Iterable[Degradation]) -> tuple[Degradation, ...]:
        """Return degradations as they may be seen."""
        if self.open:
            return tuple(found)
        return tuple(Degradation(stage=d.stage, reason=d.reason, detail=self.detail(d.detail)) for d in found)

    def error(self, error: Exception) -> Exception:
        """Return an error as it may be raised: without its cause and its traceback, which quote as well.

        An error of our tree keeps its class; any other becomes a `RecallError` that names it.
        """
        if self.open:
            return error
        ours = isinstance(error, RecallError)
        said = str(error) if ours else f"{type(error).__name__}: {error}"
        said = self.detail(said) or f"{type(error).__name__} (its message is withheld under privacy={self.mode!r})."
        hidden = _again(type(error), said) if isinstance(error, RecallError) else RecallError(said)
        if isinstance(error, RecallError):
            hidden.details = {key: value for key, value in error.details.items() if key in TOLD}
            hidden.options = tuple(option for option in error.options if option in OPTIONS)
            hidden.stats = {key: value for key, value in error.stats.items() if isinstance(value, int | float)}
            hidden.result = error.result
        return hidden


def passing(door: Door, run: Callable[[], T]) -> T:
    """Return the result of a call. An error goes through the door, and what is raised keeps nothing else of it."""
    try:
        return run()
    except Exception as e:  # whatever it is, its message may quote
        if door.open:
            raise
        hidden = door.error(e)
    raise hidden


def _again(kind: type[RecallError], message: str) -> RecallError:
    """Return an error of the same class with another message; a subclass may take other arguments."""
    try:
        made = kind(message)
    except TypeError:
        return RecallError(f"{kind.__name__}: {message}")
    return made


def told(error: object) -> str:
    """Return the text of an error, or a sentence about one, redacted; for a long one, a note that it was withheld.

    For logs and the notices of a store, where no privacy mode applies: they go further than answers, and an embedding
    or a database may quote what it was given.
    """
    return Door("redact").detail(str(error))


# -- filters: conditions act on what the caller may see, so that none reads out the rest -----------------------------
# {"pin": {"$gte": 5000}}      refused under both: the key says that its value is a secret
# {"note": {"$contains": "…"}} under `redact` asked of the redacted note; refused under `block`, which shows none
# actors=["+49 170 1234567"]   refused under `redact`: it names what is hidden there; under `block`, as all actors

NAMES = ("entities", "actors", "channels", "threads")
UNSEEN = ("entities", "actors", "roles", "channels", "metadata")  # under `block`
VALUES_KEPT = 65_536  # values of which it is known how they are shown


@record(frozen=True, slots=True)
class ShownValue:
    """Show the value of a metadata key as `redact` does."""

    key: str
    own: Own  # patterns of the user

    def __call__(self, value: Any) -> Any:
        try:
            return _shown(self.key, value, tuple(self.own))
        except TypeError:  # a list
            return _shown.__wrapped__(self.key, value, tuple(self.own))


@lru_cache(maxsize=VALUES_KEPT, typed=True)
def _shown(key: str, value: Any, own: Own) -> Any:
    from recall_integrations.privacy.redactor import Redactor

    return Redactor(own).value_of(key, value)


def screened(filters: Filters, door: Door) -> Filters:
    """Return filters that act on what may be seen.

    Raises:
        InvalidFilter: they ask for what the caller may not see; the message names the field.
    """
    if door.open or not filters:
        return filters
    for name in UNSEEN if door.blocked else ():
        if getattr(filters, name):
            raise _refused(f"Filters.{name}", door, "withholds it")
    for name in NAMES:
        if any(map(door.hides, getattr(filters, name))):
            raise _refused(f"Filters.{name}", door, "hides such a name")
    if filters.condition is None:
        return filters
    from recall_integrations.privacy.redactor import hides_values

    for key in keys_of(filters.condition):
        if hides_values(key) or door.hides(key):
            raise _refused(f"Filters.metadata[{key!r}]", door, "hides its values")
    seen = copy.copy(filters)
    object.__setattr__(seen, "condition", _screened(filters.condition, door.own))
    return seen


def screened_name(name: str | None, field: str, door: Door) -> str | None:
    """Return a name by which is looked up; `field` says in the message where it was given.

    Raises:
        InvalidFilter: the caller may not see such names.
    """
    if name and (door.blocked or door.hides(name)):
        raise _refused(field, door, "withholds it" if door.blocked else "hides such a name")
    return name


def _refused(field: str, door: Door, why: str) -> InvalidFilter:
    return InvalidFilter(f"{field} cannot be filtered on under privacy={door.mode!r}, which {why}. Leave it out.")


def _screened(condition: Condition, own: Own) -> Condition:
    if isinstance(condition, Test):
        return replace(condition, shown=ShownValue(condition.key, own))
    if isinstance(condition, Opposite):
        return Opposite(_screened(condition.part, own))
    parts = tuple(_screened(part, own) for part in condition.parts)
    return Every(parts) if isinstance(condition, Every) else Some(parts)
