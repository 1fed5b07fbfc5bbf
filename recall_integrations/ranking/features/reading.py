"""Evidence from the texts of the best candidates: identifiers, what they begin with, what they deny, whose they are.

    "who is not allergic?"     Ben has no allergies.  ─▶ denies it too  Ana is allergic to nuts.   ─▶ says that it is so
    "what is my cat called?"   User's cat is Otto.    ─▶ who asks       Tom's cat is called Mimi.  ─▶ somebody else

A question that leaves something out ("recipes without nuts") denies nothing: `query.by_table.negation` reads it. Denied
are the words that follow the negation in its clause.

Notes of agents about their user begin with "User", with the user's name, or with "I"; in other languages with what
`person.user` of their table files lists. A text is somebody else's only where it says of them what is asked about the
asker: it begins with a name, or with "I" of another actor, and soon a word of the query follows. Of "my sister" it must
be that word: whatever else Ana does, Ana may be the sister. A text about both is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows, TextColumns
from recall_integrations.indexes.kernels import Values
from recall_integrations.indexes.scope_view import Mask
from recall_integrations.languages import READ
from recall_integrations.languages.phrases import said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import negation as by_table
from recall_integrations.query.by_table import person
from recall_integrations.query.by_table.negation import NEGATED_AUXILIARIES, NEGATIVES
from recall_integrations.query.entities.state import is_ordinary
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, narrow, stem, stems, tokenize
from recall_integrations.text.analyser import beginnings
from recall_integrations.text.analyser import words as words_in
from recall_integrations.types import ParsedQuery
from recall_integrations.types.query import Identifier
from recall_integrations.types.roles import SPELLINGS, Role, role_of


def exact_shares(texts: Sequence[str], identifiers: Sequence[Identifier]) -> NDArray[np.float32]:
    """Return the share of the identifiers that each text holds, in any case, whole: `ABC-12` is not in `ABC-123`."""
    wanted = list(dict.fromkeys(narrow(i.text).casefold() for i in identifiers if i.text))
    held = np.zeros(len(texts), dtype=np.float32)
    if not wanted:
        return held
    for place, text in enumerate(texts):
        folded = narrow(text).casefold()
        held[place] = sum(_holds(folded, item) for item in wanted) / len(wanted)
    return held


def _holds(text: str, item: str) -> bool:
    start = text.find(item)
    while start >= 0:
        end = start + len(item)
        open_before = start == 0 or not (text[start - 1].isalnum() and item[0].isalnum())
        open_after = end == len(text) or not (text[end].isalnum() and item[-1].isalnum())
        if open_before and open_after:
            return True
        start = text.find(item, start + 1)
    return False


def titled(text: TextColumns, rows: Rows, documents: Mask, sequence: Sequence[str]) -> Values:
    """Return 1 for documents whose first two content words stand side by side in the query, or whose only one does."""
    out = np.zeros(len(rows), dtype=np.float32)
    numbers = [text.lexicon.stem_of(term) for term in sequence]
    asked = {(number,) for number in numbers if number >= 0} | {pair for pair in pairwise(numbers) if min(pair) >= 0}
    if not asked or not documents.any():
        return out
    places = documents.nonzero()[0]
    if not len(text.words):
        return out
    begins, counts = text.starts.take(rows.take(places)), text.starts.take(rows.take(places) + 1)
    counts -= begins
    said = text.lexicon.stems.take(text.words.take(np.stack([begins, begins + 1]), mode="clip")).tolist()
    out[places] = [
        ((first, second) if count > 1 else (first,)) in asked and count > 0
        for first, second, count in zip(*said, counts.tolist(), strict=True)
    ]
    return out


DENIAL_CHARS = 600  # of a text that are read
WHY = "why"  # "why did Sam not come?" takes it for known that he did not: the answer is another text
REACH = 5  # words after a negation that it denies, in its clause
SAME_LETTERS = 5  # of a stem that may begin another: "allerg", "allergi"
OTHERWISE = 0.5  # of a text that denies something else, or says that something is lacking

_CLAUSE = regex(r"[.,;:!?()\n–—]|\b(?:but|because|although)\b")


@record(frozen=True, slots=True, kw_only=True)
class Denial:
    """Denial in a question."""

    stems: tuple[str, ...]  # stems of the denied words, in the language of the question
    terms: tuple[str, ...]  # stems of all that is looked for
    language: str  # code of the language


def denial_of(parsed: ParsedQuery) -> Denial | None:
    """Return a query's denial; `None` where it has none, leaves something out, or asks for a yes ("isn't it …?")."""
    if parsed.negations:
        return None
    if parsed.language != "en":
        table = by_table.words_of(parsed.language)
        found = () if table is None or not table.says("negatives", said(parsed.point).text) else parsed.stems
        roots = tuple(root for _, root in found)
        return Denial(stems=roots, terms=roots, language=parsed.language) if roots else None
    words = words_in(parsed.point)
    if NEGATIVES.isdisjoint(words) or words[0] in NEGATED_AUXILIARIES or words[0] == WHY:
        return None
    denied = next((said for said in _denied(parsed.point) if said), None)
    return None if denied is None else Denial(stems=tuple(map(stem, denied)), terms=parsed.terms, language="en")


def agreement(texts: Sequence[str], denial: Denial) -> Values:
    """Rate how far texts deny what the question denies: 1 = they do, -1 = they say that it is so, 0 = neither."""
    found = np.zeros(len(texts), dtype=np.float32)
    begins, held = tuple(chain.from_iterable(map(beginnings, denial.terms))), partial(_held, denial.stems)
    each = [beginnings(one) for one in denial.stems] if denial.language == "en" else []
    words = by_table.words_of(denial.language)
    for place, text in enumerate(one[:DENIAL_CHARS] for one in texts):
        lower = narrow(text).casefold()
        if not any(start in lower for start in begins):
            continue
        denies = words.says("negatives", said(text).text)
        if not denies and not all(any(start in lower for start in starts) for starts in each):
            continue
        roots = stems(text, None if denial.language == "en" else denial.language)
        if not denies:
            found[place] = -held(roots, all)
        elif denial.language != "en":
            found[place] = held(roots, any)
        else:
            denied = held([stem(word) for one in _denied(text) for word in one], any)
            found[place] = 1 if denied else OTHERWISE * _held(denial.terms, roots, any)
    return found


def _held(wanted: Sequence[str], roots: Sequence[str], which: Callable[[Iterable[bool]], bool]) -> bool:
    said = f" {' '.join(roots)} "
    return which(_said_in(said, one) for one in wanted)


def _said_in(said: str, wanted: str) -> bool:
    """Say whether one of the stems, with spaces around them, is the wanted one, begins it, or is begun by it."""
    if f" {wanted} " in said or (len(wanted) >= SAME_LETTERS and f" {wanted}" in said):
        return True
    return any(f" {wanted[:letters]} " in said for letters in range(SAME_LETTERS, len(wanted)))


def _denied(text: str) -> Iterator[list[str]]:
    """Yield the words that each negation of an English text denies."""
    for clause in _CLAUSE.split(text):
        said = words_in(clause)
        for place, word in enumerate(said):
            if word in NEGATIVES:
                after = said[place + 1 :]
                yield [one for one in after if one not in STOP_WORDS and one not in NEGATIVES][:REACH]


OWNER = "owner"  # the source of the contribution
OWNER_CHARS = 300  # of a text that are read
BEFORE_MAX = 24  # characters before what names the user: "Note: the", "Die Katze des"
SOON = 3  # words after a name, stop words left out, among which what is asked stands
THING_WORDS = 3  # words after "my" that may be what is meant: "my new work laptop"
LATER = 0.5  # of what only belongs to who asks, where the query asks for them: "User's sister"

_LETTERS = regex(r"[^\W\d_]+")
_SENTENCE = regex(r"(?<=[.!?。！？])\s+|\n+")
_OWN_ENGLISH = regex(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|our)\b", re.IGNORECASE)
_I = frozenset("i i'm i've i'd i'll me mine myself".split())
_MY = "my"
_WE = frozenset("we we're we've we'd we'll us our ours ourselves".split())
_NAME = regex(r"\W*([^\W\d_][\w-]*)")


@record(frozen=True, slots=True, kw_only=True)
class Asker:
    """Description of the asker, as far as texts tell."""

    names: tuple[str, ...]  # names of the user, in lower case
    languages: tuple[str, ...]  # codes of the languages in which texts may name the user, besides English
    # stems that a text of somebody else says of them; empty = nobody's text is told to be somebody else's
    asked: frozenset[str]
    own: bool  # whether it is asked for what is theirs: "my"


def asker_of(parsed: ParsedQuery, names: Iterable[str] = ()) -> Asker | None:
    """Describe the asker; `None` where the query does not speak in the first person, or speaks of "us": others, too."""
    user = next((ref for ref in parsed.entity_refs if ref.stage == IMPLICIT and ref.mention), None)
    if user is None or user.mention.casefold() in _WE:
        return None
    languages = tuple(sorted({c for c in (parsed.language, parsed.memories_in) if c in READ}))
    called = tuple(sorted({name for one in (user.name, *names) for name in _called(one)}))
    asked, own = _asked(parsed) if parsed.language == "en" else (frozenset[str](), True)
    return Asker(names=called, languages=languages, asked=asked, own=own)


@lru_cache(maxsize=256)
def _called(name: str) -> Sequence[str]:
    """Return the names that texts may use for a user: "sam_miller" and "Sam Miller" are "sam miller" and "sam"."""
    words = [] if "@" in name else _LETTERS.findall(name.casefold())
    if not words or any(len(word) < 2 for word in words) or any(map(str.isdigit, name)):
        return []
    return [" ".join(words), *(words[:1] if not is_ordinary(words[0]) else [])]


def _asked(parsed: ParsedQuery) -> tuple[frozenset[str], bool]:
    """Return the stems that an English query asks about its asker, and whether it asks for what is theirs."""
    said = [token.word for token in tokenize(parsed.point)]
    own = _MY in said
    if not _I.isdisjoint(said):
        return frozenset(stem(word) for word in said if word not in STOP_WORDS), own
    things = (word for i, word in enumerate(said) if word == _MY for word in said[i + 1 : i + 1 + THING_WORDS])
    return frozenset(stem(word) for word in things if word not in STOP_WORDS), own


def is_asker(actor: str, asker: Asker) -> bool:
    """Say whether an actor is the asker, by role or by name."""
    return role_of(actor) is Role.USER or " ".join(_LETTERS.findall(actor.casefold())) in asker.names


def owners(texts: Sequence[str], actors: Sequence[str | None], asker: Asker, *, speaks: bool) -> Values:
    """Say whose each text is: 1 = the asker's, -1 = somebody else's, 0 = it does not tell."""
    found = np.zeros(len(texts), dtype=np.float32)
    for place, (text, actor) in enumerate(zip(texts, actors, strict=True)):
        if actor is None or not role_of(actor):
            speaker = 1.0 if actor is None or is_asker(actor, asker) else -1.0 if speaks else 0.0
        else:
            speaker = 0.0  # what a role says of itself is told by the role
        found[place] = _owner(text[:OWNER_CHARS], asker, speaker)
    return found


def _owner(text: str, asker: Asker, speaker: float) -> float:
    """Say whose one text is; `speaker`: the owner of texts in the first person, as 1, -1 or 0."""
    named = bool(asker.languages) or _hints(asker.names).search(text) is not None
    for place, sentence in enumerate(filter(None, _SENTENCE.split(text))):
        if place and not named and not speaker:
            break
        user = _of_user(sentence, asker) if named else 0.0
        if user:
            return user
        if speaker and any(_follows(sentence[m.end() :], asker.asked) for m in _OWN_ENGLISH.finditer(sentence)):
            return speaker
        start = 0 if place else _after_name(sentence, asker)
        if start and not (named and _says_user(sentence, asker)) and _follows(sentence[start:], asker.asked):
            return -1.0
    return 0.0


def _of_user(sentence: str, asker: Asker) -> float:
    """Return 1 where the sentence begins with the user, less where it begins with what is theirs, else 0."""
    for wanted in _patterns(asker.names):
        if (match := wanted.match(sentence)) is not None:
            return 1.0 if asker.own or not match.group("of") else LATER
    for language in asker.languages:
        words = person.words_of(language)
        place = None if words is None else next(words.found("user", said(sentence).text), None)
        if place is not None and place[0] <= BEFORE_MAX:
            return 1.0
    return 0.0


def _says_user(sentence: str, asker: Asker) -> bool:
    return any(wanted.search(sentence) is not None for wanted in _said_patterns(asker.names))


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile the beginnings of English texts about the user, or what is theirs. "User: …" is a turn of a chat."""
    users = "|".join(map(re.escape, SPELLINGS[Role.USER]))
    called = "|".join(r"\W+".join(map(re.escape, name.split())) for name in sorted(names, key=len, reverse=True))
    lead = r"(?:[^\w]|\d|\w+:)*"
    found = [re.compile(rf"{lead}(?:the\W+|this\W+)?(?:{users})(?P<of>'s|’s)?(?![\w'’:-])", re.IGNORECASE)]
    if called:
        found.append(re.compile(rf"{lead}(?:{called})(?P<of>'s|’s|s)?(?![\w'’:-])", re.IGNORECASE))
    return tuple(found)


@lru_cache(maxsize=256)
def _hints(names: tuple[str, ...]) -> re.Pattern[str]:
    """Compile what every text holds that one of the patterns below finds."""
    every = (*SPELLINGS[Role.USER], *(name.split()[0] for name in names))
    return re.compile("|".join(map(re.escape, every)), re.IGNORECASE)


@lru_cache(maxsize=256)
def _said_patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    every = [*SPELLINGS[Role.USER], *names]
    return (re.compile(rf"\b(?:{'|'.join(map(re.escape, every))})\b", re.IGNORECASE),)


def _after_name(sentence: str, asker: Asker) -> int:
    """Return the end of the name with which an English sentence begins; 0 without one, or for one asked for."""
    match = _NAME.match(sentence)
    if match is None or not match.group(1)[0].isupper():
        return 0
    word = match.group(1).casefold()
    if word in STOP_WORDS or is_ordinary(word) or stem(word) in asker.asked:
        return 0
    return match.end()


def _follows(rest: str, asked: Collection[str]) -> bool:
    """Say whether one of the asked stems is among the first words without stop words."""
    told = [word for token in tokenize(rest) if (word := token.word) not in STOP_WORDS][:SOON]
    return any(stem(word) in asked for word in told)
