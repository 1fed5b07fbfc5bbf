"""The README's first examples and set-up commands are short. They are run by `test_pages.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("title", ["LangChain", "LlamaIndex"])
def test_the_first_examples_are_short(title):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"## {title}\n.*?```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    assert len([line for line in block.group(1).splitlines() if line.strip()]) <= 10


def test_the_readme_has_exactly_two_set_up_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    setup = text.split("## Set up", 1)[1].split("\n## ", 1)[0]
    assert len(re.findall(r"```sh\n.+\n```", setup)) == 2
