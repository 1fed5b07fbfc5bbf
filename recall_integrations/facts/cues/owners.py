"""Whose something is that a question asks for."""

from __future__ import annotations

from typing import NamedTuple

from recall_integrations.facts.cue_words import Cues
from recall_integrations.facts.cues import lists
from recall_integrations.facts.rules import words as known
from recall_integrations.facts.said import ME


class Owner(NamedTuple):
    """Whose: the words for it, the places of its words in the question."""

    subject: str
    places: frozenset[int]
    told: bool  # whether somebody is named


def owner_of(tokens: list[str], low: list[str], cues: Cues) -> Owner | None:
    """Whose: "Priya's", "my sister", "for Priya", "Project Kestrel"; `None` = two are named."""
    found: list[Owner] = []
    taken: set[int] = set()
    for i, word in enumerate(low):
        here = i in taken or not word.endswith("'s") or word in lists.ASK
        owner = None if here else _possessor(tokens, low, i, cues)
        if owner is not None:
            found.append(owner)
            taken |= owner.places
    for i in range(len(low)):
        owner = None if i in taken else _someone(tokens, low, i, cues)
        if owner is not None:
            found.append(owner)
            taken |= owner.places
    if not found:
        return _thing(tokens, low, cues) or Owner(ME, frozenset(), False)
    return found[0] if len(found) == 1 else None


def _possessor(tokens: list[str], low: list[str], i: int, cues: Cues) -> Owner | None:
    """ "Priya's", "sister's", "the newsletter's"."""
    begin, base = i, low[i][:-2]
    if base in known.RELATIONS:
        while begin and low[begin - 1] in known.RELATION_ADJECTIVES:
            begin -= 1
        name = "my " + " ".join([*low[begin:i], base])
        begin -= bool(begin and low[begin - 1] in ("my", "our"))
        return Owner(name, frozenset(range(begin, i + 1)), True)
    if base in cues.nouns:
        return None
    while begin and tokens[begin - 1][:1].isupper() and low[begin - 1] not in lists.NO_NAMES:
        begin -= 1
    if "the" in low[max(0, begin - 2) : begin]:
        begin = max(j for j in range(max(0, begin - 2), begin) if low[j] == "the")
    elif not tokens[begin][:1].isupper() or low[begin] in known.NOT_NAMES:
        return None
    return Owner(" ".join([*tokens[begin:i], tokens[i][:-2]]), frozenset(range(begin, i + 1)), True)


def _someone(tokens: list[str], low: list[str], i: int, cues: Cues) -> Owner | None:
    """ "My sister", "Project Kestrel"."""
    word = low[i]
    if word in known.RELATIONS and word not in lists.NO_KIN and i and low[i - 1] in ("my", "our"):
        if any(w in cues.nouns or w in cues.verbs for j, w in enumerate(low) if j > i and w not in lists.ASK):
            return Owner(f"my {word}", frozenset((i - 1, i)), True)
        return None
    if not tokens[i][:1].isupper() or not (i or low[0] not in cues.nouns) or word in lists.NO_NAMES:
        return None
    end = i + 1
    while end < len(low) and (tokens[end][:1].isupper() or (tokens[end].isdigit() and end == i + 1)):
        end += 1
    return Owner(" ".join(tokens[i:end]), frozenset(range(i, end)), True)


def _thing(tokens: list[str], low: list[str], cues: Cues) -> Owner | None:
    """ "The newsletter", "the weekly review": words with an article that nothing else explains."""
    for i, word in enumerate(low):
        if word == "the" and i + 1 < len(low):
            end = i + 1
            while end < len(low) and end - i <= 3 and low[end] not in lists.ASK and low[end] not in cues.verbs:
                end += 1
            phrase = low[i + 1 : end]
            if (phrase and phrase[-1] in known.EVALUATIVE) or (phrase and phrase[-1].endswith(("est", "ed"))):
                return None
            if phrase and phrase[-1] not in cues.nouns and " ".join(phrase) not in cues.nouns:
                if phrase[-1] in known.ATTRIBUTE_HEADS or any(
                    w in lists.HISTORY_WORDS or w in lists.PREVIOUS_WORDS for w in phrase
                ):
                    continue
                return Owner(" ".join(tokens[i:end]), frozenset(range(i, end)), True)
    return None
