"""Detect the language of a text from its script, its letters and its function words, fast enough for every line.

Nothing is guessed: where votes disagree or are few ("ok", "Lisbon 2019"), the answer is no language. Votes are whole
parts, so that their sum is the same in whatever order the words of a set come.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from recall_integrations.errors import LEFT_OUT
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text.analyser import STOP_WORDS

_TABLE: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CONTENT: Mapping[str, Mapping[str, str]] = _TABLE["content"]
"""Words by language and kind, parted by blanks."""


def content_words(code: str) -> frozenset[str]:
    """Return the words of a language's stop-word list that are looked for all the same."""
    return frozenset(word for words in CONTENT.get(code, {}).values() for word in words.split())


logger = logging.getLogger(__name__)

NAMES: Mapping[str, str] = _TABLE["names"]
"""Languages with a list, and what its file is called."""

_FOLDER = Path("core", "_static", "nltk_cache", "corpora", "stopwords")


@functools.cache
def listed(code: str) -> frozenset[str]:
    """Return the stop words of a language in lower case, as the list spells them; empty if it has no list."""
    folder = _folder()
    if code not in NAMES or folder is None:
        return frozenset()
    try:
        return frozenset((folder / NAMES[code]).read_text(encoding="utf-8").lower().split())
    except OSError:  # another version of the package
        return frozenset()


@functools.cache
def _folder() -> Path | None:
    try:
        spec = importlib.util.find_spec("llama_index")  # finds the package without importing it
    except (ImportError, ValueError):  # its import is blocked
        spec = None
    places = () if spec is None else spec.submodule_search_locations or ()
    found = next((Path(place) / _FOLDER for place in places if (Path(place) / _FOLDER).is_dir()), None)
    if found is None:
        logger.warning(
            "llama-index-core has no lists of stop words at %s, so languages are told apart less well. Its files are "
            'enough: pip install --no-deps "llama-index-core%s"', _FOLDER, LEFT_OUT["llama-index-core"],
        )  # fmt: skip
    return found


CHARS_MAX = 320  # read of a text at first
MORE_CHARS_MAX = 2_000  # where they do not tell
VOTE = 720_720  # parts of a vote: shared by any number of languages up to 16, each has a whole number of them
_EVIDENCE = VOTE  # for a language that is not English, at least
_PIECES = 2  # words and letters that speak for it, at least: "care" is a word of Romanian too
_RIVAL = 0.6  # share of the best language's votes that English may have at most
_NAMED_VOTE = VOTE // 4  # for English, of a word of another language that English texts hold too: "el" in "El Niño"
_NAMED_VOTES = VOTE // 2  # of such words together, in a text without a word that is English only
_FEW_WORDS = 6  # of a text of so many one piece is enough, if nothing speaks for English
_LEAD = 0.53  # of the votes for it and for the next together
_SHARE = 0.15  # of the distinct words that are its function words; titles and lists of names have fewer
_MARK_VOTES = 2 * VOTE  # of letters, at most
_ARTICLE_VOTE = VOTE // 2  # of "l'" in "l'anno"
_KANA_SHARE = 0.1  # of Chinese characters and kana, from which a text is Japanese: "先週の会議"
_FOREIGN_SHARE = 0.3  # of the letters that are not Latin, from which the text is not


class Language(NamedTuple):
    """The language of a text."""

    code: str | None  # ISO 639-1; `None` = cannot be told
    confidence: float  # in [0, 1]; 0 without a code


UNKNOWN = Language(None, 0.0)


# The blocks of each script. Han alone is Chinese; beside kana, Japanese.
_SCRIPTS: Mapping[str, str] = _TABLE["scripts"]
OTHER_SCRIPT = regex(f"[{''.join(_SCRIPTS.values())}]+")
_BY_SCRIPT = {name: regex(f"[{blocks}]") for name, blocks in _SCRIPTS.items()}
_DENSE = {"han": 2, "kana": 2, "ko": 2}  # letters of an alphabet that one sign is worth


_MARKS: Mapping[str, str] = _TABLE["marks"]
_VIETNAMESE = regex("[\u1ea0-\u1ef9đơư]")
_CYRILLIC = (
    (regex("[іїєґ]"), regex("[ыэъё]"), "uk"),
    (regex("[ђјљњћџ]"), regex("[ѓќѕ]"), "sr"),
    (regex("[ѓќѕ]"), None, "mk"),
    (regex("[әғқңөұүһ]"), None, "kk"),
    (regex("ў"), None, "be"),
)
# Function words of Bulgarian that Russian does not have; the two share their letters.
_BULGARIAN = frozenset(_TABLE["bulgarian"].split())
_RUSSIAN_LETTERS = regex("[ыэё]")
_PERSIAN, _URDU = regex("[پچژگکی]"), regex("[ٹڈڑںےہھ]")
_HINDI = frozenset(_TABLE["hindi"].split())
_MARATHI = frozenset(_TABLE["marathi"].split())

# Words that ask, and a few others, where the lists of stop words leave them out.
_MORE: Mapping[str, str] = _TABLE["more"]
# Stop words of other languages that are words of English too. They speak for English as well.
_ENGLISH_TOO = _TABLE["english_too"]
_PEOPLE = frozenset({"mei"})  # names that are function words somewhere: they speak for no language
# The same where they have a capital: given names and brands.
_GIVEN = frozenset(_TABLE["given"].split())
# With a capital inside a sentence they are no names: German writes "Sie" so.
_POLITE = frozenset(_TABLE["polite"].split())
_LATIN = ("de", "es", "fr", "pt", "it", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "ca", "id", "eu")
_SELDOM = frozenset({"ca", "eu", "id", "da", "no", "ro"})  # they take no vote from the others that share a word
_WORD = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_CAPITAL = regex(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?![^\W_]|['’][^\W_])")
_INSIDE = regex(r"(?:(?<=[a-zß-öø-ÿ] )|(?<=[a-zß-öø-ÿ], ))[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?![^\W_]|['’][^\W_])")
_SMALL = regex(r"(?<![^\W_])[a-zß-öø-ÿ]+(?![^\W_])")
_ELISION = regex(r"\b([cdjlmn]|qu|dell|all|nell|sull)'(?=[aeiouyhéêàâœ]\w)")


def detect_language(text: str) -> Language:
    """Detect the language of `text`; return `Language(None, 0.0)` if it cannot be told.

    It reads the first 320 characters, and 2,000 if those do not tell. 10 to 30 µs for a line. Never raises.
    """
    return _detected(text[:MORE_CHARS_MAX])


@functools.lru_cache(maxsize=4_096)  # a text is asked about when it is written, when it is indexed and when it is found
def _detected(text: str) -> Language:
    found = _language(text[:CHARS_MAX])
    return _language(text) if found.code is None and len(text) > CHARS_MAX else found


def _language(sample: str) -> Language:
    if not sample.isascii():
        found = _by_script(sample)
        if found is not None:
            return found
    return _by_words(sample)


def _by_script(sample: str) -> Language | None:
    """Detect the language of a text that is not in Latin letters; `None` if it is in Latin letters."""
    runs = OTHER_SCRIPT.findall(sample)
    if not runs:
        return None
    weights: dict[str, int] = {}
    for run in runs:
        script = _script(run[0])
        if script == "han" and _script(run[-1]) == "kana":
            script = "kana"
        weights[script] = weights.get(script, 0) + len(run) * _DENSE.get(script, 1)
    others = sum(weights.values())
    latin = sum(map(len, _WORD.findall(sample))) - sum(map(len, runs))
    share = others / (others + max(latin, 0))
    if share < _FOREIGN_SHARE:
        return None
    script = max(weights, key=weights.__getitem__)
    if script in {"han", "kana"}:
        signs = "".join(runs)
        kana = sum(_script(c) == "kana" for c in signs)
        return Language("ja" if kana > _KANA_SHARE * len(signs) else "zh", share)
    whole = sample.lower()
    if script == "cyrillic":
        return Language(_cyrillic(whole), share)
    if script == "arabic":
        code = "ur" if _URDU.search(whole) else "fa" if len(_PERSIAN.findall(whole)) > 1 else "ar"
        return Language(code, share)
    if script == "devanagari":
        words = whole.replace("।", " ").split()
        nepali = listed("ne") - _HINDI
        if not _MARATHI.isdisjoint(words):
            return Language("mr", share)
        return Language("ne" if len(nepali.intersection(words)) > max(1, len(words) // 4) else "hi", share)
    return Language(script, share)


def _script(char: str) -> str:
    return next(name for name, block in _BY_SCRIPT.items() if block.match(char))


def _cyrillic(sample: str) -> str:
    for own, foreign, code in _CYRILLIC:
        if own.search(sample) and (foreign is None or not foreign.search(sample)):
            return code
    if not _RUSSIAN_LETTERS.search(sample):
        words = set(_WORD.findall(sample))
        if len(words & _BULGARIAN) > len(words & listed("ru")) // 2:
            return "bg"
    return "ru"


@functools.cache
def _votes() -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Map each function word to the languages that have it, with its vote for each of them."""
    codes = sorted({"en", *_LATIN, *_MORE})
    # A bit for each language: few objects, which the first recall of a process would have collected with all others.
    languages: dict[str, int] = {}
    lists = [("en", STOP_WORDS), *((code, listed(code)) for code in _LATIN)]
    for code, words in [*lists, *((code, frozenset(more.split())) for code, more in _MORE.items())]:
        bit = 1 << codes.index(code)
        for word in words - _PEOPLE:
            languages[word] = languages.get(word, 0) | bit
    shares = {
        bits: _shares({code for i, code in enumerate(codes) if bits >> i & 1}) for bits in set(languages.values())
    }
    votes = {word: shares[bits] for word, bits in languages.items()}
    for word in votes.keys() & _named():
        votes[word] = (*((code, vote // 2) for code, vote in votes[word]), ("en", _NAMED_VOTE))
    return votes


@functools.cache
def _named() -> frozenset[str]:
    """Return words of other languages that an English text may hold, mostly in names."""
    return frozenset(_ENGLISH_TOO.split()) - STOP_WORDS


def _shares(codes: set[str]) -> tuple[tuple[str, int], ...]:
    often = len(codes - _SELDOM)
    return tuple((code, VOTE // (len(codes) if code in _SELDOM else often)) for code in sorted(codes))


@functools.cache
def _plain() -> frozenset[str]:
    """Return the function words of English that no other language has."""
    return frozenset(word for word, shares in _votes().items() if [code for code, _ in shares] == ["en"])


def _by_words(sample: str) -> Language:
    votes = _votes()
    lowered = sample.lower().replace("’", "'")
    scores: dict[str, int] = {"en": 0}
    pieces: dict[str, int] = {}
    if "'" in lowered:
        lowered = _without_articles(lowered, scores, pieces)
    said = set(_WORD.findall(lowered))
    # Most texts are English: then nothing has to be counted.
    known = said & votes.keys()
    plain, against = len(known & _plain()), len(known - STOP_WORDS)
    if not scores.keys() - {"en"} and plain > 2 * against and sample.isascii():
        return Language("en", plain / (plain + against))
    # Names speak for a language only beside words that do.
    if sample != lowered and (names := known & _names(sample)) and not known - names - STOP_WORDS - _named():
        known -= names
    _add_words(known, scores, pieces)
    if not plain:
        scores["en"] -= max(0, _NAMED_VOTE * len(known & _named()) - _NAMED_VOTES)
    if not sample.isascii():
        _add_letters(lowered, scores, pieces)
        if not plain:  # accents, and no word that is English alone
            scores["en"] = 0
    code = max(sorted(scores), key=scores.__getitem__)
    best, english = scores[code], scores["en"]
    if code == "en" and not plain:  # "Visita al dentista": words that English shares tell nothing
        return UNKNOWN
    if code == "en" or english >= _RIVAL * best:
        sure = plain and english and english >= best
        return Language("en", english / (english + best * (code != "en"))) if sure else UNKNOWN
    rival = max(score for other, score in scores.items() if other != code)
    wanted = 1 if not english and 1 < len(said) <= _FEW_WORDS else max(_PIECES, _SHARE * len(said))
    enough = best >= _EVIDENCE and pieces[code] >= wanted
    confidence = best / (best + rival)
    return Language(code, confidence) if enough and confidence > _LEAD else UNKNOWN


def _names(sample: str) -> frozenset[str]:
    """Return the words that are read as names: with a capital at every place and inside a sentence, or a given name."""
    small = set(_SMALL.findall(sample))
    inside = {word.lower() for word in _INSIDE.findall(sample)}
    names = inside - _no_names() if len(inside) <= max(1, len(small)) else set()
    names |= _GIVEN.intersection(map(str.lower, _CAPITAL.findall(sample)))
    return frozenset(names - small - STOP_WORDS)


@functools.cache
def _no_names() -> frozenset[str]:
    """Return the words of time and of asking, and the German words that have a capital out of politeness."""
    return _POLITE.union(*(more.split() for more in _MORE.values())) - _named()


def votes_of(sample: str) -> tuple[dict[str, int], frozenset[str]]:
    """Return the votes of a text in Latin letters for each language, in parts of `VOTE`, and its function words."""
    scores: dict[str, int] = {}
    pieces: dict[str, int] = {}
    lowered = sample.lower().replace("’", "'")
    if "'" in lowered:
        lowered = _without_articles(lowered, scores, pieces)
    known = frozenset(w for w in _WORD.findall(lowered) if len(w) > 1 or w not in _CONSONANTS) & _votes().keys()
    _add_words(known, scores, pieces)
    if not sample.isascii():
        _add_letters(lowered, scores, pieces)
    return scores, known


def _add_words(known: Collection[str], scores: dict[str, int], pieces: dict[str, int]) -> None:
    votes = _votes()
    for word in known:
        for code, vote in votes[word]:
            scores[code] = scores.get(code, 0) + vote
            pieces[code] = pieces.get(code, 0) + 1


def _add_letters(lowered: str, scores: dict[str, int], pieces: dict[str, int]) -> None:
    given: dict[str, int] = {}
    letters: dict[str, int] = {}
    for letter in _MARKS.keys() & set(lowered):
        codes = _MARKS[letter].split()
        for code in codes:
            given[code] = given.get(code, 0) + VOTE // len(codes)
            letters[code] = letters.get(code, 0) + 1
    vietnamese = len(_VIETNAMESE.findall(lowered))
    if vietnamese:
        given["vi"] = max(given.get("vi", 0), vietnamese * VOTE)
    for code, votes in given.items():
        scores[code] = scores.get(code, 0) + min(votes, _MARK_VOTES)
        pieces[code] = pieces.get(code, 0) + letters.get(code, 1)


def _without_articles(lowered: str, scores: dict[str, int], pieces: dict[str, int]) -> str:
    """Split "l'anno", "qu'il", "dell'arte" into two words each, and add the votes of such articles."""
    for lead in set(_ELISION.findall(lowered)):
        codes = ("it",) if len(lead) > 2 else ("fr",) if lead in {"qu", "j", "n"} else ("fr", "it", "ca")
        for code in codes:
            scores[code] = scores.get(code, 0) + _ARTICLE_VOTE
            pieces[code] = pieces.get(code, 0) + 1
    return _ELISION.sub(r"\1 ", lowered)


WHOLE = 16  # the vote of a text whose language is told, and the most that one gives that tells none
_SHAPE_VOTE = VOTE // 2  # of a word by its letters; a function word that one language has gives a whole one
_WORDS_MAX = 24  # of a text that are looked at by their letters

# How words begin and end in few languages. Of one that fits several, each has its share.
_SHAPES: Mapping[str, str] = json.loads(Path(__file__).with_name("spoken.json").read_text(encoding="utf-8"))
_SHAPE = {code: regex(f"(?:{shapes})") for code, shapes in _SHAPES.items()}
_LONG_WORD = regex(r"[^\W\d_]{3,24}")


def leanings(text: str) -> dict[str, int]:
    """Return the languages that a text in Latin letters speaks for, with shares of `WHOLE` at most together."""
    sample = text[:CHARS_MAX]
    if not sample.isascii() and OTHER_SCRIPT.search(sample):
        return {}
    found, known = votes_of(sample)
    _add_shapes(sample, known, found)
    total = sum(found.values())
    if total <= 0:
        return {}
    whole = max(total, VOTE)
    shares = ((code, round(WHOLE * votes / whole)) for code, votes in sorted(found.items()))
    return {code: share for code, share in shares if share > 0}


def _add_shapes(sample: str, known: frozenset[str], found: dict[str, int]) -> None:
    """Add the votes of the words that are no function words, by their beginnings and endings."""
    words = dict.fromkeys(_LONG_WORD.findall(sample))
    for raw in list(words)[:_WORDS_MAX]:
        word = raw.lower()
        if word in known:
            continue
        codes = [code for code, shape in _SHAPE.items() if shape.fullmatch(word)]
        for code in codes:
            found[code] = found.get(code, 0) + _SHAPE_VOTE // len(codes)


ENGLISH = "en"
UNTOLD = ""  # stands for the memories that tell no language
LANGUAGES_MAX = 4  # of a scope, the commonest, in which an unknown word is looked for
DOMINANT = 0.5  # share of a scope's memories above which its language is that of a query that tells none
STRAY = 0.02  # share of a scope's memories in a language up to which that is not one it is kept in
HANDFUL = 3  # memories that speak for a language, the query among them, before it leads by evidence
EVIDENCE_SHARE = 0.2  # of the memories, in whole votes
OVER_ENGLISH = 1.75  # times the evidence for English
OVER_NEXT = 1.3  # times that for the next language


class Count(NamedTuple):
    """Counts of memories for one language; sums of them do not depend on any order."""

    told: int = 0  # memories that are in it; for `UNTOLD`, memories that tell no language
    hints: int = 0  # memories that tell none, for which it is the likeliest, or as likely as another but English
    votes: int = 0  # of memories that tell none, in parts of `WHOLE` a memory

    def plus(self, other: Count) -> Count:
        """Add two counts."""
        return Count(self.told + other.told, self.hints + other.hints, self.votes + other.votes)


def counted(texts: Iterable[str]) -> dict[str, Count]:
    """Count the languages of texts. Texts detected as English are left out: they are all the others."""
    found: dict[str, Count] = {}
    for text in texts:
        code = detect_language(text).code
        if code == ENGLISH:
            continue
        said = untold(text) if code is None else {code: Count(told=1)}
        for language, count in said.items():
            found[language] = found.get(language, Count()).plus(count)
    return found


def untold(text: str) -> dict[str, Count]:
    """Count the evidence of a text that tells no language."""
    votes = leanings(text)
    most = max(votes.values(), default=0)
    return {
        UNTOLD: Count(told=1),
        **{c: Count(hints=int(share == most > votes.get(ENGLISH, 0)), votes=share) for c, share in votes.items()},
    }


@record(frozen=True)
class Spoken:
    """The languages of a scope."""

    memories: int = 0
    counts: Mapping[str, Count] = field(default_factory=dict)

    @cached_property
    def told(self) -> Mapping[str, int]:
        """Number of memories detected in each language besides English, where there are any."""
        return {c: n.told for c, n in self.counts.items() if n.told > 0 and c not in (UNTOLD, ENGLISH)}

    @cached_property
    def english(self) -> int:
        """Number of memories in English: all that neither another language nor `UNTOLD` counts."""
        return max(0, self.memories - sum(self.told.values()) - self._of(UNTOLD).told)

    @cached_property
    def leading(self) -> str | None:
        """Language of the scope, if it is not English and needs no query to be told."""
        return self.leading_with("")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages of the memories besides English, the leading one and then the commonest first; at most four."""
        told, first = self.told, self.leading
        known = set(told) if first is None else {first, *told}
        return tuple(sorted(known, key=lambda c: (c != first, -told.get(c, 0), c))[:LANGUAGES_MAX])

    @cached_property
    def kept_in(self) -> tuple[str, ...]:
        """Languages of more than a stray memory, and the leading one."""
        return tuple(c for c in self.languages if c == self.leading or self.told[c] > STRAY * self.memories)

    def memories_in(self, language: str) -> int:
        """Count the memories in a language; those that tell none are in the leading one, else in English."""
        if language == ENGLISH:
            return self.english + (self._of(UNTOLD).told if self.leading is None else 0)
        return self.told.get(language, 0) + (self._of(UNTOLD).told if language == self.leading else 0)

    def leading_with(self, query: str) -> str | None:
        """Return the leading language; if the memories alone do not tell it, the query adds its evidence."""
        if not self._doubtful:
            return None
        most = min(self.told, key=lambda c: (-self.told[c], c), default=None)
        if most is not None and self.told[most] > DOMINANT * self.memories:
            return most
        asked = counted([query]) if query.strip() else {}
        evidence = {code: self._evidence(code, asked) for code in {*self.counts, *asked} - {UNTOLD, ENGLISH}}
        if not evidence:
            return None
        english = self._evidence(ENGLISH, asked)
        first, *others = sorted(evidence, key=lambda c: (-evidence[c], c))
        count = self._of(first).plus(asked.get(first, Count()))
        enough = evidence[first] >= max(EVIDENCE_SHARE * self.memories, HANDFUL / 2) * WHOLE
        ahead = evidence[first] >= max(
            OVER_ENGLISH * english, OVER_NEXT * max((evidence[c] for c in others), default=0)
        )
        return first if enough and ahead and count.told + count.hints >= HANDFUL else None

    @cached_property
    def _doubtful(self) -> bool:
        """True if a language other than English may lead. A scope in English needs only this check."""
        held = self.english * WHOLE + self._of(ENGLISH).votes
        return any(
            code not in (UNTOLD, ENGLISH) and (count.told + 1) * WHOLE + count.votes >= held
            for code, count in self.counts.items()
        )

    def _of(self, code: str) -> Count:
        return self.counts.get(code, Count())

    def _evidence(self, code: str, asked: Mapping[str, Count]) -> int:
        told = self.english if code == ENGLISH else self._of(code).told
        return told * WHOLE + self._of(code).votes + asked.get(code, Count()).votes


NO_LANGUAGES = Spoken()
"""Of a scope of which nothing is known."""
