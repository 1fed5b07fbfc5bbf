"""What a noun phrase is called as a slot: one name for what is said ("my new locker code is …") and what is asked."""

from __future__ import annotations

from recall_integrations.facts.slots import DEFAULT, OPEN, Slots

WORDS_MAX = 6  # of a noun phrase that names a slot; a longer one is a description

_EDGES = " \t\n\r.,;:!?…\"“”«»()[]*_`'‘’"
_BEFORE = frozenset(
    "the a an my our your his her their its this that own new newest brand current currently present latest "
    "actual old older former previous prior original recent exact "
    "updated now again please".split()
)
_AFTER = frozenset("now again please currently nowadays today".split())
# Where such a word belongs to the name: "new year resolution", "old town flat", "present tense".
_KEPT = frozenset(("new year", "new year's", "new years", "new york", "new zealand", "old town", "old age"))
_SPELLED = {
    "favorite": "favourite",
    "color": "colour",
    "colors": "colours",
    "license": "licence",
    "licenses": "licences",
    "center": "centre",
    "theater": "theatre",
    "neighborhood": "neighbourhood",
    "neighbor": "neighbour",
    "wifi": "wi fi",
    "tyre": "tire",
    "tyres": "tires",
}
# Nouns of the schema that name it only when they stand alone: an account number is no phone number.
_ALONE = frozenset(
    "number place room state status title name release lead cost price cell home position role location version owner "
    "schedule shift subject country company title pay".split()
)
_SAME = frozenset(  # a phone number remains one with these before it
    "work office home private personal business mobile cell contact landline telephone main second".split()
)
# With these before it a noun is another thing than without: a dream job is no job.
_OTHER = frozenset("favourite favorite dream ideal target goal next future first perfect best worst ex".split())

# Nouns that say of nothing what it is: "drawing is one of my faves".
_NAMELESS = frozenset(
    "fave faves fav favs favourite favourites favorite favorites pick choice one ones thing things kind type "
    "sort".split()
)


def open_name(noun_phrase: str) -> str:
    """The normal form of a noun phrase, as it stands behind `slots.OPEN`; empty = nothing is left of it.

    Lower case, one space between words, no hyphens, British spelling of a few words, and neither article nor owner nor
    what tells an earlier value from a later one: "My new Locker-Code" and "the old locker code" are `locker code`.

    Args:
        noun_phrase: "my new locker code", "locker code"; without verb and value.
    """
    return _spelled(_words(noun_phrase))


def slots_called(noun_phrase: str, slots: Slots = DEFAULT) -> tuple[str, ...]:
    """The slots that a noun phrase may name, the likeliest first; none of what is no name.

    A noun of the schema names its slot and nothing else. Of any other phrase the open slot comes first, then the one of
    the schema that its last words name: "work phone number" is `open:work phone number`, or else `phone_number`.

    Args:
        noun_phrase: as of `open_name`.
        slots: the schema.
    """
    plain = " ".join(noun_phrase.casefold().replace("’", "'").strip(_EDGES).split())
    shipped = slots.of_noun.get(plain)
    if shipped is not None:  # "last name": before anything is taken off
        return (shipped,)
    words = _words(noun_phrase)
    if not words or len(words) > WORDS_MAX or (len(words) == 1 and words[0] in _NAMELESS):
        return ()
    shipped = _of_noun(words, slots)
    if shipped is not None:
        return (shipped,)
    name = OPEN + _spelled(words)
    for first in range(1, len(words)):
        if words[first - 1] in _OTHER or words[first - 1].endswith("'s"):
            break
        if words[-1] in _ALONE and first == len(words) - 1 and words[first - 1] not in _SAME:
            break
        shipped = _of_noun(words[first:], slots)
        if shipped is not None:
            return (name, shipped)
    return (name,)


def _words(noun_phrase: str) -> list[str]:
    """Of the name, in lower case, as they were spelled."""
    text = noun_phrase.casefold().replace("’", "'").replace("-", " ")
    words = [word for word in [word.strip(_EDGES) for word in text.split()] if word]
    first, end = 0, len(words)
    while first < end and words[first] in _BEFORE and " ".join(words[first : first + 2]) not in _KEPT:
        first += 1
    while end > first and words[end - 1] in _AFTER:
        end -= 1
    return words[first:end]


def _spelled(words: list[str]) -> str:
    return " ".join([_SPELLED.get(word, word) for word in words])


def _of_noun(words: list[str], slots: Slots) -> str | None:
    """The slot that words name, in the spellings that the schema may have."""
    name = " ".join(words)
    found = slots.of_noun.get(name)
    if found is None:
        found = slots.of_noun.get(_spelled(words))
    if found is None and "wi fi" in name:
        found = slots.of_noun.get(name.replace("wi fi", "wifi")) or slots.of_noun.get(name.replace("wi fi", "wi-fi"))
    if found is None and words[0] in ("e", "co") and len(words) > 1:  # "e-mail", "co-worker"
        found = slots.of_noun.get(f"{words[0]}-{' '.join(words[1:])}")
    return found


def singular(noun: list[str]) -> list[str]:
    """A noun phrase whose last word is in the singular."""
    last = noun[-1]
    if last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif last.endswith(("sses", "xes", "ches", "shes")):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return [*noun[:-1], last]


def plural_of(noun: str) -> str:
    """A noun in the plural, of which `singular` is the way back."""
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("ss", "x", "ch", "sh")) else "s")
