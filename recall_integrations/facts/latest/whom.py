"""Of whom a question asks, and of whom a text speaks, where no rule has read either.

"Ruben's usual at the counter?" asks of Ruben, "what do I drink?" of who asks, and "my sister's car" of neither. "Moved
to Lisbon" speaks of who says it, "Mei moved to Lisbon" of Mei, whoever says it. Names are words with a capital and
people who are known; what is missed or seen too often is for the model to weigh.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from recall_integrations.facts.rules import words as of_rules
from recall_integrations.facts.rules.loose_words import ME
from recall_integrations.facts.subjects_of import USER
from recall_integrations.patterns import regex
from recall_integrations.records import record

OTHERS_MAX, CAPITALS_MAX = 2, 3  # more of them say no more
THING_MAX = 3  # words
TEXTS = 1_024  # that were looked at last, and whose words are kept
_WORD = regex(r"[^\W_]+(?:['’\-][^\W_]+)*", 2)
_MINE = ("my", "our")
# Not "we": "we decided to use Postgres" tells nothing of who says it.
_SPEAKING = frozenset("i i'm i've i'd i'll im ive my me mine myself".split())
_TO_ME = frozenset("tell remind show give let help ask send bring get find".split())  # "tell me" asks nothing of me
_THIRD = frozenset("he she his her him they their".split())
_SHORT = frozenset("it's that's what's there's let's here's he's she's who's where's when's how's".split())
_NO_NAME = ME.union(
    _SPEAKING,
    _SHORT,
    "what which who whose whom when where why how is are am was were be do does did has have had can could will would "
    "should shall may might must tell give show name remind look find please any the a an in on at for to by of with "
    "from under about ok okay hey hi so and if but also now id quick one oh it its this that these those there here "
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec today yesterday tomorrow tonight "
    "monday tuesday wednesday thursday friday saturday sunday christmas easter".split(),
)
# Who is called so without "my" by who speaks of them: "what does grandpa do in the evening?"
_CALLED = frozenset("mom mum mommy dad daddy grandma granny grandpa grandad auntie uncle mama".split())
_KIN, _WHICH = of_rules.RELATIONS, of_rules.RELATION_ADJECTIVES
# Of those that may be somebody's own without being asked about: "my dog", "my boss" are kept in slots of who has them.
_OWN = frozenset(
    "partner boss manager landlord landlady doctor dentist therapist lawyer accountant vet coach mentor pet dog cat "
    "puppy kitten horse rabbit parrot hamster".split()
)


@record(frozen=True, slots=True, kw_only=True)
class Speaks:
    """Of whom a text speaks, beside those that are asked about.

    Args:
        names: whether it names each of them, or they say it of themselves.
        silent: whether they say it, and it names nobody.
        others: people who are known, who are named and not asked about; at most 2.
        owners: others to whom something belongs ("Mei's"); at most 2.
        kin: whether it is about "my sister", who is not asked about.
        capitals: words with a capital behind the first that name none of them; at most 3.
        third: whether it has "he", "her", "their".
        first: whether it has "I", "me", or "my" beside somebody else's "my sister".
    """

    names: tuple[bool, ...]
    silent: tuple[bool, ...]
    others: int
    owners: int
    kin: bool
    capitals: int
    third: bool
    first: bool


def asked_of(text: str, mentions: Sequence[str], users: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """Keys of whom a query may be about (`facts.subjects_of`), the likeliest first; empty = nobody can tell.

    Args:
        text: the query.
        mentions: keys of names that were found in it.
        users: keys of names of who asks.
        known: keys of people who are known; at the beginning of a sentence only these are names.
    """
    words = _WORD.findall(text)
    low = [plain(word) for word in words]
    for kin in _kin(low):
        if kin.split()[-1] not in _OWN:
            return (f"{USER}'s {kin}",)
    named = list(_named(text, known))
    found = [name for name, owns in named if owns]
    found += [name for mention in mentions if (name := _trimmed(mention))]
    found += [word for word in low if word in users]
    found += [name for name, owns in named if not owns]
    if any(word in ME and before not in _TO_ME for before, word in zip(("", *low), low, strict=False)):
        found += [USER, *users]
    found = found or [word for word in low if word in _CALLED or (word in known and word not in _NO_NAME)]
    return tuple(dict.fromkeys(found or [plain(word) for word in words if _owns(word)] or _things(low)))


def speaks_of(text: str, speaker: str, subjects: Sequence[str], known: Collection[str]) -> Speaks:
    """Of whom a text speaks.

    Args:
        text: the text.
        speaker: key of who says it.
        subjects: keys of whom is asked.
        known: keys of people who are known.
    """
    seen = _seen(text)
    said, kin, first = seen.said, seen.kin, seen.first
    asked = {part for subject in subjects for part in subject.replace("'s ", " ").split()}
    others = sum(bool(name) and name not in asked and said.issuperset(name.split()) for name in known)
    return Speaks(
        names=tuple([_names(subject, speaker, said, first=first) for subject in subjects]),
        silent=tuple([subject == speaker and not kin and not others for subject in subjects]),
        others=min(OTHERS_MAX, others),
        owners=min(OTHERS_MAX, sum(owner not in asked for owner in seen.owners)),
        kin=any(one.split()[-1] not in asked for one in kin),
        capitals=min(CAPITALS_MAX, sum(word not in asked for word in seen.capitals)),
        third=seen.third,
        first=first,
    )


def may_be_of(text: str, speaker: str, subject: str) -> bool:
    """Whether a text may speak of somebody. Who tells something of themselves need not say so: "moved to Lisbon".

    Args:
        text: the text.
        speaker: key of who says it.
        subject: key of whom is asked.
    """
    seen = _seen(text)
    words, bare = seen.low, seen.bare
    _, of, kin = subject.partition("'s ")
    if of:
        return all(part in bare for part in kin.split())
    if subject != speaker:
        return bool(subject) and all(part in bare for part in subject.split())
    if any(word in _SPEAKING and word not in ("my", "mine", "myself") for word in words):
        return True
    others = any(one.split()[-1] not in _OWN for one in seen.kin)
    return not others and not (words and words[0].endswith("'s") and text[:1].isupper())


@record(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Words of a text.

    Args:
        low: without case.
        bare: and without the 's of an owner.
        said: the same, each once.
        kin: whose relations are named.
        owners: to whom something belongs.
        capitals: bare words with a capital, behind the first word.
        third, first: see `Speaks`.
    """

    low: tuple[str, ...]
    bare: tuple[str, ...]
    said: frozenset[str]
    kin: tuple[str, ...]
    owners: tuple[str, ...]
    capitals: tuple[str, ...]
    third: bool
    first: bool


@lru_cache(maxsize=TEXTS)  # candidates of a recall are looked at for each of whom is asked, and are those of the next
def _seen(text: str) -> _Seen:
    raw = tuple(_WORD.findall(text))
    low = tuple(map(_lower, raw))
    bare = tuple([word.removesuffix("'s") for word in low])
    kin = tuple(_kin(bare))
    return _Seen(
        low=low,
        bare=bare,
        said=frozenset(bare),
        kin=kin,
        owners=tuple([word[:-2] for word in low if word.endswith("'s") and word not in _SHORT]),
        capitals=tuple(
            [own for word, own in zip(raw[1:], bare[1:], strict=True) if word[:1].isupper() and own not in _SPEAKING]
        ),
        third=not _THIRD.isdisjoint(low),
        first=sum(word in _SPEAKING for word in low) > len(kin),  # "my sister" alone is no "my"
    )


def plain(word: str) -> str:
    """A word without case and without the 's of an owner."""
    return _lower(word).removesuffix("'s")


def _lower(word: str) -> str:
    return word.casefold().replace("’", "'")


def _kin(words: Sequence[str]) -> Iterator[str]:
    """Whose relation is named: "sister" of "my sister", "older sister" of "my older sister"."""
    for place, word in enumerate(words):
        if word in _MINE:
            which = [*takewhile(lambda one: one in _WHICH and one not in _KIN, words[place + 1 :])]
            after = words[place + 1 + len(which) : place + 2 + len(which)]
            if after and after[0] in _KIN:
                yield " ".join([*which, after[0]])


def _names(subject: str, speaker: str, said: frozenset[str], *, first: bool) -> bool:
    who, of, kin = subject.partition("'s ")
    if of:
        return said.issuperset(kin.split()) and (not who or who in said or who == speaker)
    if subject == speaker and first:
        return True
    return bool(subject) and said.issuperset(subject.split())


def _named(text: str, known: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Names in a query, and whether something belongs to them ("Ruben's usual").

    A word with a capital, or several in a row; the first of a sentence only if something belongs to it, or it is known.
    """
    row: list[str] = []
    begins = owns = False
    end = 0
    for found in _WORD.finditer(text):
        word, between = found.group(), text[end : found.start()]
        own = plain(word)
        is_name = word[:1].isupper() and own not in _NO_NAME
        if row and (owns or between.strip(" ") or not between or not is_name):
            yield from _whole(row, begins, owns, known)
            row = []
        end = found.end()
        if is_name:
            if not row:
                begins = text[: found.start()].rstrip()[-1:] in ("", ".", "?", "!")
            row.append(own)
            owns = _lower(word).endswith("'s")
    if row:
        yield from _whole(row, begins, owns, known)


def _whole(row: Sequence[str], begins: bool, owns: bool, known: Collection[str]) -> Iterator[tuple[str, bool]]:
    name = " ".join(row)
    if owns or not begins or name in known:
        yield name, owns
    if begins and len(row) > 1:  # the first word may be any: "Email Lena's report"
        yield " ".join(row[1:]), owns


def _owns(word: str) -> bool:
    """Whether something belongs to whom a word names: "lena's birthday"."""
    return _lower(word).endswith("'s") and _lower(word) not in _SHORT and plain(word) not in _NO_NAME


def _things(low: Sequence[str]) -> Iterator[str]:
    """What is named with "the" where nobody is: "the summer fair"; the last first."""
    found = []
    for place, word in enumerate(low):
        if word in ("the", "our"):
            row = list(takewhile(lambda one: one not in _NO_NAME, low[place + 1 : place + 1 + THING_MAX]))
            if row:
                found.append(" ".join(row))
    yield from reversed(found)


def _trimmed(mention: str) -> str:
    """A mention without words that are no names: of "which sam" the name."""
    return " ".join(part for part in mention.split() if part not in _NO_NAME)
