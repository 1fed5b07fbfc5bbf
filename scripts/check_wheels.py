"""Check that every requirement has a wheel on Windows, macOS and Linux, for each Python that the package supports.

    python scripts/check_wheels.py [UV]

UV is the program uv; default: that of the path. It resolves all requirements of pyproject.toml, and theirs, for another
machine than this one, and takes wheels only. On a platform of `LACKING` only what is listed there is asked for: the
check fails once it has wheels. Then docs/install.md, "Platforms", changes as well. Where the index does not answer,
nothing is known, and the check passes with a warning.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Windows x64": "x86_64-pc-windows-msvc",
    "Windows ARM": "aarch64-pc-windows-msvc",
    "macOS ARM": "aarch64-apple-darwin",
    "Linux x64": "x86_64-manylinux_2_28",
    "Linux ARM": "aarch64-manylinux_2_28",
}
MACOS = "14.0"  # the oldest that onnxruntime has wheels for, on Python 3.14
# Platform → requirements that have no wheel, or need something that has none: pip compiles it, with a Rust compiler.
LACKING = {"Windows ARM": ("chromadb", "llama-index-core")}
ANSWERED = ("wheels", "No solution found", "no compiler any more")  # in what is said where the index has answered
AT_ONCE = 20  # most of the time an answer of the index is awaited


def resolved(uv: str, requirements: Iterable[str], platform: str, python: str) -> str:
    """Resolve requirements to wheels; return why that cannot be done, empty = it can."""
    command = [uv, "pip", "compile", "--quiet", "--only-binary", ":all:", "--python-platform", PLATFORMS[platform]]
    try:
        done = subprocess.run(
            [*command, "--python-version", python, "-"],
            input="\n".join(requirements), capture_output=True, text=True, check=False, timeout=300,
            env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "uv did not end in 300 s"
    return done.stderr.strip() or f"uv ended with {done.returncode}" if done.returncode else ""


def main(argv: list[str]) -> int:
    uv = argv[0] if argv else "uv"
    every = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]

    def check_lacking(platform: str, package: str) -> str:
        (requirement,) = (one for one in every if one.startswith(package))
        said = resolved(uv, [requirement], platform, PYTHONS[-1])
        if not said:
            return f"{package} needs no compiler any more. Take it from LACKING, and from docs/install.md."
        return "" if "no usable wheels" in said else said

    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {
            **{
                f"{p}, Python {v}": pool.submit(resolved, uv, every, p, v)
                for p in PLATFORMS
                if p not in LACKING
                for v in PYTHONS
            },
            **{f"{p}, {one}": pool.submit(check_lacking, p, one) for p, some in LACKING.items() for one in some},
        }
        wrong = {what: said for what, run in asked.items() if (said := run.result())}
    for what, said in wrong.items():
        print(f"{what}: {said}", file=sys.stderr)
    unknown = [what for what, said in wrong.items() if not any(sign in said for sign in ANSWERED)]
    lacking = "; ".join(f"{platform} has no wheels of {', '.join(some)}" for platform, some in LACKING.items())
    print(f"{len(asked) - len(wrong)} of {len(asked)} as expected. {lacking}.")
    if unknown:
        print(f"Not checked, since the index gave no answer: {', '.join(unknown)}.", file=sys.stderr)
    return 1 if len(wrong) > len(unknown) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
