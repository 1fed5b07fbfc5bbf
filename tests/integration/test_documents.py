"""Over plain documents, without actors, threads or times, `from_texts`, `from_documents` and `from_nodes` are good
retrievers: they find no less than stemmed BM25 does, for questions of one sentence and of three that repeat their
subject.

The collection is made up: abstracts of one discipline on twenty subjects, twelve on each. Three words in ten belong to
the subject, as many to another one, and the rest to the whole discipline, in the phrases of papers. Questions name the
subject, then words of it among words that any abstract may have. BM25 is rank-bm25's over our stems, for which a word
that a question repeats counts as often.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import TextNode
from rank_bm25 import BM25Okapi

from benchmarks.quality.paired import paired_difference
from recall_integrations import OptimizedRecallRetriever
from recall_integrations.text import stems

K = 10
COPIES = 12  # abstracts on a subject
DISCIPLINE = (
    "soil water crop field farm plant seed root yield season weather leaf harvest animal land farmer tool region "
    "fertility market labour village river forest grass insect store price rain ground"
).split()
SUBJECTS = {
    "irrigation": "canal sprinkler drip pump drainage",
    "grafting": "scion rootstock bud orchard pruning",
    "composting": "manure compost humus worm heap",
    "beekeeping": "hive pollination honey swarm comb",
    "dairying": "milk cow cheese udder fodder",
    "viticulture": "grape vine cellar trellis must",
    "pest control": "aphid spray ladybird trap locust",
    "crop rotation": "legume fallow clover cereal cycle",
    "tillage": "plough furrow harrow tractor erosion",
    "greenhouses": "glass heating tomato ventilation shade",
    "fishponds": "carp pond algae hatchery net",
    "forestry": "timber saw sapling thinning stand",
    "sheep farming": "wool fleece shepherd lamb shearing",
    "rice growing": "paddy terrace flooding transplanting husk",
    "grain storage": "silo weevil moisture sack drying",
    "seed breeding": "hybrid variety selection strain pollen",
    "poultry": "hen egg coop broiler feed",
    "mushroom growing": "spore straw substrate cap casing",
    "farm credit": "loan bank interest debt cooperative",
    "land survey": "map boundary parcel deed plot",
}
TITLES = (
    "{0} and {1}.",
    "On the {0} of {1}.",
    "{0} in relation to {1}: a study.",
    "Problems of {0}.",
    "A system for {0} and {1}.",
)
BODIES = (
    "The {0} of the {1} depends on {2} and on the use of {3}.",
    "This paper describes methods by which {0} and {1} may be improved.",
    "Results of a study of {0} are presented, together with data on {1} and {2}.",
    "It is argued that {0} has been neglected where {1} is concerned.",
    "There are difficulties with {0}, and the relation of {1} to {2} is discussed.",
    "In many regions {0} is usual, and {1} is found beside {2}.",
    "The needs of users of {0} were examined, and possible systems for {1} are compared.",
    "An approach to {0} is given that makes {1} unnecessary.",
)
ASKED = (  # a, b, c: words of the subject; any, other: words of the discipline
    ("What is known about {subject} and {a}?",),
    (
        "What problems and concerns are there in {subject} with regard to {a}?",
        "What difficulties are involved in the use of {b} for {any}?",
    ),
    (
        "What methods have been used for {subject}, and what systems are possible?",
        "How do {a} and {b} relate to {any}, as opposed to {other} itself?",
        "Information on the usual needs of {subject} and descriptions of {c} are wanted where possible.",
    ),
)


@dataclass(frozen=True)
class Collection:
    texts: dict[str, str]
    questions: list[tuple[str, frozenset[str], int]]  # text, relevant ids, sentences


def made_up(seed: int = 7) -> Collection:
    rng = random.Random(seed)
    written = [(subject, _abstract(rng, subject)) for subject in SUBJECTS for _ in range(COPIES)]
    rng.shuffle(written)
    questions = []
    for sentences in ASKED:
        for subject, own in SUBJECTS.items():
            a, b, c = rng.sample(own.split(), 3)
            common, other = rng.sample(DISCIPLINE, 2)
            text = " ".join(sentences).format(subject=subject, a=a, b=b, c=c, any=common, other=other)
            relevant = frozenset(f"d{i}" for i, (about, _) in enumerate(written) if about == subject)
            questions.append((text, relevant, len(sentences)))
    return Collection({f"d{i}": text for i, (_, text) in enumerate(written)}, questions)


def _abstract(rng: random.Random, subject: str) -> str:
    own = SUBJECTS[subject].split()
    others = [word for other, words in SUBJECTS.items() if other != subject for word in words.split()]

    def word() -> str:
        (bank,) = rng.choices([[subject], own, DISCIPLINE, others], [0.08, 0.2, 0.42, 0.3])
        return rng.choice(bank)

    title = rng.choice(TITLES).format(rng.choice([subject, *own]), word())
    body = [template.format(*(word() for _ in range(4))) for template in rng.choices(BODIES, k=rng.randint(2, 7))]
    return " ".join([title[0].upper() + title[1:], *body])


def ndcg(found: Sequence[str], relevant: frozenset[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, doc in enumerate(found[:K]) if doc in relevant)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(K, len(relevant))))


def mean(search: Callable[[str], Sequence[str]], collection: Collection, sentences: int | None = None) -> float:
    values = [ndcg(search(q), ids) for q, ids, n in collection.questions if sentences in (None, n)]
    return sum(values) / len(values)


@pytest.fixture(scope="module")
def collection() -> Collection:
    return made_up()


@pytest.fixture(scope="module")
def bm25(collection: Collection) -> Callable[[str], Sequence[str]]:
    ids = list(collection.texts)
    index = BM25Okapi([stems(text) for text in collection.texts.values()])

    def search(query: str) -> Sequence[str]:
        scores = index.get_scores(stems(query))
        return [doc for _, doc in sorted(zip(-scores, ids, strict=True))[:K]]

    return search


def from_texts(texts: dict[str, str]) -> OptimizedRecallRetriever:
    return OptimizedRecallRetriever.from_texts(texts.values(), ids=list(texts), k=K)


def from_documents(texts: dict[str, str]) -> OptimizedRecallRetriever:
    return OptimizedRecallRetriever.from_documents((Document(t, id=i) for i, t in texts.items()), k=K)


def from_nodes(texts: dict[str, str]) -> OptimizedRecallRetriever:
    return OptimizedRecallRetriever.from_nodes((TextNode(id_=i, text=t) for i, t in texts.items()), k=K)


def through_langchain(retriever: OptimizedRecallRetriever, query: str) -> list[str]:
    return [d.id or "" for d in retriever.invoke(query)]


def through_llamaindex(retriever: OptimizedRecallRetriever, query: str) -> list[str]:
    return [found.node.node_id for found in retriever.retrieve(query)]


@pytest.fixture(scope="module", params=[from_texts, from_documents, from_nodes], ids=lambda f: f.__name__)
def search(request: pytest.FixtureRequest, collection: Collection) -> Iterator[Callable[[str], Sequence[str]]]:
    retriever = request.param(collection.texts)
    retriever.time_budget_ms = 60_000  # a busy machine changes nothing
    ask = through_llamaindex if request.param is from_nodes else through_langchain
    answers: dict[str, Sequence[str]] = {}

    def search(query: str) -> Sequence[str]:
        if query not in answers:
            answers[query] = ask(retriever, query)
        return answers[query]

    yield search
    retriever.close()


def test_the_collection_can_be_got_wrong(collection: Collection, bm25: Callable[[str], Sequence[str]]) -> None:
    assert (len(collection.texts), len(collection.questions)) == (240, 60)
    assert all(len(ids) == COPIES for _, ids, _ in collection.questions)
    assert 0.5 < mean(bm25, collection) < 0.97


@pytest.mark.parametrize("sentences", [None, 1, 2, 3], ids=["all", "one", "two", "three"])
def test_documents_are_not_found_worse_than_by_bm25(
    search: Callable[[str], Sequence[str]],
    bm25: Callable[[str], Sequence[str]],
    collection: Collection,
    sentences: int | None,
) -> None:
    """By the 95 % interval, which is what sixty questions can say."""
    asked = {q: ids for q, ids, n in collection.questions if sentences in (None, n)}
    ours, theirs = ({q: {"ndcg@10": ndcg(one(q), ids)} for q, ids in asked.items()} for one in (search, bm25))
    difference = paired_difference(ours, theirs, "ndcg@10", seed=0)
    assert difference.high >= 0, difference
