from __future__ import annotations

import inspect
import json
import re
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from recall_integrations import errors
from tests.rows import each_row


def drawn() -> dict[str, tuple[str, set[str]]]:
    """Class -> (parent, other bases), as the docstring draws them."""
    found: dict[str, tuple[str, set[str]]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(
            r"^ {4}(?P<lead>[│ ]*(?:├── |└── )?)(?P<name>[A-Z]\w+)(?: \((?P<base>\w+)\))?(?:\s{2,}|$)", line
        )
        if match is None:
            continue
        depth = len(match["lead"]) // 4
        path = [*path[:depth], match["name"]]
        found[match["name"]] = (path[-2] if depth else "Exception", {match["base"]} if match["base"] else set())
    return found


def real() -> dict[str, tuple[str, set[str]]]:
    classes = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    return {n: (c.__bases__[0].__name__, {b.__name__ for b in c.__bases__[1:]}) for n, c in classes.items()}


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert drawn() == real()


def test_all_names_are_exported_in_order() -> None:
    assert sorted(real()) == errors.__all__


def test_codes_are_stable_and_distinct() -> None:
    codes = {name: getattr(errors, name).code for name in errors.__all__}
    assert len(set(codes.values())) == len(codes)
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code) for code in codes.values())
    assert codes["StoreLocked"] == "STORE_LOCKED" and codes["InvalidQuery"] == "INVALID_QUERY"


@each_row("name", errors.__all__)
def test_messages_are_shown_as_they_are(name: str) -> None:
    assert str(getattr(errors, name)("Say what to do.")) == "Say what to do."
    assert issubclass(getattr(errors, name), errors.RecallError)


@each_row(
    "installer, url, wanted",
    [
        ("pip\n", None, 'pip install "recall-integrations[serve]"'),
        ("uv", None, 'uv pip install "recall-integrations[serve]"'),
        ("Poetry 2.1.0", None, 'poetry add "recall-integrations[serve]"'),
        (None, None, 'pip install "recall-integrations[serve]"'),
        ("pip", {"url": "file:///a%20b/c", "dir_info": {}}, 'pip install "/a b/c[serve]"'),
        ("uv", {"url": Path.cwd().as_uri(), "dir_info": {"editable": True}}, 'uv pip install -e ".[serve]"'),
        (
            "pip",
            {"url": "https://host/r.git", "vcs_info": {"vcs": "git"}},
            'pip install "recall-integrations[serve] @ git+https://host/r.git"',
        ),
    ],
)
def test_an_extra_is_installed_by_what_installed_the_package(
    installer: str | None, url: object, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"INSTALLER": installer, "direct_url.json": None if url is None else json.dumps(url)}
    monkeypatch.setattr(metadata, "distribution", lambda _: SimpleNamespace(read_text=told.get))
    assert errors.installing("serve") == wanted


def test_bad_input_is_a_value_error() -> None:
    assert issubclass(errors.InvalidInput, ValueError) and issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.MissingExtra, ImportError) and issubclass(errors.NotFound, KeyError)
    assert str(errors.NotFound()) == ""
