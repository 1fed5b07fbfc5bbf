"""Every kind of identifier in every surrounding: nothing of it is left, and the rest is."""

from __future__ import annotations

import pytest

from recall_integrations import Memory
from recall_integrations.privacy.redactor import Redactor
from tests.planted.contexts import CONTEXTS, planted
from tests.planted.identifiers import KINDS, made
from tests.planted.leaks import left

MAKERS = [(kind, name) for kind, makes in KINDS.items() for name in makes]
TELLING = {"address": 9, "secret": 8}  # characters in a row; of a street its name may stand for itself


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(("kind", "name"), MAKERS)
def test_nothing_is_left_in_any_surrounding(kind: str, name: str) -> None:
    leaks = []
    for number, context in enumerate(CONTEXTS):
        written, secret = made(name, KINDS[kind][name], number)
        redactor = Redactor()
        text = planted(context, written)
        out = redactor.text(text)
        if left(out, secret, context, at_least=TELLING.get(kind, 5)) or not redactor.counts:
            leaks.append((text, out))
        assert Redactor().text(out) == out
    assert not leaks, f"{len(leaks)} of {len(CONTEXTS)}: {leaks[:3]}"


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(("kind", "name"), MAKERS)
def test_memories_that_are_looked_at_together_are_seen_as_each_by_itself(kind: str, name: str) -> None:
    """What one text ends with does not hide what the next begins with, nor is it taken for a part of it."""
    texts = [planted(context, made(name, KINDS[kind][name], i)[0]) for i, context in enumerate(CONTEXTS)]
    plain = (
        "call me on",
        "tea is ready at 5",
        "my password is",
        "Baker Street 12",
        "-----BEGIN PRIVATE KEY-----",
        "+49",
    )
    for at in range(0, len(texts), 7):
        memories = [Memory(text) for pair in zip(texts[at : at + 7], plain, strict=False) for text in reversed(pair)]
        together, apart = Redactor(), Redactor()
        together.look(memories)
        assert [together.memory(m).text for m in memories] == [apart.memory(m).text for m in memories]
        assert together.counts == apart.counts
