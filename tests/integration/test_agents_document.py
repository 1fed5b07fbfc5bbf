"""docs/agents.md: each example is short, and the configuration is JSON; test_pages.py runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^## (.*?)$(?:(?!^## ).)*?```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE
)


def test_every_bridge_has_its_example_and_it_is_short() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 9
    for title, code, _ in EXAMPLES:
        assert len([line for line in code.splitlines() if line.strip()]) <= 10, title


def test_the_configuration_is_json() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(block)["mcpServers"]["memory"]["command"] == "recall"


def test_the_links_within_the_page_lead_somewhere() -> None:
    titles = {
        re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= titles
