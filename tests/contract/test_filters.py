"""Filters as the frameworks' own stores take them: the same filter, the same memories."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import chromadb
import pytest
from langchain_core.documents import Document
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from recall_integrations import OptimizedRecallRetriever
from recall_integrations.errors import InvalidFilter

HELD: dict[str, dict[str, Any]] = {
    "wiki": {"source": "wiki", "year": 2021, "public": True, "score": 0.5, "tags": ["a", "b"], "at": "2026-03-12"},
    "mail": {"source": "mail", "year": 2019, "public": False, "score": 1.5, "tags": ["b"], "at": "2025-12-31"},
    "old": {"source": "wiki", "year": 1999, "public": True, "score": 2.0, "tags": ["c"], "at": "2024-01-01"},
    "bare": {"year": 2021},
    "text": {"source": "a wiki page", "year": 2020, "tags": ["a"], "at": "2026-01-01"},
    "none": {},
}
TEXTS = {name: f"tea in {name}" for name in HELD}

WHERES: list[dict[str, Any]] = [
    {"source": "wiki"},
    {"year": 2021},
    {"public": True},
    {"public": False},
    {"score": 0.5},
    {"source": {"$eq": "wiki"}},
    {"source": {"$ne": "wiki"}},
    {"year": {"$ne": 2021}},
    {"year": {"$gt": 2019}},
    {"year": {"$gte": 2020}},
    {"score": {"$lt": 1.75}},
    {"year": {"$lte": 1999}},
    {"source": {"$in": ["wiki", "mail"]}},
    {"year": {"$in": [1999, 2020]}},
    {"source": {"$nin": ["wiki", "mail"]}},
    {"year": {"$nin": [2021]}},
    {"tags": {"$contains": "a"}},
    {"tags": {"$not_contains": "a"}},
    {"$and": [{"source": "wiki"}, {"year": {"$gt": 2000}}]},
    {"$or": [{"source": "mail"}, {"year": {"$lt": 2000}}]},
    {"$and": [{"$or": [{"source": "mail"}, {"public": True}]}, {"year": {"$gte": 2000}}]},
    {"never": "x"},
    {"never": {"$ne": "x"}},
]


@pytest.fixture(scope="module")
def of_documents() -> Iterator[OptimizedRecallRetriever]:
    made = OptimizedRecallRetriever.from_documents(
        [Document(text, id=name, metadata=HELD[name]) for name, text in TEXTS.items()], k=10
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def of_nodes() -> Iterator[OptimizedRecallRetriever]:
    made = OptimizedRecallRetriever.from_nodes(
        [TextNode(id_=name, text=text, metadata=HELD[name]) for name, text in TEXTS.items()], k=10
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def collection() -> Any:
    made = chromadb.EphemeralClient().create_collection(f"filters-{uuid.uuid4().hex}")
    vectors: Any = [[float(i), 1.0] for i in range(len(HELD))]
    held: Any = [metadata or None for metadata in HELD.values()]
    made.add(ids=list(HELD), embeddings=vectors, metadatas=held)
    return made


@pytest.mark.parametrize("where", WHERES, ids=str)
def test_a_mapping_means_what_it_means_to_chroma(
    of_documents: OptimizedRecallRetriever, collection: Any, where: dict[str, Any]
) -> None:
    assert {d.id for d in of_documents.invoke("tea", filters=where)} == set(collection.get(where=where)["ids"])


def one(key: str, operator: FilterOperator, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=operator)


O = FilterOperator  # noqa: E741
FILTERS: list[MetadataFilters] = [
    MetadataFilters(filters=filters, condition=condition)
    for condition, filters in [
        *((FilterCondition.AND, [f]) for f in [
            one("source", O.EQ, "wiki"), one("year", O.EQ, 2021), one("year", O.NE, 2021), one("year", O.GT, 2019),
            one("year", O.GTE, 2020), one("score", O.LT, 1.75), one("score", O.LTE, 1.5),
            one("at", O.GTE, "2025-12-31"),
            one("source", O.IN, ["wiki", "mail"]), one("year", O.NIN, [2021]), one("tags", O.ANY, ["a", "c"]),
            one("tags", O.ALL, ["a", "b"]), one("tags", O.CONTAINS, "b"), one("source", O.CONTAINS, "wiki"),
            one("source", O.TEXT_MATCH, "wiki"), one("source", O.TEXT_MATCH_INSENSITIVE, "WIKI"),
            one("source", O.IS_EMPTY, None), one("never", O.EQ, "x"),
        ]),
        (FilterCondition.AND, [one("source", O.EQ, "wiki"), one("year", O.GT, 2000)]),
        (FilterCondition.OR, [one("source", O.EQ, "mail"), one("year", O.LT, 2000)]),
        (FilterCondition.NOT, [one("source", O.EQ, "mail"), one("year", O.LT, 2000)]),
    ]
]  # fmt: skip


@pytest.mark.parametrize("filters", FILTERS, ids=lambda f: f"{f.condition.value} " + " ".join(map(str, f.filters)))
def test_metadata_filters_mean_what_they_mean_to_llamaindex(
    of_nodes: OptimizedRecallRetriever, filters: MetadataFilters
) -> None:
    """`build_metadata_filter_fn` is what the simple store asks, and what it is asked of here."""
    passes = build_metadata_filter_fn(HELD.__getitem__, filters)
    try:
        wanted = {name for name in HELD if passes(name)}
    except ValueError as e:  # releases differ in the conditions that they know
        pytest.skip(f"LlamaIndex itself: {e}")
    if any(f.operator in (O.NE, O.NIN) for f in filters.filters if isinstance(f, MetadataFilter)):
        wanted.add("none")  # a missing key: so do all releases but the first
    made = OptimizedRecallRetriever(optimizer=of_nodes.optimizer, filters=filters, k=10)
    assert {n.node.node_id for n in made.retrieve("tea")} == wanted
    assert {d.id for d in of_nodes.invoke("tea", filters=filters)} == wanted


async def test_filters_of_llamaindex_may_be_nested(of_nodes: OptimizedRecallRetriever) -> None:
    either = MetadataFilters(filters=[one("tags", O.ANY, ["c"]), one("year", O.GT, 2020)], condition=FilterCondition.OR)
    filters = MetadataFilters(filters=[one("source", O.EQ, "wiki"), either])
    assert {d.id for d in await of_nodes.ainvoke("tea", filters=filters)} == {"wiki", "old"}
    found = await OptimizedRecallRetriever(optimizer=of_nodes.optimizer, filters=filters).aretrieve("tea")
    assert {n.node.node_id for n in found} == {"wiki", "old"}


def test_what_cannot_be_mapped_is_named_and_no_dump(of_nodes: OptimizedRecallRetriever) -> None:
    for given, said in (({"source": ["wiki"]}, r"\$in"), (lambda d: True, "write the conditions"), ("wiki", "not str")):
        with pytest.raises(InvalidFilter, match=said):
            of_nodes.invoke("tea", filters=given)
        with pytest.raises(InvalidFilter, match=said) as raised:
            OptimizedRecallRetriever(optimizer=of_nodes.optimizer, filters=given)
        assert "pydantic" not in str(raised.value) and len(str(raised.value)) < 300


def test_what_a_retriever_is_given_at_first_and_for_a_call(of_nodes: OptimizedRecallRetriever) -> None:
    made = OptimizedRecallRetriever(
        optimizer=of_nodes.optimizer, scope={"user_id": ""}, filters={"types": ["chunk"], "source": "mail"}, k=10
    )
    assert [n.node.node_id for n in made.retrieve("tea")] == ["mail"]
    assert [d.id for d in made.batch(["tea"], filters={"year": 1999})[0]] == ["old"]
    assert made.recall("tea", filters=None, scope={}).hits and not made.recall("tea", scope={"user_id": "u"}).hits
