"""`EntityIndex`: the names of one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final

from recall_integrations.query.entities.cascade import (
    SURE,
    Cascade,
    entities_of,
    exact_spans,
    longest_first,
    references,
)
from recall_integrations.query.entities.reading import Reading
from recall_integrations.query.entities.state import Entity, Phrase, State, at, is_cjk, key_of, names_behind
from recall_integrations.records import record
from recall_integrations.text import WORD_CHARS_MAX, Token, language_of
from recall_integrations.text.analyser import words
from recall_integrations.types import EntityRef
from recall_integrations.types.query import QUERY_CHARS_MAX

INFLECTED_MAX = 256  # words of one text in another language that are looked at without their endings


@record(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place in a text that names an entity."""

    entity_id: str
    start: int
    end: int


class EntityIndex:
    """Names and aliases of one scope, in memory.

    Any number of threads may read while one writes; calls that write must not overlap (the store's lock sees to it).
    A reader sees an entity completely or not at all, except that a name may become visible before its aliases.
    """

    def __init__(self, order: Callable[[str, str], str] = lambda entity_id, _name: entity_id) -> None:
        self.state: Final = State()  # for readers of this folder; only `add` changes it
        self.revision = 0  # grows with each name
        self._order = order

    def __len__(self) -> int:
        return len(self.state.entities)

    def add(self, entity_id: str, name: str, aliases: Iterable[str] = (), *, declared: bool = False) -> None:
        """Add an entity, or names to a known one; adding the same again changes nothing.

        A known entity keeps its canonical name: another `name` becomes an alias. A name that is `declared` is found
        even if it is an ordinary word, and written like one.
        """
        state = self.state
        entity = state.entities.get(entity_id)
        if entity is None:
            entity = state.entities[entity_id] = Entity(entity_id, name, self._order(entity_id, name))
        for surface in (name, *aliases):
            words = key_of(surface)
            if any(phrase.words == words for phrase in entity.phrases):
                continue
            phrase = Phrase(entity, words, surface, is_name=not entity.phrases, declared=declared)
            entity.phrases = (*entity.phrases, phrase)
            state.add(phrase)
            self.revision += 1  # last: who sees it finds the name

    def lookup(self, name: str) -> tuple[str, ...]:
        """Return the ids of the entities with this name, then of those with this alias; compared in normal form."""
        words = key_of(name)
        holders = at(self.state.phrases, " ".join(words))
        # Joined by spaces, a name without any word ("- -") could read like another's words.
        ranked = sorted((not p.is_name, p.entity.order, p.entity.id) for p in holders if p.words == words)
        return tuple(dict.fromkeys(entity_id for *_, entity_id in ranked))

    def names(self, entity_id: str) -> tuple[str, ...]:
        """Return the names and aliases of an entity as they were given; none if it is unknown."""
        entity = self.state.entities.get(entity_id)
        return () if entity is None else tuple([phrase.surface for phrase in entity.phrases])

    def order(self, entity_id: str) -> str:
        """Return the sort key of an entity among those that fit equally well."""
        entity = self.state.entities.get(entity_id)
        return entity_id if entity is None else entity.order

    def contains_word(self, word: str) -> bool:
        """Say whether `word`, in normal form, occurs in a name or an alias."""
        state = self.state
        if state.knows(word):
            return True
        if word.isascii() and word.isalnum() and word == word.lower() and len(word) <= WORD_CHARS_MAX:
            return False  # it is its own normal form
        return all(map(state.knows, key_of(word)))

    def known_among(self, words: Set[str]) -> frozenset[str]:
        """Return those of some words, in normal form, that occur in a name or an alias."""
        known = (words & self.state.parts.keys()) | (words & self.state.phrases.keys())
        other = [word for word in words - known if not (word.isascii() and word.isalnum())]
        return frozenset(known).union(filter(self.contains_word, other))

    def may_mention(self, text: str) -> bool:
        """Say whether `mentions` has to look: a tenth of its time, and false for most texts of most scopes."""
        if not self.state.lengths:
            return False
        if not text.isascii() or "+" in text or "#" in text or language_of(text) is not None:
            return True
        return not self.state.lengths.keys().isdisjoint(words(text))

    def mentions(self, text: str) -> list[Mention]:
        """Return the certain places where a stored text names known entities, in order; no misspellings.

        A name shared by several is taken for the one that the text also names in full or by another name, or left out.
        """
        state = self.state
        if not self.may_mention(text):
            return []
        reading = Reading(text)
        if reading.language is not None:
            self._without_endings(state, reading)
        taken = bytearray(len(reading.words))
        clear: list[Mention] = []
        open_: list[tuple[set[str], int, int]] = []
        for span in longest_first(exact_spans(state, reading.words)):
            if any(taken[span.i : span.j]):
                continue
            holders = entities_of(span.phrases)
            # A word written as an acronym ("API") names the entity of that name, not a person's alias "PR".
            certain = {
                e: p
                for e, p in holders.items()
                if reading.phrase_as_name(span.i, span.j, p) >= (0.6 if p.is_name else SURE)
            }
            if not certain:
                continue
            taken[span.i : span.j] = b"\x01" * (span.j - span.i)
            names = [e for e, p in certain.items() if p.is_name]
            start, end = reading.span(span.i, span.j)
            if len(certain) == 1 or len(names) == 1:
                only = names[0] if names else next(iter(certain))
                clear.append(Mention(entity_id=only.id, start=start, end=end))
            else:
                open_.append(({e.id for e in certain}, start, end))
        named = {m.entity_id for m in clear}
        for ids, start, end in open_:
            backed = ids & named
            if len(backed) == 1:
                clear.append(Mention(entity_id=backed.pop(), start=start, end=end))
        return sorted(clear, key=lambda m: m.start)

    @staticmethod
    def _without_endings(state: State, reading: Reading) -> None:
        """Replace upper-case forms of just one known word by that word: "у Приянки" names Приянка."""
        tried = 0
        for i, word in enumerate(reading.words):
            if word and reading.is_upper(i) and not is_cjk(word) and not state.knows(word):
                tried += 1
                if tried > INFLECTED_MAX:
                    return
                behind = names_behind(state, word, reading.language)
                if len(behind) == 1:
                    reading.words[i] = behind[0]

    def resolve(
        self, text: str, *, reserved: Sequence[tuple[int, int]] = (), tokens: Sequence[Token] | None = None
    ) -> tuple[EntityRef, ...]:
        """Resolve the entities that a query names: exact name, alias, part of a name, misspelling (see `cascade`).

        One reference per entity, its surest mention, in order of appearance. If several entities fit and the query's
        other words do not decide, each is returned, all below .85; more than about five that fit identify nobody and
        are left out. Never raises for any text; of a text over 32,768 characters the beginning is read.
        """
        state = self.state
        if not state.entities:
            return ()
        reading = Reading(text[:QUERY_CHARS_MAX], reserved, tokens if len(text) <= QUERY_CHARS_MAX else None)
        if not reading.words:
            return ()
        return references(Cascade(state, reading).run(), reading)
