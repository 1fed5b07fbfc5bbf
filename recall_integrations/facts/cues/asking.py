"""Questions of any wording that name whose and of what, by cues: "got Priya's digits?", "who signs my paychecks".

It is asked last, where neither a shape (`question`) nor a name of a slot (`asking_loosely`) was read. Every word must
have a place: whose it is, a cue of one slot (`cue_words`), a time, or words that only ask.
"""

from __future__ import annotations

import itertools

from recall_integrations.facts.asked import StateAsked
from recall_integrations.facts.cue_words import cues_of
from recall_integrations.facts.cues import lists
from recall_integrations.facts.cues.owners import Owner, owner_of
from recall_integrations.facts.cues.query import Query
from recall_integrations.facts.slots import Slots

CHARS_MAX, WORDS_MAX = 110, 16


def asked_by_cues(text: str, slots: Slots, *, windowed: bool) -> StateAsked | None:
    """What such a query asks; `None` = it is none.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether it names a time.
    """
    if len(text) > CHARS_MAX or "\n" in text.strip():
        return None
    raw = [token.strip(lists.EDGES) for token in text.replace("’", "'").split()]
    tokens = [token for token in raw if token and token[0].isalnum()]
    low = [token.casefold() for token in tokens]
    if not 1 < len(low) <= WORDS_MAX or not lists.NEVER.isdisjoint(low):
        return None
    cues = cues_of(slots)
    mine = not {"my", "our", "mine", "i", "me", "we", "i've", "i'm", "i'd", "us"}.isdisjoint(low)
    owner = owner_of(tokens, low, cues)
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(low)}
    if pairs & lists.NO_PAIRS:
        return None
    if owner is None or not _asks(text, low, mine, owner):
        return None
    return Query(tokens, low, owner, mine, slots, cues, windowed=windowed).read()


def _asks(text: str, low: list[str], mine: bool, owner: Owner) -> bool:
    """Whether a text asks in one of the ways in which facts are asked for."""
    if low[0] in ("i", "i'm", "we", "i've") or {"don't", "dont", "not", "didn't"} & set(low):
        return False
    if low[0] in ("how", "how's", "hows") and (
        low[0] != "how" or low[1] in ("is", "are", "was", "were", "many", "come", "about")
    ):
        return False
    if low[0] == "when" and low[1] not in ("is", "was", "did", "do", "does", "has", "have", "will", "are", "am"):
        return False
    first = low[0] if low[0] not in ("so", "and", "ok", "hey", "btw", "please", "pls") else low[1]
    if first in lists.YES_NO:
        pairs = (["do", "you"], ["have", "you"], ["can", "you"], ["could", "you"], ["am", "i"], ["is", "there"])
        return low[:2] in [list(p) for p in pairs] and bool({"my", "mine", "our", "i", "we"} & set(low) or owner.told)
    asked = text.rstrip().endswith("?") or first in lists.FIRST or "please" in low or "again" in low
    if first == "how" and low[1:2] in (["do"], ["can"], ["to"], ["should"]) and low[2:3] in (["i"], ["we"]):
        return not {"my", "our"} & set(low)  # "how do I change my email"
    return asked or (len(low) <= 6 and {"is", "was", "are", "has", "have"}.isdisjoint(low))
