"""docs/postgres.md, docs/postgres-reference.md: what the example prints, and the modules' numbers, are as they say."""

from __future__ import annotations

import re

import pytest
import yaml

from recall_integrations.config import RecallConfig
from recall_integrations.database import postgres, postgres_errors
from recall_integrations.indexes import pg_tables, pg_vectors
from recall_integrations.indexes.vectors import HNSW
from recall_integrations.store import column_files, parts
from tests.pages import DOCS, ROOT, printed

PAGE = DOCS / "postgres.md"
REFERENCE = (DOCS / "postgres-reference.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIES", postgres_url)
    found = list(printed(PAGE))
    assert len(found) == 1
    for example, out in found:
        assert out == (example.said or "")


def test_the_numbers_are_those_of_the_modules() -> None:
    text = PAGE.read_text(encoding="utf-8") + REFERENCE
    assert f"PostgreSQL {postgres.VERSION_LEAST} or later" in text
    assert f"the last {parts.KEPT_ENTRIES:,} changes" in text
    assert f"scopes from {column_files.ROWS_MIN:,} memories on" in text
    assert f"above {postgres_errors.KEY_BYTES_MAX:,} bytes" in text
    for name, value in postgres.ALIVE.items():
        assert f"{name}={value}" in text


def test_what_it_says_of_pgvector_is_so() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "pgvector" in b]
    made = RecallConfig.from_mapping(yaml.safe_load(block)["recall"])
    text += REFERENCE
    assert made.vectors.address == "pgvector" and made.vectors.timeout_ms == 5_000
    assert f"({pg_vectors.LEAST[0]}.{pg_vectors.LEAST[1]} or later; from 0.{pg_vectors.ITERATIVE[1]} on" in text
    assert f"more than {pg_vectors.DIMENSIONS_MAX:,} numbers" in text
    assert f"up to {pg_vectors.CONNECTIONS} more" in text
    assert f"`m` {HNSW['max_neighbors']}, `ef_construction` {HNSW['ef_construction']}" in text
    assert f"({pg_tables.BESIDE / 1024:.1f} KB and two bytes for each number)" in text
    assert f"`{pg_vectors.CATALOGUE}`" in text and f"`{pg_vectors.PREFIX}…`" in text
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", REFERENCE):
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), (path, name)
