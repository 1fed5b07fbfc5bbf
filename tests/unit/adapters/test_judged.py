"""Feedback as the frameworks have it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tracers.root_listeners import RootListenersTracer
from langsmith.schemas import Feedback as LangSmithFeedback

from recall_integrations import OptimizedRecallRetriever
from recall_integrations.adapters.shapes import RESULT, Runs, langsmith_said
from recall_integrations.errors import InvalidArgument, NotFound
from recall_integrations.types import Scope
from tests.rows import each_row

ASKED = "who runs the deploy?"
RUN = "0b5c1e9e-4f4a-4b0e-9a3f-2d8f3c1b7a10"


@pytest.fixture(scope="module")
def retriever() -> Iterator[OptimizedRecallRetriever]:
    texts = ["Priya runs the deploy", "The deploy is on Friday", "Sam drinks tea"]
    made = OptimizedRecallRetriever.from_texts(texts, ids=["m1", "m2", "m3"], k=2)
    yield made
    made.close()


def gains(feedback: Any) -> dict[str, float]:
    return dict(feedback.gains.get(Scope(), {}))


# -- runs --------------------------------------------------------------------------------------------------------------


def test_documents_and_nodes_name_their_result(retriever: OptimizedRecallRetriever) -> None:
    documents, nodes = retriever.invoke(ASKED), retriever.retrieve(ASKED)
    ids = {d.metadata[RESULT] for d in documents} | {n.node.metadata[RESULT] for n in nodes}
    assert len(ids) == 2 and all(ids)
    assert documents == retriever.invoke(ASKED)  # the same documents, of another answer
    assert nodes[0].node.hash == retriever.retrieve(ASKED)[0].node.hash
    assert RESULT not in nodes[0].node.get_content(metadata_mode="llm")  # type: ignore[arg-type]
    kept = retriever.feedback(documents[0].metadata[RESULT], helpful=["m1"])
    assert gains(kept) == {"m1": 1.0} and not kept.anew


async def test_a_result_is_found_by_its_run(retriever: OptimizedRecallRetriever) -> None:
    runs = [uuid4() for _ in range(6)]
    of = [{"run_id": run} for run in runs]
    found = [
        retriever.invoke(ASKED, config=of[0]),
        await retriever.ainvoke(ASKED, config=of[1]),
        *retriever.batch([ASKED, ASKED], config=[of[2], of[3]]),
        next(iter(retriever.stream(ASKED, config=of[4]))),
        (await retriever.abatch([ASKED], config=[of[5]]))[0],
    ]
    for run, documents in zip(runs, found, strict=True):
        kept = retriever.feedback(run, helpful=["m1"])
        assert kept.result_id == documents[0].metadata[RESULT]
        assert retriever.feedback(str(run), rating=True).result_id == kept.result_id


def test_a_result_is_found_by_the_run_around_it_and_by_its_trace(retriever: OptimizedRecallRetriever) -> None:
    near, far = uuid4(), uuid4()
    documents = (retriever | RunnableLambda(lambda found: found)).invoke(ASKED, config={"run_id": near})
    assert retriever.feedback(near, helpful=["m1"]).result_id == documents[0].metadata[RESULT]
    chain: Any = {"found": retriever | RunnableLambda(lambda found: found), "asked": RunnablePassthrough()}
    whole = RunnableLambda(lambda given: given) | chain | RunnableLambda(lambda given: given["found"])
    with pytest.raises(NotFound):
        whole.invoke(ASKED, config={"run_id": far})
        retriever.feedback(far, helpful=["m1"])
    traced = whole.invoke(ASKED, config={"run_id": far, "callbacks": [tracer()]})
    assert retriever.feedback(far, helpful=["m1"]).result_id == traced[0].metadata[RESULT]


def tracer() -> BaseCallbackHandler:
    """One that knows of each run which trace it is in, as LangSmith's does."""
    return RootListenersTracer(config={}, on_start=None, on_end=None, on_error=None)


def test_a_run_with_several_recalls_says_how_to_name_one(retriever: OptimizedRecallRetriever) -> None:
    run = uuid4()
    RunnableLambda(lambda asked: [retriever.invoke(asked), retriever.invoke(asked)]).invoke(
        ASKED, config={"run_id": run}
    )
    with pytest.raises(InvalidArgument, match=f"2 recalls .* {RESULT}"):
        retriever.feedback(run, rating=True)


def test_runs_are_bounded() -> None:
    runs = Runs(most=3)
    for i in range(5):
        runs.note(SimpleNamespace(run_id=UUID(int=i), parent_run_id=None, handlers=[]), f"r{i}")
    assert [runs.of(UUID(int=i)) for i in range(5)] == [None, None, "r2", "r3", "r4"]


def test_a_run_that_is_not_known_needs_the_query(retriever: OptimizedRecallRetriever) -> None:
    with pytest.raises(NotFound):
        retriever.feedback(uuid4(), helpful=["m1"])
    kept = retriever.feedback(uuid4(), helpful=["m1"], query=ASKED)
    assert kept.anew and gains(kept) == {"m1": 1.0}


# -- LangSmith's shape -------------------------------------------------------------------------------------------------


@each_row(("given", "said"),
    [
        ({"key": "user_score", "score": 1}, {"rating": 1}),
        ({"key": "user_score", "score": 0.25, "comment": "so so"}, {"rating": 0.25}),
        ({"key": "helpful", "score": False}, {"rating": False}),
        ({"key": "thumbs", "value": " Up "}, {"rating": True}),
        ({"key": "thumbs", "value": "thumbs_down"}, {"rating": False}),
        ({"key": "user_score", "score": 0, "correction": {"helpful": ["m2"], "wrong": ["m1"], "more": 1}},
         {"rating": 0, "helpful": ["m2"], "wrong": ["m1"]}),
        ({"key": "another", "score": 9, "correction": {"wrong": ["m1"]}}, {"wrong": ["m1"]}),
        ({"key": "helpful", "value": {"cited": ["m1"]}}, {"cited": ["m1"]}),
        ({"key": "toxicity", "score": 0.9}, None),
        ({"key": "user_score", "comment": "thanks"}, None),
        ({"key": "user_score", "correction": "it was Sam"}, None),
    ])  # fmt: skip
def test_what_feedback_of_langsmith_says(given: dict[str, Any], said: dict[str, Any] | None) -> None:
    found = langsmith_said({"run_id": RUN, **given})
    assert found == (None if said is None else ((RUN,), said))


@each_row("given", [{"key": "user_score", "score": 1}, {"run_id": RUN, "key": "rating", "score": 5},
                                   {"run_id": RUN, "key": "rating", "value": "great"}])  # fmt: skip
def test_feedback_that_cannot_be_used_is_told(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        langsmith_said(given)


def test_a_record_of_langsmith_reaches_the_recall(retriever: OptimizedRecallRetriever) -> None:
    run, now = uuid4(), datetime.now(timezone.utc)
    documents = retriever.invoke(ASKED, config={"run_id": run})
    record = LangSmithFeedback(
        id=uuid4(), created_at=now, modified_at=now, run_id=uuid4(), trace_id=run, key="user_score", score=0,
        correction={"helpful": ["m2"]},
    )  # fmt: skip
    kept = retriever.feedback_from(record)
    assert kept is not None and kept.result_id == documents[0].metadata[RESULT]
    assert gains(kept)["m2"] == 1.0 and gains(kept)["m1"] == 0.0
    assert retriever.feedback_from({"run_id": run, "key": "latency", "score": 0.2}) is None
    assert retriever.feedback_from({"run_id": run, "key": "stars", "score": 0.2}, keys=["stars"])
