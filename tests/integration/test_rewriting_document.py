"""docs/rewriting.md: its proofs are there, its numbers are the defaults."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from recall_integrations.config import RecallConfig
from recall_integrations.ranking.arranging.arrange import FAR, WEIGHT
from recall_integrations.resilience.breaker import BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE
from recall_integrations.rewriting import asking as contract
from recall_integrations.rewriting.asking import PHRASINGS_MAX, REWRITE_CHARS_MAX, SHORT_CHARS_MAX

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rewriting.md").read_text(encoding="utf-8")


def test_every_promise_has_a_test_that_is_there() -> None:
    proofs = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(proofs) > 8
    for file, test in proofs:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        named = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test in named, f"{file}::{test}"


def test_the_numbers_are_the_defaults() -> None:
    settings = RecallConfig().rewriting
    assert f"timeout_ms: {settings.timeout_ms:g}" in PAGE and f"up to {PHRASINGS_MAX} lines" in PAGE
    assert f"at most {REWRITE_CHARS_MAX} characters" in PAGE and f"than {SHORT_CHARS_MAX} characters" in PAGE
    assert f"Of the last {contract.WINDOW} calls at most {contract.FALLBACK_MAX:.0%}".replace("%", " %") in PAGE
    assert f"at most {contract.EMPTY_MAX:.0%}".replace("%", " %") in PAGE
    assert f"from {contract.CALLS_MIN} calls on" in PAGE and settings.cache_s == 180
    assert f"score is under {contract.UNSURE_BELOW:g}".replace("0.", ".") in PAGE
    assert f"at {WEIGHT:g} of the weight".replace("0.", ".") in PAGE and f"(up to {FAR:g})" in PAGE
    assert all(f"`{name}`" in PAGE for name in (BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE))


def test_every_setting_is_read_of() -> None:
    assert all(name in PAGE for name in ("mode", "strategy", "prompt", "timeout_ms", "off", "careful", "full"))
