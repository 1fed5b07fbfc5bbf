"""Print what an installation weighs: each package of the environment, its megabytes, and who requires it.

    python -m venv fresh
    fresh/bin/pip install recall-integrations
    fresh/bin/python scripts/measure_install.py [NAME] [--without PACKAGE ...]

NAME is the package whose requirements are followed; default recall-integrations. The first table says for each of its
own requirements what comes with it, and what would go without it. `--without` leaves requirements out together.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Mapping
from importlib.metadata import Distribution, distributions

# The name, unless a marker asks for an extra.
REQUIREMENT = re.compile(r"^([\w.-]+)(?!.*\bextra\s*==)", re.DOTALL)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def megabytes(package: Distribution) -> float:
    """Return the size of the files that pip wrote for a package, compiled modules included."""
    files = {path for entry in package.files or () if (path := entry.locate()).is_file()}
    return sum(path.stat().st_size for path in files) / 1e6


def reached(start: str, requires: Mapping[str, Collection[str]], without: Collection[str] = ()) -> set[str]:
    """Return what is installed for a package, itself included."""
    found, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name in requires and name not in found and name not in without:
            found.add(name)
            todo.extend(requires[name])
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="recall-integrations")
    parser.add_argument("--without", nargs="*", default=[], metavar="PACKAGE")
    asked = parser.parse_args(argv)
    installed = {normal(package.metadata["Name"]): package for package in distributions()}
    requires = {
        name: {normal(found[1]) for text in package.requires or () if (found := REQUIREMENT.match(text))}
        for name, package in installed.items()
    }
    root = normal(asked.name)
    if root not in installed:
        print(f"{asked.name} is not installed here.", file=sys.stderr)
        return 1
    gone = {normal(name) for name in asked.without}
    there = reached(root, requires, gone)
    size = {name: megabytes(installed[name]) for name in there}

    def total(names: Collection[str]) -> str:
        return f"{len(names):>4} {sum(size[name] for name in names):>7.1f}"

    print(f"{'required by ' + root:<28} {'packages':>8}{'MB':>4} {'only for it':>14}{'MB':>4}")
    rows = []
    for name in sorted(requires[root] & there):
        only = there - reached(root, requires, {*gone, name})
        rows.append((sum(size[one] for one in only), name, reached(name, requires, gone), only))
    for _, name, whole, only in sorted(rows, key=lambda row: (-row[0], row[1])):
        print(f"{name:<28} {total(whole)} {total(only):>18}")
    print(f"{'all':<28} {total(there)}\n")
    print(f"{'package':<40} {'MB':>6}  required by")
    for name in sorted(there, key=lambda one: (-size[one], one)):
        by = sorted(other for other in there if name in requires[other])
        print(f"{name:<40} {size[name]:>6.1f}  {', '.join(by[:4])}{' …' if len(by) > 4 else ''}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
