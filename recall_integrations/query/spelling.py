"""Correct typos in a query: an unknown word is *also* read as a close one that the scope's memories use.

    word ─ known? ─▶ none      in the scope, a name, in the lexicon, a number, an identifier, written like a name
         └─ unknown ─▶ Vocabulary.close_to ─▶ best by similarity, frequency, spelling ─▶ Correction

A correction adds a reading and takes none away, so the word itself is still looked for. Correctly written words are
left alone even if the scope never used them (`known_words`); which stems are close to a word, and how close, is said by
`vocabulary`. A language model, where there is one, is asked about each correction beside the recall: what it rejects is
not made again, what it confirms stays whatever words come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.query.known_words import CANDIDATE_LETTERS_MIN, LETTERS_MIN, is_known
from recall_integrations.query.vocabulary import LETTERS_MAX, THRESHOLD, Match, Vocabulary, alike, edits_max, worded
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.text import STOP_WORDS, Token, stem
from recall_integrations.types.readings import Correction

LEARNED_MAX = 1_000  # answers of a language model kept per scope, as `query.spelling_learned_max`
NAME_SIMILARITY = 0.88  # from which a word written as a name may be meant as another one
WORDS_MAX = 16  # unknown words of one query that are looked up: bounds the cost of hostile ones
VALIDATIONS_MAX = 4  # questions to the language model under way at once

_STOP_WORDS = sorted(w for w in STOP_WORDS if len(w) >= CANDIDATE_LETTERS_MIN)
_IDENTIFIER = frozenset("_@#/\\=$%&+<>{}[]|~^`")  # next to a word, they make it a part of something that is not prose
_JOINTS = frozenset(".:-")  # the same, if a letter or digit follows: "foo.bar", "std::sort"
_HYPHENATED = regex(r"[^\W\d_]+-[^\W\d_]+")  # prose ("low-impact"); longer chains and digits are identifiers
_CHAIN = regex(r"[^\s,;!?\"“”()]+")
_CHAIN_MAX = 128  # characters

Validate = Callable[[str], str]
IsName = Callable[[str], bool]


@record(frozen=True, slots=True, kw_only=True)
class _Manner:
    """Place of a word in the query, and how it is written there."""

    capital: bool
    first: bool
    is_name: IsName | None

    def allows(self, match: Match) -> bool:
        """Say whether a word in this place may be meant as the match.

        Names of the scope are for the entity cascade, but not the ordinary words in them ("Backend Database Team").
        """
        if self.is_name is not None and self.is_name(match.spelling) and not is_known(match.spelling):
            return False
        if not self.capital or (self.first and is_ordinary(match.spelling)):
            return True
        return match.similarity >= NAME_SIMILARITY and not is_ordinary(match.spelling)


class Speller:
    """Corrects the words of one scope's queries, and remembers which of them a language model confirmed.

    Threads may share one.

    Args:
        vocabulary: the scope's stems.
        threshold: least similarity, in (0, 1]; default .80.
        learned_max: answers of a language model that are remembered, the newest; 0: none is asked. Default 1,000.
    """

    def __init__(self, vocabulary: Vocabulary, *, threshold: float = THRESHOLD, learned_max: int = LEARNED_MAX) -> None:
        self.vocabulary = vocabulary
        self._threshold, self._learned_max = threshold, learned_max
        self._lock = threading.Lock()
        self._verdicts: dict[tuple[str, str], bool | None] = {}  # by word and stem; `None`: being asked, or unclear
        self._room = threading.Semaphore(VALIDATIONS_MAX)

    def corrections(
        self,
        text: str,
        tokens: Sequence[Token],
        *,
        is_name: IsName | None = None,
        validate: Validate | None = None,
    ) -> tuple[Correction, ...]:
        """Return second readings of a query's words, in order, one a word; the first 16 unknown words are looked up.

        Args:
            text: the query.
            tokens: the words to look at, with their places in `text`: without stop words, negated terms and mentions.
            is_name: whether a normal form is a word of a name or alias of the scope.
            validate: answers a prompt (a language model). It is asked in the background whether a new correction is
                right, and is shown the two words, never the query. Default: nobody is asked.
        """
        shouted = text.isupper()
        found: dict[str, Correction] = {}
        looked: set[str] = set()
        for token in tokens:
            if token.word in looked or len(looked) >= WORDS_MAX:
                continue
            written = token.word if shouted else text[token.start : token.end]
            if not self._is_open(token.word, written, is_name) or _is_identifier(text, token):
                continue
            looked.add(token.word)
            manner = _Manner(capital=written[:1].isupper(), first=_begins_sentence(text, token.start), is_name=is_name)
            best = self._best(token.word, manner)
            if best is None:
                continue
            if validate is not None:
                self._check(token.word, best, validate)
            found[token.word] = Correction(
                word=token.word,
                stem=stem(token.word),
                correction=best.stem,
                spelling=best.spelling,
                similarity=best.similarity,
                frequency=best.frequency,
            )
        return tuple(found.values())

    def _is_open(self, word: str, written: str, is_name: IsName | None) -> bool:
        """Say whether the word is unknown: to the scope, as a name, and to the lexicon."""
        if not LETTERS_MIN <= len(word) <= LETTERS_MAX or not word.isalpha() or word in STOP_WORDS:
            return False
        if any(map(str.isupper, written[1:])):  # an acronym or an identifier
            return False
        known = self.vocabulary.frequency(stem(word)) > 0
        return not (known or (is_name is not None and is_name(word)) or is_known(word))

    def _best(self, word: str, manner: _Manner) -> Match | None:
        close = (worded(word, match) for match in self.vocabulary.close_to(word, threshold=self._threshold))
        said = self._verdicts.get
        matches = [m for m in close if manner.allows(m) and said((word, m.stem)) is not False]
        best = next((m for m in matches if said((word, m.stem))), matches[0] if matches else None)
        return None if best is None or _means_stop_word(word, best.similarity) else best

    def _check(self, word: str, match: Match, validate: Validate) -> None:
        """Have the language model asked about a correction, unless it was, or is busy with others."""
        pair = (word, match.stem)
        with self._lock:
            if not self._learned_max or pair in self._verdicts or not self._room.acquire(blocking=False):
                return
            self._verdicts[pair] = None
            if len(self._verdicts) > self._learned_max:
                del self._verdicts[next(iter(self._verdicts))]

        def ask() -> None:
            try:
                verdict = verdict_of(validate(prompt(word, match.spelling)))
            except failures():  # foreign code; the next use asks again
                with self._lock:
                    self._verdicts.pop(pair, None)
            else:
                with self._lock:
                    if pair in self._verdicts:
                        self._verdicts[pair] = verdict
            finally:
                self._room.release()

        try:
            threading.Thread(target=ask, name="recall-spelling", daemon=True).start()
        except RuntimeError:  # the process can start no more threads
            with self._lock:
                self._verdicts.pop(pair, None)
            self._room.release()


def corrected_query(text: str, tokens: Sequence[Token], corrections: Iterable[Correction]) -> str:
    """Return the query with corrected words replaced by their spelling, to embed it as a second reading."""
    meant = {c.word: c.spelling for c in corrections}
    for token in sorted(tokens, key=lambda t: -t.start):
        if token.word in meant:
            text = text[: token.start] + meant[token.word] + text[token.end :]
    return text


def prompt(word: str, spelling: str) -> str:
    """Return the prompt for the language model: it holds the two words and nothing else of the query."""
    return (
        f'Somebody searching their notes typed "{word}". Is that a misspelling of "{spelling}", rather than a name or '
        "another word? Answer with one word: yes or no."
    )


def verdict_of(answer: str) -> bool | None:
    """Return the answer's first word, if it is yes or no."""
    words = "".join(c if c.isalpha() else " " for c in answer.casefold()).split()
    return {"yes": True, "no": False}.get(words[0]) if words else None


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
