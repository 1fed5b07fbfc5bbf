"""Measure entity resolution: latency, build time, precision and recall on generated names.

    python scripts/measure_entities.py [--sizes 300 10000 100000] [--queries 3000] [--seed 7]

Names are built from syllables, so that many are one letter apart: harder than a list of real names. A query's gold
entity is known from how it was made. Half of the queries name something that is in the index, some with a typo, in
another order, by initial or in part; the others name nobody, somebody absent, or one of several namesakes.
Precision is of the references at a confidence of .85 and more; recall is over the queries that have one right answer.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import string
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

from recall_integrations.query.entities import EntityIndex

SURE = 0.85
ONSETS = "b br c ch d dr f g gr h j k kl l m n p pr r s sh st t tr v w z".split()
VOWELS = "a e i o u ai ea ia".split()
CODAS = ["", "", "", "l", "n", "r", "s", "m", "th", "nd"]
FAMILY_ENDS = ["son", "ton", "ley", "sky", "man", "ez", "ini", "ova", "berg", "ström", "ner", "well"]
KINDS = ["Project {}", "{} Labs", "{} Team", "{} Inc.", "Operation {}", "{} Platform", "{}"]
CARRIERS = [
    "what did {} say about the migration last week",
    "Who works with {} on the new dashboard?",
    "when is the meeting with {} and the customer",
    "Tell me everything about {}",
    "did {} like the restaurant we went to",
    "{} was in the room when we decided to move the release",
    "remind me why {} is important for our roadmap",
]
NOBODY = [
    "will it rain tomorrow in the mountains",
    "may i ask what we decided about the budget",
    "What is the best way to store the backup keys?",
    "I hope to mark the tickets as done",
    "how many vegetarian dinners did i cook in the last month",
    "Something about our API",
    "list the blockers of the quarterly infrastructure review",
    "where did we park the rental bicycle after hiking",
]


@dataclass(frozen=True)
class Case:
    """A query, what it was made to test, and the ids that are right (none: any sure reference is wrong)."""

    text: str
    kind: str
    gold: frozenset[str]


class World:
    """Generated entities, and queries about them."""

    def __init__(self, size: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.given = self._words(max(60, size // 40), self._given)
        self.family = self._words(max(200, size // 6), self._family)
        self.names: dict[str, tuple[str, list[str]]] = {}
        self._people(size * 7 // 10)
        self._things(size)
        self.by_word: dict[str, set[str]] = defaultdict(set)
        for entity_id, (name, aliases) in self.names.items():
            for word in " ".join([name, *aliases]).lower().replace(".", "").split():
                self.by_word[word].add(entity_id)
        self.ids = sorted(self.names)

    def index(self) -> EntityIndex:
        built = EntityIndex()
        for entity_id, (name, aliases) in self.names.items():
            built.add(entity_id, name, aliases)
        return built

    def _syllable(self) -> str:
        return self.rng.choice(ONSETS) + self.rng.choice(VOWELS) + self.rng.choice(CODAS)

    def _given(self) -> str:
        return (self._syllable() + self._syllable()).capitalize()

    def _family(self) -> str:
        return (self._syllable() + self._syllable() + self.rng.choice(["", "", *FAMILY_ENDS])).capitalize()

    def _thing(self) -> str:
        word = (self._syllable() + self._syllable() + self._syllable()).capitalize()
        return word + (str(self.rng.randint(1, 99)) if self.rng.random() < 0.15 else "")

    @staticmethod
    def _words(count: int, make: object) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            found[make()] = None  # type: ignore[operator]
        return list(found)

    def _people(self, count: int) -> None:
        seen = set()
        while len(self.names) < count:
            given, family = self.rng.choice(self.given), self.rng.choice(self.family)
            if (given, family) not in seen:
                seen.add((given, family))
                aliases = [self._given() + self.rng.choice("xzq")] if self.rng.random() < 0.2 else []
                self.names[f"e{len(self.names):06d}"] = (f"{given} {family}", aliases)

    def _things(self, size: int) -> None:
        seen = set()
        while len(self.names) < size:
            name = self.rng.choice(KINDS).format(self._thing())
            if name not in seen:
                seen.add(name)
                self.names[f"e{len(self.names):06d}"] = (name, [])

    def typo(self, word: str) -> str:
        """One slip of the finger: two letters swapped, one lost, doubled, replaced or added."""
        at = self.rng.randrange(len(word))
        kind = self.rng.choice(["swap", "swap", "lose", "lose", "double", "replace", "add"])
        letter = self.rng.choice(string.ascii_lowercase)
        if kind == "swap":
            at = min(at, len(word) - 2)
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        changed = {"lose": "", "double": word[at] * 2, "replace": letter, "add": word[at] + letter}[kind]
        return word[:at] + changed + word[at + 1 :]

    def case(self) -> Case:
        """One query with its answer."""
        kind = self.rng.choices(*zip(*MIX, strict=True))[0]
        mention, gold = getattr(self, kind)()
        carrier = self.rng.choice(CARRIERS)
        if mention is None:
            return Case(self.rng.choice(NOBODY), kind, gold)
        text = carrier.format(mention)
        return Case(text.lower() if self.rng.random() < 0.5 else text, kind, gold)

    # what a query may name; each returns the words and the right ids

    def _pick(self, words: int | None = None, person: bool = False) -> tuple[str, list[str], list[str]]:
        while True:
            entity_id = self.rng.choice(self.ids)
            name, aliases = self.names[entity_id]
            split = name.split()
            if (words is None or len(split) == words) and not (person and any(w in split for w in FIXED)):
                return entity_id, split, aliases

    def exact(self) -> tuple[str, frozenset[str]]:
        entity_id, words, _ = self._pick()
        return " ".join(words) + self.rng.choice(["", "'s"]), frozenset([entity_id])

    def alias(self) -> tuple[str, frozenset[str]]:
        while True:
            _, _, aliases = self._pick()
            if aliases:
                return aliases[0], frozenset(self.by_word[aliases[0].lower()])

    def swapped(self) -> tuple[str, frozenset[str]]:
        entity_id, words, _ = self._pick(2, person=True)
        return f"{words[1]} {words[0]}", frozenset([entity_id])

    def initial(self) -> tuple[str, frozenset[str]]:
        _, words, _ = self._pick(2, person=True)
        right = {e for e in self.by_word[words[1].lower()] if self.names[e][0].startswith(words[0][0])}
        return f"{words[0][0]}. {words[1]}", frozenset(right)

    def typo_in_several(self) -> tuple[str, frozenset[str]]:
        entity_id, words, _ = self._pick(2)
        at = self.rng.randrange(2)
        words[at] = self.typo(words[at])
        return " ".join(words), frozenset([entity_id])

    def typo_in_one(self) -> tuple[str, frozenset[str]]:
        entity_id, words, _ = self._pick()
        at = 1 if words[0] in FIXED and len(words) > 1 else 0
        sharing = self.by_word[words[at].lower().replace(".", "")]
        return self.typo(words[at]), frozenset(sharing or [entity_id])

    def part(self) -> tuple[str, frozenset[str]]:
        _, words, _ = self._pick(2)
        telling = [w for w in words if w not in FIXED]
        word = self.rng.choice(telling)
        return word, frozenset(self.by_word[word.lower()])

    def absent_person(self) -> tuple[str, frozenset[str]]:
        known = {name for name, _ in self.names.values()}
        while True:
            name = f"{self.rng.choice(self.given)} {self.rng.choice(self.family)}"
            if name not in known:
                return name, frozenset()

    def absent_near(self) -> tuple[str, frozenset[str]]:
        _, words, _ = self._pick(2, person=True)
        return f"{self._given()} {words[1]}", frozenset()

    def absent_word(self) -> tuple[str, frozenset[str]]:
        while True:
            word = self._thing()
            if word.lower() not in self.by_word:
                return word, frozenset()

    def nobody(self) -> tuple[None, frozenset[str]]:
        return None, frozenset()


FIXED = frozenset({"Project", "Labs", "Team", "Inc.", "Operation", "Platform"})
MIX = [
    ("exact", 18), ("alias", 6), ("swapped", 6), ("initial", 5), ("typo_in_several", 12), ("typo_in_one", 8),
    ("part", 10), ("absent_person", 8), ("absent_near", 5), ("absent_word", 8), ("nobody", 14),
]  # fmt: skip


@dataclass
class Quality:
    """Counts over the cases of one kind, or of all."""

    cases: int = 0
    unique: int = 0
    sure: int = 0
    right: int = 0
    found: int = 0
    named: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.sure if self.sure else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.unique if self.unique else 1.0

    @property
    def recall_any(self) -> float:
        return self.named / self.unique if self.unique else 1.0


def quality(index: EntityIndex, cases: list[Case]) -> dict[str, Quality]:
    """Precision and recall at .85, by kind of query and over all ("all")."""
    result: dict[str, Quality] = defaultdict(Quality)
    for case in cases:
        refs = index.resolve(case.text)
        sure = [r for r in refs if r.confidence >= SURE]
        only = len(case.gold) == 1
        for name in (case.kind, "all"):
            q = result[name]
            q.cases += 1
            q.unique += only
            q.sure += len(sure)
            q.right += sum(only and r.entity_id in case.gold for r in sure)
            q.found += only and any(r.entity_id in case.gold for r in sure)
            q.named += only and any(r.entity_id in case.gold for r in refs)
    return dict(result)


def latency(index: EntityIndex, cases: list[Case]) -> tuple[float, float]:
    """Median and 95th percentile of `resolve`, in milliseconds."""
    times = []
    for case in cases:
        start = time.perf_counter()
        index.resolve(case.text)
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.95)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[300, 10_000, 100_000])
    arguments.add_argument("--queries", type=int, default=3_000)
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--wrong", type=int, default=0, help="print this many wrong sure references")
    options = arguments.parse_args()
    for size in options.sizes:
        world = World(size, options.seed)
        gc.collect()
        start = time.perf_counter()
        index = world.index()
        built = time.perf_counter() - start
        cases = [world.case() for _ in range(options.queries)]
        median, p95 = latency(index, cases)
        print(f"\n{size:,} entities: built in {built:.2f} s; resolve median {median:.3f} ms, p95 {p95:.3f} ms")
        _print_mentions(index, world)
        found = quality(index, cases)
        print(f"{'kind':18}{'cases':>7}{'sure':>7}{'precision@.85':>15}{'recall@.85':>12}{'recall':>9}")
        for kind, q in sorted(found.items(), key=lambda item: item[0] == "all"):
            print(f"{kind:18}{q.cases:7}{q.sure:7}{q.precision:15.3f}{q.recall:12.3f}{q.recall_any:9.3f}")
        _print_wrong(index, cases, options.wrong)


def _print_mentions(index: EntityIndex, world: World) -> None:
    texts = [(" and ".join(world.case().text for _ in range(6)))[:200] for _ in range(300)]
    times = []
    for text in texts:
        start = time.perf_counter()
        index.mentions(text)
        times.append((time.perf_counter() - start) * 1e3)
    print(f"mentions of 200 characters: median {statistics.median(times):.3f} ms")


def _print_wrong(index: EntityIndex, cases: list[Case], limit: int) -> None:
    shown: Counter[str] = Counter()
    for case in cases:
        for ref in index.resolve(case.text):
            right = len(case.gold) == 1 and ref.entity_id in case.gold
            if ref.confidence >= SURE and not right and shown[case.kind] < limit:
                shown[case.kind] += 1
                print(
                    f"  {case.kind}: {case.text!r} -> {ref.name!r} {ref.confidence} {ref.stage}, gold {len(case.gold)}"
                )


if __name__ == "__main__":
    main()
