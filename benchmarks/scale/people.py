"""Who is in the store of `recall bench scale`, what they remember, and what is asked; by number and seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.speed.synthetic import PLANS, synthetic_memories, synthetic_queries
from recall_integrations.types import Memory, Scope

LARGE = "large"
QUERIES = 200  # of each plan


def user(number: int) -> Scope:
    """The scope of a user."""
    return Scope(user_id=f"user-{number}")


def large(size: int) -> Scope:
    """The one scope that holds so many memories."""
    return Scope(user_id=f"{LARGE}-{size}")


def memories_of(number: int, count: int, seed: int) -> Iterator[Memory]:
    """What a user remembers: texts of their own, made of the same words, people and projects as all others'."""
    return synthetic_memories(count, seed * 1_000_003 + number)


def memories_of_large(size: int, seed: int) -> Iterator[Memory]:
    """What the scope of that size holds."""
    return synthetic_memories(size, seed * 1_000_003 - size)


def written_by(node: int, place: int, seed: int) -> Memory:
    """What a node writes under load; its id is there in no run before."""
    rng = random.Random(f"{node}/{place}/{seed}")
    said = next(synthetic_memories(1, rng.randrange(1 << 40)))
    return Memory(said.text, actor=said.actor, event_at=said.event_at, entities=said.entities)


def queries(seed: int) -> list[str]:
    """Questions for all plans in turn, without an end that comes soon."""
    kinds = [synthetic_queries(plan, QUERIES, seed) for plan in PLANS]
    return [query for group in zip(*kinds, strict=True) for query in group]
