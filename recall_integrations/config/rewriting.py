"""Settings of the LLM that suggests other words."""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Annotated, Literal

from recall_integrations.config.checking import Share, Text, defaults, in_range, section
from recall_integrations.errors import ConfigError

REWRITE_TIMEOUT = "RECALL_REWRITE_TIMEOUT"  # in the environment
TIMEOUT_MS = 6_000.0
PLAIN_SECONDS_BELOW = 100  # a number without a unit


def _rewrite_timeout_ms() -> float:
    """Read `RECALL_REWRITE_TIMEOUT`: `6s`, `800ms`, or a number alone: seconds below 100, else milliseconds.

    Nobody waits for a model for 50 ms or for 1,000 s. The default is six seconds.
    """
    given = os.environ.get(REWRITE_TIMEOUT, "").strip().lower()
    if not given:
        return TIMEOUT_MS
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|)", given)
    value = 0.0 if found is None else float(found[1])
    unit = "" if found is None else found[2] or ("s" if value < PLAIN_SECONDS_BELOW else "ms")
    ms = value * (1_000 if unit == "s" else 1)
    if not 1 <= ms <= 600_000:
        raise ConfigError(f"{REWRITE_TIMEOUT} must be from 1ms to 600s, such as 6s or 800ms, not {given!r}.")
    return ms


@section("rewriting")
class RewritingConfig:
    """When an LLM is asked for other words, if there is one, and what they may do (docs/rewriting.md).

    Args:
        ask: `unsure`: where the query is vague and the first answer is not sure; `vague`: wherever the query is vague,
            beside the search for the query itself; `never`: the LLM is used for other things.
        unsure_below: confidence of the first answer from which nothing is asked; 1 = always. Needs `ask: unsure`.
        strategy: what is asked for: `alternatives` of the query, or a `hypothetical` memory that would answer it.
        prompt: one of your own instead, with `{query}` where the query goes; empty = that of the strategy.
        trust: factor of the scores of what they find. At .1 even a hostile model cost no hit in any kind of memories
            that was measured; who trusts theirs gains more with more (docs/benchmarks.md).
        timeout_ms: longest wait; default what `RECALL_REWRITE_TIMEOUT` says (`6s`, `800ms`), else six seconds.
        cache_s: seconds for which phrasings are kept; 0 = none is.
        fallback_max: share of recent calls that may give nothing to search for; beyond it nothing is asked for a while.
        empty_max: the same of answers that were empty.
        median_max_ms: the same of how long calls take.
    """

    ask: Literal["unsure", "vague", "never"] = "unsure"
    unsure_below: Share = 0.4
    strategy: Literal["alternatives", "hypothetical"] = "alternatives"
    prompt: Text = ""
    trust: Share = 0.1
    timeout_ms: Annotated[float, in_range(1, 600_000)] = field(
        default_factory=_rewrite_timeout_ms, metadata={"unset": TIMEOUT_MS}
    )
    cache_s: Annotated[float, in_range(0, 86_400)] = 180.0
    fallback_max: Share = 0.2
    empty_max: Share = 0.05
    median_max_ms: Annotated[float, in_range(1, 600_000)] = 1_200.0

    def __post_init__(self) -> None:
        if self.prompt and "{query}" not in self.prompt:
            raise ConfigError("rewriting.prompt must hold {query}, which the query takes the place of.")
        if self.ask != "unsure" and self.unsure_below != defaults(self, ["unsure_below"])["unsure_below"]:
            raise ConfigError(f"rewriting.unsure_below is read with rewriting.ask: unsure only, not with {self.ask}.")
