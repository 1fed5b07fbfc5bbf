"""What a note tells of a slot, once a cue and values are found: of whom, whether nothing weighs that is left over."""

from __future__ import annotations

from recall_integrations.facts.cue_words import VERBS
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.notes.cues import Cue
from recall_integrations.facts.rules.notes.finding import ADVERBS, SHAPED, STRICT, Found, are_strong, astray, titled
from recall_integrations.facts.rules.notes.ops import change_of, is_correction, op_of
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT

LOOSE = 0.67  # what confidence is multiplied with: .6 in the end
NOTE_MAX = 120  # characters of a text whose fragments are the speaker's
ANCHORED_ROOM = 4  # words that may be left over beside a noun with its owner and a value with a digit or a capital
_THINGS = frozenset(("deadline", "launch_date", "location", "owner", "version", "price", "budget", "status"))
_OF_THINGS_ONLY = frozenset(("launch_date", "location", "owner", "version", "price", "budget"))
# Words that may stand between the noun of a slot and its value, where the value could be many things.
LEADS = {
    "employer": ("at", "with", "for"), "gym": ("at",), "bank": ("with", "at"), "home": ("in",), "school": ("at",),
    "location": ("in", "at"), "insurer": ("with", "by"), "mobile_provider": ("with",), "rent": ("of", "at"),
    "deadline": ("on", "by"), "budget": ("of", "at"), "version": ("on", "v"), "job": ("as",), "doctor": ("with",),
    "dentist": ("with",), "birthday": ("on",), "time_zone": ("on",), "allergy": ("to",), "owner": ("by",),
    "partner": ("with",), "hometown": ("in",), "launch_date": ("on",), "phone_number": ("on", "at", "under"),
    "email": ("at", "to"), "address": ("at", "to"), "wifi_password": ("with",), "price": ("at", "of", "for"),
    "roommate": ("with",), "learning": ("in",), "language": ("in",), "coach": ("with", "by"), "salary": ("of", "at"),
}  # fmt: skip
KIN_SLOTS = frozenset("parent child sibling colleague friend pet".split())
_BETWEEN = frozenset("the a an my our now currently just still also only me is".split())
EQUALS = frozenset((":", "=", "-", "–", "—")) | known.ARROWS
BONDS = known.ARROWS | frozenset(
    "is was are were : = - – — ? as it's that's called named ( be became becomes remains stays to of with at in on by for would than".split()
)


def settle(
    note: Note, slot: str, kind: str, cue: Cue, found: list[Found], free: list[int], anchored: bool = False
) -> bool:
    """Finds out who, what and how, and keeps it if nothing is left over."""
    covered = {i for each in found for i in range(each.first, each.stop)}
    left = [i for i in free if i not in covered]
    subject, found, left = subject_of(note, slot, kind, cue, found, left)
    if subject is None or not found or len(found) > 2:
        return False
    room = ANCHORED_ROOM if anchored and are_strong(note, slot, kind, found) else _room(note, kind, subject)
    if len(left) > room or any(note.capital(i) for i in left):
        return False
    if cue.after >= 0 and not (_leads(note, cue.after, found) and (subject != ME or note.mine or _going(note, cue))):
        return False
    if any(astray(note, slot, kind, f) for f in found):
        return False
    if len(found) == 2:
        change = change_of(note, found[0], found[1])
        if change is None:
            return False
        old, new, corrects = change
        return say(note, slot, new.value, subject, IS, old.value[0], corrects)
    if cue.after < 0 and not linked(note, slot, kind, cue, found[0], anchored and kind != "any"):
        return False
    op = op_of(note, slot, found[0], cue)
    return op is not None and say(note, slot, found[0].value, subject, op, "", is_correction(note))


def _room(note: Note, kind: str, subject: str) -> int:
    """How many words may be left over."""
    mine = note.mine or subject != ME
    if kind in STRICT:
        return 3 if mine else 1
    return 1 if kind in SHAPED and mine else 0


def subject_of(
    note: Note, slot: str, kind: str, cue: Cue, found: list[Found], left: list[int]
) -> tuple[str | None, list[Found], list[int]]:
    """Whom it is of, and the values and words without that."""
    if note.owned or note.mine:
        if slot in _OF_THINGS_ONLY and note.subject == ME:
            return None, found, left
        return note.subject, found, left
    begin = 1 if note.low[0] == "the" else 0
    named = [f for f in found if titled(note, f)]
    runs = _runs(left)
    for run in runs:  # "for Priya", "of Project Kestrel", "Priya: …"
        before = note.low[run[0] - 1] if run[0] else ""
        lead = before == "the" and run[0] > 1 and note.low[run[0] - 2] in ("for", "of", "on")
        if run[0] == begin or before in ("for", "of") or lead:
            whole = [i for i in run if note.tokens[i].text[0].isupper() or slot in _THINGS]
            if len(whole) == len(run) and len(run) <= 3 and (note.is_name(run[0]) or slot in _THINGS):
                if not note.is_name(run[0]) and slot not in _THINGS:
                    continue
                if slot in _OF_THINGS_ONLY and not _thingy(note, run) and before not in ("for", "of", "the"):
                    return None, found, left
                if cue.after < 0 and run[-1] == cue.places[0] - 1 and (slot not in _THINGS or len(run) < 2):
                    return None, found, left  # "Pickup code", "Repair location"
                return name_of(note, run, before, lead), found, [i for i in left if i not in run]
    if named and len(found) > 1:
        who = next((f for f in named if f.first == begin), None)
        if who is None:
            who = next((f for f in named if note.low[f.first - 1] in ("for", "of")), None)
        if who is None and cue.after < 0 and kind == "person" and named[-1] is found[-1]:
            return None, found, left
        if (
            who is not None
            and cue.after < 0
            and (slot not in _THINGS or not _thingy(note, [*range(who.first, who.stop)]))
        ):
            if who.stop == cue.places[0] or slot in _OF_THINGS_ONLY:
                return None, found, left
        if who is not None and (len(found) == 3 or change_of(note, found[0], found[1]) is None):
            rest = [f for f in found if f is not who]
            if note.text[who.value[1] : who.value[2]]:
                return name_of(note, list(range(who.first, who.stop)), "the" * begin, False), rest, left
    if slot in _OF_THINGS_ONLY:
        return None, found, left
    return ME, found, left


def _thingy(note: Note, run: list[int]) -> bool:
    """Whether words can name a thing: one word only with a digit in it, or before a colon."""
    text = note.tokens[run[0]].text
    nxt = note.low[run[-1] + 1 : run[-1] + 2]
    return (
        len(run) > 1
        or any(c.isdigit() for c in text)
        or bool(nxt and nxt[0] in EQUALS)
        or note.low[run[0] - 1 : run[0]] == ["the"]
    )


def name_of(note: Note, run: list[int], before: str, lead: bool) -> str:
    """The name that these words are, with its article."""
    name = " ".join(note.tokens[i].text for i in run)
    the = (before == "the" or lead) or not note.tokens[run[0]].text[0].isupper()
    return f"the {name}" if the else name


def _leads(note: Note, after: int, found: list[Found]) -> bool:
    """Whether a value follows its verb."""
    at = after
    while at < len(note.low) and (note.low[at] in _BETWEEN or note.low[at] in ("'s",)):
        at += 1
    if any(each.first in (after, at) for each in found):
        return True
    return found[0].stop <= after and bool(
        {"what", "where", "who", "which", "one"} & set(note.low[found[0].stop : after])
    )


def _going(note: Note, cue: Cue) -> bool:
    """Whether a verb without a subject can be the speaker's: "working at", "insured with", not an imperative."""
    verb = note.low[cue.places[0]]
    if verb.endswith(("ing", "ed")) or verb in ("born", "under", "payroll", "on"):
        return not known.HOLDS.isdisjoint(note.low) or "these" in note.low or len(cue.places) > 1 or len(note.low) < 5
    return len(cue.places) > 1 and not _is_base(verb)


def linked(note: Note, slot: str, kind: str, cue: Cue, found: Found, anchored: bool) -> bool:
    """Whether what stands before a value does not make it something else: "gym with Sam", "job in Berlin"."""
    if kind in STRICT:
        return True
    at = found.first - 1
    while at >= 0 and note.low[at] in ("the", "a", "an", "my", "our"):
        at -= 1
    before = note.low[at] if at >= 0 else ""
    behind = note.low[found.stop] if found.stop < len(note.low) else ""
    between = _between(note, cue, found)
    if {low for low in between if low in known.PREPOSITIONS} - {"of", "for", "as", "by", *LEADS.get(slot, ())}:
        if not (between[-1:] == ["to"] and not known.CHANGING.isdisjoint(note.low)):
            return False
    if before in known.PREPOSITIONS and before not in LEADS.get(slot, ()):
        if not (before == "to" and not known.CHANGING.isdisjoint(note.low[:at])) and before != "as":
            return False
    if behind in known.PREPOSITIONS and kind not in SHAPED and behind not in ("as", "for", "in", "by", "of"):
        return False
    if kind in ("any", "name", "thing", "code", "team", "activity", "subject", "organisation", "person", "place"):
        return (anchored and titled(note, found)) or marked(note, slot, kind, cue, found)
    return True


def _between(note: Note, cue: Cue, found: Found) -> list[str]:
    if cue.places[0] > found.first:
        return note.low[found.stop : cue.places[0]]
    return note.low[cue.places[-1] + 1 : found.first]


def marked(note: Note, slot: str, kind: str, cue: Cue, found: Found) -> bool:
    """Whether something says that a noun and a value belong together: "gym: Ironworks", "Berlin is home now"."""
    between = _between(note, cue, found)
    if slot in KIN_SLOTS and not (set(between[:1]) | set(between[-1:])) & (
        EQUALS | {"is", "was", "called", "named", ","}
    ):
        return False
    if note.tokens[cue.places[-1]].own or (cue.places[0] > found.first and note.tokens[found.stop - 1].own):
        return True
    if kind == "code" and any(c.isdigit() or c == "_" for c in found.value[0]):
        return True
    near = [low for low in between if low not in ADVERBS]
    if cue.places[0] > found.first:
        if (near and near[0] in BONDS) or (between[:1] == [","] and (note.mine or slot in note.cues.liked)):
            return True
    elif (near and near[-1] in BONDS) or (between[-1:] == [","] and (note.mine or note.owned)):
        return True
    if note.owned and not set(between) - known.SEPARATORS:
        return True
    here = set(note.low)
    if kind in ("person", "place", "organisation", "named", "titled", "code"):
        return bool(here & (known.HOLDS | {"new", "these", "call", "calls", "calling"}))
    return bool(here & (known.HOLDS | {"new"})) and not between


def say(note: Note, slot: str, value: Value, subject: str, op: str, old: str, corrects: bool) -> bool:
    """Keeps what was found, as `Reading.say`; `False` where it is nobody's, or no value.

    Args:
        note: the sentence.
        slot, value, subject, op, corrects: as of `Reading.say`.
        old: the value that it takes the place of.
    """
    if subject == ME and not note.mine and len(note.text) > NOTE_MAX:
        return False  # in a long text a line without an owner may be anything: a receipt, a message of an app
    start = note.first
    if note.reading.sentence(start)[1] < value[1]:  # "My number? 555-0101"
        start = value[1]
    if value[0].casefold() in words.EVALUATIVE | known.TALK | known.POISON:
        return False
    return note.reading.say(
        slot, value, subject, start, op=op, instead_of=old, corrects=corrects, sure=LOOSE, event=bool(old),
        until=op == NOT,
    )  # fmt: skip


def _runs(places: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _is_base(verb: str) -> bool:
    return verb in VERBS
