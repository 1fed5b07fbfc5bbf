"""Tables of the recognisers: `tables.yaml`, read once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


@functools.cache
def table(name: str) -> Mapping[Any, str]:
    """Return a table of words and patterns, parted by spaces."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[Any, str] = yaml.load(Path(__file__).with_name("tables.yaml").read_bytes(), Loader=loader)[name]
    return found


def alternatives(name: str) -> str:
    """Return the alternatives of a pattern."""
    return "|".join(table("words")[name].splitlines())
