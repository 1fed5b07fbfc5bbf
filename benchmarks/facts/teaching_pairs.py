"""Teaches which statements answer which questions (`recall_integrations.facts.latest.pairing`).

    questions for a state ─ candidates that tell it, or do not ─ two towers ─▶ Towers

From the same questions as the model of candidates (`teaching_latest`, which asks for it): of each hand some, of scenes
all. What is made likely is that a statement which tells what is asked is nearer to its question than what else was
found for it, and than what tells what others ask. Needs torch.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.facts.latest.evidence import CHARS, Candidate, sentences
from recall_integrations.facts.latest.pairing import Towers, towers_of
from recall_integrations.facts.reader.vectors import vector_of

OF_A_HAND = 400  # questions: hands have many of few kinds of things
TELLING, BESIDE = 2, 5  # statements of a question: that tell it, and that do not
PARTS = 2  # sentences of a statement
# Chosen with a quarter of the files left out: nearest was what tells it for .71 of the questions by the plain cosine,
# .76 with towers that begin anywhere, .79 with dropout of a fifth, .80 with this.
EPOCHS, BATCH, DROPOUT = 8, 96, 0.4
RATE, FALLS, BACK, SHARPNESS = 2e-3, 0.85, 1e-4, 3.0


class Asked(Protocol):
    """A question as `teaching_latest.Found` has it."""

    @property
    def query(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def candidates(self) -> tuple[Candidate, ...]: ...
    @property
    def own(self) -> NDArray[np.bool_]: ...
    @property
    def right(self) -> NDArray[np.bool_]: ...
    @property
    def stale(self) -> NDArray[np.bool_]: ...


Q = TypeVar("Q", bound=Asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Questions and statements, `n` of them.

    Args:
        groups: the hand or file that each question is from.
        asked: vectors of questions, float32 `(n, dimensions)`.
        told: of sentences of statements, float16 `(n, TELLING + BESIDE, PARTS, dimensions)`; those that tell it first.
        there: whether there is such a sentence, `(n, TELLING + BESIDE, PARTS)`.
    """

    groups: NDArray[np.str_]
    asked: NDArray[np.float32]
    told: NDArray[np.float16]
    there: NDArray[np.bool_]

    def part(self, groups: Collection[str], *, others: bool = False) -> Pairs:
        """Those of some groups, or those of all others."""
        kept = np.isin(self.groups, sorted(groups), invert=others)
        return Pairs(groups=self.groups[kept], asked=self.asked[kept], told=self.told[kept], there=self.there[kept])


def pairs(found: Sequence[Asked], hands: Collection[str]) -> Pairs:
    """What is learned from.

    Args:
        found: questions.
        hands: groups of which only some questions are taken.

    Raises:
        InvalidArgument: no question has an answer.
    """
    taken = answered(found, hands, OF_A_HAND)
    dimensions = len(vector_of("."))
    told = np.zeros((len(taken), TELLING + BESIDE, PARTS, dimensions), dtype=np.float16)
    there = np.zeros(told.shape[:3], dtype=np.bool_)
    for number, one in enumerate(taken):
        for place, text in texts_of(one):
            parts = tuple(sentences(text)) or (text,)
            for part, sentence in enumerate(parts[:PARTS]):
                told[number, place, part], there[number, place, part] = vector_of(sentence), True
    return Pairs(
        groups=np.asarray([one.group for one in taken]),
        asked=np.stack([vector_of(one.query) for one in taken]),
        told=told,
        there=there,
    )


def answered(found: Sequence[Q], hands: Collection[str], most: int) -> list[Q]:
    """The questions that are answered by what was found.

    Args:
        found: questions.
        hands: groups of which only some questions are taken.
        most: so many at most.

    Raises:
        InvalidArgument: there is none.
    """
    by_group: dict[str, list[Q]] = {}
    for one in found:
        if one.right.any():
            by_group.setdefault(one.group, []).append(one)
    taken: list[Q] = []
    for group, own in by_group.items():
        some = group in hands and len(own) > most
        taken += random.Random(group).sample(own, most) if some else own
    if not taken:
        raise InvalidArgument("No question is answered by what was found for it: there is nothing to learn from.")
    return taken


def texts_of(one: Asked) -> Iterator[tuple[int, str]]:
    """Their place in a row, and the texts: those that tell it, and the best of the others."""
    tells = one.right | one.stale
    for first, count, own in ((0, TELLING, one.own & tells), (TELLING, BESIDE, one.own & ~tells)):
        for place, number in enumerate(np.flatnonzero(own)[:count]):
            yield first + place, one.candidates[number].text[:CHARS]


def taught(given: Pairs, seed: int = 0) -> Towers:
    """The towers.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        import torch
    except ImportError as e:
        raise MissingExtra("The pairing is taught with torch: pip install torch") from e
    from torch.nn.functional import dropout, normalize, softplus

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    asked, told, there = (torch.from_numpy(one) for one in (given.asked, given.told, given.there))
    plain = torch.eye(asked.shape[1])
    towers = [torch.nn.Parameter(plain.clone()) for _ in range(2)]
    sharp = torch.nn.Parameter(torch.tensor(SHARPNESS))
    steps = torch.optim.AdamW([*towers, sharp], lr=RATE, weight_decay=0.0)
    far = -1e4
    for _ in range(EPOCHS):
        for part in np.array_split(rng.permutation(len(asked)), max(1, len(asked) // BATCH)):
            question = normalize(dropout(asked[part], DROPOUT) @ towers[0], dim=-1)
            said = normalize(dropout(told[part].float(), DROPOUT) @ towers[1], dim=-1)
            here = there[part]
            own = torch.einsum("nd,nmpd->nmp", question, said).masked_fill(~here, far).amax(2) * sharp.exp()
            some = here.any(2)
            of_others = torch.einsum("nd,mkpd->nmkp", question, said[:, :TELLING])
            of_others = of_others.masked_fill(~here[None, :, :TELLING], far).amax(3) * sharp.exp()
            of_others = of_others.masked_fill(torch.eye(len(part), dtype=torch.bool)[:, :, None], far)
            beside = own[:, TELLING:].masked_fill(~some[:, TELLING:], far)
            wrong = torch.logsumexp(torch.cat([beside, of_others.flatten(1)], dim=1), dim=1)
            telling = some[:, :TELLING]
            loss = ((softplus(wrong[:, None] - own[:, :TELLING]) * telling).sum(1) / telling.sum(1).clamp(min=1)).mean()
            loss = loss + BACK * sum(((tower - plain) ** 2).sum() for tower in towers)
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
        for group in steps.param_groups:
            group["lr"] *= FALLS
    asked_by, told_by = (tower.detach().numpy() for tower in towers)
    return towers_of(asked_by, told_by)


def nearest(given: Pairs, towers: Towers | None = None) -> float:
    """Share of questions of which the nearest statement tells it, where others were found beside it; 0 of none.

    Args:
        given: questions.
        towers: of the pairing; `None` = the plain cosine.
    """
    question, said = given.asked, given.told.astype(np.float32)
    if towers is not None:
        question = _unit(question @ (towers.asked * towers.scales[0]))
        said = _unit(said @ (towers.told * towers.scales[1]))
    near = np.where(given.there, np.einsum("nd,nmpd->nmp", question, said), -2.0).max(axis=2)
    beside = given.there[:, TELLING:].any(axis=(1, 2))
    if not beside.any():
        return 0.0
    return float((near[beside].argmax(axis=1) < TELLING).mean())


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return unit
