"""What a query asks of a slot, told by what is found: questions are put in more ways than any rule reads.

"Which place do I pay to lift weights at these days?" names no slot that a rule knows. If the best candidate is "My gym
is Ironworks", and the query asks how things are with the same person, it asks for that person's gym; and if another
memory says that the gym is another one now, that one answers it. So what the best candidate tells decides, where the
query has the shape of a question for a state: it asks, in the present or by a word for what was before, of whom the
fact is, and not why, how or whether something happened.
"""

from __future__ import annotations

from functools import lru_cache

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.asked_of import LIKELY
from recall_integrations.facts.deciding import Decided, Key, decide
from recall_integrations.facts.rules.loose_words import ME
from recall_integrations.facts.rules.notes.unread import may_state
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.subjects_of import USER, name_key, speaker_key
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.patterns import regex
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.other_times import PAST, other_time
from recall_integrations.recall.state import RecallState
from recall_integrations.store.fact_tables import ScopeFacts
from recall_integrations.text import stems
from recall_integrations.types.roles import Role

BEST = 2  # candidates that may tell it, whatever their scores are
LOOKED_AT, ENOUGH = 5, 0.5  # further ones, and the share of the best score that they must have
WORDS_MAX = 24  # of the query
CONFIDENCE = 0.6  # that this is asked
_PLAIN = str.maketrans({"’": "'", "‘": "'", **dict.fromkeys(',.;:!?()"“”…', " ")})
_ASKS = regex(
    r"(?:(?:hey|hi|ok|okay|so|and|please|quick|btw|sorry|wait|well|um|but|also)\W+)*"
    r"(?:what|where|which|who|whose|whom|how\s(?:much|many|old|tall|big|high|long|far)|(?:at|in|on|to|for|"
    r"with|under|from|by|of)\swh\w+|is|are|am|do|does|has|have|can|could|would|will|remind|tell|give|show|any|name|look|find|"
    r"i\s(?:forgot|forget|need|can't|cannot|don't|keep)|i've\sforgotten|help)\b",
    2,
)
# Asks for what happened, for a reason, an opinion, advice or work that is to be done.
_OTHER = regex(
    r"\b(?:why|how\s(?:did|come|was|were)\b(?!.*\bchanged?\b)|what\shappen(?:ed|s)|happened|suggest\w*|recommend\w*|ideas|"
    r"advice|tips|explain|(?:write|draft)\s(?:me|us|up|a|an|some|about)|compare|feel|felt|think|thought|how\soften)\b",
    2,
)
_HISTORY = regex(
    r"\b(?:history|timeline|list|every|over\s(?:time|the\s(?:years|months|weeks))|so\sfar|changes|changed?|ever|"
    r"throughout|one\safter\s(?:the\s)?(?:other|another))\b",
    2,
)
_WHEN = regex(r"\b(?:when\s(?:did|was|were|is|has|have|will)|since|how\slong)\b", 2)
_BEFORE = regex(r"\b(?:previous(?:ly)?|before|used\sto|use\sto|former(?:ly)?|old|last|prior|earlier|replaced?|ex)\b", 2)
# What is done before something that comes again, or is to be done: "which pills before breakfast?", "what should I pack
# before the trip?" ask for now.
_BEFORE_IT = regex(
    r"\bbefore\s+(?:(?:a|an|the|my|our|each|every|going\sto|i\sgo\sto)\s+)?(?:breakfast|lunch|dinner|supper|brunch|meals?|"
    r"bed(?:time)?|sleep(?:ing)?|noon|midday|midnight|sunrise|sunset|dawn|work|school|class(?:es)?|training|practice|"
    r"eating|meetings?|exams?|exercise|workouts?|runs?|running|swims?|swimming|surgery|flights?|trips?)\b"
    r"|\b(?:(?:should|must|can|do)\s(?:i|we)|does|(?:need|have|has)\sto)\b.*\bbefore\s+\w.*",
    2,
)
# "… until the new one came", not "the code for the till".
_UNTIL = regex(r"\b(?:did|was|were|had)\b.*\b(?:until|(?<!the\s)till?)\s(?!(?:now|when|today|then)\b)", 2)
_PAST = regex(r"\b(?:did|was|were|had|went|got|been)\b", 2)
# The same of what is known to ask for a state: "the list" and "when is" are no history.
_HISTORY_ASKED = regex(
    r"^\W*(?:please\s)?(?:list|every)\b|\b(?:history|timeline|over\s(?:time|the\s(?:years|months|weeks))|so\sfar|changes|"
    r"ever|throughout|one\safter\s(?:the\s)?(?:other|another)|(?:has|have|did|how)\b.*\bchanged?)\b",
    2,
)
_WHEN_ASKED = regex(r"\b(?:when\s(?:did|was|were|has|have)|since|how\slong\s(?:did|ago|was|were|has|have))\b", 2)


def evident(state: RecallState, fused: Fused, delivery: Delivery, slots: Slots) -> Decided | None:
    """What decides by the facts that the best candidates tell; `None` = nothing does.

    Args:
        state: of the recall, whose query no fact of a slot that was read in it decides.
        fused: the candidates, best first.
        delivery: fetches memories.
        slots: the schema.
    """
    facts = delivery.facts(state.scope)
    if not facts or state.asked is not None or not len(fused.rows) or state.query.language not in ("", "en"):
        return None
    if any(one.stage == "facts" for one in state.degraded):
        return None
    text, view = state.query.original, state.scope
    window = other_time(state)
    mode = mode_of(text, windowed=window is not None)
    if mode is None:
        return None
    words = frozenset(text.casefold().translate(_PLAIN).replace("'s ", " ").split())
    found = _key(facts, view, fused, words)
    if found is None:
        return None
    key, place = found
    if _is_of_another(key[1], fused.rows[place : place + 1], state, delivery):
        return None
    if of_several(key[0], state) or _stated_before(key[0], fused.rows[:place], delivery, view, slots):
        return None
    now = state.request.as_of or state.request.now
    span = None if window is None or mode != THEN else (window.start, window.end)
    value = _named(facts, key, text) if mode == WHEN else ""
    if mode == WHEN and not value:  # it may name one that nothing was read of
        return None
    asked = StateAsked(slots=(key[1],), mode=mode, value=value, confidence=CONFIDENCE)
    return decide(asked, facts, (key[0],), now, span)


def _is_of_another(slot: str, row: Rows, state: RecallState, delivery: Delivery) -> bool:
    """Whether rules read another slot in a query, and what tells this one has no word of it."""
    asked = None if state.sought is None else state.sought.asked
    if asked is None or slot in asked.slots or not surely(asked, state):
        return False
    words = frozenset(stems(state.query.original))
    return all(words.isdisjoint(stems(memory.text)) for _, memory in delivery.memories(state.scope, row))


def surely(asked: StateAsked, state: RecallState) -> bool:
    """Whether a query asks for a state by more than a word: what was read by a cue alone must have the shape as well.

    Args:
        asked: what was read of it.
        state: of the recall.
    """
    windowed = other_time(state) is not None
    return asked.confidence >= LIKELY or mode_of(state.query.original, windowed=windowed) == asked.mode


def moves(held: Decided, fused: Fused, view: ScopeView) -> bool:
    """Whether what decides puts anything into another order: if not, the query need not be read as one for a state.

    Args:
        held: what decides.
        fused: the candidates, best first.
        view: of the scope.
    """
    found: list[int] = fused.rows.tolist()
    first = [row for row in view.rows_of(held.first).tolist() if row in found]
    return bool(first != found[: len(first)])


def of_several(subject: str, state: RecallState) -> bool:
    """Whether a name of a query is one of two people."""
    who = subject.partition("'s ")[0]
    refs = state.query.entity_refs
    return len({ref.entity_id for ref in refs if ref.entity_id and name_key(ref.mention) in (who, subject)}) > 1


def _named(facts: ScopeFacts, key: Key, text: str) -> str:
    """The value that a query names, the longest of several; empty = none."""
    low = text.casefold()
    values = [stretch.value for stretch in facts.timeline(key) if stretch.value.casefold() in low]
    return max(values, key=len, default="")


def mode_of(text: str, *, windowed: bool, asks: bool = False) -> str | None:
    """What a query asks for, if it asks for a state; `None` = it does not.

    Args:
        text: the query.
        windowed: whether it names a time.
        asks: whether it is known to ask for a state, whatever its shape.
    """
    if len(text.split()) > WORDS_MAX or not (asks or _ASKS.match(text.lstrip()) or text.rstrip().endswith("?")):
        return None
    return _mode(text, windowed, asks)


@lru_cache(maxsize=64)  # a query is looked at twice or thrice
def _mode(text: str, windowed: bool, asks: bool) -> str | None:
    if _OTHER.search(text):
        return None
    if (_WHEN_ASKED if asks else _WHEN).search(text):
        return WHEN
    if (_HISTORY_ASKED if asks else _HISTORY).search(text):
        return HISTORY
    if windowed:
        return THEN
    in_past = (PAST if asks else _PAST).search(text)
    if _BEFORE.search(text if in_past else _BEFORE_IT.sub("", text)) or (asks and _UNTIL.search(text)):
        return PREVIOUS
    return None if in_past else NOW


def _key(facts: ScopeFacts, view: ScopeView, fused: Fused, words: frozenset[str]) -> tuple[Key, int] | None:
    """Subject and slot of what the first candidate tells that tells anything of whom is asked, and its place."""
    enough = ENOUGH * float(fused.scores[0])
    users = frozenset((USER, *map(name_key, view.speakers(Role.USER))))
    for place, row in enumerate(fused.rows[:LOOKED_AT].tolist()):
        keys = facts.of_memory(view.nums.item(row))
        if len(keys) != 1 or (place >= BEST and fused.scores[place] < enough):
            continue
        subject, slot = keys[0]
        if not facts.slots.one(slot):
            continue
        if _is_of(subject, users, words):
            return keys[0], place
        if place < BEST:  # the same of somebody else: the slot is right
            found = [key for key in facts.of_slot(slot) if _is_of(key[0], users, words)]
            if len(found) == 1:
                return found[0], place
    return None


def _stated_before(subject: str, rows: Rows, delivery: Delivery, view: ScopeView, slots: Slots) -> bool:
    """Whether a better candidate, of which nothing was read, states something of them: it may be what is asked for."""
    untold = delivery.untold(view, rows) if len(rows) else []
    return any(may_state(memory.text, subject, speaker_key(memory.actor, memory.role), slots) for _, memory in untold)


def _is_of(subject: str, users: frozenset[str], words: frozenset[str]) -> bool:
    """Whether a query speaks of whom a fact is of; who asks goes by any of the names in `users`."""
    who, of, kin = subject.partition("'s ")
    if of and words.isdisjoint(kin.split()):
        return False
    if who in users:
        return not words.isdisjoint(ME)
    return words.issuperset(who.split())
