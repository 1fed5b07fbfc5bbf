"""docs/coming-from.md: every source that it names has a before and an after; test_pages.py runs both."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (From .*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_every_source_of_the_table_has_a_before_and_an_after() -> None:
    named = re.findall(r"\]\(#([a-z0-9-]+)\)", PAGE.split("\n## ", 1)[0])
    anchors = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title, _ in SECTIONS]
    assert named == anchors
    assert all(len(blocks(text)) == 2 for _, text in SECTIONS)
