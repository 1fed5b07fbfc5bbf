"""Ordinary English words, from which a name has to stand out, listed by topic and compared by Snowball stem."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from recall_integrations import languages
from recall_integrations.patterns import regex
from recall_integrations.query.folding import word_set
from recall_integrations.text import STOP_WORDS, stem
from recall_integrations.text.analyser import stemmed

_ORDINARY = (Path(languages.__file__).parent / "en_ordinary.txt").read_text(encoding="utf-8")

# Words that say what kind of thing a name is about. They carry no identity of their own, and their presence in a
# name says that it is not a person's.
KIND_WORDS = word_set(
    """
    agency airline airport app application area army association bakery band bank bar board bridge bureau business cafe
    campaign campus center centre channel church city class clinic club co coffee college committee community company
    conference corp corporation council country course court database department district division documentation engine
    event factory fest festival firm force foundation fund game garden group guild handbook hospital hotel house inc
    initiative institute island lab laboratory labs lake league library limited llc ltd machine market meetup migration
    ministry mission model mountain museum network office operation organisation organization park party plan plant
    platform port product program programme project release restaurant review river road room school server service
    services shop society software squad square state station store street studio studios summit system systems team
    technologies technology theater theatre tool tower town trail tribe trust union university valley village
    """
)

NAME_PARTICLES = word_set("al ap bin bint da das de del della den der di dos du el ibn la le san st ten ter van von")

# Upper case is how these are always written: it says nothing about whether a name is meant.
ACRONYMS = word_set(
    """
    api sdk url ui ux ai ml llm pr qa hr id it us tv pc ceo cto cfo faq sql http https json xml yaml csv pdf html css
    ide cpu gpu ram vpn dns ssh ssl aws db os io ios oauth ok eta asap fyi rsvp diy pm am
    """
)

CALENDAR_WORDS = word_set(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday spring summer autumn winter jan feb mar apr jun jul aug sep sept oct nov dec
    """
)

# Ordinary words that people are also called.
GIVEN_WORDS = word_set(
    """
    angel archer art ash autumn basil bay bill bishop blaze brook buck bunny butcher chance charity chase cherry
    clay cliff coral crystal dale dash dawn destiny drew duke earl ember fern finch fisher frank gale ginger glory
    grace grant gray guy harmony harvest haven hope hunter ivory joy joyous june jewel jolly knight lance lark
    laurel lotus love lucky major mark marsh merry miles misty norm nova ocean opal page patience pearl petal pierce
    porter prince rain rich rocky rod rose rowan rusty sage sandy scout serenity shepherd sparrow stormy summer
    sunny sunshine trinity weaver west will willow winter wren may will
    """
)

ORDINARY_WORDS = word_set(_ORDINARY) | STOP_WORDS | KIND_WORDS | GIVEN_WORDS  # as listed, without their inflections
_STEMS = frozenset(stemmed(ORDINARY_WORDS))
_STEM_CHARS_MIN = 3
_INFLECTED_CHARS_MIN = 5  # shorter words that merely share a stem are names: "Anna" is no inflection of "an"


@lru_cache(maxsize=8_192)
def is_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, an inflection of one, a lone letter or a number."""
    if word in ORDINARY_WORDS or len(word) < 2 or not any(c.isalpha() for c in word):
        return True
    if not word.isascii():
        return False
    if len(word) < _INFLECTED_CHARS_MIN:
        return len(word) > _STEM_CHARS_MIN and word.endswith("s") and word[:-1] in ORDINARY_WORDS
    root = stem(word)
    return len(root) >= _STEM_CHARS_MIN and root in _STEMS


# How English makes words out of words. Hardly a name of this length ends so.
_MADE = regex(
    r"[a-z]{3,}(?:[ts]ion|ment|ness|ship|able|ible|ability|ibility|i[sz]e|i[sz]ing|i[sz]ation|ative|itive|ological"
    r"|ously|ally|edly|ingly|less|fully|ically|ivity|ency|ology|ician|ification|istic|itional|ational)s?"
    r"|[a-z]{3,}(?:ized|ised|ments|ities)"
)
_MADE_CHARS_MIN = 7


def looks_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, or has the ending of a derived word."""
    if is_ordinary(word):
        return True
    return len(word) >= _MADE_CHARS_MIN and word.isascii() and _MADE.fullmatch(word) is not None
