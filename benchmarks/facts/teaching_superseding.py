"""Teaches what takes whose place (`recall_integrations.facts.latest.superseding`).

    questions for a state ─ what told it earlier ─ what was told later ─ words of all three ─▶ weights

From the same questions as the matching (`teaching_matching`). Of each, what answered it once is put beside what was
told after that, and what answers it last beside what was told after that: what is made likely is that of the later
texts the one takes its place that tells it anew, and none where none does. Needs torch.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.facts.teaching_matching import (
    EACH,
    EPOCHS,
    NONE,
    OF_OTHERS,
    WIDTH,
    Learned,
    Reading,
    cut,
    put,
    with_others,
)
from benchmarks.facts.teaching_pairs import Asked as Answered
from benchmarks.facts.teaching_pairs import answered
from recall_integrations.errors import MissingExtra
from recall_integrations.facts.latest.attention import ASKED, TOLD
from recall_integrations.facts.latest.evidence import CHARS
from recall_integrations.facts.latest.superseding import Superseding

OF_A_HAND = 600  # questions
EARLIER = 2  # texts of a question that told it earlier
LATER = 7  # texts that were told after one


class Asked(Answered, Protocol):
    """A question as `teaching_latest.Found` has it."""

    @property
    def at(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Earlier and later texts of questions, `n` of them, as tokens of the bundled model; -1 = there is none.

    Args:
        groups: the hand or file that each question is from.
        asked: int32 `(n, ASKED)`.
        earlier: int32 `(n, TOLD)`.
        later: int32 `(n, LATER, TOLD)`; the first takes its place, and is not there where none does.
    """

    groups: NDArray[np.str_]
    asked: NDArray[np.int32]
    earlier: NDArray[np.int32]
    later: NDArray[np.int32]

    def part(self, groups: Collection[str], *, others: bool = False) -> Examples:
        """Those of some groups, or those of all others."""
        kept = np.isin(self.groups, sorted(groups), invert=others)
        asked, earlier, later = (one[kept] for one in (self.asked, self.earlier, self.later))
        return Examples(groups=self.groups[kept], asked=asked, earlier=earlier, later=later)


def examples(found: Sequence[Asked], hands: Collection[str]) -> Examples:
    """What is learned from.

    Args:
        found: questions.
        hands: groups of which only some questions are taken.

    Raises:
        InvalidArgument: no question has an answer.
    """
    rows = [(one, *row) for one in answered(found, hands, OF_A_HAND) for row in followed(one)]
    asked = np.full((len(rows), ASKED), -1, dtype=np.int32)
    earlier = np.full((len(rows), TOLD), -1, dtype=np.int32)
    later = np.full((len(rows), LATER, TOLD), -1, dtype=np.int32)
    for number, (one, place, anew, others) in enumerate(rows):
        put(asked[number], one.query)
        put(earlier[number], one.candidates[place].text[:CHARS])
        for column, other in enumerate([anew, *others]):
            if other is not None:
                put(later[number, column], one.candidates[other].text[:CHARS])
    return Examples(groups=np.asarray([one.group for one, *_ in rows]), asked=asked, earlier=earlier, later=later)


def followed(one: Asked) -> Iterator[tuple[int, int | None, list[int]]]:
    """Places of what told it, of what tells it anew after that, if anything does, and of what else was told after it.

    Args:
        one: a question that is answered.
    """
    own, at = np.flatnonzero(one.own).tolist(), one.at.tolist()
    right = [place for place in own if one.right[place]]
    stale = [place for place in own if one.stale[place]]
    others = [place for place in own if not one.right[place] and not one.stale[place]]
    told = random.Random(one.query + one.group).sample(stale, min(EARLIER, len(stale)))
    last = max(right, key=lambda place: (at[place], -place))
    for place in (*told, last):
        anew = next((other for other in right if at[other] > at[place]), None) if place != last else None
        if anew is None and place != last:
            continue  # a question for a time before it
        beside = [other for other in others if at[other] > at[place]][: LATER - 1]
        if anew is not None or beside:
            yield place, anew, beside


class _Comparing(Reading):
    """The same as `Superseding`, as torch learns it."""

    SIDES = ("asked", "told", "earlier")

    def __init__(self) -> None:
        super().__init__()
        import torch
        from torch import nn

        self.of_earlier = nn.Parameter(torch.zeros(WIDTH))
        self.makes.append(nn.Linear(4 * WIDTH + 1, WIDTH))
        self.inner = nn.Linear(6 * WIDTH, WIDTH)

    def parameters(self) -> list[Any]:
        """Everything that is learned."""
        return [*super().parameters(), self.of_earlier]

    def compared(self, asked: Any, earlier: Any, later: Any) -> Any:
        """Logits of later texts of questions, and then of texts that take the place of what others ask for.

        Args:
            asked: `(n, words)`.
            earlier: `(n, words)`.
            later: `(n, texts, words)`.

        Returns:
            `(n, texts + OF_OTHERS)`.
        """
        import torch

        n, k, size = later.shape
        is_asked, is_earlier, is_later = asked >= 0, earlier >= 0, later >= 0
        question, of_asked = self.read(asked.clamp(min=0), is_asked, 0)
        before, of_earlier = self.read(earlier.clamp(min=0), is_earlier, 0)
        before = before + self.of_earlier
        is_later[..., 0] = True  # of a text that is not there: what it is does not count
        text, of_text = self.read(later.clamp(min=0).reshape(n * k, size), is_later.reshape(n * k, size), 1)
        text, of_text, is_later = (
            with_others(one).flatten(0, 1)
            for one in (text.reshape(n, k, size, WIDTH), of_text.reshape(n, k, size), is_later)
        )
        question, of_asked, is_asked, before, of_earlier, is_earlier = (
            one.repeat_interleave(k + OF_OTHERS, 0)
            for one in (question, of_asked, is_asked, before, of_earlier, is_earlier)
        )
        both, is_both = torch.cat([question, before], dim=1), torch.cat([is_asked, is_earlier], dim=1)
        alike = self.keys[0](both) @ self.keys[1](text).transpose(1, 2) / WIDTH**0.5
        in_text = alike.masked_fill(~is_later[:, None], NONE).softmax(2) @ text
        in_both = alike.masked_fill(~is_both[:, :, None], NONE).softmax(1).transpose(1, 2) @ both
        words = question.shape[1]
        seen = [
            self.whole(question, in_text[:, :words], of_asked, is_asked, 0),
            self.whole(text, in_both, of_text, is_later, 1),
            self.whole(before, in_text[:, words:], of_earlier, is_earlier, 2),
        ]
        return self.judged(seen).reshape(n, k + OF_OTHERS)

    def weights(self) -> dict[str, Any]:
        """What was learned, by the names of what reads with it."""
        return super().weights() | {"earlier": self.of_earlier}


def taught(given: Examples, seed: int = 0, epochs: int = EPOCHS) -> Superseding:
    """What tells what takes whose place; arguments and errors are those of `learned`."""
    return Superseding(*learned(given, seed, epochs))


def learned(given: Examples, seed: int = 0, epochs: int = EPOCHS) -> Learned:
    """What a `Superseding` is made of. Processes can give it to each other.

    Args:
        given: what is learned from.
        seed: of the first weights, of order and dropout.
        epochs: times that everything is learned from.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        import torch
    except ImportError as e:
        raise MissingExtra("What tells what takes whose place is taught with torch: pip install torch") from e
    from torch.nn.functional import binary_cross_entropy_with_logits

    torch.manual_seed(seed)
    comparing = _Comparing()
    asked, earlier, later = (
        torch.from_numpy(one.astype(np.int64)) for one in (given.asked, given.earlier, given.later)
    )
    some = (later[:, 0] >= 0).any(1)

    def loss(part: NDArray[np.int64]) -> Any:
        question, before, texts = (cut(one[part]) for one in (asked, earlier, later))
        there = with_others((texts >= 0).any(2))
        found = comparing.compared(question, before, texts).masked_fill(~there, NONE)
        none = torch.zeros(len(found), 1)
        all_of = torch.logsumexp(torch.cat([none, found], dim=1), dim=1)
        takes = torch.zeros_like(found)
        takes[:, 0] = some[part].float()
        each = binary_cross_entropy_with_logits(found.clamp(-20, 20), takes, reduction="none") * there
        which = (all_of - torch.where(some[part], found[:, 0], none[:, 0])).mean()
        return which + EACH * each.sum() / there.sum()

    return comparing.learn(len(asked), loss, seed, epochs)


def found_anew(found: Sequence[Asked], superseding: Superseding) -> float:
    """Share of texts that told it once whose likeliest successor tells it anew, where there are others; 0 of none.

    Args:
        found: questions.
        superseding: tells what takes whose place.
    """
    hits = []
    for one in found:
        for place, anew, others in followed(one) if one.right.any() else ():
            if anew is not None and others:
                texts = [one.candidates[other].text[:CHARS] for other in (anew, *others)]
                told = one.candidates[place].text[:CHARS]
                logits = superseding.supersedes(one.query[:CHARS], [(told, text) for text in texts])
                hits.append(int(np.argmax(logits)) == 0)
    return float(np.mean(hits)) if hits else 0.0
