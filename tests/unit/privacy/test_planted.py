"""Every kind of identifier in every surrounding: nothing of it is left, and the rest is."""

from __future__ import annotations

import pytest

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
