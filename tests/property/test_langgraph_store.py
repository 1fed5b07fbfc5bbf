"""The same calls on `RecallStore` and on LangGraph's `InMemoryStore` give the same, but for what is said here.

- `InMemoryStore` lists namespaces that were only asked for, or that hold nothing any more; `RecallStore`, as
  LangGraph's stores over databases, lists those that hold something. The model lets go of the others after each step.
- `InMemoryStore` makes `created_at` anew when a value is replaced; `RecallStore` keeps it, as those do.
- Where a filter compares what is no number, `InMemoryStore` raises; to `RecallStore` it does not match.
- The order of a search with a query, and its scores, are the optimizer's.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from recall_integrations import MemoryStore, Scope
from recall_integrations.frameworks.langgraph import RecallStore
from tests.quick import examples

LABELS = st.sampled_from(
    ["users", "u1", "u/1", "a.b", "", "langgraph", "*", "-", '"', "\x7f", "\n\x00", "ü 你", "x" * 900]
)
NAMESPACES = st.lists(LABELS, max_size=3).map(tuple)
KEYS = st.sampled_from(["a", "b", "", "k/1", "\ud800", "key\n", "y" * 1_200])
WORDS = st.sampled_from(["green tea", "the deploy is on Friday", "ravens", "", "  "])
PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | WORDS
VALUES = st.dictionaries(
    st.sampled_from(["text", "n", "tags", "who", "langgraph", "$k"]),
    PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.sampled_from(["name", "n"]), PLAIN, max_size=2),
    max_size=4,
)
OPERATORS = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in"]), st.integers(-2, 2), min_size=1, max_size=2
)
FILTERS = st.none() | st.dictionaries(st.sampled_from(["text", "n", "tags", "who"]), PLAIN | OPERATORS, max_size=2)
PATHS = st.lists(st.sampled_from(["users", "u1", "*", "ü 你"]), min_size=1, max_size=2).map(tuple)
INDEX = st.none() | st.just(False) | st.lists(st.sampled_from(["text", "who.name", "tags[*]", "$"]), max_size=2)
NUMBERS = st.integers(0, 6)
COUNTER = itertools.count()


def outcome(call: Any) -> tuple[str, Any]:
    try:
        return "gives", call()
    except (InvalidNamespaceError, ValueError, TypeError) as e:
        return "raises", type(e)


def flat(items: Any) -> list[Any]:
    return [(item.namespace, item.key, item.value) for item in items]


class Stores(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.ours = RecallStore(MEMORIES[0], scope=Scope(user_id=f"u{next(COUNTER)}"))
        self.theirs = InMemoryStore()
        self.unindexed: set[Any] = set()
        self.created: dict[Any, Any] = {}

    @rule(namespace=NAMESPACES, key=KEYS, value=VALUES, index=INDEX)
    def put(self, namespace: Any, key: str, value: Any, index: Any) -> None:
        ours = outcome(lambda: self.ours.put(namespace, key, value, index))
        assert ours == outcome(lambda: self.theirs.put(namespace, key, value, index))
        if ours[0] == "gives":
            found = self.ours.get(namespace, key)
            assert found is not None and found.value == value
            assert found.created_at == self.created.setdefault((namespace, key), found.created_at) <= found.updated_at

    @rule(ops=st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=5))
    def several_at_once(self, ops: Any) -> None:
        """`batch` checks nothing: any label is a label, and a value of `None` deletes."""
        given = [PutOp(*op) for op in ops] + [GetOp(op[0], op[1]) for op in ops] + [SearchOp((), limit=100)]
        ours, theirs = self.ours.batch(given), self.theirs.batch(given)
        for one, other in zip(ours[len(ops) : -1], theirs[len(ops) : -1], strict=True):
            assert (one and one.value) == (other and other.value)  # as it was before the writes
        assert flat(ours[-1]) == flat(theirs[-1])

    @rule(namespace=NAMESPACES, key=KEYS)
    def delete(self, namespace: Any, key: str) -> None:
        assert outcome(lambda: self.ours.delete(namespace, key)) == outcome(lambda: self.theirs.delete(namespace, key))

    @rule(prefix=NAMESPACES, wanted=FILTERS, limit=NUMBERS, offset=NUMBERS)
    def search(self, prefix: Any, wanted: Any, limit: int, offset: int) -> None:
        ours = outcome(lambda: flat(self.ours.search(prefix, filter=wanted, limit=limit, offset=offset)))
        theirs = outcome(lambda: flat(self.theirs.search(prefix, filter=wanted, limit=limit, offset=offset)))
        if theirs[0] == "gives" and not (ours[0] == "raises" and "$in" in str(wanted)):
            assert ours == theirs

    @rule(
        prefix=NAMESPACES,
        query=st.sampled_from(["tea", "when do we deploy?", "x"]),
        wanted=FILTERS,
        limit=NUMBERS,
        offset=NUMBERS,
    )
    def ask(self, prefix: Any, query: str, wanted: Any, limit: int, offset: int) -> None:
        """All of it, when as much is asked for: best first, then what no query may find; pages are parts of that."""
        ours = outcome(lambda: self.ours.search(prefix, query=query, filter=wanted, limit=1_000))
        theirs = outcome(
            lambda: self.ours.search(prefix, filter=wanted, limit=1_000)
        )  # as `search` above holds it to be
        if "raises" in (ours[0], theirs[0]):
            assert ours == theirs
            return
        by_name = lambda rows: sorted(rows, key=repr)  # noqa: E731
        assert by_name(flat(ours[1])) == by_name(flat(theirs[1]))
        scores = [item.score for item in ours[1]]
        found = [s for s in scores if s is not None]
        assert scores == sorted(found, reverse=True) + [None] * (len(scores) - len(found))
        page = self.ours.search(prefix, query=query, filter=wanted, limit=limit, offset=offset)
        assert len(page) <= limit
        assert len(page) == min(limit, max(len(found) - offset, 0) + len(scores) - len(found))

    @rule(
        prefix=st.none() | PATHS,
        suffix=st.none() | PATHS,
        depth=st.none() | st.integers(1, 3),
        limit=NUMBERS,
        offset=NUMBERS,
    )
    def namespaces(self, prefix: Any, suffix: Any, depth: Any, limit: int, offset: int) -> None:
        given = {"prefix": prefix, "suffix": suffix, "max_depth": depth, "limit": limit, "offset": offset}
        assert self.ours.list_namespaces(**given) == self.theirs.list_namespaces(**given)

    @rule(kind=st.sampled_from(["prefix", "suffix", "infix"]), path=PATHS)
    def match(self, kind: Any, path: Any) -> None:
        op = ListNamespacesOp(match_conditions=(MatchCondition(kind, path),))
        theirs = outcome(lambda: self.theirs.batch([op]))
        assert outcome(lambda: self.ours.batch([op])) == theirs

    @precondition(lambda self: hasattr(self, "ours"))
    @rule()
    def open_again(self) -> None:
        """Another reads from the database what this one has kept in memory."""
        from recall_integrations.frameworks.items import catalogue_of

        catalogue_of(self.ours.memories, self.ours.scope).doubt()

    @invariant()
    def let_go_of_what_is_empty(self) -> None:
        if hasattr(self, "theirs"):
            data = self.theirs._data
            for namespace in [n for n, keys in data.items() if not keys]:
                del data[namespace]
            living = {(n, k) for n, keys in data.items() for k in keys}
            self.created = {place: at for place, at in self.created.items() if place in living}


MEMORIES: list[MemoryStore] = []


@pytest.fixture(autouse=True, scope="module")
def _memories() -> Any:
    with MemoryStore.open() as store:
        MEMORIES.append(store)
        yield
        MEMORIES.clear()


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=examples(20),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # every step is a write that is synced: shrinking takes long
)
