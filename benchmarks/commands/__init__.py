"""The commands of `recall bench`: `recall_integrations/console/commands/measure.py` takes `COMMANDS` from here.

Each imports what it measures with inside of it: `recall bench --help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from benchmarks.commands.parts import facts, learning, negation, privacy, reranking, rewriting, rules, temporal
from benchmarks.commands.quality import abstention, diff, everyday, misses, quality
from benchmarks.commands.speed import cache, latency, observability, parse, resilience, scale, serve

COMMANDS: Mapping[str, click.Command] = {
    str(command.name): command
    for command in (
        *(quality, diff, abstention, misses, everyday),
        *(rules, rewriting, reranking, facts, learning, privacy, temporal, negation),
        *(latency, cache, observability, parse, serve, scale, resilience),
    )
}
