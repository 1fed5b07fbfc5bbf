"""Signs of why a question was missed, that can be read off without a person.

A sign is no cause: whoever reads the misses decides that. Signs say where to look, and count it for all misses.

- `beside`: a gold memory stands within `BESIDE` places of a winner in its thread (`recall(context=2)` would bring it).
- `other actor`: the query names actors of the collection, and no gold memory is by one of them.
- `no word`: no gold memory holds a word that was looked for, names of actors left out.
- `dated`: a time was read in the query.
- `many gold`: more gold memories than hits are looked at.
- `folded`: a gold memory was left out as a repeat of a hit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recall_integrations.text import stems
from recall_integrations.types import Memory, ParsedQuery

SIGNS = ("beside", "other actor", "no word", "dated", "many gold", "folded")
BESIDE = 2


class SignReader:
    """Reads the signs of misses in one collection.

    Args:
        memories: of the collection, threads in order.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._by_id = {m.id or "": m for m in memories}
        self._actors = {m.actor: frozenset(stems(m.actor)) for m in memories if m.actor}
        self._place: dict[str, tuple[str, int]] = {}
        lengths: dict[str, int] = {}
        for memory in memories:
            if memory.thread is not None:
                at = lengths[memory.thread] = lengths.get(memory.thread, -1) + 1
                self._place[memory.id or ""] = (memory.thread, at)

    def read(
        self, query: ParsedQuery, gold: Sequence[str], winners: Sequence[str], folded: Collection[str]
    ) -> tuple[str, ...]:
        """Those of `SIGNS` that a miss shows.

        Args:
            query: as it was understood.
            gold: ids.
            winners: ids of the first hits.
            folded: ids that were taken for repeats.
        """
        terms = frozenset(query.terms)
        named = {actor for actor, words in self._actors.items() if words & terms}
        wanted = terms - frozenset().union(*self._actors.values())
        shown = {
            "beside": any(self._beside(g, w) for g in gold for w in winners),
            "other actor": bool(named) and named.isdisjoint(self._by_id[g].actor for g in gold),
            "no word": all(wanted.isdisjoint(stems(self._by_id[g].text)) for g in gold),
            "dated": query.temporal_window is not None,
            "many gold": len(gold) > len(winners),
            "folded": any(g in folded for g in gold),
        }
        return tuple(sign for sign in SIGNS if shown[sign])

    def _beside(self, one: str, other: str) -> bool:
        here, there = self._place.get(one), self._place.get(other)
        return (
            one != other
            and here is not None
            and there is not None
            and here[0] == there[0]
            and (abs(here[1] - there[1]) <= BESIDE)
        )
