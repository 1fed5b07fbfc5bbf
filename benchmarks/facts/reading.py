"""What rules read in the turns of a data set, to be read by a person: how much of it is right.

    python -m benchmarks.facts.reading ../shared/data            all facts of LoCoMo's turns, a line each

A line is: subject, slot, `is` / `was` / `not`, value, confidence, and the text that it was read of. Nothing is counted
but the lines: what is right, a reader decides (docs/benchmarks.md "Facts that change").
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets.loading import load
from benchmarks.facts import scenes
from benchmarks.facts.cost import DATASET
from recall_integrations.facts.rows import Row, derived

TEXT_CHARS = 240


def lines(data: Path, dataset: str = DATASET) -> Iterator[tuple[int, list[str]]]:
    """For each turn how many there were so far, and a line for each fact that is read of it.

    Args:
        data: the directory of data sets.
        dataset: its name.

    Raises:
        InvalidArgument: there is no such data set.
    """
    count = 0
    for collection in load(data, dataset).collections:
        for memory in collection.memories:
            count += 1
            at = memory.event_at or memory.created_at or scenes.ASKED_AT
            found = derived(memory.text, at, memory.actor, memory.role).facts
            text = " ".join(memory.text.split())[:TEXT_CHARS]
            yield count, [_line(row, text) for row in found]


def _line(row: Row, text: str) -> str:
    return f"{row['subject']} | {row['slot']} | {row['op']} | {row['value']} | {row['confidence']:.2f} | {text}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the directory of evaluation data")
    turns = facts = 0
    for count, found in lines(parser.parse_args().data):
        turns = count
        for line in found:
            facts += 1
            print(f"{facts} | {line}")
    print(f"{facts} facts of {turns:,} turns")


if __name__ == "__main__":
    main()
