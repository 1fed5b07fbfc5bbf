"""Teaches what reads a question and a text together (`recall_integrations.facts.latest.matching`).

    questions for a state ─ candidates that tell it, or do not ─ words of both ─▶ weights

From the same questions as the pairing (`teaching_pairs`), whole texts instead of sentences. What is made likely is that
a text which tells what is asked comes before what else was found for the question, and before what tells what others
ask. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.facts.teaching_pairs import BESIDE, TELLING, answered, texts_of
from benchmarks.facts.teaching_pairs import Asked as Question
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import MissingExtra
from recall_integrations.facts.latest.attention import ASKED, TOLD
from recall_integrations.facts.latest.evidence import CHARS
from recall_integrations.facts.latest.matching import Matching

OF_A_HAND = 800  # questions
OF_OTHERS = 2  # texts that tell what other questions ask, beside those of a question
# Chosen with a fold of hands and one of scenes left out: what tells it came first for .76 and .88 with a width of 32,
# and for .77 and .89 with 64; with 800 questions of a hand instead of 400 for .79 and more with 48.
WIDTH, DROPOUT = 48, 0.4
EPOCHS, BATCH, RATE, FALLS, DECAY = 4, 64, 2e-3, 0.5, 0.02
BEGIN = 3.0  # what the first matrices, which keep the most of the vectors, are multiplied with
EACH = 0.3  # weight of whether each text tells it, beside which comes first
NONE = -1e4
Learned = tuple[dict[str, NDArray[Any]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Questions and texts, `n` of them, as tokens of the bundled model; -1 = there is none.

    Args:
        groups: the hand or file that each question is from.
        asked: int32 `(n, ASKED)`.
        told: int32 `(n, TELLING + BESIDE, TOLD)`; those that tell it first.
    """

    groups: NDArray[np.str_]
    asked: NDArray[np.int32]
    told: NDArray[np.int32]

    def part(self, groups: Collection[str], *, others: bool = False) -> Examples:
        """Those of some groups, or those of all others."""
        kept = np.isin(self.groups, sorted(groups), invert=others)
        return Examples(groups=self.groups[kept], asked=self.asked[kept], told=self.told[kept])


def examples(found: Sequence[Question], hands: Collection[str]) -> Examples:
    """What is learned from.

    Args:
        found: questions.
        hands: groups of which only some questions are taken.

    Raises:
        InvalidArgument: no question has an answer.
    """
    taken = answered(found, hands, OF_A_HAND)
    asked = np.full((len(taken), ASKED), -1, dtype=np.int32)
    told = np.full((len(taken), TELLING + BESIDE, TOLD), -1, dtype=np.int32)
    for number, one in enumerate(taken):
        put(asked[number], one.query)
        for place, text in texts_of(one):
            put(told[number, place], text)
    return Examples(groups=np.asarray([one.group for one in taken]), asked=asked, told=told)


def put(row: NDArray[np.int32], text: str) -> None:
    """Write the first tokens of a text into a row."""
    ids = bundled().ids_of(text[:CHARS])[: len(row)] or [0]
    row[: len(ids)] = ids


class Reading:
    """The same as `Matching`, as torch learns it.

    Attributes:
        SIDES: what words and matches are of; the first two are read by their own.
    """

    SIDES: tuple[str, ...] = ("asked", "told")

    def __init__(self) -> None:
        import torch
        from torch import nn

        model = bundled()
        lengths = np.linalg.norm(model.weighted(np.arange(len(model.token_vectors))), axis=1)
        self.length = float(lengths.mean())
        self.counts = torch.from_numpy(lengths / self.length)
        self.table = torch.from_numpy(model.token_vectors.copy())
        first = torch.linalg.svd(self.table, full_matrices=False)[2][:WIDTH] * BEGIN
        self.turns = [nn.Linear(self.table.shape[1], WIDTH, bias=False) for _ in range(2)]
        self.beside = [nn.Conv1d(WIDTH, WIDTH, 3, padding=1) for _ in range(2)]
        self.keys = [nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2)]
        self.makes = [nn.Linear(4 * WIDTH + 1, WIDTH) for _ in range(2)]
        self.inner, self.outer = nn.Linear(4 * WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        with torch.no_grad():
            for turn, one in zip(self.turns, self.beside, strict=True):
                turn.weight.copy_(first)
                one.weight.mul_(0.3)

    def parameters(self) -> list[Any]:
        """Everything that is learned."""
        parts = (*self.turns, *self.beside, *self.keys, *self.makes, self.inner, self.outer)
        return [one for part in parts for one in part.parameters()]

    def logits(self, asked: Any, told: Any) -> Any:
        """Of questions, `(n, words)`, and of texts of each, `(n, texts, words)`; then of texts of other questions.

        `(n, texts + OF_OTHERS)`.
        """
        n, k, size = told.shape
        is_asked, is_told = asked >= 0, told >= 0
        question, of_asked = self.read(asked.clamp(min=0), is_asked, 0)
        is_told[..., 0] = True  # of a text that is not there: what it is does not count
        text, of_text = self.read(told.clamp(min=0).reshape(n * k, size), is_told.reshape(n * k, size), 1)
        text, of_text, is_told = (
            with_others(one).flatten(0, 1)
            for one in (text.reshape(n, k, size, WIDTH), of_text.reshape(n, k, size), is_told)
        )
        question, of_asked, is_asked = (
            one.repeat_interleave(k + OF_OTHERS, 0) for one in (question, of_asked, is_asked)
        )
        alike = self.keys[0](question) @ self.keys[1](text).transpose(1, 2) / WIDTH**0.5
        matches = alike.masked_fill(~is_told[:, None], NONE).softmax(2) @ text
        asked_for = alike.masked_fill(~is_asked[:, :, None], NONE).softmax(1).transpose(1, 2) @ question
        seen = [
            self.whole(question, matches, of_asked, is_asked, 0),
            self.whole(text, asked_for, of_text, is_told, 1),
        ]
        return self.judged(seen).reshape(n, k + OF_OTHERS)

    def judged(self, seen: Sequence[Any]) -> Any:
        """What is made of all that was seen, `(texts, 1)`."""
        import torch
        from torch.nn.functional import dropout, gelu

        made = gelu(self.inner(dropout(torch.cat(list(seen), dim=-1), DROPOUT)), approximate="tanh")
        return self.outer(dropout(made, DROPOUT))

    def read(self, tokens: Any, there: Any, side: int) -> tuple[Any, Any]:
        """Words of texts, `(texts, words, width)`, and how much each counts."""
        from torch.nn.functional import dropout, gelu

        turned = self.turns[side](dropout(self.table[tokens], 0.7 * DROPOUT))
        near = self.beside[side]((turned * there[..., None]).transpose(1, 2)).transpose(1, 2)
        return turned + gelu(near, approximate="tanh"), self.counts[tokens] * there

    def whole(self, words: Any, matches: Any, count: Any, there: Any, side: int) -> Any:
        """What words and their matches say of texts, `(texts, 2 * width)`."""
        import torch
        from torch.nn.functional import gelu

        given = torch.cat([words, matches, words * matches, (words - matches).abs(), count[..., None]], dim=-1)
        made = gelu(self.makes[side](given), approximate="tanh")
        average = (made * count[..., None]).sum(1) / count.sum(1, keepdim=True).clamp(min=1e-3)
        return torch.cat([average, made.masked_fill(~there[..., None], NONE).amax(1)], dim=-1)

    def weights(self) -> dict[str, Any]:
        """What was learned, by the names of what reads with it."""
        weights: dict[str, Any] = {}
        for side, name in enumerate(self.SIDES[:2]):
            own = {
                "turn": self.turns[side].weight.T,
                "beside": self.beside[side].weight.permute(2, 1, 0).reshape(3 * WIDTH, WIDTH),
                "bias": self.beside[side].bias,
                "key": self.keys[side].weight.T,
            }
            weights |= {f"{name}_{key}": one for key, one in own.items()}
        for name, makes in zip(self.SIDES, self.makes, strict=True):
            weights |= {f"{name}_made": makes.weight.T, f"{name}_made_bias": makes.bias}
        inner, outer = self.inner, self.outer
        weights |= {"inner": inner.weight.T, "inner_bias": inner.bias}
        return weights | {"outer": outer.weight[0], "outer_bias": outer.bias}

    def learn(self, count: int, loss: Callable[[NDArray[np.int64]], Any], seed: int, epochs: int) -> Learned:
        """Learn from examples, some at a time.

        Args:
            count: of the examples.
            loss: of some of them, by their numbers.
            seed: of their order.
            epochs: times that everything is learned from.

        Returns:
            What was learned, rounded, and the mean length of the vectors of tokens.
        """
        import torch

        rng = np.random.default_rng(seed)
        steps = torch.optim.AdamW(self.parameters(), lr=RATE, weight_decay=DECAY)
        for _ in range(epochs):
            for part in np.array_split(rng.permutation(count), max(1, count // BATCH)):
                steps.zero_grad()
                loss(part).backward()
                steps.step()
            for group in steps.param_groups:
                group["lr"] *= FALLS
        return self.rounded()

    def rounded(self) -> Learned:
        """What was learned, in half precision, and the mean length of the vectors of tokens."""
        return {
            name: np.ascontiguousarray(one.detach().numpy(), dtype=np.float16) for name, one in self.weights().items()
        }, self.length


def cut(tokens: Any) -> Any:
    """Tokens of texts, without columns that no text has."""
    return tokens[..., : int((tokens >= 0).flatten(0, -2).any(0).sum())]


def with_others(of_texts: Any) -> Any:
    """Something of texts, `(n, texts, …)`, and then the same of the first text of other questions."""
    import torch

    return torch.cat([of_texts, *(of_texts.roll(by + 1, 0)[:, :1] for by in range(OF_OTHERS))], dim=1)


def taught(given: Examples, seed: int = 0, epochs: int = EPOCHS) -> Matching:
    """What reads both together; arguments and errors are those of `learned`."""
    return Matching(*learned(given, seed, epochs))


def learned(given: Examples, seed: int = 0, epochs: int = EPOCHS) -> Learned:
    """What a `Matching` is made of. Processes can give it to each other.

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
        raise MissingExtra("The matching is taught with torch: pip install torch") from e
    from torch.nn.functional import binary_cross_entropy_with_logits, softplus

    torch.manual_seed(seed)
    reading = Reading()
    asked, told = (torch.from_numpy(one.astype(np.int64)) for one in (given.asked, given.told))
    tells = torch.arange(TELLING + BESIDE + OF_OTHERS) < TELLING

    def loss(part: NDArray[np.int64]) -> Any:
        question, texts = cut(asked[part]), cut(told[part])
        there = with_others((texts >= 0).any(2))
        found = reading.logits(question, texts)
        wrong = torch.logsumexp(found[:, TELLING:].masked_fill(~there[:, TELLING:], NONE), dim=1)
        telling = there[:, :TELLING]
        before = softplus(wrong[:, None] - found[:, :TELLING]) * telling
        each = binary_cross_entropy_with_logits(found, tells.float().expand_as(found), reduction="none") * there
        return (before.sum(1) / telling.sum(1).clamp(min=1)).mean() + EACH * each.sum() / there.sum()

    return reading.learn(len(asked), loss, seed, epochs)


def nearest(found: Sequence[Question], matching: Matching) -> float:
    """Share of questions whose best text tells it, where others were found beside it; 0 of none.

    Args:
        found: questions.
        matching: what reads both together.
    """
    hits = []
    for one in found:
        texts = list(texts_of(one)) if one.right.any() else []
        if any(place >= TELLING for place, _ in texts):
            best = int(np.argmax(matching.matched(one.query[:CHARS], [text for _, text in texts])))
            hits.append(texts[best][0] < TELLING)
    return float(np.mean(hits)) if hits else 0.0
