"""Of what slot and of what time a question asks, when it is known whose."""

from __future__ import annotations

from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.cue_words import LIKED, Cues
from recall_integrations.facts.cues import lists
from recall_integrations.facts.cues.owners import Owner
from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import words as known
from recall_integrations.facts.rules.loose_words import PREPOSITIONS, TALK
from recall_integrations.facts.slots import OPEN, Slots

SURE, OPEN_SURE = 0.6, 0.55


def mode_first(low: list[str]) -> bool:
    """Whether it asks when somebody did something."""
    return low[0] in ("when", "when'd") and low[1] == "did"


class Query:
    """One query while it is read."""

    def __init__(
        self, tokens: list[str], low: list[str], owner: Owner, mine: bool, slots: Slots, cues: Cues, *, windowed: bool
    ) -> None:
        self.tokens, self.low, self.owner, self.mine = tokens, low, owner, mine
        self.slots, self.cues, self.windowed = slots, cues, windowed
        self.plain = [w[:-2] if w.endswith("'s") and w not in lists.ASK else w for w in low]

    def read(self) -> StateAsked | None:
        """What is asked."""
        if (
            self.owner.told
            and {"my", "our", "mine", "i", "me"} & {w for i, w in enumerate(self.low) if i not in self.owner.places}
            and self._mode() != WHEN
            and self.low[:2]
            not in (
                ["remind", "me"],
                ["tell", "me"],
                ["give", "me"],
                ["show", "me"],
            )
            and (not set(self.low[:5]) & {"can", "do", "would"} or {"my", "our", "mine"} & set(self.low))
        ):
            return None
        for names, places in self._cues():
            found = self._answer(names, places)
            if found is not None:
                return found
        return self._open()

    def _cues(self) -> list[tuple[tuple[str, ...], frozenset[int]]]:
        """Slots and the places of the words that speak of them: nouns before verbs, long before short."""
        found: list[tuple[int, tuple[str, ...], frozenset[int]]] = []
        for i, word in enumerate(self.plain):
            longest = (
                0
                if i in self.owner.places or (word in lists.NO_NOUNS and self.plain[i - 1 : i] != ["my"])
                else self.cues.first.get(word, 0)
            )
            for size in range(longest, 0, -1):
                names = self.cues.nouns.get(" ".join(self.plain[i : i + size]))
                if names:
                    found.append((-size, names, frozenset(range(i, min(i + size, len(self.plain))))))
                    break
        by_verb: dict[frozenset[int], list[str]] = {}
        for i, word in enumerate(self.plain):
            if i in self.owner.places or not i:
                continue
            for rest, name in self.cues.verbs.get(word, ()):
                if (word in lists.PLAIN_VERBS or word in PREPOSITIONS) and not any(
                    w not in PREPOSITIONS and w not in ("a", "the") for w in rest
                ):
                    continue
                at = [j for j, w in enumerate(self.plain) if w in rest and j not in self.owner.places]
                content = [w for w in rest if w not in PREPOSITIONS]
                if any(w not in self.plain for w in content):
                    continue
                if (
                    rest
                    and rest[-1] in PREPOSITIONS
                    and rest[-1] not in self.plain
                    and (
                        "where" not in self.low[0]
                        or name not in lists.WHERE
                        or rest[-1] not in ("in", "at", "to", "for", "with")
                    )
                ):
                    continue
                by_verb.setdefault(frozenset((i, *at)), []).append(name)
        verbs = [(-len(p), tuple(dict.fromkeys(names)), p) for p, names in by_verb.items()]
        ordered = [*sorted(found, key=lambda f: f[0]), *sorted(verbs, key=lambda f: f[0])]
        return [(names, places) for _, names, places in ordered]

    def _answer(self, names: tuple[str, ...], places: frozenset[int]) -> StateAsked | None:
        liked = [i for i, w in enumerate(self.plain) if w in LIKED]
        first = self.low[0]
        kept = []
        for name in names:
            slot = self.slots.get(name)
            if slot is None or (name in self.cues.liked and not liked):
                continue
            if (
                first.startswith("who")
                and slot.kind not in ("person", "organisation", "titled", "any")
                and name != "job"
            ):
                continue
            if first.startswith("where") and name not in lists.WHERE and slot.kind not in ("place", "organisation"):
                continue
            kept.append(name)
        if not kept or not self._fitting(kept[0], places):
            return None
        if mode_first(self.low) and kept[0] == "address" and not {"address", "addresses"} & set(self.low):
            return None
        if kept[0] in lists.KIN and not {
            "who",
            "who's",
            "whos",
            "name",
            "names",
            "name's",
            "called",
            "whom",
            "bff",
        } & set(self.low):
            return None
        mode = self._mode()
        noun = any(w in self.cues.nouns for w in (" ".join(self.plain[i] for i in sorted(places)),))
        if mode == WHEN and not noun:
            return None
        if not self._owned(places):
            return None
        used = set(places) | self.owner.places | (set(liked) if kept[0] in self.cues.liked else set())
        left = [i for i, w in enumerate(self.low) if i not in used and not self._empty(i, w, mode, kept)]
        value = ""
        if left:
            if mode != WHEN or len(left) > 3 or left[-1] - left[0] >= len(left) + 1 or not self._valued(left):
                return None
            value = " ".join(self.tokens[i] for i in left)
        return self._made(tuple(kept), mode, value, SURE)

    def _owned(self, places: frozenset[int]) -> bool:
        """Whether it is somebody's: of a bare noun only in a fragment ("wifi password please")."""
        if self.mine or self.owner.told:
            return True
        bare = not {
            "the",
            "a",
            "an",
            "all",
            "some",
            "any",
            "many",
            "that",
            "this",
            "these",
            "is",
            "are",
            "was",
            "did",
            "do",
        } & set(self.low)
        return bare and len(self.low) <= len(places) + 2

    def _valued(self, left: list[int]) -> bool:
        return any(not self.tokens[i].islower() for i in left) or not {"become", "became"}.isdisjoint(self.low)

    def _fitting(self, name: str, places: frozenset[int]) -> bool:
        """Whether nothing before a noun makes it another thing: "at my gym", "near my home"."""
        at = min(places) - 1
        while at >= 0 and (self.low[at] in ("my", "our", "the", "a", "new", "current") or at in self.owner.places):
            at -= 1
        before = self.low[at] if at >= 0 else ""
        own = {"my", "our"} & set(self.low[at + 1 : min(places)])
        if {"a", "an"} & set(self.low[at + 1 : min(places)]) and "there" not in self.low:
            return False
        if before in ("in", "on") and own:
            return False
        if before in ("at", "near", "from", "with", "without", "like", "behind", "around", "after", "before"):
            return min(places) in (0,) or self.low[max(0, min(places) - 1)] not in ("my", "our")
        return not (
            before == "for" and name in ("birthday", "diet", "car", "home", "gym") and {"my", "our"} & set(self.low)
        )

    def _empty(self, i: int, word: str, mode: str, names: list[str]) -> bool:
        if word in lists.ASK or self.plain[i] in lists.ASK:
            return True
        if any(name in self.cues.nouns.get(self.plain[i], ()) for name in names):
            return True
        if any(name == names[0] for _, name in self.cues.verbs.get(self.plain[i], ())):
            return True
        if mode == HISTORY and (word in lists.HISTORY_WORDS or word in lists.PREVIOUS_WORDS or word in TALK):
            return True
        if mode in (PREVIOUS, THEN) and (word in lists.PREVIOUS_WORDS or word in ("then", "back", "current")):
            return True
        if self.windowed and (word[:1].isdigit() or word in lists.TIMES):
            return True
        return mode == WHEN and word in lists.WHEN_WORDS

    def _mode(self) -> str:
        words, first = set(self.low), self.low[0]
        pairs = {f"{a} {b}" for a, b in zip(self.low, self.low[1:], strict=False)}
        if words & lists.TELLS_HISTORY or "how often" in pairs or {"gone", "through"} <= words or "in order" in pairs:
            return HISTORY
        if first == "how" and words & {"changed", "change", "develop", "move", "moved", "shift", "shifted"}:
            return HISTORY
        if (
            (words & {"every", "all", "list", "which", "what", "walk", "run", "far"})
            and words
            & {
                "i've",
                "been",
                "had",
                "far",
                "through",
            }
            and not words & {"before", "previously"}
            and ("had" not in words or words & {"have", "has", "every", "all", "i've", "so"})
        ):
            return HISTORY
        if first in ("list", "walk", "run") and not words & {"current"}:
            return HISTORY
        if (
            first in ("when", "when'd", "since", "when's")
            or "since when" in pairs
            or "how long" in pairs
            or {"date", "change"} <= words
        ):
            return WHEN if first != "when's" else NOW
        if "back then" in pairs or "at the time" in " ".join(self.low):
            return THEN
        if words & (lists.PREVIOUS_WORDS - {"last", "used", "past", "old"}) or pairs & {
            "used to",
            "last one",
            "my old",
            "old one",
        }:
            return THEN if self.windowed else PREVIOUS
        if words & {"last", "old", "past"} and not words & {"how", "last name", "years"}:
            return PREVIOUS
        if self.windowed:
            return THEN
        return NOW

    def _made(self, names: tuple[str, ...], mode: str, value: str, sure: float) -> StateAsked | None:
        if mode == WHEN and self.low[0] == "when" and names[0] in lists.DATES and not value:
            mode = NOW
        return StateAsked(slots=names, subject=self.owner.subject, mode=mode, value=value, confidence=sure)

    def _open(self) -> StateAsked | None:
        """ "Locker code please", "which parking spot is mine"."""
        mode = self._mode()
        for i, word in enumerate(self.plain):
            if (
                i in self.owner.places
                or (word not in known.ATTRIBUTE_HEADS and word.rstrip("s") not in known.ATTRIBUTE_HEADS)
            ) and word not in self.cues.nouns:
                continue
            begin = i
            while begin and i - begin < 3 and begin - 1 not in self.owner.places and self._noun_word(begin - 1, mode):
                begin -= 1
            name = open_name(" ".join(self.low[begin : i + 1]))
            if begin == i or not name:
                continue
            called = slots_called(name, self.slots)
            if (
                not called
                or not called[0].startswith(OPEN)
                or name in known.OPEN_NOT
                or not self._fitting("", frozenset((begin,)))
            ):
                continue
            used = set(range(begin, i + 1)) | self.owner.places
            left = [j for j, w in enumerate(self.low) if j not in used and not self._empty(j, w, mode, [""])]
            if (left and (mode != WHEN or len(left) > 3)) or not self._owned(frozenset(range(begin, i + 1))):
                continue
            value = " ".join(self.tokens[j] for j in left)
            return self._made(called, mode, value, OPEN_SURE)
        return self._for_my(mode)

    def _for_my(self, mode: str) -> StateAsked | None:
        """ "The code for my locker"."""
        for i, word in enumerate(self.low):
            if (
                word in ("for", "of", "on")
                and i > 0
                and self.low[i + 1 : i + 2] in (["my"], ["our"])
                and i + 2 < len(self.low)
            ):
                head, noun = self.low[i - 1], self.low[i + 2]
                if head in known.ATTRIBUTE_HEADS and noun not in lists.ASK and noun not in known.RELATIONS:
                    left = [
                        j
                        for j, w in enumerate(self.low)
                        if j not in (i - 1, i, i + 1, i + 2) and not self._empty(j, w, mode, [""])
                    ]
                    if not left:
                        return self._made(slots_called(f"{noun} {head}", self.slots), mode, "", OPEN_SURE)
        return None

    def _noun_word(self, i: int, mode: str) -> bool:
        word = self.low[i]
        return (
            word.isalpha()
            and word not in lists.ASK
            and word not in lists.PREVIOUS_WORDS
            and not (mode == HISTORY and word in lists.HISTORY_WORDS)
        )
