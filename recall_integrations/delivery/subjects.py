"""Finds the subject of a reply: words that it leaves out, because the turns before it have said them.

    Sam: My tomato plants are big.  Priya: How many?   Sam: Three, since spring.  ─▶  "tomato plants", two turns before

Read by shape, without a model: a reply is short, or begins with yes, a number or a pronoun; its subject is the last
noun phrase of the nearest turn before it that has one. Phrases are told by the words before them ("my", "the",
"three", "about") and by capitals, so English reads best; in other languages runs of content words are taken, and in
those written without spaces nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.text import language_of, stem, stop_words, tokenize

TURNS = 4  # turns before the reply that are looked at
CHARS_MAX = 600  # characters of a turn: the end of one before it, the beginning of the reply
SHORT, LONG = 6, 14  # content words: so few need a subject whatever they are, so many have one of their own
WORDS_MAX = 3  # words of a subject
SURE = 0.3  # confidence that a reply leaves something out, from which it is about what was said before

_STARTS = frozenset(
    """
    yes yeah yep yup no nope nah sure exactly definitely absolutely it its that they he she them those these this one
    ones both either neither none some few about around since for because just only once twice two three four five six
    seven eight nine ten eleven twelve at in on from with
    """.split()
)
_POINTING = frozenset("it its that they them those these this one ones he she him her there both none some".split())
# Words before a noun phrase.
_LEADS = frozenset(
    """
    a an the my your his her its our their this that these those some any no many much more few several every each
    another two three four five six seven eight nine ten eleven twelve dozen of about with for from in at to on new
    """.split()
)
_FILLERS = frozenset(
    """
    yes yeah yep no nope ok okay oh ah wow well hey hi hello thanks thank please really great good nice cool lovely sure
    got going go know think like want need have make made take taken still now then too maybe way thing things lot bit
    many much long often far old ago today yesterday tomorrow tell say said see look sounds hear hope glad love
    """.split()
)
_ENDINGS = ("ing", "ed", "ly")  # endings of words that are rarely the name of a thing
_ASKS = regex(r"[?？؟]")
_BREAK = regex(r"[.!?…;:,()\n。！？؟]")
_SENTENCE = regex(r"[^.!?…\n。！？؟]*[.!?…\n。！？؟]*")
_DENSE = regex(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")  # a character of a script without spaces
_NAME = regex(r"[^\W\d_a-z]\w")


class Subject(NamedTuple):
    """The subject of a reply."""

    phrase: str  # as in the turn before: "tomato plants"
    before: int  # how many turns before the reply it was said, from 1


class _Phrase(NamedTuple):
    """A run of content words. `worth`: how surely it names something; `asks`: whether its sentence does."""

    words: tuple[str, ...]
    start: int
    end: int
    worth: int
    asks: bool


def subject_of(reply: str, earlier: Sequence[str], *, asked: Collection[str] = (), first: int = 1) -> Subject | None:
    """Return the subject that a reply leaves out; `None` = it says the subject itself, or nobody said it before.

    Of the turns before it (`earlier`, the nearest first), the one numbered `first` is the nearest that counts; a turn
    that names one of the stems `asked` is preferred, and in it that phrase.
    """
    if lacking(reply) < SURE:
        return None
    plain: Subject | None = None
    for before, text in enumerate(earlier[:TURNS], 1):
        phrases = _phrases(text) if before >= first else []
        named = [p for p in phrases if any(stem(word) in asked for word in p.words)] if asked else phrases
        if named:
            return _subject(text, named, before)
        if phrases and plain is None:
            plain = _subject(text, phrases, before)
    return plain


def lacking(text: str) -> float:
    """Return how surely a text is a reply that leaves out its subject, in [0, 1]."""
    text = text[:CHARS_MAX]
    language = language_of(text)
    silent = stop_words(language)
    words = [token.word for token in tokenize(text)]
    told = [word for word in words if word not in silent and word not in _FILLERS]
    if not words or len(told) > LONG:
        return 0.0
    worth = 0.4 if len(told) <= SHORT else 0.0
    worth += 0.4 * (words[0] in _STARTS or words[0].isdigit())
    worth += 0.3 * any(word in _POINTING for word in words)
    # A text that asks is no reply, and a phrase of its own may be its subject.
    worth -= 0.5 * bool(_ASKS.search(text))
    worth -= 0.3 * any(phrase.worth > 1 for phrase in _phrases(text))
    return min(max(worth, 0.0), 1.0)


def said_so(subject: Subject) -> str:
    """Return a subject in words, for a reason: "tomato plants, two turns before"."""
    number = ("", "the turn before", "two turns before", "three turns before", "four turns before")[subject.before]
    return f"{subject.phrase}, {number}"


def _subject(text: str, phrases: Sequence[_Phrase], before: int) -> Subject:
    """Return the best of the phrases: of an open question before others, the surest, the last."""
    _, best = max(enumerate(phrases), key=lambda one: (one[1].asks, one[1].worth, one[0]))
    return Subject(" ".join(text[-CHARS_MAX:][best.start : best.end].split()), before)


def _phrases(text: str) -> list[_Phrase]:
    """Return the runs of content words that may name something, at most `WORDS_MAX` words of each, in order."""
    text = text[-CHARS_MAX:]
    silent = stop_words(language_of(text))
    asking = [m.span() for m in _SENTENCE.finditer(text) if _ASKS.search(m.group())]
    found: list[_Phrase] = []
    run: list[tuple[str, int, int]] = []
    lead, end = "", 0

    def close() -> None:
        nonlocal run
        kept = run[-WORDS_MAX:]
        run = []
        if kept:
            asks = any(start <= kept[0][1] < stop for start, stop in asking)
            worth = _worth(lead, [text[a:b] for _, a, b in kept], first=kept[0][1] == 0)
            if worth > 0:
                found.append(_Phrase(tuple(w for w, _, _ in kept), kept[0][1], kept[-1][2], worth, asks))

    for word, start, stop in tokenize(text):
        broken = _BREAK.search(text, end, start) is not None
        plain = word in silent or word in _FILLERS or word in _LEADS or bool(_DENSE.match(word))
        if plain or broken or word.isdigit():
            close()
            lead = "" if broken else lead
        if plain or word.isdigit():
            lead = word
        else:
            if not run and broken:
                lead = ""
            run.append((word, start, stop))
        end = stop
    close()
    return found


def _worth(lead: str, words: Sequence[str], *, first: bool) -> int:
    """Return how surely a run names something: 3 = a name, 2 = after an article and the like, 1 = perhaps, 0 = no."""
    if any(_NAME.match(word) for word in (words[1:] if first else words)):
        return 3
    if lead in _LEADS or lead.isdigit():
        return 2
    return 0 if len(words) == 1 and words[0].lower().endswith(_ENDINGS) else 1


Reply = tuple[str, Sequence[str]]


class Subjects(Mapping[int, str]):
    """Row → "tomato plants, two turns before", for replies whose subject is found.

    The texts are those of the recall, so that the store may be closed, or changed, when the reason is read. A subject
    is read once and kept; two threads read the same.
    """

    __slots__ = ("_asked", "_replies", "_told")

    def __init__(self, replies: Mapping[int, Reply], asked: Collection[str]) -> None:
        self._replies, self._asked = replies, asked
        self._told: dict[int, str] = {}

    def get(self, row: int, default: str = "") -> str:  # type: ignore[override]
        """Return the subject of the reply in a row; `default` where it has none, or the row is no reply."""
        if row not in self._replies:
            return default
        told = self._told.get(row)
        if told is None:
            text, before = self._replies[row]
            # The question itself says little, or the turns before it would not count: the nearest turn is left out.
            subject = subject_of(text, before, asked=self._asked, first=2)
            told = self._told[row] = "" if subject is None else said_so(subject)
        return told or default

    def __getitem__(self, row: int) -> str:
        told = self.get(row)
        if not told:
            raise KeyError(row)
        return told

    def __iter__(self) -> Iterator[int]:
        return (row for row in self._replies if self.get(row))

    def __len__(self) -> int:
        return sum(1 for _ in self)
