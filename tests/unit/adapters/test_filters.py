from __future__ import annotations

from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from recall_integrations.adapters.filters import as_filters
from recall_integrations.errors import InvalidFilter
from recall_integrations.types import Filters, MemoryType
from tests.meeting import matches
from tests.rows import each_row


def test_ours_and_none_are_what_they_are() -> None:
    given = Filters(types=["fact"])
    assert as_filters(given) is given
    assert not as_filters(None) and not as_filters({})
    assert not as_filters(MetadataFilters(filters=[]))


def test_a_mapping_of_our_fields() -> None:
    assert as_filters({"types": ["fact"], "actors": ["Priya"]}) == Filters(types=["fact"], actors=["Priya"])
    assert as_filters({"metadata": {"types": "invoice"}}) == Filters(metadata={"types": "invoice"})


def test_a_mapping_of_conditions() -> None:
    assert as_filters({"source": "wiki", "year": {"$gte": 2020}}) == Filters(
        metadata={"source": "wiki", "year": {"$gte": 2020}}
    )
    both = as_filters({"types": ["fact"], "source": "wiki", "metadata": {"types": "invoice"}})
    assert both.types == (MemoryType.FACT,)
    assert matches(both.condition, {"source": "wiki", "types": "invoice"})
    assert not matches(both.condition, {"source": "wiki"}) and not matches(both.condition, {"types": "invoice"})


@each_row(
    ("given", "said"),
    [
        ({"types": {"$in": ["fact"]}}, r"'metadata': \{'types'"),
        ({"metadata": 3}, "must be a mapping"),
        ({"metadata": 3, "source": "wiki"}, "must be a mapping"),
        ({"source": ["a", "b"]}, r"\$in"),
        ("wiki", "not str"),
        ([{"a": 1}], "not list"),
        (lambda _document: True, "write the conditions"),
        (SimpleNamespace(filters=[], condition="xor"), "'xor' cannot be mapped"),
        (SimpleNamespace(filters=[3], condition="and"), "holds 3, a int"),
        (SimpleNamespace(key="k", operator="near", value=3), "operator 'near' of 'k'"),
        (MetadataFilter(key="k", value=None, operator=FilterOperator.GT), "has no value"),
    ],
)
def test_what_cannot_be_mapped_is_named(given: Any, said: str) -> None:
    with pytest.raises(InvalidFilter, match=said):
        as_filters(given)


def test_too_deep() -> None:
    deep: Any = MetadataFilter(key="k", value=1)
    for _ in range(200):
        deep = SimpleNamespace(filters=[deep], condition="and")
    with pytest.raises(InvalidFilter, match="deeper"):
        as_filters(deep)


def test_nested_filters_of_llamaindex() -> None:
    found = as_filters(
        MetadataFilters(
            filters=[
                MetadataFilter(key="source", value="wiki"),
                MetadataFilters(
                    filters=[
                        MetadataFilter(key="year", value=2020, operator=FilterOperator.GTE),
                        MetadataFilter(key="tags", value=["old"], operator=FilterOperator.ANY),
                    ],
                    condition=FilterCondition.OR,
                ),
            ]
        )
    )
    meets = {
        name: matches(found.condition, metadata)
        for name, metadata in {
            "new": {"source": "wiki", "year": 2021},
            "old": {"source": "wiki", "year": 1999, "tags": ["old", "odd"]},
            "neither": {"source": "wiki", "year": 1999},
            "elsewhere": {"source": "mail", "year": 2021},
        }.items()
    }
    assert meets == {"new": True, "old": True, "neither": False, "elsewhere": False}
    none_of = MetadataFilters(filters=[MetadataFilter(key="k", value=1)], condition=FilterCondition.NOT)
    assert matches(as_filters(none_of).condition, {"k": 2}) and not matches(as_filters(none_of).condition, {"k": 1})


def test_every_operator_of_llamaindex_is_mapped() -> None:
    values: dict[str, Any] = {"in": ["a"], "nin": ["a"], "any": ["a"], "all": ["a"], "is_empty": None}
    for operator in FilterOperator:
        value = values.get(operator.value, "a")
        assert as_filters(MetadataFilters(filters=[MetadataFilter(key="k", value=value, operator=operator)]))


def test_times_may_be_written_as_json_has_them() -> None:
    made = as_filters({"after": "2026-03-01T00:00:00Z", "before": "2026-04-01T00:00:00+02:00"})
    assert made.after == datetime(2026, 3, 1, tzinfo=timezone.utc)
    assert made.before == datetime(2026, 3, 31, 22, tzinfo=timezone.utc)
    with pytest.raises(InvalidFilter, match=r"filters\['before'\] is 'yesterday'. Write a time with an offset"):
        as_filters({"before": "yesterday"})
    with pytest.raises(InvalidFilter, match="naive|timezone|offset"):
        as_filters({"before": "2026-04-01"})
