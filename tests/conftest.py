"""Fixtures that several test folders share."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig
from recall_integrations.config.schema import catalogue
from recall_integrations.config.sections import LimitsConfig
from recall_integrations.store.memory_store import MemoryStore
from tests import in_chroma, on_postgres, quick
from tests.postgres import Postgres, running

os.environ["TZ"] = "UTC"  # commands read days in the system's time zone
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")  # read by Chroma, whose clients in memory must agree on it
# Chroma inserts with one thread: with several, vectors that come in at once may end without a link to them, so that
# what a search reaches depends on the machine's load (docs/decisions.md). Children inherit it.
os.environ["RAYON_NUM_THREADS"] = "1"
# Several processes of tests share the processors: threads of a library would wait for each other by turning in circles.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Compiled modules are kept, also where the environment says otherwise: each of the hundreds of processes that the tests
# start would compile all that it loads. Not of mutants, which may be as long and as old as what they replace.
if "mutation_profile" not in sys.modules:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Files of tests are in memory where there is room: every acknowledged write waits for the disk. Children inherit it.
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4_000_000_000:
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None  # it is looked up again

# What a recall finds is compared, and how it stops when its time is up only where a test gives it one: where tests run
# beside each other, a process may wait for seconds.
_BUDGETS = [LimitsConfig.__dataclass_fields__[name] for name in ("time_budget_ms", "rerank_budget_ms")]  # type: ignore[attr-defined]
_SHIPPED = {budget.name: budget.default for budget in _BUDGETS}
_DEFAULTS = LimitsConfig.__init__.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]
for _budget in _BUDGETS:
    _budget.default = _DEFAULTS[_budget.name] = 30_000.0

NOW = datetime(2024, 5, 15, 12, 0, tzinfo=timezone.utc)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-of-each", action="store_true", help="of the parameters of a test, the first (tests/quick.py)"
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist says what it would choose
def pytest_cmdline_main(config: pytest.Config) -> None:
    # A process goes through files one after the other and takes from another what that has not come to: what tests of a
    # file share is then made once, and not in each process.
    if config.getoption("numprocesses", None) and config.getoption("dist") == "no":
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    quick.choose(config.getoption("markexpr"))
    # How long one example takes says nothing on a shared machine. Where `CI` is set, Hypothesis would begin with a
    # profile that tries the same examples each time.
    usual = hypothesis.settings.get_profile("default")
    hypothesis.settings.register_profile("here", usual, deadline=None, max_examples=quick.examples(100))
    hypothesis.settings.load_profile("here")


def pytest_collection(session: pytest.Session) -> None:
    # All processes load all modules of tests, and where none is compiled yet, would all compile the same one at a time.
    # So each begins with another part of them.
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    places = [session.config.invocation_params.dir / argument.partition("::")[0] for argument in session.config.args]
    files = sorted(file for place in places if place.is_dir() for file in place.rglob("test_*.py"))
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in files[number * len(files) // count :] if number else ():
        name = ".".join(file.relative_to(session.config.rootpath).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it says what is wrong
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    # What is loaded and collected by now stays: the collector need not look through it again, which takes a second.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)  # around `-m`, which chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    quick.thin(items)
    quick.needs_server(items)
    yield
    if config.getoption("one_of_each"):
        items[:], left = quick.first_of_each(items)
        config.hook.pytest_deselected(items=left)


class FakeEmbedding:
    """Unit vectors from a hash of the text: equal texts are equal, all others about orthogonal. Can be told to fail."""

    remote = False

    def __init__(self, dimensions: int = 16, name: str = "fake") -> None:
        self.dimensions = dimensions
        self.fingerprint = f"{name}:{dimensions}"
        self.fails: Callable[[str], bool] = lambda _text: False
        self.error: type[Exception] | None = None
        self.calls = 0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from recall_integrations.errors import EmbeddingError

        self.calls += 1
        if any(self.fails(t) for t in texts):
            raise (self.error or EmbeddingError)("the fake embedding was told to fail")
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            seed = int.from_bytes(hashlib.blake2b(f"{self.fingerprint}|{text}".encode(), digest_size=8).digest(), "big")
            rows[i] = np.random.default_rng(seed).normal(size=self.dimensions)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(texts) else rows


@pytest.fixture
def embedding() -> FakeEmbedding:
    return FakeEmbedding()


@pytest.fixture(scope="session")
def module_embedding() -> FakeEmbedding:
    """For stores that several tests share."""
    return FakeEmbedding()


@pytest.fixture
def shipped_budgets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The defaults that users get."""
    catalogue.cache_clear()
    for budget in _BUDGETS:
        monkeypatch.setattr(budget, "default", _SHIPPED[budget.name])
        monkeypatch.setitem(_DEFAULTS, budget.name, _SHIPPED[budget.name])
    yield
    catalogue.cache_clear()


@pytest.fixture
def make_embedding() -> type[FakeEmbedding]:
    return FakeEmbedding


@pytest.fixture
def clock() -> Callable[[], datetime]:
    return lambda: NOW


OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: every acknowledged write waits for the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="recall-test-", dir=memory) as made:
        yield Path(made)


@pytest.fixture
def open_store(fast_path: Path, embedding: FakeEmbedding, clock: Callable[[], datetime]) -> Iterator[OpenStore]:
    """Opens the store of this test; may be called again after a close. Closes what is left open."""
    opened: list[MemoryStore] = []

    def open_(name: str = "store", *, config: RecallConfig | None = None, **options: object) -> MemoryStore:
        options = {"embedding": embedding, "clock": clock, **options}
        store = MemoryStore.open(fast_path / name, config=config, **options)  # type: ignore[arg-type]
        opened.append(store)
        return store

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    return open_store()


@pytest.fixture(scope="session", autouse=on_postgres.wanted())
def stores_in_postgres() -> Iterator[None]:
    """Only where it was asked for: see `tests.on_postgres`."""
    with on_postgres.in_place_of_directories():
        yield


@pytest.fixture(scope="session", autouse=in_chroma.wanted())
def scopes_in_chroma() -> Iterator[None]:
    """Only where it was asked for: see `tests.in_chroma`."""
    with in_chroma.every_scope():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started when a test first asks for it: some two seconds, once in each process of tests."""
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[str]:
    """A new, empty database on it."""
    assert request.node.get_closest_marker("server"), "mark it as `server`: see tests/quick.py"
    url = postgres.fresh()
    yield url
    postgres.drop(url)


# -- what something costs, on any machine --------------------------------------------------------------------------


def _steps(act: Callable[[], object], *, lines: bool = True) -> int:
    """Functions that are called, those of C too, and lines that run: a cost that no busy machine changes."""
    count = 0

    def line(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    traced, profiled, collects = sys.gettrace(), sys.getprofile(), gc.isenabled()
    gc.disable()  # or what an earlier test left behind is ended here, and counts
    if lines:
        sys.settrace(line)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(profiled)
        sys.settrace(traced)
        if collects:
            gc.enable()
    return count


@contextlib.contextmanager
def _comes_back(seconds: float = 30.0) -> Iterator[None]:
    """Fails what is still at work after so much processor time of this process; other processes do not count.

    For what no count of steps sees, such as a regular expression that backtracks.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def over(*_: object) -> None:
        pytest.fail(f"Still at work after {seconds:.0f} s of processor time: the cost is not linear.")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _linear(act: Callable[[str], object], piece: str, *, chars: int = 1_500, whole: int = 200_000) -> None:
    """Asserts that `act` on repeats of `piece` takes steps in proportion to their length.

    Args:
        chars: length of the shorter of the two texts whose steps are counted; the other is four times as long.
        whole: length of a text that is read without counting. What is quadratic there does not come back.
    """

    def repeated(length: int) -> str:
        return (piece * (length // len(piece) + 1))[:length]

    act(repeated(4 * chars))  # what is loaded or remembered once is not counted
    few, many = (_steps(lambda length=length: act(repeated(length))) for length in (chars, 4 * chars))
    assert few > 0 and many < 6 * few  # quadratic would be 16 times
    with _comes_back():
        act(repeated(whole))


@pytest.fixture(scope="session")
def steps() -> Callable[..., int]:
    """Counts the steps of a call."""
    return _steps


@pytest.fixture(scope="session")
def comes_back() -> Callable[..., contextlib.AbstractContextManager[None]]:
    """A block that must not take for ever."""
    return _comes_back


@pytest.fixture(scope="session")
def linear() -> Callable[..., None]:
    """Asserts that the cost of a call grows with its text and no faster."""
    return _linear


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recalls that say nothing of time have plenty: a test of something else must not depend on a busy machine."""
    from recall_integrations import QueryOptimizer

    recall, arecall = QueryOptimizer.recall, QueryOptimizer.arecall

    def patient(given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "time_budget_ms": given.get("time_budget_ms") or 60_000}

    def unhurried(self: QueryOptimizer, query: str, **given: Any) -> Any:
        return recall(self, query, **patient(given))

    async def aunhurried(self: QueryOptimizer, query: str, **given: Any) -> Any:
        return await arecall(self, query, **patient(given))

    monkeypatch.setattr(QueryOptimizer, "arecall", aunhurried)
    monkeypatch.setattr(QueryOptimizer, "recall", unhurried)
