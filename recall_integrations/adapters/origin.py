"""The package that an object comes from, found without importing the package."""

from __future__ import annotations


def comes_from(source: object, package: str) -> bool:
    """Say whether the class of `source`, or one it descends from, was defined in `package`. Imports nothing."""
    return any(kind.__module__.split(".")[0] == package for kind in type(source).__mro__)
