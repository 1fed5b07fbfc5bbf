"""What a test needs that may be missing: servers, programs and packages.

Where `CI` is set, as `.ci/run` does, what is missing fails the test, since there nobody reads what was skipped.
"""

from __future__ import annotations

import importlib
import os
import shutil
from typing import Any, NoReturn

import pytest


def required(why: str, *, of_ci: bool = True) -> NoReturn:
    """End a test for which something is missing: it fails where `CI` is set, and is skipped elsewhere.

    Args:
        why: what it needs, and how to get it.
        of_ci: whether CI has it; without, the test is skipped there, too.
    """
    if of_ci and os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def needed(name: str, why: str) -> Any:
    """A module of an optional package; `required` where it cannot be imported.

    Args:
        name: of the module.
        why: what needs it, and how to get it.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        required(why)


def program(name: str, *others: str, why: str) -> str:
    """Where a program is that `.ci/run` installs with apt-get; `required` where it is missing, and could be there.

    Args:
        name: of the program.
        others: names that it has elsewhere, or paths.
        why: what it is, and how to get it.
    """
    for each in (name, *others):
        if found := shutil.which(each):
            return found
    required(why, of_ci=ci_installs_programs())


def ci_installs_programs() -> bool:
    """Whether `.ci/run` can install programs here: apt-get is there, and this is root."""
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0
