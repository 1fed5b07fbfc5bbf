"""What several of these commands take."""

from __future__ import annotations

from pathlib import Path

import click

DATA = click.argument("path", type=click.Path(exists=True, path_type=Path))
REPORT = click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
LIMIT = click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions, evenly spread.")
