"""One suite over every arm."""

from __future__ import annotations

from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.arms.lexical import LexicalRetriever
from recall_integrations.arms.semantic import SemanticRetriever
from recall_integrations.arms.temporal import TemporalRetriever
from recall_integrations.arms.type_filter import TypeFilterRetriever
from recall_integrations.config import RetrievalConfig
from recall_integrations.testing import ArmContract

DEFAULTS = RetrievalConfig()


class TestSemantic(ArmContract):
    def arm(self, store):
        return SemanticRetriever(lambda: store.semantic, store.indexes.home_of, overfetch=DEFAULTS.overfetch)


class TestLexical(ArmContract):
    def arm(self, store):
        return LexicalRetriever(lambda: store.lexical)


class TestGraph(ArmContract):
    def arm(self, store):
        return GraphRetriever(store.engine, store.entities, hops=2, neighbours=10, mentions=50)


class TestTemporal(ArmContract):
    def arm(self, store):
        return TemporalRetriever(store.engine)


class TestTypeFilter(ArmContract):
    def arm(self, store):
        return TypeFilterRetriever()
