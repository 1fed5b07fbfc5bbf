"""What the documentation shows is run: every block of Python and of the shell, on every page; and the README is short.

A page whose examples are compared in a way of its own has a test module of its own; it is found by its call of
`prints_what_it_says`, or named in `ELSEWHERE`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.cli import main
from tests.pages import DOCS, ROOT, blocks, examples, name_of, pages, printed

PYTHON = ("python", "py", "python3", "pycon")
SHELL = ("sh", "bash", "shell", "zsh")
TESTS = Path(__file__).parent

APART = {"README.md", "agents.md", "coming-from.md", "languages.md"}  # each example has names of its own
PRINTS_ONLY = {"coming-from.md"}  # what is printed is not on the page
LEFT_OUT = {"coming-from.md": "from mem0 import"}  # needs a key of OpenAI
ELSEWHERE = {
    "postgres.md": "test_postgres_document.py",
    "chroma-server.md": "test_chroma_document.py",
    "ranking.md": "test_ranking_document.py",  # numbers are compared with a tolerance
    "privacy.md": "test_privacy_document.py",  # placeholders without their numbers
}

# Commands that are only looked at: that there is such a command, with such options.
NOT_RUN = {
    ("recall", "bench"): "takes labelled questions, or an hour; tests/unit/benchmarks and tests/unit/evaluation run it",
    ("recall", "eval"): "takes labelled questions; tests/unit/evaluation runs it",
    ("recall", "mcp"): "serves until it is stopped; tests/integration/test_mcp.py runs it",
    ("recall", "serve"): "serves until it is stopped; tests of serving run it",
    ("recall", "look"): "serves until it is stopped; test_page.py looks at the page",
    ("recall", "learn", "rollback"): "needs a version, too",
    ("recall", "learn", "promote"): "needs a version, too",
    ("recall", "db", "isolate"): "takes a role of the server; test_row_level_security.py runs it",
    ("recall", "search", "postgresql://ann@localhost/memories"): "takes such a role, too",
    ("recall", "explain", "locomo//conv-26"): "asks what the command below imports",
    ("recall", "import", "conv-26.jsonl"): "takes the data of LoCoMo",
}
# Lines that are no command of ours.
FOREIGN = {
    "pip": "installs",
    "uv": "installs",
    "python3 -m venv": "installs; .ci/run does it",
    ".venv/bin/pip": "installs; .ci/run does it",
    "mkdocs": "needs the extra docs; test_site.py builds the site",
    "while true; do recall": "runs until it is stopped",
    "curl": "asks a server that runs elsewhere",
    "docker": "needs a container engine",
    "psql": "makes a role; test_row_level_security.py makes such",
    "pg_dump": "asks a PostgreSQL; test_backup_of_postgres.py runs it, and the programs below",
    "createdb": "as pg_dump",
    "pg_restore": "as pg_dump",
    "pg_basebackup": "as pg_dump",
    "pg_verifybackup": "as pg_dump",
    "pg_ctl": "as pg_dump",
    "cp": "copies such a backup",
    "touch": "marks it as one",
    "kubectl": "needs a cluster",
    "chroma run": "serves until it is stopped; tests/chroma.py runs it",
    "promtool": "needs Prometheus; the tests of the alert rules run it",
    "kill": "is said to a server that runs elsewhere",
    "export": "sets what the next line reads",
}
PLACES = {"STORE": "my-store", "memories/": "my-store"}
ADDRESS = "postgresql://recall@localhost/memories"  # of pages; a database of the tests takes its place
QUERY = '{"query": "which database did we choose?", "relevant": ["m1"], "scope": "-"}\n'
MEM0 = '{"results": [{"id": "8d2e", "memory": "Is allergic to peanuts", "user_id": "u1"}]}'
ROW = '{"text": "We chose PostgreSQL", "id": "m1", "type": "event", "event_at": "2026-03-12T09:00:00Z"}\n'


def own_modules() -> dict[str, str]:
    """Pages that a test module of their own runs."""
    found = dict(ELSEWHERE)
    for module in ROOT.joinpath("tests").rglob("test_*.py"):
        if module != Path(__file__):
            names = re.findall(r'prints_what_it_says\(\s*"([\w/-]+\.md)"', module.read_text(encoding="utf-8"))
            found |= dict.fromkeys(names, module.name)
    return found


OWN = own_modules()
HERE = [page for page in pages() if examples(page) and name_of(page) not in OWN]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what commands of the pages speak of."""
    place = tmp_path_factory.mktemp("pages")
    with MemoryStore.open(place / "my-store") as store:
        store.add_entity("Priya Raman", aliases=["Priya"])
        store.remember_many([Memory("Priya wants the deployment on Fridays", actor="Priya"), "We chose PostgreSQL"])
        store.remember("My badge number is 4471", scope=Scope(user_id="u1"))
    (place / "conversations.jsonl").write_text(ROW, encoding="utf-8")
    (place / "mem0.json").write_text(MEM0, encoding="utf-8")
    (place / "queries.jsonl").write_text(QUERY, encoding="utf-8")
    for settings in ("recall.yaml", "candidate.yaml"):
        (place / settings).write_text("recall:\n  timezone: Europe/Berlin\n", encoding="utf-8")
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where an example or a command runs: a copy of it."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


# -- Python ------------------------------------------------------------------------------------------------------------


def test_pages_of_their_own_module_have_it() -> None:
    for page, module in OWN.items():
        assert (DOCS / page).is_file() and list(TESTS.parent.rglob(module)), page
    assert {name_of(page) for page in HERE} >= {"README.md", "tutorial.md", "how-it-works.md", "index.md"}


def test_every_block_of_python_is_one_that_is_run() -> None:
    for page in pages():
        assert len(blocks(page, *PYTHON)) == len(examples(page)), f"{name_of(page)}: write ```python, at the margin"
        assert page.read_text(encoding="utf-8").count("    ```python") == 0, name_of(page)


@pytest.mark.usefixtures("no_hurry", "place")
@pytest.mark.parametrize("document", HERE, ids=name_of)
def test_a_page_prints_what_it_says(document: Path) -> None:
    name = name_of(document)
    run = 0
    for example, out in printed(document, apart=name in APART, left_out=LEFT_OUT.get(name, "")):
        run += 1
        if name in PRINTS_ONLY:
            assert out.strip(), example.code
        else:
            assert out == (example.said or "")
    assert run >= len(examples(document)) - (name in LEFT_OUT)


def test_what_is_wrong_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\n```\n\nWords.\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n", encoding="utf-8"
    )
    (first, nothing), (second, out) = printed(page)
    assert (first.said, nothing) == (None, "") and (second.said, out) == ("2\n", "1\n")
    with pytest.raises(NameError):
        list(printed(page, apart=True))
    with pytest.raises(click.NoSuchOption):
        is_parsed(["recall", "stats", "STORE", "--jason"])
    with pytest.raises(AssertionError):
        is_parsed(["recall", "serach", "STORE"])


# -- the shell ---------------------------------------------------------------------------------------------------------


def commands(document: Path) -> list[str]:
    """The commands of a page, without remarks; of a session (`console`) without what they print."""
    sessions = "\n".join(blocks(document, "console")).replace("\\\n", " ").splitlines()
    lines = "\n".join(blocks(document, *SHELL)).replace("\\\n", " ").splitlines()
    lines += [line[2:] for line in sessions if line.startswith("$ ")]
    bare = (re.sub(r"(^|\s+)#.*$", "", line).strip() for line in lines)
    return [line for line in bare if line]


def started(line: str, beginnings: dict[str, str]) -> bool:
    return any(line == start or line.startswith(f"{start} ") for start in beginnings)


def not_run(words: list[str]) -> bool:
    return any(set(key) <= set(words) and tuple(words[: len(key[:2])]) == key[:2] for key in NOT_RUN)


def is_parsed(words: list[str]) -> None:
    """There is such a command, and it has these options."""
    command: click.Command = main
    rest = words[1:]
    while isinstance(command, click.Group):
        del rest[: sum(isinstance(given, click.Argument) for given in command.params)]  # `recall learn STORE run`
        name = rest.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"there is no command {name!r}"
        command = found
    command.make_parser(click.Context(command)).parse_args(rest)


WITH_SHELL = [page for page in pages() if commands(page)]


@pytest.mark.usefixtures("no_hurry", "place")
@pytest.mark.parametrize(
    "document",
    [pytest.param(p, marks=[pytest.mark.server] * any(ADDRESS in line for line in commands(p))) for p in WITH_SHELL],
    ids=name_of,
)
def test_the_commands_of_a_page_do_what_they_are_there_for(document: Path, request: pytest.FixtureRequest) -> None:
    given = commands(document)
    if any(ADDRESS in line for line in given):
        found = request.getfixturevalue("postgres_url")
        given = [line.replace(ADDRESS, found) for line in given]
    for line in given:
        if started(line, FOREIGN):
            continue
        words = [PLACES.get(word, word) for word in shlex.split(line)]
        if words[0] == "python":
            script = f"{words[2].replace('.', '/')}.py" if words[1] == "-m" else words[1]
            assert (ROOT / script).is_file(), line
            continue
        assert words[0] == "recall", f"{name_of(document)}: {line!r} is neither run, nor among the reasons above"
        is_parsed(words)
        if not not_run(words):
            done = CliRunner().invoke(main, words[1:])
            assert done.exit_code == 0, (line, done.output)


def test_every_reason_is_used() -> None:
    lines = [line for page in WITH_SHELL for line in commands(page)]
    ours = [shlex.split(line) for line in lines if line.startswith("recall ")]
    optional = {
        ("recall", "serve"),
        "curl",
        "docker",
        "mkdocs",
        "promtool",
        "kill",
        "export",
    }  # of pages that may come and go
    for key in NOT_RUN.keys() - optional:
        assert any(set(key) <= set(words) for words in ours), key
    for start in FOREIGN.keys() - optional:
        assert any(started(line, {start: ""}) for line in lines), start


# -- the README --------------------------------------------------------------------------------------------------------


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def per_data_set(page: str) -> dict[str, dict[str, float]]:
    """nDCG@10 of every system on every data set, as the page of benchmarks has it."""
    found = {}
    for name, table in re.findall(r"^\*\*([\w/-]+)\*\*, \d+ questions, k = 10\n\n(.*?)\n\n", page, re.M | re.S):
        cells = [row.split("|") for row in table.splitlines()[2:]]
        found[name] = {c[1].strip(): float(c[5]) for c in cells}
    return found


KINDS = {
    "documents": ["documents"],
    "chats with assistant": ["assistant"],
    "many speakers": ["talk"],
    "encyclopaedia chains": ["hotpotqa", "musique"],
    "chats of two people": ["locomo"],
    "phone records": ["phone"],
    "project chats": ["projects"],
    "a day or session asked for": ["locomo-when"],
}


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sets = per_data_set(page)
    kinds = {"other languages": [name for name in sets if name.startswith("languages/")], **KINDS}
    rows = re.findall(r"^\| ([a-z ]+) \| \*\*(\.\d+)\*\* \| (\.\d+) \| (\.\d+) \| (\.\d+) \|$", readme, re.M)
    assert [row[0] for row in rows] == list(kinds)  # in the order of the page: the worst first
    for kind, *figures in rows:
        of = [sets[name] for name in kinds[kind]]
        for figure, system in zip(figures, ("recall", "LangChain ensemble", "LlamaIndex fusion"), strict=False):
            assert float(figure) == pytest.approx(sum(s[system] for s in of) / len(of), abs=0.0011), (kind, system)
        assert re.search(rf"^\| {kind} \| [\d,]+ \| 0\{figures[0]} \| 0\{figures[3]} \|", page, re.M), kind
    times = re.findall(r"^\| p50 / p95 ms, `(\w+)`: [^|]+\| ([^|]+) \| ([^|]+) \| ([^|]+) \|", readme, re.M)
    assert len(times) == 3
    for name, *cells in times:
        found = re.search(rf"^\| {name} \| [\d,]+ · \d+ \| \d+ \| (.*?) \(.*?\| (.*?) \(.*?\| (.*?) \(", page, re.M)
        assert found is not None and cells == list(found.groups()), name


def test_the_picture_shows_what_the_page_prints() -> None:
    picture = (DOCS / "pictures" / "recall.svg").read_text(encoding="utf-8")
    (example,) = [one for one in examples(DOCS / "how-it-works.md") if "result.hits[0].contributions" in one.code]
    assert example.said is not None
    for line in example.said.splitlines()[:4]:
        score, _, rest = line.partition("  ")
        assert score in picture and rest.strip() in picture, line
