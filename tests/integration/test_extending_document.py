"""docs/extending.md: its examples share their names, and each prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    shown = 0
    for code, said in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", PAGE, re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "docs/extending.md", "exec"), names)
        assert out.getvalue() == said
        shown += bool(said)
    names["store"].close()
    assert shown == 5
