"""A PostgreSQL server of the tests' own, on a Unix socket and in a folder that goes with it."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

START_S = 60
NAMES = count()


def program(name: str) -> str | None:
    """Where `initdb`, `postgres` or `psql` lies; distributions keep the first two off the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)]))


def is_installed() -> bool:
    return program("initdb") is not None and program("postgres") is not None


class Server:
    """Makes empty databases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def address(self, database: str) -> str:
        return f"postgresql://shoal@/{database}?host={self._folder}"

    def database(self) -> str:
        """The address of a new database."""
        name = f"test_{next(NAMES)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def execute(self, database: str, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.address(database), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running_server() -> Iterator[Server]:
    """The server refuses to run as root: then it runs as the user `postgres` that its package made."""
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has 107 bytes at most
    if user:
        shutil.chown(folder, user)
    initdb, postgres = program("initdb"), program("postgres")
    assert initdb is not None and postgres is not None
    words = [initdb, "-D", str(folder / "data"), "-U", "shoal", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
    subprocess.run(words, check=True, capture_output=True, user=user, cwd=folder)
    settings = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "max_connections=60")
    words = [postgres, "-D", str(folder / "data"), *(word for setting in settings for word in ("-c", setting))]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, user=user, cwd=folder)
    try:
        _wait_until_it_answers(Server(folder), folder / "log")
        yield Server(folder)
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder)


def _wait_until_it_answers(server: Server, log: Path) -> None:
    import psycopg

    until = time.monotonic() + START_S
    while True:
        try:
            server.execute("postgres", "SELECT 1")
            return
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise AssertionError(log.read_text()) from None
            time.sleep(0.05)
