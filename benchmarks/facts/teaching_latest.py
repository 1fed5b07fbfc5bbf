"""Teaches the model of candidates that ships (`recall_integrations.facts.latest`).

    python -m benchmarks.facts.teaching_latest ../shared/data            makes its file anew
    python -m benchmarks.facts.teaching_latest ../shared/data --check    teaches it without each fold in turn

    histories, sets ─ asked of a store ─ what was found ─ evidence, by what was taught without that fold ─▶ networks

It is taught from histories (`histories.room`) in the phrasings of `taught/`, a file for each hand, and of the half of
`dev` that rules may be written on; from scenes (`scenes`), each of another kind of thing; whether a query asks for a
state also from queries alone (`taught/queries/`); and from the questions of `talk`, `phone`, `projects` and
`documents`, which may be used for that: they ask for no state, so no candidate tells it. Every question is asked of a
store as users ask. The slot reader is taught from the same hands, and what it sees of phrasings that it was taught from
is not what it sees of others: so hands are in folds, and the evidence of a fold is by a reader, and by shares of asking
for a state, that were taught without it. Needs scikit-learn and torch, and an hour and a half of two processors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.facts import scenes, teaching, teaching_matching, teaching_pairs, teaching_superseding
from benchmarks.facts.generator.histories import MEMORIES_MIN, PEOPLE, Room, room, rooms
from benchmarks.facts.generator.phrasings import NOW, THEN
from benchmarks.facts.generator.slots import DEV
from benchmarks.facts.taught_slots import OTHERS, hands, style_of, taught_slots
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.evaluation.datasets.loading import load as load_data
from recall_integrations.facts.latest.evidence import FEATURES, Candidate, Comparing, Question, evidence
from recall_integrations.facts.latest.matching import Matching
from recall_integrations.facts.latest.model import FILE, OTHER, STATE, LatestModel, Nets, save
from recall_integrations.facts.latest.pairing import Pairing
from recall_integrations.facts.latest.superseding import Superseding
from recall_integrations.facts.reader.features import BUCKETS, places, rarity, weights_of
from recall_integrations.facts.reader.slot_reader import ASKED, Linear, Part, SlotReader, quantised, slot_reader
from recall_integrations.recall import doubts, likely

HISTORIES = (400, 200)  # of each hand: in rooms as those that measure, and in large ones with other people's talk
OF_DEV = 500
IN_A_ROOM = (3, 3)
LARGE = (20, 30, 45, 70, 110)  # memories
QUERIES = Path(__file__).with_name("taught") / "queries"  # a line each: `now` or `other`, and what is asked
KINDS = ("talk", "phone", "projects", "documents")
# What is left out together: hands of both halves of the schema, so that somebody else wrote of each slot; sets; scenes
# of a sort.
FOLDS = (
    ("first", "ninth", "seventh"),
    ("second", "eighth", "third"),
    ("fourth", "eleventh", "twelfth"),
    ("fifth", "tenth", "sixth"),
    ("thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    ("talk", "documents"),
    ("phone", "projects"),
    ("whose", "whose_2", "whose_3", "firms", "firms_2"),
    ("unlike", "unlike_2", "unlike_3", "unlike_4"),
    ("instead", "instead_2", "stays", "stays_2", "ends", "implied"),
    ("talks", "talks_2", "friends", "stage", "chats"),
    ("helps", "helps_2", "assistant", "customers"),
    ("astray_chats", "astray_private", "astray_work", "astray_2"),
    ("work", "work_notes", "trades", "devices", "terse"),
    ("family", "days", "culture", "phone_records", "first_try", "first_try_2"),
)
# Folds that are left out together when it is taught what reads texts together, which takes minutes; by the first group
# of each.
LEFT_OUT = (
    ("first", "whose", "family"),
    ("second", "unlike", "work"),
    ("fourth", "instead", DEV),
    ("fifth", "talks", "astray_chats"),
    ("thirteenth", "helps"),
)
# These teach what asks for a state and what compares questions and texts, and no networks. So much that leads
# astray is told nowhere else: with them among what the networks learn, .69 to .72 of the first set that measures came
# right first among others, and without them .75 to .80 (`scenes`; limits of .3 to .4).
NOT_OF_NETS = frozenset(("astray_2", "ends", "unlike_3", "unlike_4", "whose_3"))
# These teach nothing yet. Taught with them, and that each of a chain takes the place of the one before it, chats of two
# that nobody had looked at came right first for .30 instead of .24, of the first set that measures .73 instead of .75,
# and what is superseded 38 times instead of 32 of 259: no gain (`docs/benchmarks.md`, scenes).
NOT_TAUGHT = frozenset(("small_talk", "small_talk_2", "small_talk_3", "small_talk_4"))
C = 3.0  # of the regression
NETS, HIDDEN, EPOCHS, BATCH = 4, 32, 8, 128
RATE, FALLS, DECAY = 4e-3, 0.96, 0.1
ALONE = 2  # of so many scenes one is asked once more with nothing else in the store, as by somebody who tries it
SCENES_COUNT = 3  # each of them counts as so many questions of a hand, which are many of few kinds of things
NOTHING_WEIGHT = 0.5 / 3  # all questions that ask for no state count together this much of the others
TELLS_WEIGHT = 0.5  # of whether each candidate tells it, beside which is the latest
SPREAD_MIN = 1e-3
LINE = (15, 260)  # characters of talk in large rooms
ASKS_STATE, SLOT_KNOWN, OF_USER = (FEATURES.index(name) for name in ("asks_state", "slot_known", "of_user"))

# Words that are looked for, and what is said to begin a talk: they ask for no state, and no hand and no set has them.
VAGUE = tuple(
    " ".join(one.split())
    for one in """
    garden; deploy; launch; kestrel launch; tea; holiday photos; the meeting; project plan; notes from monday;
    swimming; garden party; budget report; certificate expired; train; trains to lisbon; recipe; soup recipe;
    birthday party; hello; hi there; good morning; thanks; ok; yes please; sure; tell me something; tell me
    something new; tell me a story; anything new; anything else; what's new; what's up; remind me; remind me of
    it; show me more; go on; more about that; how are things; how are you; how did it go; what happened; what
    happened next; what did we talk about; summary please; summarise our chat; what do you know; what do you
    know about me; who am I; favourite things; things to do; ideas; ideas for the weekend; help me; help me
    write this; can you help; let's talk about work; something about music; everything about the trip; all about
    kestrel; talk to me; continue; where were we; what else; why; how; when; who; test; asdf; the one from last
    week; that thing; that thing about data; it; this; photos; stories; plans; work stuff; bugs; errors in
    production; release notes; meeting minutes; travel; travel plans; food; good food; shopping list; todo;
    books; films we saw; music; cats and dogs; family news; health; weather; questions; old messages
    """.split(";")
)

# The same of people and things; one after the other is put in.
OF_PEOPLE = tuple(
    "{name} {noun}; {noun} {name}; {noun} for {name}; {noun} with {name}; notes on {name}; my notes on {name}; "
    "ideas for {name}; {name} and the {noun}; {name}'s opinion on the {noun}; I need a {noun}; "
    "I need the {noun} again; things I have to do before the {noun}".split("; ")
)
NAMES = tuple(name for name, _ in PEOPLE)  # those of the histories: a name says nothing of what is asked
NOUNS = ("dog", "gift", "book", "film", "plumber", "birthday cake", "soup recipe", "certificate")

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A question, and what was found for it.

    Args:
        query: the question.
        group: the hand or set that it is from.
        question: what is known of it.
        candidates: what is known of what was found, best first.
        own: whether each states anything and was told by then: the model chooses among these.
        at: when each was told.
        right, stale: whether each is what holds, or what holds no longer; none = it asks for no state.
    """

    query: str
    group: str
    question: Question
    candidates: tuple[Candidate, ...]
    own: NDArray[np.bool_]
    at: NDArray[np.int64]
    right: NDArray[np.bool_]
    stale: NDArray[np.bool_]

    def shown(self, by: Taught) -> Shown:
        """What the model sees."""
        question = replace(self.question, asks_state=_asks(by.asking, self.query))
        own = self.own
        return Shown(
            query=self.query,
            group=self.group,
            found=evidence(question, self.candidates, by.reader, by.comparing, own)[own],
            at=self.at[own],
            right=self.right[own],
            stale=self.stale[own],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A question, and what the model saw.

    Args:
        query: the question.
        group: the hand or set that it is from.
        found: evidence, `(candidates, features)`.
        at: when each was told.
        right, stale: whether each is what holds, or what holds no longer; none = it asks for no state.
    """

    query: str
    group: str
    found: Matrix
    at: NDArray[np.int64]
    right: NDArray[np.bool_]
    stale: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What evidence is made with.

    Args:
        reader: the slot reader.
        asking: tells whether a query asks for a state.
        comparing: compares questions and texts.
    """

    reader: SlotReader
    asking: Part
    comparing: Comparing


class _Watching:
    """Stands in for the model while questions are asked: every query asks for a state, and nothing is moved.

    Names that are two people's are taken as well, of whom no query is answered: more is seen where it must say nothing.
    """

    def asks(self, query: str) -> float:
        """One."""
        return 1.0

    def telling(self, found: Matrix, at: Sequence[int]) -> tuple[Matrix, Matrix]:
        """Nothing tells it."""
        none = np.zeros(len(at), dtype=np.float32)
        return none, none


class Asking:
    """Asks, and keeps what the model would look at."""

    def __init__(self) -> None:
        self._seen: list[tuple[Question, tuple[Candidate, ...], NDArray[np.bool_], NDArray[np.int64], list[str]]] = []

    def __enter__(self) -> Asking:
        self._kept = [(vars(module), dict(vars(module))) for module in (likely, doubts)]

        def watched(question: Any, state: Any, pool: Any, until: int, held: Any) -> Any:
            view, rows = state.scope, np.asarray(pool.rows, dtype=np.int64)
            own = likely.counting(state, pool, until)
            if own.any():
                ids = [view.ids[row] for row in pool.rows]
                self._seen.append((question, tuple(pool.candidates(question, view, held)), own, view.at[rows], ids))
            return rows[own], np.zeros((int(own.sum()), len(FEATURES)), dtype=np.float32)

        vars(likely).update(seen=watched, latest_model=_Watching, of_several=lambda *_: False)
        vars(doubts).update(latest_model=_Watching)
        return self

    def __exit__(self, *_: object) -> None:
        for names, kept in self._kept:
            names.update(kept)

    def found(
        self,
        optimizer: QueryOptimizer,
        query: str,
        group: str,
        right: Iterable[str],
        stale: Iterable[str],
        **asked: Any,
    ) -> Found | None:
        """What is found for a question; `None` = it is not taken for one that may ask for a state."""
        self._seen.clear()
        optimizer.recall(query, k=5, **asked)
        if not self._seen:
            return None
        question, candidates, own, at, ids = self._seen[-1]
        yes, no = frozenset(right), frozenset(stale)
        return Found(
            query=query,
            group=group,
            question=question,
            candidates=candidates,
            own=own,
            at=at,
            right=np.asarray([one in yes for one in ids]) & own,
            stale=np.asarray([one in no for one in ids]) & own,
        )


# -- what is learned from ----------------------------------------------------------------------------------------------


def histories(data: Path, hand: Path) -> Iterator[Room]:
    """Rooms in the words of a hand: small ones, and large ones in which people talk of other things."""
    style = style_of(hand)
    slots, lines = taught_slots(style), _lines(data)
    for large, (count, each) in enumerate(zip(HISTORIES, IN_A_ROOM, strict=True)):
        for number in range(count // each):
            name = f"{style}.{large}.{number}"
            if large:
                least = random.Random(f"large {name}").choice(LARGE)
                yield room(name, style, slots, style, each, least=least, chatter=lambda rng: rng.choice(lines))
            else:
                yield room(name, style, slots, style, each, least=MEMORIES_MIN)


def scene_files() -> tuple[Path, ...]:
    """Of scenes that teach."""
    return tuple(file for file in scenes.files() if file.stem not in NOT_TAUGHT)


def _lines(data: Path) -> list[str]:
    found = []
    for kind in ("talk", "phone", "projects"):
        for line in (data / kind / "memories.jsonl").read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["text"]
            if LINE[0] < len(text) < LINE[1]:
                found.append(text)
    return found


def of_rooms(made: Iterable[Room], group: str) -> Iterator[Found]:
    """What is found for questions for now and for a time."""
    with MemoryStore.open() as store, Asking() as asking:
        optimizer = QueryOptimizer(store)
        for each in made:
            store.remember_many(each.memories, scope=each.scope)
            for history in each.histories:
                for asked in history.questions:
                    if asked.kind in (NOW, THEN):
                        gold = asked.gold
                        found = asking.found(
                            optimizer, asked.text, group, gold.first, gold.stale, scope=each.scope, now=each.now
                        )
                        if found is not None and found.right.any():
                            yield found
        optimizer.close()


def of_scenes(data: Path, file: Path) -> Iterator[Found]:
    """What is found for the queries of scenes: among what others tell, and some once more by themselves."""
    with MemoryStore.open() as store, Asking() as asking:
        optimizer = QueryOptimizer(store)
        for number, among in enumerate(scenes.stages(file, _lines(data))):
            for stage in (among, scenes.by_itself(among)) if number % ALONE == 0 else (among,):
                store.remember_many(stage.memories, scope=stage.scope)
                query, right, stale = stage.scene.query, stage.right, stage.stale
                found = asking.found(optimizer, query, file.stem, right, stale, scope=stage.scope, now=scenes.ASKED_AT)
                if found is not None and (found.right.any() or not right):
                    yield found
        optimizer.close()


def of_sets(data: Path, kind: str) -> Iterator[Found]:
    """What is found for questions that ask for no state."""
    with MemoryStore.open() as store, Asking() as asking:
        optimizer = QueryOptimizer(store)
        for collection in load_data(data / kind, "jsonl").collections:
            store.remember_many(collection.memories, scope=collection.scope)
            for question in collection.questions:
                found = asking.found(
                    optimizer, question.text, kind, (), (), scope=collection.scope, now=question.asked_at
                )
                if found is not None:
                    yield found
        optimizer.close()


# -- whether a query asks for a state ----------------------------------------------------------------------------------


def queries(data: Path) -> dict[str, dict[str, list[str]]]:
    """Questions by class and by the hand or set that they are from."""
    states: dict[str, list[str]] = {}
    for file in hands():
        made = teaching.examples([file], seed=3)
        states[file.stem] = [one.text for one in made if one.part == ASKED]
    others: dict[str, list[str]] = {}
    for kind in KINDS:
        lines = (data / kind / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        others[kind] = [json.loads(line)["query"] for line in lines]
    listed = OTHERS.read_text(encoding="utf-8").splitlines()
    others["others"] = [line[3:] for line in listed if line.startswith("q: ")]
    pairs = [(line, noun) for line in OF_PEOPLE for noun in NOUNS]
    of_people = [line.format(name=NAMES[n % len(NAMES)], noun=noun) for n, (line, noun) in enumerate(pairs)]
    vague = dict.fromkeys([*VAGUE, *of_people])
    others["vague"] = [form for line in vague for form in (line, f"{line}?")]
    for file in scene_files():
        for scene in scenes.scenes(file):
            (others if scene.kind == scenes.OTHER else states).setdefault(file.stem, []).append(scene.query)
    for file in sorted(QUERIES.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            kind, _, query = line.partition(" ")
            (others if kind == scenes.OTHER else states).setdefault(f"asked by {file.stem}", []).append(query)
    others["multihop"] = [
        question.text
        for name in ("hotpotqa", "musique")
        for collection in load_data(data, name).collections
        for question in collection.questions
    ]
    return {STATE: states, OTHER: others}


def asking_part(asked: Mapping[str, Mapping[str, Sequence[str]]], without: Sequence[str] = ()) -> Part:
    """The part of the model that tells whether a query asks for a state, taught without some hands or sets."""
    try:
        from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    except ImportError as e:
        raise MissingExtra("The model is taught with scikit-learn: pip install scikit-learn") from e
    # Of both classes the same in all; of each group as much as the root of its size: hands have many queries of few
    # kinds of things.
    given = []
    for name, groups in asked.items():
        kept = {group: texts for group, texts in groups.items() if group not in without}
        whole = sum(len(texts) ** 0.5 for texts in kept.values())
        given += [(text, name, len(texts) ** -0.5 / whole) for texts in kept.values() for text in texts]
    texts = [text for text, _, _ in given]
    found = [places(text) for text in texts]
    rare = rarity(found)
    counts = np.concatenate([weights_of(one, rare) for one in found])
    hashed = csr_matrix((counts, np.concatenate(found), np.cumsum([0, *map(len, found)])), shape=(len(texts), BUCKETS))
    features = hstack([csr_matrix(bundled().embed_documents(texts)), hashed]).tocsr()
    weights = np.asarray([weight for _, _, weight in given]) * len(given) / 2
    model = LogisticRegression(C=C, max_iter=500).fit(features, [name == STATE for _, name, _ in given], weights)
    half = model.coef_[0] / 2  # a softmax of two classes is the logistic function of their difference
    bias = float(model.intercept_[0]) / 2
    return quantised((STATE, OTHER), np.stack([half, -half]), np.asarray([bias, -bias]), rare, bundled().dimensions)


def _asks(part: Part, query: str) -> float:
    return float(Linear(part).shares(bundled().embed_query(query), places(query))[0])


# -- which is the latest -----------------------------------------------------------------------------------------------


def nets(shown: Sequence[Shown], count: int = NETS, epochs: int = EPOCHS) -> Nets:
    """Networks, each begun with another seed.

    What is made likely: of a question for a state, that one of the candidates that say what holds is the latest that
    tells it; of another one, that none tells it; and beside that, that those tell it that say what held or holds.
    """
    of_scenes = frozenset(file.stem for file in scene_files())
    learned = [one for one in shown if one.group not in NOT_OF_NETS]
    counted = [one for one in learned for _ in range(SCENES_COUNT if one.group in of_scenes else 1)]
    trained = [_net(counted, seed, epochs) for seed in range(count)]
    return Nets(**{name: np.stack([one[name] for one in trained]).astype(np.float32) for name in trained[0]})


def _net(shown: Sequence[Shown], seed: int, epochs: int) -> dict[str, NDArray[Any]]:
    try:
        import torch
    except ImportError as e:
        raise MissingExtra("The model is taught with torch: pip install torch") from e
    from torch.nn.functional import binary_cross_entropy_with_logits, gelu, logsigmoid

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    found, later, there, right, tells = (torch.from_numpy(one) for one in _padded(shown))
    asks = right.any(dim=1)
    share = NOTHING_WEIGHT * float(asks.sum()) / max(1.0, float((~asks).sum()))
    mean, spread = found[there].mean(dim=0), found[there].std(dim=0) + SPREAD_MIN
    inner, outer = torch.nn.Linear(found.shape[2], HIDDEN), torch.nn.Linear(HIDDEN, 1)
    steps = torch.optim.AdamW([*inner.parameters(), *outer.parameters()], lr=RATE, weight_decay=DECAY)
    for _ in range(epochs):
        for part in np.array_split(rng.permutation(len(found)), max(1, len(found) // BATCH)):
            logits = outer(gelu(inner((found[part] - mean) / spread), approximate="tanh")).squeeze(-1)
            told, untold = logsigmoid(logits), logsigmoid(-logits) * there[part]
            latest = (told + torch.einsum("bij,bj->bi", later[part], untold)).masked_fill(~right[part], -1e4)
            of_state = -torch.logsumexp(latest, dim=1).clamp(min=-20)
            weight = torch.where(asks[part], 1.0, share)
            wrong = torch.where(asks[part], of_state, -untold.sum(dim=1))
            each = binary_cross_entropy_with_logits(logits, tells[part].float(), reduction="none") * there[part]
            loss = (weight * (wrong + TELLS_WEIGHT * each.sum(dim=1) / there[part].sum(dim=1))).mean()
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
        for group in steps.param_groups:
            group["lr"] *= FALLS
    return {
        "mean": mean.numpy(),
        "spread": spread.numpy(),
        "inner": inner.weight.detach().numpy().T,
        "inner_bias": inner.bias.detach().numpy(),
        "outer": outer.weight.detach().numpy()[0],
        "outer_bias": outer.bias.detach().numpy()[0],
    }


def _padded(shown: Sequence[Shown]) -> tuple[NDArray[Any], ...]:
    """All questions in arrays: evidence; which candidate is later than which; which there are, are right, tell it."""
    most = max(len(one.at) for one in shown)
    found = np.zeros((len(shown), most, len(FEATURES)), dtype=np.float32)
    later = np.zeros((len(shown), most, most), dtype=np.float32)
    there, right, tells = (np.zeros((len(shown), most), dtype=np.bool_) for _ in range(3))
    for place, one in enumerate(shown):
        size, at, order = len(one.at), one.at, np.arange(len(one.at))
        found[place, :size] = one.found
        later[place, :size, :size] = (at[None] > at[:, None]) | (
            (at[None] == at[:, None]) & (order[None] < order[:, None])
        )
        there[place, :size], right[place, :size], tells[place, :size] = True, one.right, one.right | one.stale
    return found, later, there, right, tells


# -- the command -------------------------------------------------------------------------------------------------------


def read(model: LatestModel, shown: Sequence[Shown]) -> str:
    """What a model makes of questions: right and superseded ones first, or how often it moves anything."""
    picks = []
    for one in shown:
        latest = model.telling(one.found, one.at.tolist())[1]
        best = int(np.argmax(latest))
        asks = likely.sure_of(float(one.found[0, ASKS_STATE]), bool(one.found[0, SLOT_KNOWN]))
        covers = one.found[:, likely.COVERS].tolist()
        sure = asks * latest[best] >= likely.limit_of(covers[best], covers[0], own=bool(one.found[0, OF_USER]))
        picks.append((one, best if sure else 0, bool(sure)))
    of_state = [(one, best) for one, best, _ in picks if one.right.any()]
    if of_state:
        right = np.mean([one.right[best] for one, best in of_state])
        stale = np.mean([one.stale[best] for one, best in of_state])
        return f"right first {right:.3f}, superseded first {stale:.3f} of {len(of_state):,}"
    return f"puts another one first for {sum(best > 0 for _, best, _ in picks):,} of {len(picks):,}"


def found_in(data: Path) -> Iterator[Found]:
    """Everything that is learned from, with progress printed; as many parts at once as there are processors."""
    parts = [*(hand.stem for hand in hands()), DEV, *(file.stem for file in scene_files()), *KINDS]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for part, own in zip(parts, pool.map(partial(found_of, data), parts), strict=True):
            print(f"{part}: {len(own):,} questions", flush=True)
            yield from own


def of_hands() -> frozenset[str]:
    """Groups of which only some questions teach what compares questions and texts."""
    return frozenset((DEV, *(hand.stem for hand in hands())))


def left_out() -> tuple[tuple[str, ...], ...]:
    """What is left out when it is taught what reads texts together; first nothing: that ships."""
    fold_of = {fold[0]: fold for fold in FOLDS}
    return ((), *(tuple(group for first in own for group in fold_of.get(first, (first,))) for own in LEFT_OUT))


def comparings(
    found: Sequence[Found], pairing: Pairing, processes: int | None = None
) -> dict[tuple[str, ...], Comparing]:
    """What compares questions and texts, by what its parts that read them together were taught without.

    Args:
        found: questions.
        pairing: of all of them, the same; taught from everything.
        processes: at once; `None` = as many as there are processors.
    """
    matched = teaching_matching.examples(found, of_hands())
    followed = teaching_superseding.examples(found, of_hands())
    with ProcessPoolExecutor(processes or os.cpu_count(), get_context("spawn"), _one_thread) as pool:
        matchings = pool.map(teaching_matching.learned, [matched.part(one, others=True) for one in left_out()])
        others = pool.map(teaching_superseding.learned, [followed.part(one, others=True) for one in left_out()])
        return {
            without: Comparing(pairing=pairing, matching=Matching(*matching), superseding=Superseding(*other))
            for without, matching, other in zip(left_out(), matchings, others, strict=True)
        }


def _one_thread() -> None:
    """In a process beside others, products of matrices take one thread."""
    try:
        import torch
    except ImportError as e:
        raise MissingExtra("What reads texts together is taught with torch: pip install torch") from e
    torch.set_num_threads(1)


def found_of(data: Path, part: str) -> list[Found]:
    """What is found for the questions of a hand, of `dev`, of a file of scenes, or of a set."""
    if part == DEV:
        return list(of_rooms(rooms(OF_DEV, split=DEV), DEV))
    if part in KINDS:
        return list(of_sets(data, part))
    for file in scene_files():
        if file.stem == part:
            return list(of_scenes(data, file))
    hand = next(hand for hand in hands() if hand.stem == part)
    return list(of_rooms(histories(data, hand), part))


def by_folds(
    data: Path,
    found: Sequence[Found],
    whole: Taught,
    by_fold: Mapping[tuple[str, ...], Comparing],
    processes: int | None = None,
) -> Iterator[Shown]:
    """What the model sees of each question: by what was taught without the fold that it is from.

    Args:
        data: the directory of evaluation data.
        found: questions.
        whole: taught from everything; for what is in no fold.
        by_fold: what compares, by what was left out when it was taught (`comparings`).
        processes: at once; `None` = as many as there are processors.
    """
    pairs = teaching_pairs.pairs(found, of_hands())
    given = _Given(data=data, found=found, whole=whole, queries=queries(data), pairs=pairs, by_fold=by_fold)
    # What is given is large and never changed, so processes are forked and share it.
    with ProcessPoolExecutor(processes, get_context("fork"), _give, (given,)) as pool:
        parts = (given.fold(fold) for fold in FOLDS) if processes == 1 else pool.map(_by_fold, FOLDS)
        for fold, (own, said) in zip(FOLDS, parts, strict=True):
            print(f"{', '.join(fold)}: {len(own):,} questions{said}", flush=True)
            yield from own
    kept = frozenset(group for fold in FOLDS for group in fold)
    for one in found:
        if one.group not in kept:
            yield one.shown(replace(whole, comparing=_without((one.group,), by_fold, whole.comparing)))


def _without(fold: Sequence[str], by_fold: Mapping[tuple[str, ...], Comparing], whole: Comparing) -> Comparing:
    """What was taught without a fold; sets teach none."""
    return next((one for without, one in by_fold.items() if frozenset(without).issuperset(fold)), whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What folds are made of; see `by_folds`."""

    data: Path
    found: Sequence[Found]
    whole: Taught
    queries: Mapping[str, Mapping[str, Sequence[str]]]
    pairs: teaching_pairs.Pairs
    by_fold: Mapping[tuple[str, ...], Comparing]

    def fold(self, fold: tuple[str, ...]) -> tuple[list[Shown], str]:
        """What the model sees of the questions of a fold, and how good that is which was taught without it."""
        reader, comparing, said = self.whole.reader, self.whole.comparing, ""
        found = [one for one in self.found if one.group in fold]
        if not found:
            return [], said
        # No reader is taught from these, and no pairing from those sets.
        beside = frozenset((*(file.stem for file in scene_files()), *KINDS)) - {"talk"}
        if not beside.issuperset(fold):
            files = [hand for hand in hands() if hand.stem not in fold]
            reader = SlotReader(teaching.taught(teaching.given(files, self.data, without=fold)))
        if not frozenset(KINDS).issuperset(fold):
            towers, own = teaching_pairs.taught(self.pairs.part(fold, others=True)), self.pairs.part(fold)
            comparing = replace(_without(fold, self.by_fold, comparing), pairing=Pairing(towers))
            near, plain = teaching_pairs.nearest(own, towers), teaching_pairs.nearest(own)
            said = f"; what tells it is nearest {near:.3f}, by the plain cosine {plain:.3f}"
            said += f", read together {teaching_matching.nearest(found, comparing.matching):.3f}"
            said += f"; what takes its place {teaching_superseding.found_anew(found, comparing.superseding):.3f}"
        without = Taught(reader=reader, asking=asking_part(self.queries, fold), comparing=comparing)
        return [one.shown(without) for one in found], said


_given: list[_Given] = []  # of a process of `by_folds`


def _give(given: _Given) -> None:
    _given[:] = [given]


def _by_fold(fold: tuple[str, ...]) -> tuple[list[Shown], str]:
    return _given[0].fold(fold)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the directory of evaluation data")
    parser.add_argument("--check", action="store_true", help="write nothing; leave out each fold once")
    parser.add_argument("--out", type=Path, default=FILE, help="the file that is made; default: the one that ships")
    given = parser.parse_args()
    missing = [kind for kind in KINDS if not (given.data / kind).is_dir()]
    if missing:
        raise InvalidArgument(f"{given.data} has no {', '.join(missing)}. Name the directory of evaluation data.")
    found = list(found_in(given.data))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # threads of torch do not outlive the forks that follow
        pairing = Pairing(pool.submit(teaching_pairs.taught, teaching_pairs.pairs(found, of_hands())).result())
    by_fold = comparings(found, pairing)
    asking = asking_part(queries(given.data))
    comparing = by_fold.pop(())
    whole = Taught(reader=slot_reader(), asking=asking, comparing=comparing)
    shown = list(by_folds(given.data, found, whole, by_fold))
    if given.check:
        for fold in FOLDS:
            learned = nets([one for one in shown if one.group not in fold], 2)
            model = LatestModel(whole.asking, learned, comparing)
            for left_out in fold:
                print(
                    f"{left_out} left out: {read(model, [one for one in shown if one.group == left_out])}", flush=True
                )
        return
    save(whole.asking, nets(shown), comparing, given.out)
    print(f"{given.out.name}: {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
