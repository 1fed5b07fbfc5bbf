"""What a question says of its time besides its verb: "now", "back then", "before I moved to Lisbon", "over time"."""

from __future__ import annotations

from recall_integrations.facts.asking_words import forms_of

_NOW, _STILL, _THEN, _BEFORE, _HISTORY, _AGAIN, _NOTHING = "now", "still", "then", "before", "history", "again", ""


def _adverbs(**phrases: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    made: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for kind, listed in phrases.items():
        for phrase in listed.split(","):
            words = tuple(phrase.split())
            made.setdefault(words[0], []).append((words, "" if kind == "nothing" else kind))
    for rows in made.values():
        rows.sort(key=lambda row: -len(row[0]))
    return made


ADVERBS = _adverbs(
    now="now, right now, nowadays, currently, these days, at the moment, at present, presently, today, by now, "
    "at this point, at this moment, at this time, this week, this month, this year, as of now, as of today, lately, "
    "at the minute, anymore, any more, any longer",
    still="still",
    then="back then, at the time, at that time, in those days, at that point, back in the day, in the old days, "
    "at first, in the beginning, originally, initially, by then",
    before="before, before that, before this, before then, before now, previously, formerly, beforehand, earlier, "
    "in the past, prior to that, prior to this, earlier on, up to now before",
    history="so far, over time, over the years, over the months, over the last years, to date, until now, up to now, "
    "up until now, till now, through the years, throughout the years, through time, with time, in my life, "
    "throughout my life, in total, in order, chronologically, ever, all along",
    again="again",
    nothing="please, exactly, actually, anyway, btw, by the way, thanks, thank you, though, usually, precisely, "
    "for me, if you know, if you remember, do you know, do you remember, do you recall, you know, "
    "already, always, officially, "
    "full time, full-time, part time, part-time, as of yet, there, mainly, just, quickly, really, even, all",
)
CLAUSES = frozenset("before while whilst when during after until till prior as back whenever since".split())
PREPOSITIONS = frozenset(
    "in on at by around over last throughout early late mid a past two three four five six seven eight nine ten".split()
)
_HARD = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday week weeks weekend "
    "month months year "
    "years day days quarter spring summer autumn fall winter christmas easter thanksgiving halloween yesterday morning "
    "evening night afternoon eve year's ago decade century childhood college school university birth q1 "
    "q2 q3 q4".split()
)
_SOFT = frozenset(
    "in on at by around the of early late mid middle beginning start end during last this that past previous next "
    "two three four five six seven eight nine ten a an few couple several some over throughout from to and between my "
    "new year's years' eve half first second third fourth or so about for back".split()
)

_ANY_TAIL = CLAUSES | PREPOSITIONS | {"yesterday", "ago"}
_ANY_TIME = _ANY_TAIL | frozenset(ADVERBS)


class Hints:
    """What was read of a question's time.

    Args:
        kinds: of its adverbs and clauses.
        before: the value whose end is meant; `None` = there is no such clause.
        during: the value in whose time is meant.
    """

    __slots__ = ("before", "during", "kinds")

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.before: str | None = None
        self.during = ""


def read_time(words: list[str], low: list[str], windowed: bool) -> tuple[list[str], list[str], Hints]:
    """A question without what it says of its time, and what that was.

    Args:
        words: of the question.
        low: the same in lower case.
        windowed: whether it names a time.
    """
    hints = Hints()
    found = {word.rstrip(",") for word in low}
    if found.isdisjoint(_ANY_TIME):
        return words, low, hints
    words, low = _leading(words, low)
    if not found.isdisjoint(_ANY_TAIL):
        end = _tail(words, low, windowed, hints)
        words, low = words[:end], low[:end]
    if ADVERBS.keys().isdisjoint(low):
        return words, low, hints
    kept: list[int] = []
    at = 0
    while at < len(low):
        length = 0
        for phrase, kind in ADVERBS.get(low[at], ()):
            if tuple(low[at : at + len(phrase)]) == phrase and _adverb_here(low, at, len(phrase), kind):
                length = len(phrase)
                if kind:
                    hints.kinds.add(kind)
                break
        if not length:
            kept.append(at)
        elif kept and low[kept[-1]].endswith(","):
            words[kept[-1]], low[kept[-1]] = words[kept[-1]].rstrip(","), low[kept[-1]].rstrip(",")
        at += length or 1
    if len(kept) < len(low):
        words, low = [words[i] for i in kept], [low[i] for i in kept]
    return words, low, hints


def _adverb_here(low: list[str], at: int, length: int, kind: str) -> bool:
    """Whether a phrase is an adverb at its place: "earlier" before a noun is what the noun is told by."""
    if kind == _NOTHING and low[at] in ("all", "there", "even", "just"):
        return at + length == len(low) or (low[at] == "all" and at == 1)
    if low[at] == "earlier":
        return at + length == len(low)
    return True


def _leading(words: list[str], low: list[str]) -> tuple[list[str], list[str]]:
    """A time that stands first put last: "in March, where did I live?"."""
    if low[0] in CLAUSES or low[0] in PREPOSITIONS:
        for at in range(1, min(len(words), 12)):
            if words[at].endswith(",") and at + 1 < len(words):
                order = [*range(at + 1, len(words)), *range(at + 1)]
                return [words[i].rstrip(",") for i in order], [low[i].rstrip(",") for i in order]
    return words, low


def _tail(words: list[str], low: list[str], windowed: bool, hints: Hints) -> int:
    """Where what tells the time begins, behind the question itself; what it says goes to the hints."""
    for at in range(2, len(low)):
        word = low[at].rstrip(",")
        if word in CLAUSES and _clause(words, low, at, windowed, hints):
            return at
        if (word in PREPOSITIONS or word == "yesterday" or word.isdigit()) and is_time(low[at:]):
            hints.kinds.add(_THEN)
            return at
    return len(low)


def is_time(low: list[str]) -> bool:
    """Whether words tell a time and nothing else: "in late March 2024"."""
    hard = False
    for word in low:
        bare = word.strip(",")
        if bare in _HARD or (bare[:4].isdigit() and 4 <= len(bare) <= 10):
            hard = True
        elif not (bare in _SOFT or bare[:1].isdigit()):
            return False
    return hard and len(low) <= 10


def _clause(words: list[str], low: list[str], at: int, windowed: bool, hints: Hints) -> bool:
    """Whether a clause of time begins here; what it says goes to the hints."""
    word, rest = low[at], low[at + 1 :]
    if word == "prior":
        return rest[:1] == ["to"] and _before(words, low, at + 1, hints)
    if word == "back":
        if rest[:1] == ["when"]:
            return _while(words[at + 2 :], rest[1:], hints)
        return (rest[:1] in (["in"], ["at"], ["then"], ["on"]) or is_time(rest)) and _then(hints)
    if word == "as":
        if rest[:1] in (["of"], ["at"]):
            return rest[1:] not in (["now"], ["today"]) and is_time(rest[1:]) and _then(hints)
        return rest[:1] == ["a"] and rest[1:] in (["child"], ["kid"], ["student"], ["teenager"]) and _then(hints)
    if word == "since":
        if is_time(rest):
            hints.kinds.add(_HISTORY)
        return is_time(rest)
    if word in ("until", "till") and rest[:1] == ["now"]:
        return False
    if word == "before":
        return _before(words, low, at, hints)
    if not rest:
        return False
    if is_time(rest):
        return _then(hints)
    return word in ("when", "while", "whilst", "after") and _while(words[at + 1 :], rest, hints)


def _then(hints: Hints) -> bool:
    hints.kinds.add(_THEN)
    return True


_YOUNG = frozenset("child kid teenager student young younger little single married small boy girl".split())


def _while(words: list[str], low: list[str], hints: Hints) -> bool:
    """Whether a clause tells of a state or its beginning: "I lived in Rome", "I was a child", not "she called"."""
    if low[:1] and low[0] in ("i", "we", "he", "she", "they") and low[1:2]:
        verb = low[2] if low[1] in ("was", "were", "still", "first") and low[2:3] else low[1]
        base = _base(verb)
        if low[1] in ("was", "were") and low[-1] in _YOUNG:
            return _then(hints)
        if base in _ENTERED and verb != base and len(low) <= 8:
            hints.during = _value_of(words, low)
            return _then(hints)
        return low[1] in ("was", "were") and low[2:3] in (["in"], ["at"], ["with"]) and len(low) <= 6 and _then(hints)
    return low[:1] != [] and low[0] in ("living", "working", "studying", "moving") and len(low) <= 6 and _then(hints)


def _base(verb: str) -> str:
    base = forms_of([verb])
    return {"changed": "change", "switched": "switch", "bought": "buy", "was": "be", "were": "be"}.get(base, base)


def _before(words: list[str], low: list[str], at: int, hints: Hints) -> bool:
    rest = low[at + 1 :]
    if not rest or rest in (["that"], ["this"], ["then"], ["now"]):
        return False  # an adverb
    if not is_time(rest):
        clause = rest[0] in ("i", "we", "he", "she", "they", "my", "the", "our") or rest[0] in _MOVING
        if clause and not any(_base(word) in _ENTERED or word in _CHANGES for word in rest[:5]):
            return False
        if not clause and (rest[0].endswith("ing") or len(rest) > 4):
            return False
        hints.before = _value_of(words[at + 1 :], rest)
    return _then(hints)


_CHANGES = frozenset("change move switch moving".split())


_ENTERED = {
    "move": ("to", "into", "in", "back"),
    "relocate": ("to",),
    "live": ("in", "at"),
    "work": ("at", "for", "as"),
    "start": ("at", "as", "with", "working"),
    "join": (),
    "become": (),
    "switch": ("to",),
    "change": ("to", "it"),
    "get": (),
    "go": ("to",),
    "be": ("at", "in", "with", "living", "working", "for"),
    "buy": (),
    "study": ("at", "in"),
    "drive": (),
    "use": (),
    "have": (),
}
_MOVING = {"moving": "move", "relocating": "relocate", "joining": "join", "becoming": "become", "switching": "switch"}
_NO_VALUES = frozenset(
    "it that this then there here again the change move job jobs married engaged divorced one started "
    "home house houses "
    "place places apartment apartments flat flats city cities".split()
)


def _value_of(words: list[str], low: list[str]) -> str:
    """The value that a clause names: `Lisbon` of "I moved to Lisbon"; empty = none."""
    at, verb = _verb_of(low)
    if not verb and low[:1] and low[0] in ("i", "we", "he", "she", "they", "it"):
        return ""
    if verb == "be" and low[at : at + 1] not in (["at"], ["in"], ["with"], ["living"], ["working"]):
        return ""
    while verb and at < len(low) and low[at] in _ENTERED[verb]:
        at += 1
    if verb and verb != "be" and at < len(low) and low[at] in ("at", "for", "in", "to"):
        at += 1
    value = words[at:]
    while value and value[0].lower() in ("the", "a", "an", "my", "our", "new"):
        value = value[1:]
    if not value or value[0].lower() in _NO_VALUES or len(value) > 4:
        return ""
    return " ".join(value).strip(" ,.;:!?\"'")


def _verb_of(low: list[str]) -> tuple[int, str]:
    """Where the verb of a clause ends, and what it is; an empty one if there is none."""
    if low[:1] and low[0] in ("my", "the", "our") and low[1:2] and low[1] in ("move", "change"):
        return 2, "move"
    if low[:1] and low[0] in _MOVING:
        return 1, _MOVING[low[0]]
    for i in range(1, min(len(low), 4)):
        base = _base(low[i])
        if base in _ENTERED:
            return i + 1, base
    return 0, ""
