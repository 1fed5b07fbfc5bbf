"""Correct typos in a query: an unknown word is *also* read as a close one that the scope's memories use.

    word ─ known? ─▶ none      in the scope, a name, in the lexicon, a number, an identifier, written like a name
         └─ unknown ─▶ Vocabulary.close_to ─▶ best by similarity, frequency, spelling ─▶ Correction (learned, counted)

A correction adds a reading and takes none away, so the word itself is still looked for. Correctly written words are
left alone even if the scope never used them (`known_words`); `vocabulary` finds the stems close to a word and their
similarities.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, NamedTuple

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.query.known_words import CANDIDATE_LETTERS_MIN, LETTERS_MIN, is_known
from recall_integrations.query.vocabulary import LETTERS_MAX, THRESHOLD, Match, Vocabulary, alike, edits_max, worded
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.text import STOP_WORDS, Token, fold, stem
from recall_integrations.types import checked_time
from recall_integrations.types.readings import Correction

LEARNED_MAX = 1_000  # corrections kept per scope, as `query.spelling_learned_max`
NAME_SIMILARITY = 0.88  # from which a word written as a name may be meant as another one
WORDS_MAX = 16  # unknown words of one query that are looked up: bounds the cost of hostile ones
VALIDATIONS_MAX = 4  # questions to the language model under way at once
ATTEMPTS_MAX = 3  # failed or unclear answers after which a correction is not asked about again

_STOP_WORDS = sorted(w for w in STOP_WORDS if len(w) >= CANDIDATE_LETTERS_MIN)
_IDENTIFIER = frozenset("_@#/\\=$%&+<>{}[]|~^`")  # next to a word, they make it a part of something that is not prose
_JOINTS = frozenset(".:-")  # the same, if a letter or digit follows: "foo.bar", "std::sort"
_HYPHENATED = regex(r"[^\W\d_]+-[^\W\d_]+")  # prose ("low-impact"); longer chains and digits are identifiers
_CHAIN = regex(r"[^\s,;!?\"“”()]+")
_CHAIN_MAX = 128  # characters


class LearnedRow(NamedTuple):
    """A learned correction as the store keeps it.

    `validated`: `True` confirmed, `False` rejected (never made again), `None` not decided.
    """

    word: str
    stem: str
    uses: int
    validated: bool | None
    last_used: datetime


@record(frozen=True, slots=True, kw_only=True)
class _Manner:
    """The way a word stands in the query."""

    capital: bool
    first: bool
    is_name: Callable[[str], bool] | None

    def allows(self, match: Match) -> bool:
        """Say whether a word in this place may be meant as the match.

        Names of the scope are for the entity cascade, but not the ordinary words in them ("Backend Database Team").
        """
        if self.is_name is not None and self.is_name(match.spelling) and not is_known(match.spelling):
            return False
        if not self.capital or (self.first and is_ordinary(match.spelling)):
            return True
        return match.similarity >= NAME_SIMILARITY and not is_ordinary(match.spelling)


@record(slots=True)
class _Learned:
    count: int
    last_used: datetime
    validated: bool | None = None
    attempts: int = 0
    asked: bool = field(default=False)  # an answer is under way


class Speller:
    """One scope's corrections: makes, counts and remembers them. Threads may share one.

    Args:
        vocabulary: the scope's stems.
        threshold: least similarity, in (0, 1]; default .80.
        frequency_min: memories that must hold a stem for it to be a correction; default 1.
        learned_max: corrections remembered; the least recently used leaves. 0 learns nothing. Default 1,000.
        validate: answers a prompt (a language model). Asked in the background whether a new correction is right; a
            rejected one is not made again. It is shown the two words, never the query. Default: no validation.
        submit: runs a function in the background (`executor.submit`). Default: a daemon thread each.
        rows: learned corrections from `rows()` of an earlier life.

    Raises:
        InvalidArgument: a setting is out of its range.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        threshold: float = THRESHOLD,
        frequency_min: int = 1,
        learned_max: int = LEARNED_MAX,
        validate: Callable[[str], str] | None = None,
        submit: Callable[[Callable[[], None]], Any] | None = None,
        rows: Iterable[tuple[str, str, int, bool | None, datetime]] = (),
    ) -> None:
        if not 0 < threshold <= 1:
            raise InvalidArgument(f"threshold must be in (0, 1], not {threshold!r}.")
        if frequency_min < 1:
            raise InvalidArgument(f"frequency_min must be a whole number from 1 on, not {frequency_min!r}.")
        if learned_max < 0:
            raise InvalidArgument(f"learned_max must be a whole number from 0 on, not {learned_max!r}.")
        self.vocabulary = vocabulary
        self._threshold, self._frequency_min, self._learned_max = threshold, frequency_min, learned_max
        self._validate, self._submit = validate, submit or _in_thread
        self._lock = threading.Lock()
        self._learned: OrderedDict[tuple[str, str], _Learned] = OrderedDict()  # least recently used first
        self._asking = 0
        self._changes = 0
        self.load(rows)

    @property
    def changes(self) -> int:
        """Number of changes of the learned corrections: if it stands still, there is nothing to write."""
        return self._changes

    @property
    def asking(self) -> bool:
        """True while a language model is being asked about a correction."""
        return self._asking > 0

    # -- reading a query -------------------------------------------------------------------------------------------

    def corrections(
        self,
        text: str,
        tokens: Sequence[Token],
        *,
        now: datetime,
        frequency: Callable[[str], int] | None = None,
        is_name: Callable[[str], bool] | None = None,
        learns: bool = True,
    ) -> tuple[Correction, ...]:
        """Return second readings of a query's words, in order, one a word; the first 16 unknown words are looked up.

        Args:
            text: the query.
            tokens: the words to look at, with their places in `text`: without stop words, negated terms and mentions.
            now: time of their use; timezone-aware.
            frequency: live document frequency of a stem; default: the vocabulary's.
            is_name: says whether a normal form is a word of a name or alias of the scope.
            learns: whether to remember the uses, and to ask a language model about them.
        """
        shouted = text.isupper()
        found: dict[str, Correction] = {}
        looked: set[str] = set()
        for token in tokens:
            if token.word in looked or len(looked) >= WORDS_MAX:
                continue
            written = token.word if shouted else text[token.start : token.end]
            if not self._is_open(token.word, written, frequency, is_name) or _is_identifier(text, token):
                continue
            looked.add(token.word)
            first = _begins_sentence(text, token.start)
            made = self.correct(
                token.word, now=now, written=written, first=first, frequency=frequency, is_name=is_name, learns=learns
            )
            if made is not None:
                found[token.word] = made
        return tuple(found.values())

    def correct(
        self,
        word: str,
        *,
        now: datetime,
        written: str | None = None,
        first: bool = False,
        frequency: Callable[[str], int] | None = None,
        is_name: Callable[[str], bool] | None = None,
        learns: bool = True,
    ) -> Correction | None:
        """Return the second reading of one word, or `None` if it is known, may be a name, or is like no known word.

        Args:
            word: the word, in any case.
            now: time of its use; timezone-aware.
            written: the word as it stands in the query. Default: no capitals. A capital says that it is a name: it is
                never read as an ordinary word, and as another name-like word only from a similarity of .88 on.
            first: whether it begins a sentence, where a capital says little.
            frequency, is_name, learns: as for `corrections`.

        Raises:
            InvalidArgument: `now` is naive.
        """
        checked_time(now, "now", InvalidArgument)
        word = fold(word)
        written = word if written is None else written
        capital = written[:1].isupper()
        if not self._is_open(word, written, frequency, is_name):
            return None
        own = stem(word)
        best = self._best(word, _Manner(capital=capital, first=first, is_name=is_name))
        if best is None:
            return None
        learned = self._count(word, best, now) if learns else self._knows(word, best)
        return Correction(
            word=word,
            stem=own,
            correction=best.stem,
            spelling=best.spelling,
            similarity=best.similarity,
            frequency=best.frequency,
            learned=learned,
        )

    def _is_open(
        self, word: str, written: str, frequency: Callable[[str], int] | None, is_name: Callable[[str], bool] | None
    ) -> bool:
        """Say whether the word is unknown: to the scope, as a name, and to the lexicon."""
        if not LETTERS_MIN <= len(word) <= LETTERS_MAX or not word.isalpha() or word in STOP_WORDS:
            return False
        if any(map(str.isupper, written[1:])):  # an acronym or an identifier
            return False
        known = (frequency or self.vocabulary.frequency)(stem(word)) > 0
        return not (known or (is_name is not None and is_name(word)) or is_known(word))

    def _best(self, word: str, manner: _Manner) -> Match | None:
        matches = [
            m
            for m in (worded(word, close) for close in self.vocabulary.close_to(word, threshold=self._threshold))
            if m.frequency >= self._frequency_min and manner.allows(m)
        ]
        with self._lock:
            verdict = {m.stem: e.validated for m in matches if (e := self._learned.get((word, m.stem))) is not None}
        matches = [m for m in matches if verdict.get(m.stem) is not False]
        if not matches:
            return None
        # A confirmed correction stays, whatever words have come since.
        best = next((m for m in matches if verdict.get(m.stem)), matches[0])
        return None if _means_stop_word(word, best.similarity) else best

    # -- learning --------------------------------------------------------------------------------------------------

    def _knows(self, word: str, match: Match) -> bool:
        """Say whether the correction was made before."""
        with self._lock:
            return (word, match.stem) in self._learned

    def _count(self, word: str, match: Match, now: datetime) -> bool:
        """Remember a use; return whether the correction was known before."""
        if not self._learned_max:
            return False
        key = (word, match.stem)
        with self._lock:
            entry = self._learned.get(key)
            known = entry is not None
            if entry is None:
                entry = self._learned[key] = _Learned(0, now)
            entry.count += 1
            entry.last_used = now
            self._learned.move_to_end(key)
            self._trim()
            self._changes += 1
            ask = (
                self._validate is not None
                and entry.validated is None
                and not entry.asked
                and entry.attempts < ATTEMPTS_MAX
                and self._asking < VALIDATIONS_MAX
            )
            if ask:
                entry.asked = True
                self._asking += 1
        if ask:
            self._ask(entry, prompt(word, match.spelling))
        return known

    def _ask(self, entry: _Learned, question: str) -> None:
        def task() -> None:
            answer: bool | None = None
            try:
                assert self._validate is not None
                answer = verdict_of(self._validate(question))
            except failures():  # foreign code; counted in `attempts`, the correction stays undecided
                answer = None
            finally:
                self._answered(entry, answer)

        try:
            self._submit(task)
        except RuntimeError:  # the pool was shut down: nobody is left to ask
            self._answered(entry, None)

    def _answered(self, entry: _Learned, answer: bool | None) -> None:
        with self._lock:
            self._asking -= 1
            entry.asked = False
            entry.attempts += answer is None
            if answer is not None:
                entry.validated = answer
                self._changes += 1

    def rows(self) -> list[LearnedRow]:
        """Return the learned corrections, least recently used first."""
        with self._lock:
            return [
                LearnedRow(word, root, e.count, e.validated, e.last_used) for (word, root), e in self._learned.items()
            ]

    def load(self, rows: Iterable[tuple[str, str, int, bool | None, datetime]]) -> None:
        """Add learned corrections; a row replaces an entry of its pair. The most recently used are kept."""
        with self._lock:
            for word, root, count, validated, last_used in rows:
                self._learned[word, root] = _Learned(count, last_used, validated)
            self._learned = OrderedDict(sorted(self._learned.items(), key=lambda item: (item[1].last_used, item[0])))
            self._trim()

    def _trim(self) -> None:
        while len(self._learned) > self._learned_max:
            self._learned.popitem(last=False)


def corrected_query(text: str, tokens: Sequence[Token], corrections: Iterable[Correction]) -> str:
    """Replace corrected words by their spelling, so that the query can be embedded as a second reading."""
    meant = {c.word: c.spelling for c in corrections}
    for token in sorted(tokens, key=lambda t: -t.start):
        if token.word in meant:
            text = text[: token.start] + meant[token.word] + text[token.end :]
    return text


def prompt(word: str, spelling: str) -> str:
    """Write the question to the language model. It shows the two words and nothing else of the query."""
    return (
        f'Somebody searching their notes typed "{word}". Is that a misspelling of "{spelling}", rather than a name or '
        "another word? Answer with one word: yes or no."
    )


def verdict_of(answer: str) -> bool | None:
    """Return `True` or `False` if the answer's first word is yes or no, else `None`."""
    words = "".join(c if c.isalpha() else " " for c in answer.casefold()).split()
    return {"yes": True, "no": False}.get(words[0]) if words else None


def _in_thread(task: Callable[[], None]) -> None:
    threading.Thread(target=task, name="recall-spelling", daemon=True).start()


def _means_stop_word(word: str, than: float) -> bool:
    """Say whether a stop word is at least as close: "wtih" is "with", not "width"."""
    return any(likeness >= than for _, likeness in alike(word, _STOP_WORDS, edits_max(len(word)), than))


def _is_identifier(text: str, token: Token) -> bool:
    """Say whether the characters around a word make it a part of a path, an address, a variable."""
    before, after = text[max(0, token.start - 1) : token.start], text[token.end : token.end + 1]
    if before in _IDENTIFIER or after in _IDENTIFIER:
        return True
    joined_on = after in _JOINTS and text[token.end + 1 : token.end + 2].isalnum()
    joined_to = before in _JOINTS and token.start > 1 and not text[token.start - 2].isspace()
    if not (joined_on or joined_to):
        return False
    reach = _CHAIN.finditer(text, max(0, token.start - _CHAIN_MAX), token.end + _CHAIN_MAX)
    chain = next(m for m in reach if m.end() >= token.end)
    return _HYPHENATED.fullmatch(chain.group().rstrip(".:'’")) is None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(¿¡")
    return not before or before[-1] in ".!?:;\n…"
