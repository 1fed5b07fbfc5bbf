"""The verbs that lead to slots in questions: ours, and those that a schema brings for its own slots."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.rules.verbs import ING, forms
from recall_integrations.facts.slots import SLOTS, Slots

# Of these it cannot be told what is asked for, or they are read elsewhere.
_TOO_PLAIN = frozenset(
    (
        *"do be have go get start quit become take play prefer like love enjoy join".split(),
        *("be on", "take up", "give up", "get into", "be made", "get made", "be made to", "start doing"),
    )
)
# Of shipped slots only the verbs of these are taken: one may also "start taking classes" or "start playing a game".
_PLAIN_KINDS = frozenset("place organisation person thing name code address".split())
_PLACES = frozenset("at in on by near".split())


class Verbs(NamedTuple):
    """Slots by verb phrase.

    Args:
        valued: of what holds, with a value behind: "do I live in Berlin".
        begun: of what began: "when did I move to Lisbon".
        ended: of what ended.
        bare: of what is asked with "what" or "who" and no value: "what do I drive".
        own: of what holds, by a schema's own phrases: they stand before ours.
        placed: of the same, of what is asked with "where": "where do I sit", where one sits at it.
        cues: first words of the phrases, in all forms.
    """

    valued: dict[str, tuple[str, ...]]
    begun: dict[str, tuple[str, ...]]
    ended: dict[str, tuple[str, ...]]
    bare: dict[str, tuple[str, ...]]
    own: dict[str, tuple[str, ...]]
    placed: dict[str, tuple[str, ...]]
    cues: frozenset[str]


@lru_cache(maxsize=16)
def verbs_of(slots: Slots) -> Verbs:
    """The verbs of a schema. Where ours and shipped ones are the same, ours say what is meant; a user's stand first."""
    valued: dict[str, tuple[str, ...]] = {}
    begun: dict[str, tuple[str, ...]] = {}
    ended: dict[str, tuple[str, ...]] = {}
    placed: dict[str, tuple[str, ...]] = {}
    own: dict[str, dict[str, tuple[str, ...]]] = {"verbs": {}, "starts": {}, "stops": {}}
    cues: set[str] = set()
    for slot in slots:
        if slot in SLOTS and getattr(slot, "kind", "") not in _PLAIN_KINDS:
            continue
        for field, table in (("verbs", valued), ("starts", begun), ("stops", ended)):
            for phrase in getattr(slot, field, ()):
                users = slots.is_own(slot.name, field)
                if phrase in _TOO_PLAIN and not users:
                    continue
                for form in _forms(phrase, own=slot not in SLOTS):
                    table[form] = (*table.get(form, ()), slot.name)
                    if users:
                        own[field][form] = (*own[field].get(form, ()), slot.name)
                    cues.add(form.split()[1 if form.startswith("be ") else 0])
                    verb, _, place = form.rpartition(" ")
                    if users and field == "verbs" and place in _PLACES:
                        placed[verb] = (*placed.get(verb, ()), slot.name)
    bare = dict(valued)
    return Verbs(
        valued={**valued, **words_of.VALUED, **own["verbs"]},
        begun={**begun, **words_of.BEGUN, **own["starts"]},
        ended={**ended, **words_of.ENDED, **own["stops"]},
        bare=bare,
        own=own["verbs"],
        placed=placed,
        cues=frozenset(cues),
    )


def kind_of(slots: Slots, name: str) -> str:
    """What the values of a slot look like, if the schema says so; else empty."""
    return str(getattr(slots.get(name), "kind", ""))


def _forms(phrase: str, *, own: bool) -> list[str]:
    """A phrase with its verb in the forms in which it stands in questions."""
    first, _, rest = phrase.partition(" ")
    if first == "be" or first in words_of.FORMS:
        return [phrase]  # `forms_of` knows its forms
    if own:
        known = forms(first)
        going = [f"be {form}" for form, tenses in known.items() if ING in tenses]  # "am I sitting at"
        return [f"{form} {rest}".strip() for form in (*known, *going)]
    stem = first[:-1] if first.endswith("e") else first
    regular = [first, first + "s", stem + "ed", stem + "ing"]
    if first.endswith("y") and first[-2:-1] not in tuple("aeou"):
        regular = [first, first[:-1] + "ies", first[:-1] + "ied", first + "ing"]
    return [f"{form} {rest}".strip() for form in regular]
