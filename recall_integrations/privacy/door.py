"""The one door through which everything leaves a recall: to the caller, an LLM, a reranker, an observer or a log."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from recall_integrations.errors import RecallError
from recall_integrations.patterns import regex
from recall_integrations.privacy.modes import check_mode
from recall_integrations.privacy.seen import WORD, Seen, seen
from recall_integrations.types import Degradation, Memory

if TYPE_CHECKING:
    from recall_integrations.privacy.redactor import Redactor

WITHHELD = "[withheld]"  # a word that was hidden in the query
TOLD = ("effective_timeout_ms", "degradation_steps_applied")  # numbers and codes of ours
OPTIONS = ("retry_with_reduced_scope", "skip_experience_path", "return_minimal")
DETAIL_CHARS_MAX = 1_000  # longer ones quote what they were given; cut, they would show half of it
KEPT_MAX = 1_024  # texts whose form is remembered: names and channels come again with every hit
KEPT_CHARS_MAX = 256
_BETWEEN = "\n¶\n"  # no part of anything that is hidden; where it was taken for one, each is looked at by itself
_KIND = regex(r"[A-Za-z_][\w.]{0,80}(?=:)")

T = TypeVar("T")
Own = Sequence[tuple[str, re.Pattern[str]]]


class Door:
    """The privacy mode of one recall, applied to everything that leaves it. Threads may share one.

    A hidden value has the same placeholder throughout the recall.

    Args:
        mode: `allow`, `redact` or `block`.
        own: patterns of the user's own, with their names.

    Attributes:
        open: whether everything goes through.
        blocked: whether no text goes through.

    Raises:
        InvalidArgument: an unknown mode.
    """

    def __init__(self, mode: str = "allow", own: Own = ()) -> None:
        self.mode = check_mode(mode)
        # Constant: a recall asks some hundred times.
        self.open, self.blocked = mode == "allow", mode == "block"
        self._own = own
        self._kept: dict[str, str] = {}
        self._queries: dict[str, Seen] = {}
        self._hidden: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @cached_property
    def _redactor(self) -> Redactor:
        """The redactor. An open door has none, and its tables are not even loaded then."""
        from recall_integrations.privacy.redactor import Redactor

        with self._lock:  # two would give one value two placeholders
            made: Redactor = self.__dict__.get("_redactor") or Redactor(self._own)
            self.__dict__["_redactor"] = made
        return made

    def text(self, text: str) -> str:
        """Return the text as it may be seen: itself, redacted, or empty."""
        if self.open or self.blocked:
            return text if self.open else ""
        if (known := self._kept.get(text)) is not None:
            return known
        shown = self._redactor.text(text)
        if len(text) <= KEPT_CHARS_MAX and len(self._kept) < KEPT_MAX:
            self._kept[text] = shown
        return shown

    def look(self, memories: Iterable[Memory]) -> None:
        """Look at memories ahead of `memory`: together they cost less than one by one."""
        if self.mode == "redact":
            self._redactor.look(memories)

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

    def said_each(self, texts: Sequence[str]) -> list[str]:
        """Return several short texts as `said` does, together: each alone costs more than its length."""
        if self.open or self.blocked:
            return [self.said(text) for text in texts]
        together = self.said(_BETWEEN.join(texts)).split(_BETWEEN)
        return together if len(together) == len(texts) else [self.said(text) for text in texts]

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
