"""A noun with its owner beside it ("my gym", "the gym of my sister"), and the value anywhere else in the sentence."""

from __future__ import annotations

from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.notes.cues import BEFORE_NOUN, Cue
from recall_integrations.facts.rules.notes.finding import SHAPES, Found, are_strong, astray, find_values, titled
from recall_integrations.facts.rules.notes.ops import change_of, is_correction, op_of
from recall_integrations.facts.rules.notes.telling import ANCHORED_ROOM, BONDS, KIN_SLOTS, LEADS, marked, say
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.said import IS, ME

_USES = frozenset("have has use uses had used".split())
_HEADS = frozenset(
    "place spot height width length weight slot bay shift shop half bank tool app time size number".split()
)
_LIGHT = frozenset(
    "ceased cease happens happen asking asks gets forms form wants people file files aside asked dial enter type wear answer"
    " answers comes case thinking write tell give today's whoever random thought note-to-self passing mind bit speaking"
    " regards regarding terms regard respect concerning question topic subject mention worth knowing knows"
    " correctly rightly nothing everything ever likewise otherwise sure quite so-called exactly precisely said sake rest guess"
    " been become ends ended up way sticking stick sticks stuck pretty surprise surprisingly of-course back scenes there"
    " looks look mixed messed got-it-wrong corrected true truth fact told earlier one ones other others there's"
    " bye goodbye farewell hello welcome meet enter hail long live superseded succeeded replaced by retire retires".split()
)
_ASTRAY = frozenset("with near from about after before around behind without like at in on to".split())


def read_anchors(note: Note) -> bool:
    """ "My gym", "Priya's locker code", "the gym of my sister", with the value anywhere else in the sentence."""
    low, owned = note.low, note.owned
    if owned:
        return _anchor(note, max(owned) + 1, note.subject, owned)
    for i, word in enumerate(low):
        if word in ("my", "our") and _anchor(note, i + 1, ME, frozenset((i,))):
            return True
    if note.mine and "as" in low and _anchor(note, low.index("as") + 1, ME, frozenset()):
        return True
    for i in range(1, len(low) - 1):
        if low[i] in ("of", "for") or (low[i + 1] in _USES and (low[i] in ("i", "we") or note.capital(i))):
            whose = _behind(note, i)
            if whose is None:
                continue
            begin = _noun_before(note, i)
            if begin is None or not (_is_noun(note, begin, i)):
                continue
            after = note.low[max(whose[1]) + 1 : max(whose[1]) + 2]
            plain = " ".join(note.low[begin:i]) in note.reading.slots.of_noun
            if (plain or (after and (after[0] in BONDS or after[0] in known.CHANGING))) and _at(note, begin, i, *whose):
                return True
    return False


def read_others(note: Note) -> bool:
    """ "Tom went with Zed as his editor", "Zed is what Tom has as his editor": somebody is named before "his"."""
    at = next((i for i, low in enumerate(note.low) if low in ("his", "her", "their", "its")), 0)
    if not at:
        return False
    for i in range(at - 1):
        kin = note.low[i] in ("my", "our") and note.low[i + 1] in words.RELATIONS
        if not kin and not (note.is_name(i) or note.capital(i)):
            continue
        end = i + 1 + kin
        while end < at and not kin and note.capital(end):
            end += 1
        if i and note.low[end] not in _USES:
            continue
        name = " ".join([*note.low[i:end]] if kin else [t.text for t in note.tokens[i:end]])
        return _anchor(note, at + 1, name, frozenset((*range(i, end), at)))
    return False


def _behind(note: Note, i: int) -> tuple[str, frozenset[int]] | None:
    """Who stands behind "of" and "for", or is who uses it."""
    low = note.low
    if low[i] not in ("of", "for", "i", "we"):
        return note.tokens[i].text, frozenset((i, i + 1))
    if low[i] in ("i", "we"):
        return ME, frozenset((i, i + 1))
    if low[i + 1] in ("me", "mine", "us", "ours"):
        return ME, frozenset((i, i + 1))
    end = i + 1
    if low[end] in ("my", "our"):
        end += 1
        while end < len(low) and low[end] in words.RELATION_ADJECTIVES:
            end += 1
        if end >= len(low) or low[end] not in words.RELATIONS:
            return None
        return f"my {' '.join(low[i + 2 : end + 1])}", frozenset(range(i, end + 1))
    the = low[end] == "the"
    end += the
    first = end
    while end < len(low) and (note.capital(end) or (the and note.noun_word(end))) and end - first < 3:
        end += 1
    if end == first or (not the and low[first] in words.NOT_NAMES):
        return None
    return " ".join(t.text for t in note.tokens[first - the : end]), frozenset(range(i, end))


def _noun_before(note: Note, i: int) -> int | None:
    begin = i
    while begin and i - begin < 4 and _nounish(note, begin - 1):
        begin -= 1
    while begin < i and note.low[begin] in BEFORE_NOUN:
        begin += 1
    return begin if begin < i else None


def _nounish(note: Note, j: int) -> bool:
    low = note.low[j]
    if not low.replace("-", "").isalpha() or (note.capital(j) and not note.tokens[j].text.islower()):
        return False
    if low in known.MILD or low in known.ENDED or low.endswith("ly"):
        return False
    return low in words.ATTRIBUTE_HEADS or low in _HEADS or low in note.cues.first or not note.weightless(j)


def _anchor(note: Note, begin: int, subject: str, owner: frozenset[int]) -> bool:
    while begin < len(note.low) and note.low[begin] in BEFORE_NOUN and not _is_noun(note, begin, begin + 2):
        begin += 1
    end = begin
    while end < len(note.low) and end - begin < 4 and _nounish(note, end):
        end += 1
    for stop in range(end, begin, -1):
        if _is_noun(note, begin, stop) and (stop == end or note.low[begin:stop][-1] in note.cues.nouns):
            return bool(_at(note, begin, stop, subject, owner))
    return False


def _is_noun(note: Note, begin: int, stop: int) -> bool:
    phrase = " ".join(note.low[begin:stop])
    return phrase in note.reading.slots.of_noun or phrase in note.cues.nouns or (
        1 < stop - begin <= len(note.low) - begin and (note.low[stop - 1] in words.ATTRIBUTE_HEADS or note.low[stop - 1] in _HEADS)
    )  # fmt: skip


def _at(note: Note, begin: int, stop: int, subject: str, owner: frozenset[int]) -> bool:
    """Whether the rest of the sentence is a value of the slot that these words name."""
    phrase = " ".join(note.low[begin:stop])
    if phrase in note.reading.slots.of_noun:
        names: tuple[str, ...] = (note.reading.slots.of_noun[phrase],)
    elif phrase in note.cues.nouns:
        names = tuple(n for n in note.cues.nouns[phrase] if n not in note.cues.liked)
    else:
        names = slots_called(phrase, note.reading.slots)[:1]
    if (
        not names
        or open_name(phrase) in words.OPEN_NOT
        or any(w in words.EVALUATIVE - {"favourite", "favorite"} for w in phrase.split())
    ):
        return False
    used = {*owner, *range(begin, stop)}
    first = min(used)
    if first and note.low[first - 1] in ("in", "at", "near", "from", "around", "about") and names[0] not in LEADS:
        return False  # "a run in our neighbourhood"
    free = [i for i in range(len(note.tokens)) if i not in used and (not _light(note, i) or _unit(note, i))]
    for name in names:
        have = note.reading.slots.get(name)
        kind = have.kind if have else "any"
        found = _rest(note, name, kind, free, used)
        if found and _told_of(note, name, kind, found, free, subject, Cue((), tuple(range(begin, stop)), -1)):
            return True
    return False


def _light(note: Note, i: int) -> bool:
    if note.weightless(i):
        return True
    return not note.capital(i) and (note.low[i] in known.MILD or note.low[i] in _LIGHT)


def _unit(note: Note, i: int) -> bool:
    return i > 0 and note.low[i] in ("am", "pm") and note.tokens[i - 1].text[-1].isdigit()


def _rest(note: Note, name: str, kind: str, free: list[int], used: set[int]) -> list[Found]:
    found = find_values(note, name, kind, free, used)
    if kind != "any" or name in SHAPES or not found:
        return found
    strong = [f for f in found if any(c.isdigit() for c in f.value[0]) or titled(note, f)]
    if strong and len(strong) < len(found):
        return strong
    return found


def _told_of(note: Note, name: str, kind: str, found: list[Found], free: list[int], subject: str, cue: Cue) -> bool:
    covered = {i for each in found for i in range(each.first, each.stop)}
    left = [i for i in free if i not in covered]
    strong = are_strong(note, name, kind, found) or all(f.value[0].casefold() in words.COLOURS for f in found)
    if any(astray(note, name, kind, f) for f in found):
        return False
    if len(found) > 2 or len(left) > (ANCHORED_ROOM if strong else 0) or any(note.capital(i) for i in left):
        return False
    if len(found) == 2:
        change = change_of(note, found[0], found[1])
        if change is None:
            return False
        return say(note, name, change[1].value, subject, IS, change[0].value[0], change[2])
    if (not strong or name in KIN_SLOTS) and not marked(note, name, kind, cue, found[0]):
        return False
    at = found[0].first - 1
    before = note.low[at] if at >= 0 and note.low[at] not in ("the", "a", "an") else note.low[at - 1] if at > 0 else ""
    if before == "with" and {"replaced", "replace", "swapped", "swap", "went", "replacing"} & set(note.low):
        before = ""
    if before in _ASTRAY and before not in LEADS.get(name, ()) and not any(c.isdigit() for c in found[0].value[0]):
        return False
    op = op_of(note, name, found[0], cue)
    return op is not None and say(note, name, found[0].value, subject, op, "", is_correction(note))
