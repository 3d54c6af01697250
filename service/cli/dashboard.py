"""`shoal dashboard`: the web pages over a data directory, in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ...errors import SpecError
from .options import DataFlag, data_directory

PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?")
END_S = 5.0


def dashboard(
    data: DataFlag = None,
    port: Annotated[
        int | None,
        typer.Option("--port", help="Port; 0: any; default: the first free one from 8321 on.", min=0, max=65535),
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Path in front of the pages, for a proxy: /user/me/proxy/8321.")
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="HOST[:PORT]", help="Host that a proxy sends; may be repeated."),
    ] = None,
    parent: Annotated[int | None, typer.Option("--parent", hidden=True)] = None,
) -> None:
    """Show studies in a browser. Prints an address with a code that works once; Ctrl-C ends it, studies go on."""
    from ..http.server import serve

    directory = data_directory(data)
    path = prefix.rstrip("/")
    if path and not PREFIX.fullmatch(path):
        raise SpecError(f"--prefix {prefix!r} is not a path.", "Use e.g. --prefix /proxy/8321.")
    for host in allow_host or []:
        if not HOST.fullmatch(host):
            raise SpecError(f"--allow-host {host!r} is not a host name.", "Use e.g. --allow-host lab.example:8443.")
    serve(directory, tell=_tell, port=port, prefix=path, allow_hosts=allow_host or [], parent=parent)


def _tell(address: str) -> None:
    print(address, flush=True)
    print("  open it once; whoever comes next needs the newest address (Ctrl-C ends the dashboard)", file=sys.stderr)


@contextmanager
def beside(directory: Path) -> Iterator[None]:
    """A dashboard in a process of its own for as long as the block runs; its address goes to stderr."""
    words = [sys.executable, "-m", "shoal", "dashboard", "--data", str(directory), "--parent", str(os.getpid())]
    # A group of its own: Ctrl-C in the terminal is for the run, which ends the dashboard itself.
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, process_group=0
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        told = f"dashboard: {address}" if address else "the dashboard could not start; try: shoal dashboard"
        print(told, file=sys.stderr)
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
