"""`POST /feedback` and `/learning`: who may say what of which recall, and what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.learning.learner import Step
from recall_integrations.learning.making import learnable
from recall_integrations.learning.shelf import Shelf
from recall_integrations.learning.version import Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.serving.app import create_app
from recall_integrations.serving.routes.learning import FeedbackReply, LearningReply, RunReply, StateReply
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens
from recall_integrations.store.clock import utc_now

U1, U2 = Scope("u1"), Scope("u2")
ASKED = "who runs the deploy?"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember_many([Memory("Priya runs the deploy", id="m1"), Memory("Sam drinks tea", id="m2")], scope=U1)
        store.remember(Memory("The deploy of u2 is a secret", id="x1"), scope=U2)
        shelf, steps = Shelf(store.learned, store.entity_key), {learnable()[0]: 0.1}
        for scope in (U1, U2):
            shelf.put(shelf.name_of(scope), Version(id="v1", steps=steps, ranker=FixedWeights.version))
        yield store


@pytest.fixture
def served(store: MemoryStore) -> Served:
    return Served(store=store, optimizer=QueryOptimizer(store, config=RecallConfig(mode="learned")))


def asking(served: Served, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(served))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(served) as client:
        yield client


async def recalled(client: httpx.AsyncClient, scope: str = "u1", **more: Any) -> dict[str, Any]:
    where = {} if "scopes" in more else {"scope": scope}
    reply = await client.post("/recall", json={"query": ASKED, **where, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def said(client: httpx.AsyncClient, status: int = 200, **body: Any) -> dict[str, Any]:
    reply = await client.post("/feedback", json=body)
    assert reply.status_code == status, reply.text
    found: dict[str, Any] = reply.json()
    if status == 200:
        FeedbackReply.model_validate(found)
    return found


# -- feedback ----------------------------------------------------------------------------------------------------------


async def test_a_reply_has_an_id_by_which_it_is_judged(client: httpx.AsyncClient) -> None:
    found = await recalled(client)
    assert found["version"] == "rules" and found["id"] != (await recalled(client))["id"]
    kept = await said(client, result_id=found["id"], helpful=["m1"], wrong=["m2"], cited=["gone"])
    assert kept == {
        "result_id": found["id"],
        "kept": {"u1/-/-": {"m1": 1.0, "m2": 0.0}},
        "ignored": ["gone"],
        "anew": False,
    }
    assert (await said(client, result_id=found["id"], rating=True, asked_again=True, scope="u1"))["kept"]


async def test_a_recall_that_is_not_known_needs_its_query(client: httpx.AsyncClient) -> None:
    told = await said(client, 404, result_id="never", helpful=["m1"])
    assert told["code"] == "NOT_FOUND" and "query" in told["message"]
    kept = await said(
        client, result_id="never", helpful=["m1"], query=ASKED, scope="u1", now="2026-03-01T12:00:00+00:00"
    )
    assert kept["anew"] and kept["kept"] == {"u1/-/-": {"m1": 1.0}}


@pytest.mark.parametrize(
    "wrong",
    [{}, {"helpful": "m1"}, {"helpful": ["m1"], "wrong": ["m1"]}, {"rating": 2}, {"rating": "up"}, {"helpful": [1]},
     {"helpful": ["m"] * 65}, {"rating": True, "nope": 1}, {"helpful": [""]},
     {"helpful": ["m1"], "scope": "a/b/c/d"}, {"helpful": ["m1"], "query": ASKED, "now": "yesterday"}],
)  # fmt: skip
async def test_what_cannot_be_said_is_told_and_nothing_is_kept(
    store: MemoryStore, client: httpx.AsyncClient, wrong: dict[str, Any]
) -> None:
    found = await recalled(client)
    assert (await client.post("/feedback", json={"result_id": found["id"], **wrong})).status_code == 422
    assert not store.judgements.counts()


async def test_nobody_judges_what_others_were_given(served: Served, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    one, _ = tokens.add(scopes=["u1"])
    other, _ = tokens.add(scopes=["u2"])
    both, _ = tokens.add(scopes=["u1", "u2"])
    reads, _ = tokens.add(scopes=["u1"], rights=["read"])
    closed = Served(store=served.store, optimizer=served.optimizer, tokens=tokens)

    def of(token: str) -> httpx.AsyncClient:
        return asking(closed, authorization=f"Bearer {token}")

    async with of(one) as first, of(other) as second, of(both) as third, of(reads) as reader:
        found = await recalled(first)
        mixed = await recalled(third, scopes=["u1", "u2"])
        for result in (found["id"], mixed["id"]):
            for more in ({}, {"scope": "u2"}):
                told = await said(second, 404, result_id=result, wrong=["m1", "x1"], **more)
                assert "m1" not in str(told) and "u1" not in str(told)
        await said(second, 403, result_id=found["id"], wrong=["m1"], scope="u1")
        await said(reader, 403, result_id=found["id"], helpful=["m1"])
        # Asked anew, what they say stays in their own scope, whatever id they name.
        kept = await said(second, result_id=found["id"], wrong=["m1", "x1"], query=ASKED)
        assert kept["kept"] == {"u2/-/-": {"x1": 0.0}} and kept["ignored"] == ["m1"]
        assert (await said(third, result_id=mixed["id"], helpful=["m1", "x1"]))["kept"] == {
            "u1/-/-": {"m1": 1.0},
            "u2/-/-": {"x1": 1.0},
        }
        assert (await said(first, result_id=found["id"], helpful=["m1"]))["kept"] == {"u1/-/-": {"m1": 1.0}}
    async with asking(closed) as nobody:
        await said(nobody, 401, result_id=found["id"], helpful=["m1"])


# -- learning ----------------------------------------------------------------------------------------------------------


async def test_how_a_scope_stands(client: httpx.AsyncClient) -> None:
    await said(client, result_id=(await recalled(client))["id"], helpful=["m1"])
    reply = LearningReply.model_validate((await client.get("/learning", params={"scope": "u1"})).json())
    (own,) = reply.scopes
    assert (reply.mode, own.scope, own.serving, own.tried) == ("learned", "u1/-/-", "rules", None)
    assert (own.judged, own.helpful, own.versions) == (1, 1, ["v1"])
    every = LearningReply.model_validate((await client.get("/learning", params={"everything": True})).json())
    assert [one.scope for one in every.scopes] == ["u1/-/-"]
    assert (await client.get("/learning", params={"scope": "never seen"})).json()["scopes"][0]["judged"] == 0


async def test_a_version_serves_and_is_taken_back(client: httpx.AsyncClient) -> None:
    reply = await client.post("/learning/promote", json={"version": "v1", "scope": "u1"})
    state = StateReply.model_validate(reply.json())
    assert (state.scope, state.serving, state.steps[-1].step) == ("u1/-/-", "v1", "promoted")
    assert (await recalled(client))["version"] == "v1"
    assert (await recalled(client, "u2"))["version"] == "rules"
    back = StateReply.model_validate((await client.post("/learning/rollback", json={"scope": "u1"})).json())
    assert back.serving == "rules" and back.held_back
    assert (await recalled(client))["version"] == "rules"


async def test_a_run_says_what_was_done(client: httpx.AsyncClient, served: Served) -> None:
    await said(client, result_id=(await recalled(client))["id"], helpful=["m1"])
    run = RunReply.model_validate((await client.post("/learning/run", json={"scope": "u1", "force": True})).json())
    assert [(step.scope, step.step) for step in run.steps] == [("u1/-/-", "skipped")]
    run = RunReply.model_validate((await client.post("/learning/run", json={"everything": True})).json())
    assert [step.scope for step in run.steps] == ["u1/-/-"]
    busy: list[int] = []

    def learn(_scope: Scope | None = None, **_given: Any) -> tuple[Step, ...]:
        with pytest.raises(Exception, match="Something is learned already"):
            served.learning.run()
        busy.append(1)
        return ()

    served.optimizer.learn = learn  # type: ignore[method-assign]
    assert (await client.post("/learning/run", json={})).json() == {"steps": []} and busy


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/learning/promote", {"version": "v9", "scope": "u1"}),
        ("/learning/promote", {"version": "../v1", "scope": "u1"}),
        ("/learning/promote", {"scope": "u1"}),
        ("/learning/promote", {"version": "v1", "scope": "u1", "shared": True}),
        ("/learning/rollback", {"scope": "u1"}),
        ("/learning/run", {"scope": "u1", "everything": True}),
    ],
)
async def test_what_cannot_be_done_is_told(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    assert (await client.post(path, json=body)).status_code == 422


async def test_a_token_changes_its_own_scope_and_nothing_else(served: Served, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    own, _ = tokens.add(scopes=["u1"])
    reads, _ = tokens.add(scopes=["u1"], rights=["read"])
    rules, _ = tokens.add(scopes=["u2"], rights=["read", "write", "admin"])
    closed = Served(store=served.store, optimizer=served.optimizer, tokens=tokens)
    served.optimizer.feedback("r1", helpful=["m1"], query=ASKED, scope=U1, now=utc_now())
    async with asking(closed, authorization=f"Bearer {own}") as client:
        assert (await client.get("/learning")).json()["scopes"][0]["scope"] == "u1/-/-"
        refused: list[tuple[str, dict[str, Any]]] = [
            ("/learning/promote", {"version": "v1", "scope": "u2"}),
            ("/learning/rollback", {"scope": "u2"}),
            ("/learning/run", {"everything": True}),
            ("/learning/run", {"scope": "u2"}),
        ]
        for path, body in refused:
            assert (await client.post(path, json=body)).status_code == 403
        assert (await client.get("/learning", params={"scope": "u2"})).status_code == 403
        assert (await client.get("/learning", params={"everything": True})).status_code == 403
        assert (await client.post("/learning/promote", json={"version": "v1"})).json()["scope"] == "u1/-/-"
    async with asking(closed, authorization=f"Bearer {reads}") as client:
        assert (await client.get("/learning")).status_code == 200
        for path in ("/learning/promote", "/learning/rollback", "/learning/run"):
            body = {"version": "v1"} if path.endswith("promote") else {}
            assert (await client.post(path, json=body)).status_code == 403
    async with asking(closed, authorization=f"Bearer {rules}") as client:  # sees what it reaches
        assert (await client.get("/learning", params={"everything": True})).json()["scopes"] == []
