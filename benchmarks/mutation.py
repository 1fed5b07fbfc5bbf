"""Do the tests notice when the code is wrong? Breaks the package in small ways and counts how many of them fail a test.

    python benchmarks/mutation.py                                    # 150 mutants, seed 0
    python benchmarks/mutation.py --mutants 40 --seed 1 --processes 2
    python benchmarks/mutation.py --only arms/graph.py --mutants 20 --least .9

Every module of `TESTS` gets an equal share of the mutants: a comparison or a condition turned round, a number or truth
value changed, `+` and `-` or `and` and `or` swapped, a returned value replaced by nothing, a statement dropped. Which
ones depends on the seed and on the changed line alone, so an edit elsewhere leaves a module's sample as it is.

Each mutant is applied to a copy of the package in a temporary directory, never to the checkout, and the tests of its
module are run on it until the first failure: those that mirror it first, then the wider ones. A mutant is killed where
a test fails or the time limit passes: `--limit`, or three times what the unbroken code takes, and 20 s. One that
survives is printed as the line before and after. What no test can notice is named in `EQUIVALENTS`, with the reason,
and not counted.

The exit code is 1 where fewer than `--least` of the mutants were killed, and 2 where the tests fail on unbroken code.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import math
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "recall_integrations"
SPARE_S = 20.0  # beside three times the time of the unbroken code: a machine may be busy
_RECALL = ("tests/unit/test_optimizer.py", "tests/unit/test_optimizer_choices.py")

# The tests that mirror a module, quickest first: what runs until the first failure should fail early.
TESTS: dict[str, tuple[str, ...]] = {
    "planning/planner.py": ("tests/unit/planning/test_planner.py", "tests/unit/planning", *_RECALL),
    "query/by_table/negation.py": (
        "tests/unit/query/test_query_negation.py",
        "tests/property/test_negation_properties.py",
    ),
    "query/parser.py": (
        "tests/unit/query/test_query_parser.py",
        "tests/unit/query/test_features.py",
        "tests/unit/query",
        *_RECALL,
    ),
    "query/temporal/rules_relative.py": ("tests/unit/query/temporal",),
    "ranking/fusion.py": ("tests/unit/ranking/test_fusion.py", *_RECALL),
    "ranking/arranging/arrange.py": (
        "tests/unit/ranking/arranging/test_arrange.py",
        "tests/unit/ranking/arranging",
        *_RECALL,
    ),
    "ranking/features/match.py": ("tests/unit/ranking/features", "tests/unit/ranking"),
    "ranking/features/conversation.py": ("tests/unit/ranking/features", "tests/unit/ranking"),
    "ranking/features/record.py": ("tests/unit/ranking/features", "tests/unit/ranking"),
    "arms/graph.py": ("tests/unit/arms/test_graph.py", "tests/contract/test_arms.py"),
    "arms/base.py": ("tests/unit/arms/test_fan_out.py", *_RECALL, "tests/contract/test_arms.py"),
    "indexes/bm25.py": ("tests/unit/arms/test_lexical.py", "tests/unit/indexes"),
    "indexes/vectors.py": (
        "tests/unit/indexes/test_vectors.py",
        "tests/unit/arms/test_semantic.py",
        "tests/integration/test_fork.py",
        "tests/unit/store",
    ),
    "optimizer.py": (*_RECALL, "tests/unit/recall", "tests/unit/test_understanding.py"),
    "recall/runner.py": ("tests/unit/recall", *_RECALL),
    "recall/plan.py": (
        "tests/unit/recall",
        "tests/unit/planning/test_when_asked.py",
        "tests/unit/test_understanding.py",
        *_RECALL,
    ),
    "recall/rewrite.py": ("tests/unit/recall", "tests/unit/rewriting", *_RECALL),
    "recall/search.py": ("tests/unit/recall", *_RECALL, "tests/contract/test_arms.py"),
    "recall/rank.py": (
        "tests/unit/recall",
        "tests/unit/reranking",
        "tests/unit/test_understanding.py",
        *_RECALL,
        "tests/unit/test_second_hop_recall.py",
    ),
    "recall/deliver.py": ("tests/unit/recall", "tests/unit/delivery", *_RECALL),
    "retriever.py": ("tests/integration/test_frameworks.py", "tests/contract/test_langchain_standard.py"),
    "reranking/reranking.py": ("tests/unit/reranking/test_gate.py", "tests/unit/reranking"),
    "resilience/deadline.py": ("tests/unit/resilience/test_deadline.py", *_RECALL),
    "delivery/packing.py": ("tests/unit/delivery/test_packing.py", "tests/unit/delivery", *_RECALL),
}

# (module, the line as it is in the mutant): why no test can notice it.
EQUIVALENTS: dict[tuple[str, str], str] = {
    ("ranking/arranging/arrange.py", "np.fill_diagonal(cosines, -(2))"): (
        "a row's cosine with itself only has to lie below the threshold, which is 0.01 at least: -1 does as -2 does"
    ),
}

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change: the bytes from `start` to `end` of a module are replaced by `text`."""

    module: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """The module's source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def difference(self, source: bytes) -> tuple[str, str]:
        """The first line that changes, before and after."""
        first = source.rfind(b"\n", 0, self.start) + 1
        end, tail = (source.find(b"\n", at) for at in (self.start, self.end))
        new = source[first : self.start] + self.text.encode() + (source[self.end : tail] if tail >= 0 else b"")
        return source[first:end].decode(errors="replace").strip(), new.decode().strip()


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """All the mutants of a module, in the order of its text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _behaviour(ast.parse(source)):
        for text in _changes(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            found.append(Mutant(module, node.lineno, start, end, text))
    return found


def _behaviour(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Nodes that do something: no annotations, decorators, docstrings, assertions, or messages."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.JoinedStr, ast.Assert)):
                continue
            if isinstance(child, ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, (ast.expr, ast.stmt)):
                yield child
            if not isinstance(child, ast.Raise):
                yield from _behaviour(child)


def _changes(node: ast.expr | ast.stmt) -> list[str]:
    """What a node may be replaced by, as text."""
    if isinstance(node, ast.expr):
        new = _of_expression(node)
        return [] if new is None else [f"({ast.unparse(new)})"]
    if isinstance(node, ast.Return) and node.value is not None:
        return _of_return(node.value)
    if isinstance(node, ast.If | ast.While):
        return []  # its condition is an expression
    if isinstance(node, ast.Expr):
        return [] if isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom) else ["pass"]
    if isinstance(node, ast.Assign):
        return ["pass"] if all(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets) else []
    return ["pass"] if isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete) else []


def _of_expression(node: ast.expr) -> ast.expr | None:
    new = copy.copy(node)
    if isinstance(new, ast.Compare):
        if len(new.ops) == 1:
            new.ops = [_FLIPPED[type(new.ops[0])]()]
            return new
        return None
    if isinstance(new, ast.Constant):
        if isinstance(new.value, bool):
            new.value = not new.value
        elif isinstance(new.value, int | float):
            new.value = new.value + 1 if isinstance(new.value, int) else new.value * 1.5 + 0.1
        else:
            return None
        return new
    if isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        return new
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return new.operand
    if isinstance(new, ast.BinOp) and type(new.op) in _SWAPPED:
        new.op = _SWAPPED[type(new.op)]()
        return new
    if isinstance(new, ast.IfExp) and not (isinstance(new.test, ast.Compare) and len(new.test.ops) == 1):
        new.test = ast.UnaryOp(ast.Not(), new.test)
        return new
    return None


def _of_return(value: ast.expr) -> list[str]:
    if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool)):
        return []  # a truth value is turned round where it stands
    if isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp):
        empty = {ast.Tuple: "()", ast.Dict: "{}", ast.DictComp: "{}", ast.Set: "set()"}.get(type(value), "[]")
        return [] if ast.unparse(value) == empty else [f"return {empty}"]
    return ["return None"]


def drawn(modules: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants, an equal share of each module; the same for the same seed and the same lines."""
    piles = []
    for module in sorted(modules, key=lambda m: _lot(seed, m)):
        source = (ROOT / PACKAGE / module).read_bytes()
        same: Counter[tuple[str, str]] = Counter()
        pile: dict[str, Mutant] = {}
        for mutant in mutants_of(module, source):
            lines = mutant.difference(source)
            pile[_lot(seed, module, *lines, str(same[lines]))] = mutant
            same[lines] += 1
        piles.append([pile[lot] for lot in sorted(pile, reverse=True)])
    found: list[Mutant] = []
    while len(found) < count and any(piles):
        found.extend(pile.pop() for pile in piles if pile)
    return found[:count]


def _lot(seed: int, *parts: str) -> str:
    return hashlib.sha256("\n".join([str(seed), *parts]).encode()).hexdigest()


class Copy:
    """A copy of the package and its tests in a temporary directory, where mutants live and die."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        skipped = shutil.ignore_patterns("__pycache__", ".*_cache", ".git")
        for name in (PACKAGE, "tests", "benchmarks", "docs", "cookbook", "scripts"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, directory / name, ignore=skipped)
        for file in ROOT.glob("*.*"):
            if file.is_file():
                shutil.copy(file, directory)
        self._env = {**os.environ, "PYTHONPATH": str(directory), "OPENBLAS_NUM_THREADS": "1"}
        # Bytecode is written once: a mutant may be as long and as old, to the second, as what it replaces.
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(directory / PACKAGE)], check=True, env=self._env)
        self._env["PYTHONDONTWRITEBYTECODE"] = "1"
        self._env["PYTHONPATH"] += os.pathsep + str(directory / "benchmarks")

    def fails(self, tests: Sequence[str], limit: float | None = None) -> str | None:
        """The first test that fails, `"time limit"`, or `None` where all pass. Each of `tests` by itself, in order:
        pytest would run a file with the folder that holds it."""
        end = math.inf if limit is None else time.perf_counter() + limit
        for i, test in enumerate(tests):
            left = end - time.perf_counter()
            seen = [f"--ignore={earlier}" for earlier in tests[:i] if earlier != test]
            failed = self._fails([test, *seen], None if limit is None else max(left, 0.0))
            if failed is not None:
                return failed
        return None

    def _fails(self, what: Sequence[str], limit: float | None) -> str | None:
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "mutation_profile", "--no-header", "-rfE"]
        done = subprocess.Popen(
            [sys.executable, "-m", "pytest", *quiet, *what],
            cwd=self.path,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            said, _ = done.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            done.kill()
            done.communicate()
            return "time limit"
        if done.returncode == 0:
            return None
        failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else said[-2000:].strip() or f"exit code {done.returncode}"

    def killed(self, mutant: Mutant, limit: float) -> str | None:
        """The test that notices the mutant; `None` where none does."""
        file = self.path / PACKAGE / mutant.module
        source = file.read_bytes()
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()
        file.write_bytes(mutant.applied(source))
        try:
            return self.fails(TESTS[mutant.module], limit)
        finally:
            file.write_bytes(source)


def run(mutants: Sequence[Mutant], processes: int, limit: float | None = None) -> dict[Mutant, bool] | None:
    """Whether each mutant was killed; `None` where the tests fail on unbroken code. Says how far it is as it goes.

    With a `limit`, in seconds for a mutant, the tests are taken to pass on unbroken code.
    """
    killed: dict[Mutant, bool] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for i in range(processes):
            (Path(temporary) / str(i)).mkdir()
            copies.put(Copy(Path(temporary) / str(i)))

        def unbroken(test: str) -> tuple[str | None, float]:
            place = copies.get()
            try:
                begun = time.perf_counter()
                return place.fails([test]), time.perf_counter() - begun
            finally:
                copies.put(place)

        def one(mutant: Mutant, limit: float) -> str | None:
            place = copies.get()
            try:
                return place.killed(mutant, limit)
            finally:
                copies.put(place)

        with ThreadPoolExecutor(processes) as pool:
            tests = list(dict.fromkeys(test for m in mutants for test in TESTS[m.module])) if limit is None else []
            took: dict[str, float] = {}
            for test, (failed, seconds) in zip(tests, pool.map(unbroken, tests), strict=True):
                if failed is not None:
                    print(f"{test} fails on unbroken code: {failed}", flush=True)
                    return None
                took[test] = seconds
                print(f"{len(took):4} of {len(tests)}  unbroken {seconds:6.1f} s  {test}", flush=True)
            jobs = {
                pool.submit(one, m, limit or SPARE_S + 3 * sum(took[t] for t in TESTS[m.module])): m for m in mutants
            }
            for done, job in enumerate(as_completed(jobs), 1):
                mutant, failed = jobs[job], job.result()
                killed[mutant] = failed is not None
                end = "survived" if failed is None else "killed"
                by = "" if failed is None else "  " + failed.split(" - ", 1)[0].removeprefix("FAILED ")[-100:]
                print(f"{done:4} of {len(mutants)}  {end:8}  {mutant.module}:{mutant.line}{by}", flush=True)
    return killed


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--mutants", type=int, default=150, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--least", type=float, default=0.9, help="share that has to be killed")
    parser.add_argument("--processes", type=int, default=2, help="at the same time")
    parser.add_argument(
        "--limit", type=float, help="seconds for a mutant; the unbroken code is not run first, for it is known to pass"
    )
    parser.add_argument("--only", action="append", choices=list(TESTS), help="a module; may be given several times")
    parser.add_argument("--list", action="store_true", help="print the mutants and do not run them")
    args = parser.parse_args(arguments)
    modules = args.only or list(TESTS)
    gone = [path for module in modules for path in TESTS[module] if not (ROOT / path).exists()]
    if gone:  # every mutant would be killed by it
        print(f"TESTS names what is not there: {', '.join(dict.fromkeys(gone))}")
        return 2
    sources = {module: (ROOT / PACKAGE / module).read_bytes() for module in modules}
    chosen = drawn(modules, args.mutants, args.seed)
    counted = [m for m in chosen if (m.module, m.difference(sources[m.module])[1]) not in EQUIVALENTS]
    print(f"{len(counted)} mutants of {len(modules)} modules; {len(chosen) - len(counted)} equivalents left out")
    if args.list:
        for mutant in counted:
            _show(mutant, sources[mutant.module])
        return 0
    killed = run(counted, args.processes, args.limit)
    if killed is None:
        return 2
    print()
    for module in modules:
        of_it = [m for m in counted if m.module == module]
        if of_it:
            print(f"{module:42} {sum(killed[m] for m in of_it):3} of {len(of_it):3} killed")
    survivors = [m for m in counted if not killed[m]]
    if survivors:
        print("\nSurvivors:")
    for mutant in survivors:
        _show(mutant, sources[mutant.module])
    share = 1 - len(survivors) / len(counted) if counted else 1.0
    print(f"\n{len(counted) - len(survivors)} of {len(counted)} killed: {share:.1%} (at least {args.least:.1%} wanted)")
    return 0 if share >= args.least else 1


def _show(mutant: Mutant, source: bytes) -> None:
    before, after = mutant.difference(source)
    print(f"{mutant.module}:{mutant.line}\n  - {before}\n  + {after}")


if __name__ == "__main__":
    sys.exit(main())
