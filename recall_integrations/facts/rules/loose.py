"""Statements that are no full sentences: notes, fragments, asides, unusual orders.

    sentence ─ words ─ whose? ─ of what? (a cue) ─ values that look like it ─ nothing else that weighs ─▶ Said

It is asked where the exact rules found nothing. Every word must have a place: whose it is, the cue of a slot
(`cue_words`), one value that looks like one of the slot (two where a change is told), and words that weigh nothing.
What is left over may be one or two words at most, and none where the value could be many things.
"""

from __future__ import annotations

from recall_integrations.facts.cue_words import Cues, cues_of
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules.notes.gate import (
    CHARS,
    HARD,
    SENTENCE_MAX,
    WORDS_MAX,
    WORDS_OF_KEY,
    may_say,
    parts,
)
from recall_integrations.facts.rules.notes.note import read_note
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.patterns import regex

_IF_ASKED = regex(r"\bif\s(?:you|any|some|it|need|people|asked)")


def read(reading: Reading) -> None:
    """What short sentences say in which nothing was found.

    Args:
        reading: of the text, with what exact rules found.
    """
    text = reading.text
    low = text[:CHARS].lower()
    cues = cues_of(reading.slots)
    if cues.gate.isdisjoint(low.split()) or "**" in low or "`" in low or "##" in low or "{" in low:
        return  # the last ones: of a document, or code
    if "’" in low:
        low = low.replace("’", "'")
    place, done = 0, -1
    for part in parts(low):
        end = place + len(part)
        if end == CHARS < len(text):
            return  # it is cut off
        if done < place and 5 < len(part) <= SENTENCE_MAX and (len(part) < 45 or text[end : end + 1] != "?"):
            words_here = part.split()
            if (
                len(words_here) <= WORDS_MAX
                and not cues.gate.isdisjoint(words_here)
                and (HARD.isdisjoint(words_here) or "i said" in part)
            ):
                key = text[end : end + 2] == "? " and len(words_here) <= WORDS_OF_KEY
                if key or may_say(part, text[place:end], words_here, cues):
                    done = _sentence(reading, cues, place, end)
        place = end + 1


def _sentence(reading: Reading, cues: Cues, first: int, last: int) -> int:
    """Reads a sentence; how far it reaches."""
    text = reading.text
    asked = text[last : last + 1] == "?" or text[last - 1 : last] == "?"
    if asked and last + 2 < len(text):  # "My number? 555-0101"
        last = reading.sentence(last + 2)[1]
        asked = reading.asked(last)
    if asked or any(first <= said.span[0] <= last for said in reading.found):
        return last
    while first < last and text[first] in " \t-*•>":
        first += 1
    here = text[first:last].lower()
    if "if " in here and not _IF_ASKED.search(here):
        return last
    poisoned = not known.MILD.isdisjoint(here.split())
    note = Note(reading, cues, first, last, poisoned)
    if 1 < len(note.tokens) <= 2 * WORDS_MAX:
        read_note(note)
    return last
