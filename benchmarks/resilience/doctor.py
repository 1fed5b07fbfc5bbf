"""What `recall doctor` says of a store, where there is such a command."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import recall_integrations

TIMEOUT_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Of the doctor.

    Args:
        there: whether there is a doctor.
        clean: whether it found nothing wrong.
        said: its last lines.
    """

    there: bool
    clean: bool = False
    said: str = ""


def examined(path: Path) -> Verdict:
    """Run `recall doctor` on a closed store, in a process of its own."""
    from recall_integrations.cli import main

    if "doctor" not in main.commands:
        return Verdict(there=False, said="This version has no `recall doctor`.")
    done = subprocess.run(
        [sys.executable, "-m", "recall_integrations.cli", "doctor", str(path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=with_packages(),
    )
    said = (done.stdout + done.stderr).strip()
    return Verdict(there=True, clean=done.returncode == 0, said=said[-500:])


def with_packages() -> dict[str, str]:
    """The environment of a child process that is to find the package and the benchmarks that are running here."""
    roots = [Path(recall_integrations.__file__).resolve().parents[1], Path(__file__).resolve().parents[2]]
    before = filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, roots), *before])}
