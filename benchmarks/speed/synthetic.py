"""Made-up memories and queries for latency runs: any number, the same for the same seed, with no data to ship.

What matters for latency is kept close to real collections: about twenty words a text; a vocabulary of several thousand
words whose frequencies follow the Zipf–Mandelbrot law, so that posting lists run from a few entries to a tenth of the
collection; a reference code of its own in one text out of ten, so that there are rare words at every size; a hundred
people and forty projects, some named many times as often as others, so that graph neighbourhoods are uneven; two years
of event times; all memory types. What the texts say means nothing, so no quality figure may be taken from them.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory, MemoryType, Relation, Scope

SCOPE = Scope(user_id="bench")
END = datetime(2026, 1, 1, tzinfo=timezone.utc)
SPAN_DAYS = 730
THREAD_LENGTH = 40
WORD_SHIFT = 20  # the commonest word is in about a tenth of the texts
NAME_SHIFT = 3
CODE_EVERY = 10
PLANS = ("precise", "entity_centric", "temporal", "precision", "exploratory", "balanced")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST = _words(
    "Priya Sam Maria Jonas Aiko Omar Lena Tomas Ines Pavel Nadia Felix Amara Bruno Carla Dmitri Elif Farid Greta Hugo"
)
_LAST = _words("Raman Okafor Lindqvist Moreau Tanaka")
_PROJECTS = _words(
    "Kestrel Falcon Heron Osprey Merlin Condor Plover Curlew Avocet Bittern Juniper Cedar Larch Alder Hazel Rowan "
    "Quartz Basalt Granite Obsidian Topaz Garnet Beryl Agate Meridian Zenith Solstice Equinox Aurora Borealis "
    "Harbor Lantern Compass Anchor Beacon Trellis Mosaic Prism Helix Vertex"
)
_CHANNELS = ("slack", "email", "meeting", "phone", None)
_TOPICS = _words(
    "budget deadline release contract invoice roadmap database migration interview dashboard pipeline onboarding "
    "training survey prototype backlog incident outage renewal partner supplier shipment warehouse catalogue "
    "checkout payment refund ticket report forecast quota campaign newsletter website mobile backend frontend "
    "security audit licence privacy policy travel hotel flight visa offsite workshop lunch coffee garden kitchen "
    "music guitar piano concert hiking climbing cycling swimming running yoga recipe bread curry noodles salad cake "
    "movie novel poetry museum gallery painting photo camera drone laptop keyboard monitor headset battery charger "
    "doctor dentist vaccine allergy therapy sleep diet puppy kitten parrot aquarium school exam homework lecture "
    "thesis library grant scholarship mortgage rent insurance pension salary bonus tax garage bicycle train airport"
)
_VERBS = _words(
    "discussed reviewed postponed approved rejected shipped tested planned cancelled rewrote merged deployed measured "
    "repaired ordered borrowed returned compared sketched presented recorded translated archived restored delegated "
    "negotiated renamed documented automated simplified"
)
_SMALL = _words(
    "the a with for about before after during because and but again together quickly quietly of on in from without"
)
_HEADS = _words(
    "over under inter micro auto multi counter super semi proto trans hydro photo geo bio aero thermo electro macro "
    "mono tele cyber infra ultra pre re un mid sub side down up out"
)
_QUERY_OPENERS = ("anything about", "something on", "some notes about", "things like", "stuff about")
_MONTHS = _words(  # strftime depends on the locale
    "January February March April May June July August September October November December"
)


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """The several thousand words of the texts, most frequent first: topics, then compounds of heads and topics."""
    compounds = [f"{head}{topic}" for topic, head in itertools.product(_TOPICS, _HEADS)]
    random.Random(7).shuffle(compounds)
    return (*_TOPICS, *_VERBS, *compounds)


@functools.cache
def people() -> tuple[str, ...]:
    """The hundred people, most often named first; first and last names are spread evenly over them."""
    size = len(_FIRST)
    return tuple(f"{_FIRST[i % size]} {_LAST[(i % size + i // size) % len(_LAST)]}" for i in range(size * len(_LAST)))


@functools.cache
def _zipf(n: int, shift: int) -> tuple[float, ...]:
    """Cumulative weights of ranks 1 to n with frequency 1 / (rank + shift): Zipf's law in Mandelbrot's form."""
    return tuple(itertools.accumulate(1 / (rank + shift) for rank in range(1, n + 1)))


def _pick(rng: random.Random, items: Sequence[str], shift: int, k: int) -> list[str]:
    return rng.choices(items, cum_weights=_zipf(len(items), shift), k=k)


def _moment(rng: random.Random) -> datetime:
    return END - timedelta(seconds=rng.randrange(SPAN_DAYS * 86_400))


def synthetic_memories(n: int, seed: int = 0) -> Iterator[Memory]:
    """`n` memories with the ids `m0`, `m1`, …; the first `n` of a longer run with the same seed are the same.

    Each has an actor, one or two further entities, an `event_at` in the two years before `END`, and a place in a thread
    of `THREAD_LENGTH`; one in twenty states a relation.

    Raises:
        InvalidArgument: `n` is negative.
    """
    if n < 0:
        raise InvalidArgument(f"n must not be negative: {n}.")
    rng = random.Random(seed)
    types = list(MemoryType)
    for i in range(n):
        actor, other = _pick(rng, people(), NAME_SHIFT, 2)
        project = _project(rng)
        about = _pick(rng, vocabulary(), WORD_SHIFT, rng.randint(5, 10))
        moment = _moment(rng)
        yield Memory(
            text=_sentence(rng, about, other, project, moment)
            + (f" Reference {_code(i)}." if i % CODE_EVERY == 0 else ""),
            id=f"m{i}",
            type=rng.choice(types),
            actor=actor,
            channel=rng.choice(_CHANNELS),
            event_at=moment,
            created_at=moment,
            importance=round(rng.random(), 2),
            entities=(other, project),
            relations=(Relation(actor, "works_on", project),) if i % 20 == 0 else (),
            thread=f"thread-{i // THREAD_LENGTH}",
            position=i % THREAD_LENGTH,
        )


def _code(i: int) -> str:
    """A made-up reference, different for every `i` below 10 million: `cx0079190`."""
    return f"{'bcdfghjklm'[i // CODE_EVERY % 10]}x{i * 7_919 % 10_000_000:07d}"


def _sentence(rng: random.Random, about: Sequence[str], other: str, project: str, moment: datetime) -> str:
    body: list[str] = []
    for word in about:
        body.append(word)
        if rng.random() < 0.6:
            body.append(rng.choice(_SMALL))
    phrase, verb = " ".join(body), rng.choice(_VERBS)
    day = f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    forms = (
        f"We {verb} {phrase} with {other} for {project}.",
        f"{other} {verb} {phrase}, and {project} waits until {day}.",
        f"I {verb} {phrase}; {other} wants it in {project}.",
        f"On {day} {other} {verb} {phrase} {project}.",
    )
    return rng.choice(forms)


def synthetic_queries(plan: str, n: int, seed: int = 0) -> list[str]:
    """`n` queries of the kind that `plan` serves. Read them against `END` as the present.

    Which plan a query really gets is the planner's decision on the memories at hand; report that one.

    Raises:
        InvalidArgument: an unknown plan, or a negative `n`.
    """
    if plan not in _KINDS or n < 0:
        raise InvalidArgument(f"Use n >= 0 and one of the plans {', '.join(PLANS)}, not {plan!r} and {n}.")
    rng = random.Random(f"{plan}/{seed}")
    return [_KINDS[plan](rng) for _ in range(n)]


def _common(rng: random.Random) -> str:
    return rng.choice(_TOPICS[:30])


def _rare(rng: random.Random) -> str:
    return vocabulary()[rng.randrange(len(vocabulary()) // 2, len(vocabulary()))]


def _name(rng: random.Random) -> str:
    return _pick(rng, people(), NAME_SHIFT, 1)[0]


def _project(rng: random.Random) -> str:
    return f"Project {_pick(rng, _PROJECTS, NAME_SHIFT, 1)[0]}"


def _precise(rng: random.Random) -> str:
    when = rng.choice(("yesterday", "last week", "last month"))
    return f"Which {_rare(rng)} {_rare(rng)} preference did {_name(rng)} tell {_name(rng)} {when}?"


def _entity_centric(rng: random.Random) -> str:
    return rng.choice(
        (
            f"What did {_name(rng)} say about the {_common(rng)}?",
            f"Who works with {_name(rng)} on {_project(rng)}?",
            f"What does {_name(rng)} think of {_project(rng)}?",
        )
    )


def _temporal(rng: random.Random) -> str:
    month = rng.choice(_MONTHS)
    return rng.choice(
        (
            f"What happened with the {_common(rng)} last week?",
            f"What was the {_common(rng)} about in {month} 2025?",
            f"Which {_common(rng)} did we talk about yesterday?",
            f"{_common(rng)} between 3 and 17 {month} 2024",
        )
    )


def _precision(rng: random.Random) -> str:
    code = _code(rng.randrange(100) * CODE_EVERY)
    return rng.choice((f"where is {code} {_rare(rng)}?", f"{code} {_rare(rng)}"))


def _exploratory(rng: random.Random) -> str:
    return f"{rng.choice(_QUERY_OPENERS)} {_common(rng)} and {_common(rng)}"


def _balanced(rng: random.Random) -> str:
    # A misspelt name: an entity that is likely, but not sure enough to anchor an entity-centric plan.
    first, last = _name(rng).split()
    while len(first) < 5:
        first, last = _name(rng).split()
    at = rng.randrange(1, len(first) - 1)
    typo = first[:at] + first[at + 1] + first[at] + first[at + 2 :]
    return f"what has {typo} {last[:-2]}{last[-1]} got on the {_common(rng)} and the {_common(rng)}?"


_KINDS: Mapping[str, Callable[[random.Random], str]] = {
    "precise": _precise,
    "entity_centric": _entity_centric,
    "temporal": _temporal,
    "precision": _precision,
    "exploratory": _exploratory,
    "balanced": _balanced,
}
