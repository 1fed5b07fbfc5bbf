"""Owner of a text, where a query speaks in the first person: the asker, or somebody else.

    "what is my cat called?"    User's cat is Otto.  ─▶ who asks      Tom's cat is called Mimi.  ─▶ somebody else

Notes of agents about their user begin with "User", with the user's name, or with "I"; in other languages with
what `person.user` of their table files lists. A text is somebody else's only where it says of them what is asked about
the asker: it begins with a name, or with "I" of another actor, and soon a word of the query follows. Of "my sister" it
must be that word: whatever else Ana does, Ana may be the sister. A text about both is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np

from recall_integrations.languages import READ
from recall_integrations.languages.phrases import said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import person
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, stem, tokenize
from recall_integrations.types import ParsedQuery
from recall_integrations.types.roles import SPELLINGS, Role, role_of

OWNER = "owner"  # the source of the contribution
CHARS_MAX = 300  # of a text that are read
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
    """Description of the asker, as far as texts tell.

    Args:
        names: names of the user, in lower case.
        languages: codes of the languages in which texts may name the user, besides English.
        asked: stems that a text of somebody else says of them; empty = nobody's text is told to be somebody else's.
        own: whether it is asked for what is theirs: "my".
    """

    names: tuple[str, ...]
    languages: tuple[str, ...]
    asked: frozenset[str]
    own: bool


def asker_of(parsed: ParsedQuery, names: Iterable[str] = ()) -> Asker | None:
    """Describe the asker; `None` where the query does not speak in the first person, or speaks of "us": others, too.

    Args:
        parsed: the query.
        names: names and aliases of the user of its scope.
    """
    user = next((ref for ref in parsed.entity_refs if ref.stage == IMPLICIT and ref.mention), None)
    if user is None or user.mention.casefold() in _WE:
        return None
    languages = tuple(sorted({c for c in (parsed.language, parsed.memories_in) if c in READ}))
    called = tuple(sorted({name for one in (user.name, *names) for name in _called(one)}))
    asked, own = _asked(parsed) if parsed.language == "en" else (frozenset[str](), True)
    return Asker(names=called, languages=languages, asked=asked, own=own)


def _called(name: str) -> list[str]:
    """Return the names that texts may use for a user: "sam_miller" and "Sam Miller" are "sam miller" and "sam"."""
    words = [] if "@" in name else _LETTERS.findall(name.casefold())
    if not words or any(len(word) < 2 for word in words) or any(map(str.isdigit, name)):
        return []
    return [" ".join(words), *(words[:1] if not is_ordinary(words[0]) else [])]


def _asked(parsed: ParsedQuery) -> tuple[frozenset[str], bool]:
    """Return the stems that an English query asks about its asker, and whether it asks for what is theirs."""
    said = [token.word for token in tokenize(parsed.original)]
    own = _MY in said
    if not _I.isdisjoint(said):
        return frozenset(stem(word) for word in said if word not in STOP_WORDS), own
    things = (word for i, word in enumerate(said) if word == _MY for word in said[i + 1 : i + 1 + THING_WORDS])
    return frozenset(stem(word) for word in things if word not in STOP_WORDS), own


def is_asker(actor: str, asker: Asker) -> bool:
    """Say whether an actor is the asker, by role or by name."""
    return role_of(actor) is Role.USER or " ".join(_LETTERS.findall(actor.casefold())) in asker.names


def owners(texts: Sequence[str], actors: Sequence[str | None], asker: Asker, *, speaks: bool) -> Values:
    """Say whose each text is: 1 = the asker's, -1 = somebody else's, 0 = it does not tell.

    Args:
        texts: texts as they were stored.
        actors: actor of each.
        asker: who asks.
        speaks: whether the asker is one of the actors of the scope; if not, any of them may be.
    """
    found = np.zeros(len(texts), dtype=np.float32)
    for place, (text, actor) in enumerate(zip(texts, actors, strict=True)):
        if actor is None or not role_of(actor):
            speaker = 1.0 if actor is None or is_asker(actor, asker) else -1.0 if speaks else 0.0
        else:
            speaker = 0.0  # what a role says of itself is told by the role
        found[place] = _owner(text[:CHARS_MAX], asker, speaker)
    return found


def _owner(text: str, asker: Asker, speaker: float) -> float:
    """Say whose one text is; `speaker`: the owner of texts in the first person, as 1, -1 or 0."""
    for place, sentence in enumerate(filter(None, _SENTENCE.split(text))):
        user = _of_user(sentence, asker)
        if user:
            return user
        if speaker and any(_follows(sentence[m.end() :], asker.asked) for m in _OWN_ENGLISH.finditer(sentence)):
            return speaker
        start = 0 if place else _after_name(sentence, asker)
        if start and not _says_user(sentence, asker) and _follows(sentence[start:], asker.asked):
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
