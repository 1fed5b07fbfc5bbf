"""Questions of any wording in which the noun of a slot has its owner beside it: "any idea what my locker code"
" might be?".

    owner ─ noun (or noun ─ "of", "for" ─ owner) ─ what follows it makes it nothing else ─ a mode by its words

The other words may be what they like, but few, and none that asks for something else: advice, what was said or done.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.cue_words import Cues, cues_of
from recall_integrations.facts.open_names import open_name, singular, slots_called
from recall_integrations.facts.rules import words as known
from recall_integrations.facts.rules.loose_words import MILD, TALK
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import OPEN, Slots

CHARS_MAX, WORDS_MAX, UNKNOWN_MAX = 120, 18, 2
SURE, OPEN_SURE = 0.6, 0.55
_EDGES = '.,;:!?…"“”()[]'


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEVER = _set(
    "best worst recommend recommended suggest suggested advice think thinks thought say says said feel feels"
    " feeling why because buy bought fix"
    " repair cancel write draft translate compare better than improve reset renew delete remove cook wear safe"
    " strong slow weather"
    " opinion talk talked discuss discussed mention mentioned gave tips appointment appointments interview"
    " party trip gift present"
    " explain describe summarize summary meeting meetings visit afraid message messages email-to call called"
    " plan plans cost-of"
    " near nearest nearby helped help hurt sick broken broke lost stolen happy sad angry worried love hate"
    " enjoy enjoyed fight"
    " argue argued met leaked protect secure set-up install learn teach trust like-best best-way want wants"
    " wanted if don't dont"
    " not won't can't weekend tomorrow tonight yesterday's made make makes told taught"
)
_ASK = _set(
    "what whats what's which who whos who's whom whose where where's when when's how how's is are am was were"
    " be been being do does"
    " did have has had having any idea ideas might could would should can may will you i we us me my mine our"
    " it it's its that that's"
    " this those these there the a an of for to in on at with by as under from up out through off again please"
    " pls so and or but ok"
    " okay hey hi now currently nowadays days moment today still current new newest latest right exact exactly"
    " actual quick just one"
    " need show tell remind give look fetch find bring pull know remember recall forget forgot forgotten get"
    " got go goes going went"
    " come comes read reads put down fill form forms record file hold holds called named use uses used here"
    " else once more"
    " long much many he she his her him they their anything something goes over run walk take trace list all"
    " every each kind"
    " way back looking then thing got say under answer type thanks really also ones no recently lately last question"
)
_HISTORY = _set(
    "history timeline evolution evolved evolve develop developed developing development trace retrace"
    " chronology chronological"
    " chronologically recap oldest sequence succession log gone became news different change changed changes"
    " changing order walk run"
    " through years ever versions everything far time happened happen happens shift shifted past journey track"
    " all every each list"
)
_SURELY_HISTORY = _set(
    "history timeline evolution evolved evolve develop developed development trace retrace chronology"
    " chronological chronologically"
    " recap oldest sequence succession log different changed changes change versions shifted became"
)
_BEFORE = _set(
    "before previous previously earlier prior former formerly old older past replaced replace preceded until"
    " till beforehand came along"
)
_WHEN = _set(
    "when since date day long month year first start started begin began turn turned become became came come"
    " switch switched exactly"
    " change changed what from moment point how by replaced took effect kick kicked into"
)
_FOLLOW = _set(
    "might could would should read reads look looks looked be prior until till turned ever developed during"
    " like stand stands next"
    " evolve shift at present for on as with goes go went come came replace replaced took through by right if"
)
_TIMES = _set(
    "january february march april may june july august september october november december monday tuesday"
    " wednesday thursday friday"
    " saturday sunday spring summer autumn fall winter week weeks month months year years day days ago last"
    " this early late mid"
    " beginning end middle start during around yesterday christmas easter quarter half first second third"
    " weekend back time in of"
)
_HEADS = _set("place spot height width length weight slot bay shift shop half bank tool app time size number")
_BEFORE_NOUN = _set(
    "new current own old former previous latest main only usual first present last newest actual past earlier exact"
)
_WH = _set("what whats what's which who who's how when where tell remind show give since from any so list walk run")
_YES_NO = _set("do does did is are am was were has have had can could should would will may")
_ROLES = _set(
    "boss manager partner doctor dentist therapist landlord landlady lawyer accountant coach trainer vet wife"
    " husband girlfriend boyfriend mentor roommate flatmate housemate"
)
_VERBS = _set("do does did has have had should can went goes will must use uses used")


class _Anchor(NamedTuple):
    subject: str
    noun: tuple[int, int]
    places: frozenset[int]  # of owner and noun


def asked_of_anchor(text: str, slots: Slots, *, windowed: bool) -> StateAsked | None:
    """What such a query asks; `None` = it is none.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether it names a time.
    """
    if len(text) > CHARS_MAX or "\n" in text.strip():
        return None
    raw = [token.strip(_EDGES) for token in text.replace("’", "'").split()]
    tokens = [token for token in raw if token.isalnum() or any(map(str.isalnum, token))]
    low = [token.casefold() for token in tokens]
    if not 1 < len(low) <= WORDS_MAX or not _NEVER.isdisjoint(low) or not _asks(text, low):
        return None
    cues = cues_of(slots)
    anchor = _anchor(tokens, low, slots, cues)
    return None if anchor is None else _answer(tokens, low, anchor, slots, windowed=windowed)


def _asks(text: str, low: list[str]) -> bool:
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(low)}
    asked = text.rstrip().endswith("?")
    if low[0] in _YES_NO and low[:2] not in (
        ["do", "you"],
        ["have", "you"],
        ["can", "you"],
        ["could", "you"],
        ["would", "you"],
        ["is", "there"],
    ):
        return bool({"ever", "different", "happened", "changed", "change"} & set(low)) and "i" not in low[:2]
    if low[0] in ("change", "changes", "update", "move") or low[:2] == ["how", "many"] or low[:2] == ["did", "i"]:
        return False
    if low[0] in ("who", "who's", "whos") and not {"is", "was", "been", "who's", "whos", "were"} & set(low[:4]):
        return False
    if low[:2] in (["where", "is"], ["where", "are"]) or low[0] == "where's":
        return False
    if not asked and low[0] not in _WH and {"is", "was", "are", "were", "'s"} & set(low):
        return False
    if pairs & {
        "me to",
        "need to",
        "have to",
        "how do",
        "how can",
        "how to",
        "i last",
        "should i",
        "a new",
        "how far",
        "how was",
        "how is",
        "how are",
    }:
        return "put down" in pairs or "how has" in pairs
    if low[0] in ("i'm", "i'd", "we", "my", "our") and not text.rstrip().endswith("?"):
        return len(low) <= 6 and {"is", "was", "are", "has", "have"}.isdisjoint(low)
    if low[0] in ("remember", "note", "save", "store") or (low[0] == "when" and low[1] in ("i", "we", "my")):
        return False
    return asked or low[0] in _ASK or low[0] in _HISTORY


def _anchor(tokens: list[str], low: list[str], slots: Slots, cues: Cues) -> _Anchor | None:
    for i, word in enumerate(low):
        if word in ("my", "our"):
            end = next((j for j in range(i + 1, min(i + 5, len(low))) if low[j].endswith("'s")), None)
            if (
                end is not None
                and all(w in known.RELATION_ADJECTIVES for w in low[i + 1 : end])
                and low[end][:-2] in known.RELATIONS
            ):
                found = _noun(low, end + 1, slots, cues)
                subject = " ".join(["my", *low[i + 1 : end], low[end][:-2]])
                return found and _Anchor(subject, found, frozenset(range(i, found[1])))
            found = _noun(low, i + 1, slots, cues)
            if found is not None and _free(low, i) and _named(low, found, slots):
                return _Anchor(ME, found, frozenset(range(i, found[1])))
        elif word.endswith("'s") and tokens[i][:1].isupper() and word[:-2] not in known.NOT_NAMES and word not in _ASK:
            begin = i
            while (
                begin
                and tokens[begin - 1][:1].isupper()
                and low[begin - 1] not in _ASK
                and low[begin - 1] not in _HISTORY
                and begin - 1
            ):
                begin -= 1
            found = _noun(low, i + 1, slots, cues)
            if found is not None and _free(low, begin):
                begin += (
                    begin < i
                    and not any(c.isdigit() for c in word)
                    and low[begin] in cues.known
                    and low[begin] != "project"
                )
                return _Anchor(" ".join([*tokens[begin:i], tokens[i][:-2]]), found, frozenset(range(begin, found[1])))
    return _behind(tokens, low, slots, cues)


def _named(low: list[str], noun: tuple[int, int], slots: Slots) -> bool:
    """Whether a word for somebody close asks who that is, and not for what he or she has."""
    if low[noun[1] - 1] not in known.RELATIONS or low[noun[1] - 1] in _ROLES:
        return True
    return not {"who", "who's", "whos", "name", "names", "called"}.isdisjoint(low)


def _free(low: list[str], begin: int) -> bool:
    """Whether nothing before an owner makes it a place or a means: "at my gym"."""
    before = low[begin - 1] if begin else ""
    if before == "about" and "news" in low:
        return True
    if before == "of" and low[0] in ("what", "show", "list", "give") and low[1:2] not in (["became"], ["is"], ["was"]):
        return begin < 2 or low[begin - 2] in _HISTORY or low[begin - 2] in ("remind", "me", "value", "record")
    if before == "to" and {"happened", "changes", "change"} & set(low):
        return True
    return before not in (
        "at",
        "in",
        "near",
        "to",
        "like",
        "without",
        "around",
        "behind",
        "from",
        "with",
        "on",
        "for",
        "about",
    )


def _noun(low: list[str], begin: int, slots: Slots, cues: Cues) -> tuple[int, int] | None:
    """The noun of a slot that begins here: the longest, with nothing behind it that makes it another one."""
    if begin >= len(low) or (low[begin] in _ASK and low[begin] != "name") or low[begin] in _HISTORY:
        return None
    while begin < len(low) and low[begin] in _BEFORE_NOUN and " ".join(low[begin : begin + 2]) not in slots.of_noun:
        begin += 1
    end = begin
    while (
        end < len(low)
        and end - begin < 4
        and low[end].replace("-", "").isalpha()
        and (low[end] not in _ASK or end == begin)
    ):
        end += 1
    for stop in range(min(len(low), begin + 4), begin, -1):
        phrase = low[begin:stop]
        one = singular(phrase)
        schema = " ".join(phrase) in slots.of_noun or " ".join(one) in slots.of_noun
        heads = stop - begin > 1 and stop <= end and (one[-1] in known.ATTRIBUTE_HEADS or one[-1] in _HEADS)
        if schema or heads:
            after = low[stop] if stop < len(low) else ""
            follows = (
                not after
                or after in _ASK
                or after in _FOLLOW
                or after in _HISTORY
                or after in _BEFORE
                or after in _WHEN
            )
            if not follows and not (any(c.isdigit() for c in after) or after in _TIMES):
                return None
            return begin, stop
    return None


def _behind(tokens: list[str], low: list[str], slots: Slots, cues: Cues) -> _Anchor | None:
    """ "Parking spot of my brother", "which gym does Tom have", "what number should I put down for Tom"."""
    for begin in range(len(low)):
        found = _noun(low, begin, slots, cues)
        if found is None or (begin and low[begin - 1] in ("a", "an")):
            continue
        places = range(found[1], min(found[1] + 6, len(low)))
        for i in sorted(places, key=lambda i: low[i] not in ("of", "for")):  # "… should I put down for Priya"
            if (
                low[i] not in ("of", "for", "with")
                and low[i] not in _VERBS
                and not (i == found[1] and low[i] in ("i", "my"))
            ):
                if i == found[1] and tokens[i][:1].isupper():
                    pass
                else:
                    continue
            at = i if low[i] in ("i", "my") or tokens[i][:1].isupper() else i + 1
            who = _who(tokens, low, at)
            if who is not None:
                return _Anchor(who[0], found, frozenset((*range(*found), *range(i, who[1]))))
        return None
    return None


def _who(tokens: list[str], low: list[str], at: int) -> tuple[str, int] | None:
    if at >= len(low):
        return None
    if low[at] in ("i", "me", "we", "us", "mine"):
        return ME, at + 1
    if low[at] in ("my", "our"):
        end = at + 1
        while end < len(low) and low[end] in known.RELATION_ADJECTIVES:
            end += 1
        if end < len(low) and low[end] in known.RELATIONS:
            return " ".join(["my", *low[at + 1 : end + 1]]), end + 1
        return None
    the = low[at] == "the"
    end = at + the
    while end < len(low) and end - at < 4 and (tokens[end][:1].isupper() or (the and low[end] not in _ASK)):
        end += 1
    if end == at + the or (low[at] in known.NOT_NAMES and not the):
        return None
    return " ".join(tokens[at:end]), end


def _answer(tokens: list[str], low: list[str], anchor: _Anchor, slots: Slots, *, windowed: bool) -> StateAsked | None:
    phrase = low[anchor.noun[0] : anchor.noun[1]]
    one = singular(phrase)
    plural = one != phrase and " ".join(phrase) not in slots.of_noun
    names = slots_called(" ".join(one if plural else phrase), slots)
    if not names or open_name(" ".join(one)) in known.OPEN_NOT:
        return None
    rest = [i for i in range(len(low)) if i not in anchor.places]
    before = low[anchor.noun[0] - 1] if anchor.noun[0] else ""
    mode = _mode(low, {low[i] for i in rest}, before, plural=plural and slots.one(names[0]), windowed=windowed)
    left = [i for i in rest if not _light(low[i], mode, windowed=windowed)]
    valued = [i for i in left if not tokens[i].islower() or mode in (WHEN, PREVIOUS)]
    value = " ".join(tokens[i] for i in valued)
    if len(left) - len(valued) > UNKNOWN_MAX or (
        valued and (mode not in (WHEN, PREVIOUS) or valued[-1] - valued[0] >= 5)
    ):
        return None
    sure = OPEN_SURE if names[0].startswith(OPEN) else SURE
    if mode == PREVIOUS and value:
        return StateAsked(slots=names, subject=anchor.subject, mode=THEN, before=value, confidence=sure)
    return StateAsked(slots=names, subject=anchor.subject, mode=mode, value=value, confidence=sure)


def _light(word: str, mode: str, *, windowed: bool) -> bool:
    if word in _ASK or word in TALK or word in MILD:
        return True
    if windowed and (word in _TIMES or word[:1].isdigit()):
        return True
    if mode in (HISTORY, THEN) and (word in _HISTORY or word in _BEFORE):
        return True
    return (mode == PREVIOUS and word in _BEFORE) or (mode == WHEN and word in _WHEN) or word in _FOLLOW


def _mode(low: list[str], rest: set[str], before: str, *, plural: bool, windowed: bool) -> str:
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(low)}
    if (
        low[0] == "when"
        or "since" in rest
        or pairs & {"since when", "how long", "what date", "the day", "the date", "which day", "what day", "what point"}
    ):
        return WHEN
    if (
        rest & _SURELY_HISTORY
        or plural
        or pairs
        & {
            "in order",
            "what order",
            "happened to",
            "any news",
            "ever had",
            "over time",
            "how often",
            "how many",
            "the years",
            "gone through",
        }
    ):
        return HISTORY
    if "ever" in rest and rest & {"every", "all", "was", "were", "each"}:
        return HISTORY
    if "first" in rest and rest & {"latest", "last", "now", "newest"}:
        return HISTORY
    if windowed:
        return THEN
    if "back" in rest and "then" in rest:
        return THEN
    if rest & {
        "before",
        "previous",
        "previously",
        "earlier",
        "prior",
        "former",
        "formerly",
        "replace",
        "replaced",
        "beforehand",
    }:
        return PREVIOUS
    if (
        rest & {"until", "till"}
        or "used to" in pairs
        or before in ("old", "previous", "former", "last", "earlier", "past")
    ):
        return PREVIOUS
    return NOW
