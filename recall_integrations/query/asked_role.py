"""The user of a scope as an entity, and whose words a query asks for: "what did I tell you", "which did you recommend".

The subject of the verb of saying decides. Each "I", "you", "the assistant" … is a cue with a rank and a strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recall_integrations.languages.tables import english
from recall_integrations.query.by_table import person
from recall_integrations.query.by_table.person import CLAUSE, DOING, ONLY, SAYING, SENTENCES_MAX
from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.text import Token, stem, tokenize
from recall_integrations.types import EntityRef, Scope
from recall_integrations.types.roles import Role

SPEAKERS_MAX = 16  # actors with the role of the user; of more, none is looked at
USER = "user"  # name of the user in a scope without a user id, and in chat logs

_EN = english("asked_role")
_FIRST_PERSON = frozenset(_EN["first_person"].split())
# "tell me about Kestrel" is about Kestrel.
_REQUESTS = frozenset(_EN["requests"].split())
_POLITE = frozenset(_EN["polite"].split())
_REQUESTING = frozenset(_EN["requesting"].split())
# "Phase I" is the first phase.
_NUMBERED = frozenset(_EN["numbered"].split())
_MINES = frozenset(_EN["mines"].split())


def implicit_user(
    scope: Scope, index: EntityIndex | None = None, speakers: Sequence[str] = (), key: bytes = b""
) -> EntityRef:
    """Return the scope's user: the one entity with the user id as a name, the one actor with that role, or a new one.

    The name may be an e-mail address: a result under `redact` or `block` must not show it, nor the id.
    """
    name = scope.user_id or USER
    entity_id = entity_id_of(name, key)
    known = index.lookup(name) if index is not None else ()
    if entity_id not in known and len(known) == 1:
        entity_id = known[0]
    elif entity_id not in known and index is not None and len(speakers) <= SPEAKERS_MAX:
        speaking = {found[0] for s in speakers if len(found := index.lookup(s)) == 1}
        if len(speaking) == 1:
            known = tuple(speaking)
            entity_id = known[0]
    entity = index.state.entities.get(entity_id) if index is not None and entity_id in known else None
    return EntityRef(
        entity_id=entity_id,
        name=name if entity is None else entity.name,
        mention="",
        span=(0, 0),
        confidence=1.0,
        stage=IMPLICIT,
    )


def first_person(tokens: Sequence[Token], text: str = "", language: str | None = "en") -> Token | None:
    """Return the first word by which a query speaks of its user: "what did I …"; not "tell me about …"."""
    if language != "en":
        span = person.first_person(text, language)
        return None if span is None else Token(text[span[0] : span[1]].casefold(), *span)
    spoken = (t for i, t in enumerate(tokens) if t.word in _FIRST_PERSON and is_first_person(tokens, i, text))
    return next(spoken, None)


def is_first_person(tokens: Sequence[Token], i: int, text: str) -> bool:
    """Say whether a word of the first person is the user: not "Phase I", "tell me …", "a gold mine"."""
    token = tokens[i]
    before = [t.word for t in tokens[max(0, i - 3) : i]][::-1] + [""] * 3
    if token.word == "i":
        return before[0] not in _NUMBERED and not _is_abbreviated(tokens, i)
    if token.word == "mine":
        return before[0] not in _MINES
    if token.word == "us" and (before[0] == "the" or (text[token.start : token.end] == "US" and not text.isupper())):
        return False  # the country
    if token.word in ("me", "us") and before[0] in _REQUESTS:
        asked = not before[1] or before[1] in _POLITE or (before[1] == "you" and before[2] in _REQUESTING)
        return not asked
    return True


def _is_abbreviated(tokens: Sequence[Token], i: int) -> bool:
    """Say whether an "i" is part of "i.e.", "I/O", "A.I.", "I-95"."""
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if after is not None and after.start - tokens[i].end == 1 and (after.word in ("e", "o") or after.word.isdigit()):
        return True
    return i > 0 and tokens[i - 1].word == "a"


STRENGTH_MIN = 0.2  # below, it says nothing
NEAR = 5  # words between a subject and its verb


class AskedRole(NamedTuple):
    """The role whose words a query asks for (`None` = nobody's in particular), and how plainly, in [0, 1]."""

    role: Role | None = None
    strength: float = 0.0


NOBODY = AskedRole()


class _Cue(NamedTuple):
    role: Role | None  # `None`: what is asked for is neither's alone
    rank: int
    strength: float


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


_I = {"i": "", "i've": "have", "i'd": "had", "i'm": "was", "i'll": "will"}
_YOU = {"you": "", "you've": "have", "you'd": "had", "you're": "are", "you'll": "will", "u": ""}
_PAIR = frozenset("i you me".split())
_ASSISTANTS = frozenset("assistant ai bot chatbot chatgpt gpt llm copilot".split())
_NAMED = frozenset("chatgpt gpt".split())  # need no article
_ARTICLES = frozenset("the that this my our".split())

_PAST = frozenset(_EN["past"].split())
_MODALS = frozenset(_EN["modals"].split())
_AUXILIARIES = frozenset(_EN["auxiliaries"].split())
_ADVERBS = frozenset(_EN["adverbs"].split())
_BE = frozenset("was were been wasn't weren't got".split())

_SAY = _EN["say"]
_GIVE = _EN["give"]
_SAYING = _stems(_SAY)
_GIVING = _SAYING | _stems(_GIVE)
_PARTICLES = {"put": frozenset("together forward down in".split()), "set": frozenset("up out".split())}
_BASES = frozenset(f"{_SAY} {_GIVE}".split()) - _PARTICLES.keys()
_PASSIVES = frozenset(_EN["passives"].split())
# Said or written by who is spoken to: "your advice".
_SAYINGS = frozenset(_EN["sayings"].split())
_NEW = frozenset("is what's are me need want like love appreciate get".split())  # "what's your opinion", "give me …"
# What somebody who asks says of himself: "I wonder", "I forgot".
_MENTAL = _stems(_EN["mental"])
_WANTING = frozenset("want need like love wish prefer".split())  # "what I wanted you to book" is of the past
_ASKING = frozenset(_EN["asking"].split())
_REMEMBERING = _stems("remember recall")
# What others do who speak. Not what is as often a noun of the user's: "did my last request go through".
_SPEAKING = _stems(_EN["speaking"])
_SPOKEN = frozenset(_EN["spoken"].split())
_DECIDING = _SAYING | _stems("decide settle plan conclude")  # what "we" do with words
_DETERMINERS = frozenset("my our his her their the a an this that".split())
_SOMEBODY = frozenset("he she they somebody someone anybody anyone everybody everyone nobody".split())
# No part of what somebody is called: "did my manager and I say", "did the plan that you wrote say".
_BREAKS = frozenset(_EN["breaks"].split())
_SAID_PAST = frozenset("did didn't have haven't had hadn't has hasn't".split())
_ADVISED = frozenset("recommended suggested advised proposed".split())
_WAS = frozenset("was were been wasn't weren't".split())
_TELLING = frozenset("tell told give gave show shown remind send bring get help let find fetch list read".split())


def asked_role(
    text: str, tokens: Sequence[Token] | None = None, language: str | None = "en", *, assistant: bool = True
) -> AskedRole:
    """Find whose words the query asks for."""
    if language != "en":
        return AskedRole(*person.asked_role(text, language))
    tokens = tokenize(text) if tokens is None else tokens
    words = _Words(text, tokens, assistant)
    cues = [(i, cue) for i in range(len(tokens)) if (cue := words.cue(i)) is not None]
    if not cues:
        return NOBODY
    asks = _asking_sentences(text, tokens)
    best: tuple[int, float] = (0, 0.0)
    found = NOBODY
    asked: set[Role | None] = set()  # of whom it is asked outright
    for i, cue in cues:
        if cue.role is None and not asks[i]:
            continue
        rank, strength = (cue.rank, cue.strength) if asks[i] else (ONLY, cue.strength / 2)
        if rank == SAYING:
            asked.add(cue.role)
        if strength >= STRENGTH_MIN and (rank, strength) > best:
            best = (rank, strength)
            found = AskedRole(cue.role, strength)
    return NOBODY if found.role is None or len(asked) > 1 else found


def _asking_sentences(text: str, tokens: Sequence[Token]) -> list[bool]:
    """Say for each word whether its sentence is a question; always true if a text of few sentences has none."""
    asks = [True] * len(tokens)
    first, any_asks, plain = 0, False, []
    for i, token in enumerate(tokens):
        end = tokens[i + 1].start if i + 1 < len(tokens) else len(text)
        between = text[token.end : end]
        if "?" in between or "？" in between:
            any_asks, first = True, i + 1
        elif any(mark in between for mark in ("!", "\n")) or ("." in between and not between.startswith("..")):
            plain.append((first, i + 1))
            first = i + 1
    plain.append((first, len(tokens)))
    if any_asks or sum(start < stop for start, stop in plain) > SENTENCES_MAX:
        for start, stop in plain:
            asks[start:stop] = [False] * (stop - start)
    return asks


class _Words:
    def __init__(self, text: str, tokens: Sequence[Token], assistant: bool = True) -> None:
        self.text, self.tokens, self.assistant = text, tokens, assistant
        self.words = [t.word for t in tokens]

    def at(self, i: int) -> str:
        """Return the word at a place, empty beyond the ends."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def cue(self, i: int) -> _Cue | None:
        """Read the cue of the word at `i` on whose words the query asks for; `None` if it gives none."""
        word = self.words[i]
        if word in _PAIR and self._is_paired(i):
            return None
        if word in _ADVISED:
            return self._advised(i)
        if word == "we":
            return self._we(i)
        if (word in _SOMEBODY or word in _DETERMINERS) and (other := self._somebody(i)) is not None:
            return other
        if word in _I:
            return self._i(i) if word != "i" or is_first_person(self.tokens, i, self.text) else None
        if word in _YOU:
            return self._you(i)
        if word == "your":
            return self._your(i)
        if word in _ASSISTANTS:
            return self._assistant(i)
        if word == "user":
            return self._user(i)
        if word in ("my", "mine", "myself") and is_first_person(self.tokens, i, self.text):
            return _Cue(Role.USER, ONLY, 0.4)
        if word == "me" and self.at(i - 1) not in _TELLING:
            if self.at(i - 1) == "to" and self.at(i - 2) in _PASSIVES and self.at(i - 3) in _BE:
                return _Cue(Role.ASSISTANT, CLAUSE, 0.5)
            return _Cue(Role.USER, ONLY, 0.25)
        return None

    def _is_paired(self, i: int) -> bool:
        """Say whether two subjects are joined: "what did you and I discuss" asks for both, so for neither."""
        follows, precedes = self.at(i + 1), self.at(i - 1)
        return (follows in ("and", "or") and self.at(i + 2) in _PAIR) or (
            precedes in ("and", "or") and self.at(i - 2) in _PAIR
        )

    def _verb(self, i: int) -> tuple[int, set[str]]:
        """Return the place of the verb behind a subject, and the auxiliaries between."""
        between: set[str] = set()
        for j in range(i + 1, i + 1 + NEAR):
            word = self.at(j)
            if word in _AUXILIARIES:
                between.add(word)
            elif word not in _ADVERBS:
                return j, between
        return i + 1, between

    def _before(self, i: int) -> str:
        """Return the auxiliary in front of a subject, empty if there is none: "did (I)", "have (you)"."""
        word = self.at(i - 1)
        return word if word in _PAST or word in _MODALS or word in ("do", "does", "are", "is") else ""

    def _i(self, i: int) -> _Cue | None:
        before, contracted = self._before(i), _I[self.words[i]]
        at, between = self._verb(i)
        verb = self.at(at)
        root = stem(verb)
        passive = verb in _PASSIVES and (bool(between & _BE) or before in ("was", "wasn't") or contracted == "was")
        if passive:
            return _Cue(Role.ASSISTANT, CLAUSE, 0.5)
        if before in _PAST:
            if root in _SAYING:
                return _Cue(Role.USER, SAYING, 1.0)
            return _Cue(Role.USER, DOING, 0.7)
        if root in _MENTAL:
            return None
        if before in _MODALS:
            return None if root in _SAYING else _Cue(Role.USER, ONLY, 0.25)
        if before:  # "how do I boil an egg" is no question about the user, "what do I owe Sam" is
            return _Cue(Role.USER, ONLY, 0.2 if self.at(i - 2) == "how" else 0.5)
        if verb in _WANTING:
            follows = (self.at(at + 1), self.at(at + 2))
            asking = follows[0] in _ASKING or (follows[0] == "to" and follows[1] in _ASKING)
            return None if asking else _Cue(Role.USER, ONLY, 0.3)
        if root in _SAYING:
            return _Cue(Role.USER, CLAUSE, 0.7 if verb in _BASES and not between else 0.9)
        return _Cue(Role.USER, ONLY, 0.5)

    def _you(self, i: int) -> _Cue | None:
        if self.at(i - 1) == "from":  # "what advice did I get from you"
            return _Cue(Role.ASSISTANT, DOING, 0.8)
        before, contracted = self._before(i), _YOU[self.words[i]]
        at, between = self._verb(i)
        verb = self.at(at)
        if before in _PAST:
            return _Cue(Role.ASSISTANT, SAYING, 1.0) if self._says(at, before) else None
        if before:
            if before == "do" and stem(verb) in _REMEMBERING and self._is_gerund(at + 1):
                return _Cue(Role.ASSISTANT, CLAUSE, 0.9)
            return None
        if contracted in ("are", "will") or between & _MODALS:
            return None
        if not self._says(at, "had"):
            return None
        perfect = contracted == "have" or not between.isdisjoint(("have", "had", "did"))
        spoken = verb not in _BASES or perfect or verb in _PARTICLES
        return _Cue(Role.ASSISTANT, CLAUSE, 0.9) if spoken else None

    def _says(self, at: int, before: str) -> bool:
        """Say whether the word is a verb of saying or giving; after "were", only its "-ing" form."""
        verb = self.at(at)
        if verb in _PARTICLES:
            return not _PARTICLES[verb].isdisjoint((self.at(at + 1), self.at(at + 2), self.at(at + 3)))
        if before in ("was", "were", "wasn't", "weren't", "am"):
            return self._is_gerund(at)
        return stem(verb) in _GIVING

    def _is_gerund(self, at: int) -> bool:
        return self.at(at).endswith("ing") and stem(self.at(at)) in _GIVING

    def _your(self, i: int) -> _Cue | None:
        for j in range(i + 1, i + 4):
            if self.at(j) in _SAYINGS:
                new = self.at(i - 1) in _NEW and self.at(0) != "remind"
                asked = self.at(i - 1) in ("was", "were") and self.at(i - 2) == "what"
                return None if new else _Cue(Role.ASSISTANT, SAYING if asked else CLAUSE, 0.8)
        return None

    def _we(self, i: int) -> _Cue | None:
        """Read a "we": in "what did we agree" both spoke; "the date we settled on" does not tell who said it."""
        asked = self._before(i) in _SAID_PAST and stem(self.at(self._verb(i)[0])) in _DECIDING
        return _Cue(None, SAYING, 1.0) if asked else None

    def _somebody(self, i: int) -> _Cue | None:
        """Read a subject who is somebody else: "did my manager tell me", "what she said"."""
        asked = self._before(i) in _SAID_PAST
        if not asked and self.at(i - 1) != "what":  # "since my friend suggested it": when, not what
            return None
        spoken = _SPEAKING if asked else _SPOKEN
        first = i + 1 if self.words[i] in _SOMEBODY else i + 2
        for j in range(i + 1, i + 2 + NEAR):
            word = self.at(j)
            if not word or word in _BREAKS:
                return None
            if j >= first and (stem(word) if asked else word) in spoken:
                head = self.at(j - 1)
                mine = self.words[i] == "my" and head == "assistant"  # somebody's secretary
                if (head in _ASSISTANTS and not mine) or head == "user" or head in _WAS:
                    return None
                return _Cue(None, SAYING if asked else CLAUSE, 0.9)
        return None

    def _advised(self, i: int) -> _Cue | None:
        """Read "which hotel was suggested": by the assistant, unless it says by whom, or to whom else."""
        before = i - 1
        while self.at(before) in _ADVERBS:
            before -= 1
        asked = self.at(before) in _WAS or (self.at(0) in _WAS and i <= NEAR)
        if not self.assistant or not asked or self.at(before - 1) in _I:
            return None
        for j in range(i + 1, i + 1 + NEAR):
            if self.at(j) in ("by", "to"):
                named = self.at(j + 2) if self.at(j + 1) in _ARTICLES else self.at(j + 1)
                known = named in _ASSISTANTS or named == "you" if self.at(j) == "by" else named in ("me", "us")
                return _Cue(Role.ASSISTANT if known else None, CLAUSE, 0.5)
        return _Cue(Role.ASSISTANT, CLAUSE, 0.5)

    def _assistant(self, i: int) -> _Cue | None:
        article = self.at(i - 1)
        if article == "ai":  # "the AI assistant": one subject
            i, article = i - 1, self.at(i - 2)
            last = i + 1
        else:
            last = i
        if article == "my" and self.words[i] == "assistant":  # somebody's secretary
            return None
        known = article in _ARTICLES
        before = self._before(i - 1 if known else i)
        at, _ = self._verb(last)
        if stem(self.at(at)) in _GIVING and (known or before in _PAST or self.words[i] in _NAMED):
            if before in _PAST:
                return _Cue(Role.ASSISTANT, SAYING, 1.0)
            return _Cue(Role.ASSISTANT, CLAUSE, 0.6 if self.at(at) in _BASES else 0.9)
        if known and self.at(last + 1) in _SAYINGS:
            return _Cue(Role.ASSISTANT, CLAUSE, 0.8)
        start = i - 1 if known else i
        if self.at(start - 1) == "to" and self.at(start - 2) == "according":
            return _Cue(Role.ASSISTANT, CLAUSE, 0.9)
        return None

    def _user(self, i: int) -> _Cue | None:
        known = self.at(i - 1) == "the"
        start = i - 1 if known else i
        before = self._before(start)
        at, _ = self._verb(i)
        token = self.tokens[i]
        if self.text[token.start : token.end].casefold().endswith(("'s", "’s")):
            return _Cue(Role.USER, ONLY, 0.4)
        says = stem(self.at(at)) in _SAYING
        if before in _PAST:
            return _Cue(Role.USER, SAYING, 1.0) if says else _Cue(Role.USER, DOING, 0.7)
        if says and known and self.at(at) not in _BASES:
            return _Cue(Role.USER, CLAUSE, 0.9)
        if before == "does" and self.at(start - 2) != "how":
            return _Cue(Role.USER, ONLY, 0.5)
        return None
