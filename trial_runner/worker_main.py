"""The program of a worker that could not be forked: a fresh interpreter that imports the code itself.

    python -P -m shoal.trial_runner.worker_main SOCKET_FD SETUP_FILE PARENT_PID
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from socket import socket

from .descent import bind_forked_children, die_with_parent
from .preload import use_code
from .study_setup import PICKLED, StudySetup
from .worker import serve


def main(socket_fd: int, setup_file: Path, parent: int) -> int:
    """Serve one worker's socket."""
    die_with_parent(parent)
    bind_forked_children()
    setup = StudySetup.read(setup_file)
    use_code(setup)
    import_error: BaseException | None = None
    try:
        if setup.entry["kind"] != "command" and setup.entry["module"] != PICKLED:
            importlib.import_module(setup.entry["module"])
    except BaseException as error:  # told with the first trial, which then fails of it
        import_error = error
    return serve(socket(fileno=socket_fd), setup, import_error)


if __name__ == "__main__":
    status = main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    os._exit(status)
