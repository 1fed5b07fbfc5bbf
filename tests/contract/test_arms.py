"""One suite over every arm, and over the one of docs/extending.md."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from recall_integrations import Memory
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.testing import ArmContract

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
SPECS = {spec.name: spec for spec in BUILT_IN}


class TestSemantic(ArmContract):
    spec = SPECS["semantic"]
    REASON = "close in meaning"


class TestLexical(ArmContract):
    spec = SPECS["lexical"]
    REASON = "says: "


class TestGraph(ArmContract):
    spec = SPECS["graph"]


class TestTemporal(ArmContract):
    spec = SPECS["temporal"]
    REASON = "in the time asked for"


class TestTypeFilter(ArmContract):
    spec = SPECS["type_filter"]
    QUERY = "what are my preferences?"

    def memories(self) -> list[Memory]:
        return [replace(m, type="preference") if i % 2 else m for i, m in enumerate(super().memories())]


def on_the_page() -> type[ArmContract]:
    """The suite of the arm of docs/extending.md, as it is written there."""
    names: dict[str, Any] = {"__name__": __name__}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
            exec(compile(code, str(PAGE), "exec"), names)
    names["store"].close()
    found: type[ArmContract] = names["TestNear"]
    return found


TestNear = on_the_page()


def test_every_arm_is_tested() -> None:
    tested = {suite.spec.name for suite in (TestSemantic, TestLexical, TestGraph, TestTemporal, TestTypeFilter)}
    assert tested == set(SPECS)
    assert TestNear.spec.name not in SPECS
