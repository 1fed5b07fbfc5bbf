"""Changes of settings: which have changed, and which cannot while a store is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from recall_integrations.config.checking import refusal
from recall_integrations.config.recall_config import RecallConfig

# The store, its indexes, threads and breakers are made with them.
FIXED = frozenset(
    """
    retrieval.exact_max retrieval.cache_mb retrieval.disk_mb retrieval.local_max retrieval.semantic_remote
    ranking.features
    query.spelling_threshold query.spelling_learned_max
    vectors.address vectors.token_variable vectors.token_header vectors.tenant vectors.database vectors.timeout_ms
    vectors.batch_max vectors.results_max
    postgres.pool_size postgres.pool_timeout_ms
    limits.workers breakers.failures_max breakers.open_s
    """.split()
)


def changed_settings(before: RecallConfig, after: RecallConfig) -> tuple[str, ...]:
    """Return the paths of settings that differ, in the order of the sections; `scopes` where any entry differs."""
    found: list[str] = []
    for each in fields(RecallConfig):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old == new:
            continue
        if not is_dataclass(old):
            found.append(each.name)
            continue
        found += [f"{each.name}.{f.name}" for f in fields(old) if getattr(old, f.name) != getattr(new, f.name)]
    return tuple(found)


def refuse_fixed(changed: Sequence[str]) -> None:
    """Raise a `ConfigError` with each changed setting that cannot change while a store is open."""
    mistakes = [
        (
            tuple(path.split(".")),
            f"{path} cannot change while the store is open: it is made with it. Restart, or leave it as it was.",
        )
        for path in changed
        if path in FIXED
    ]
    if mistakes:
        raise refusal(mistakes)
