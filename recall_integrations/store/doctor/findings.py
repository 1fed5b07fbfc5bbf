"""The result of an examination of a store: a list of checks, each with a state and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OK = "ok"
NOTICE = "notice"  # worth knowing; recalls answer as they should, and the next open or write sees to it
PROBLEM = "problem"
MENDED = "mended"
SKIPPED = "skipped"  # could not be looked at, because of another problem
EXAMPLES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check.

    Args:
        name: of the check; stable.
        state: `ok`, `notice`, `problem`, `mended` or `skipped`.
        says: what was found, in a sentence.
        examples: some of the things concerned, at most `EXAMPLES`.
        remedy: advice; empty = nothing has to be done.
    """

    name: str
    state: str
    says: str
    examples: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of all checks of a store.

    Args:
        path: of its directory.
        checks: all that were made, in a fixed order.
        repaired: whether `repair` made the checks.
    """

    path: Path
    checks: tuple[Check, ...]
    repaired: bool = False

    @property
    def clean(self) -> bool:
        """True if no problem is left, and every check could be made."""
        return not any(check.state in (PROBLEM, SKIPPED) for check in self.checks)

    def of(self, state: str) -> tuple[Check, ...]:
        """Return the checks in a state."""
        return tuple(check for check in self.checks if check.state == state)

    def __getitem__(self, name: str) -> Check:
        """Return the check of this name; raise `KeyError` if it was not made."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def as_data(self) -> dict[str, Any]:
        """Return the findings as plain data; keys are only ever added."""
        return {
            "format": 1,
            "path": str(self.path),
            "clean": self.clean,
            "repaired": self.repaired,
            "checks": [
                {"name": c.name, "state": c.state, "says": c.says, "examples": list(c.examples), "remedy": c.remedy}
                for c in self.checks
            ],
        }


def ok(name: str, says: str) -> Check:
    """Return a check that found nothing wrong."""
    return Check(name=name, state=OK, says=says)


def problem(name: str, says: str, remedy: str, examples: Sequence[str] = ()) -> Check:
    """Return a check that found a problem."""
    return Check(name=name, state=PROBLEM, says=says, remedy=remedy, examples=tuple(examples[:EXAMPLES]))


def notice(name: str, says: str, remedy: str = "", examples: Sequence[str] = ()) -> Check:
    """Return a check that found something worth knowing."""
    return Check(name=name, state=NOTICE, says=says, remedy=remedy, examples=tuple(examples[:EXAMPLES]))


def skipped(name: str, because: str) -> Check:
    """Return a check that could not be made."""
    return Check(name=name, state=SKIPPED, says=f"Not looked at: {because}")


def counted(n: int, one: str, more: str | None = None) -> str:
    """Write a number with its noun: "1 memory", "3 memories"."""
    return f"{n:,} {one if n == 1 else more or one + 's'}"
