"""What the page asks for: scoped, withheld and limited as everything else that is served, whatever it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.arms.base import ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.config import RecallConfig
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Limits, Served
from recall_integrations.serving.tokens import Tokens
from tests.quick import examples

MINE, THEIRS = Scope("mine"), Scope("theirs")
READS = ("about", "names", "timeline", "memory?id=a")
HERE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with MemoryStore.open() as store:
        store.remember(Memory(id="a", text="Ana, ana@example.com, planted a quince", entities=["Ana"]), scope=MINE)
        store.remember(Memory(id="b", text="Zed keeps bees beside the quince", entities=["Zed"]), scope=THEIRS)
        yield Served(store=store, optimizer=QueryOptimizer(store), limits=Limits(k_max=20))


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with opened(served) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(served: Served, tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, dict[str, str]]:
    """The same with tokens; the token of `mine` as a header."""
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "tokens.json")
    token, _ = tokens.add(scopes=["mine"], rights=("read",))
    own = Served(store=served.store, optimizer=served.optimizer, tokens=tokens)
    return own, {"Authorization": f"Bearer {token}"}


def opened(served: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(create_app(served)), base_url=HERE)


async def test_the_page_is_there_with_a_strict_policy(client: httpx.AsyncClient) -> None:
    first = await client.get("/")
    assert (first.status_code, first.headers["location"]) == (307, "look/")
    page = await client.get("/look/")
    policy = page.headers["content-security-policy"]
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff" and page.headers["referrer-policy"] == "no-referrer"
    for banned in ("style=", "<style", "onclick", "http://", "https://"):
        assert banned not in page.text.replace("http://www.w3.org", "")
    for name, kind in (("app.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml")):
        reply = await client.get(f"/look/{name}")
        assert reply.status_code == 200 and reply.headers["content-type"].startswith(kind)


@pytest.mark.parametrize("path", ["nothing.js", "../served.py", "..%2fserved.py", "__init__.py", "page/index.html"])
async def test_no_other_file_is_given(client: httpx.AsyncClient, path: str) -> None:
    reply = await client.get(f"/look/{path}")
    assert reply.status_code == 404
    assert "import" not in reply.text


def test_scripts_never_make_markup_of_text() -> None:
    import recall_integrations.serving

    folder = Path(recall_integrations.serving.__file__).parent / "page"
    scripts = sorted(folder.glob("*.js"))
    assert len(scripts) > 10
    for path in scripts:
        code = path.read_text(encoding="utf-8")
        for banned in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "srcdoc",
        ):
            assert banned not in code, path.name
        assert len(code.splitlines()) < 300, path.name


async def test_a_recall_is_the_one_that_is_served_with_times_and_parts(
    served: Served, client: httpx.AsyncClient
) -> None:
    asked = {"query": "who planted a quince?", "scope": "mine", "k": 3}
    looked = (await client.post("/look/recall", json=asked)).json()
    plain = (await client.post("/recall", json=asked)).json()
    assert [(hit["id"], hit["score"], hit["reason"]) for hit in looked["hits"]] == [
        (hit["id"], hit["score"], hit["reason"]) for hit in plain["hits"]
    ]
    axis = looked["axis"]
    assert [stage["name"] for stage in axis["stages"]][:2] == ["parse", "plan"]
    assert any(arm["asked"] and arm["found"] for arm in axis["arms"])
    assert axis["deadline_ms"] == RecallConfig().limits.time_budget_ms
    assert "arm:lexical" in {part["key"] for part in looked["parts"]}
    assert all(0 <= mark["start"] < mark["end"] <= len(looked["query"]) for mark in looked["marks"])


async def test_a_search_that_fails_is_told_on_the_axis(served: Served) -> None:
    class Broken:
        name = "mine"

        def search(self, _request: object) -> ArmResult:
            raise RuntimeError("out of order")

    spec = ArmSpec(name="mine", make=lambda _store, _config: Broken)
    optimizer = QueryOptimizer(served.store, arms=[spec])
    async with opened(Served(store=served.store, optimizer=optimizer)) as client:
        reply = await client.post("/look/recall", json={"query": "quince", "scope": "mine"})
    arms = {arm["name"]: arm for arm in reply.json()["axis"]["arms"]}
    assert arms["mine"]["failed"] and "out of order" in arms["mine"]["why"]
    assert not any(arm["failed"] for name, arm in arms.items() if name != "mine")
    assert arms["lexical"]["found"] == 1 and arms["lexical"]["took_ms"] >= 0


async def test_without_is_what_would_be_found(client: httpx.AsyncClient) -> None:
    asked = {"query": "who planted a quince?", "scope": "mine", "leave_out": [["arm:lexical", "arm:semantic"]]}
    (less,) = (await client.post("/look/without", json=asked)).json()["without"]
    assert less["reached"] and less["parts"] == ["arm:lexical", "arm:semantic"]
    wrong = await client.post("/look/without", json={**asked, "leave_out": [["nonsense:x"]]})
    assert wrong.status_code == 422 and "There is no part" in wrong.json()["message"]
    assert (await client.post("/look/without", json={**asked, "leave_out": [[]]})).status_code == 422


async def test_with_tokens_nothing_is_said_without_one_and_nothing_of_other_scopes(
    guarded: tuple[Served, dict[str, str]],
) -> None:
    served, header = guarded
    served.optimizer.recall("bees", scope=THEIRS)
    async with opened(served) as client:
        assert (await client.get("/look/")).status_code == 200
        for path in READS:
            assert (await client.get(f"/look/{path}")).status_code == 401
        for path in ("recall", "without"):
            assert (await client.post(f"/look/{path}", json={"query": "x"})).status_code == 401
            refused = await client.post(f"/look/{path}", json={"query": "x", "scope": "theirs"}, headers=header)
            assert refused.status_code == 403
        for path in ("names?", "timeline?", "memory?id=b&"):
            assert (await client.get(f"/look/{path}scope=theirs", headers=header)).status_code == 403
        about = (await client.get("/look/about", headers=header)).json()
        assert [scope["scope"] for scope in about["scopes"]] == ["mine/-/-"] and about["may"] == ["read"]
        assert (await client.get("/look/memory?id=b", headers=header)).status_code == 404
        said = [(await client.get(f"/look/{path}", headers=header)).text for path in READS]
        assert "Zed" not in "".join(said) and "Ana" in said[1]


async def test_the_scope_without_a_user_is_offered_last() -> None:
    with MemoryStore.open() as store:
        for scope in (Scope(), Scope("zoe")):
            store.remember("Quinces are ripe", scope=scope)
        async with opened(Served(store=store, optimizer=QueryOptimizer(store))) as client:
            about = (await client.get("/look/about")).json()
    assert [scope["name"] for scope in about["scopes"]] == ["zoe", "without a user"]


async def test_the_least_privacy_of_the_server_holds(served: Served) -> None:
    strict = Served(store=served.store, optimizer=served.optimizer, privacy="redact")
    async with opened(strict) as client:
        about = (await client.get("/look/about")).json()
        assert about["privacy"] == ["redact", "block"]
        found = await client.post("/look/recall", json={"query": "quince", "scope": "mine"})
        listed = await client.get("/look/timeline?scope=mine")
        assert "ana@example.com" not in found.text + listed.text and "quince" in listed.text
        assert (await client.get("/look/names?scope=mine&privacy=allow")).status_code == 403


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("timeline?start=soon", 422),
        ("timeline?start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z", 422),
        ("timeline?limit=21", 422),
        ("timeline?limit=0", 422),
        ("timeline?skip=-1", 422),
        ("timeline?type=nonsense", 422),
        ("timeline?privacy=nonsense", 422),
        ("names?limit=81", 422),
        ("names?around=nobody&scope=mine", 404),
        ("memory", 422),
        ("memory?id=nothing", 404),
        ("timeline?scope=a/b/c/d", 422),
    ],
)
async def test_what_cannot_be_used_is_said(client: httpx.AsyncClient, path: str, status: int) -> None:
    reply = await client.get(f"/look/{path}")
    assert reply.status_code == status
    assert reply.json()["message"]


async def test_several_scopes_are_not_looked_at_at_once(client: httpx.AsyncClient) -> None:
    reply = await client.post("/look/recall", json={"query": "x", "scopes": ["mine", "theirs"]})
    assert reply.status_code == 422 and "at a time" in reply.json()["message"]


@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(
    text=st.text(min_size=1, max_size=60), name=st.sampled_from(["scope", "start", "actor", "entity", "around", "id"])
)
def test_whatever_is_asked_nothing_breaks(served: Served, text: str, name: str) -> None:
    async def asked() -> list[httpx.Response]:
        async with opened(served) as client:
            paths = ("/look/names", "/look/timeline", "/look/memory")
            gets = [await client.get(path, params={"id": "a", name: text}) for path in paths]
            wrong = {"query": "quince", "leave_out": [[text]], "privacy": "redact"}
            return [*gets, await client.post("/look/without", json=wrong)]

    assert all(reply.status_code in (200, 404, 422) for reply in asyncio.run(asked()))
