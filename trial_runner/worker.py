"""A worker: waits for a trial, runs it, says how it ended.

Already forked, imports done, it waits on its socket; a trial then starts within a millisecond or two. One trial a
process, so that nothing of a trial is left for the next, unless the study says `reuse_workers`.
"""

from __future__ import annotations

import atexit
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from socket import socket

from .descent import has_children
from .ending import Ending, ending_of
from .link import Link, LinkClosed
from .logs import write_output_to
from .messages import Json
from .seeding import seed_all
from .study_setup import StudySetup
from .worker_environment import describe_trial, mark_worker, set_devices, set_threads


def serve(end: socket, setup: StudySetup, import_error: BaseException | None = None) -> int:
    """Run trials until nobody wants this worker; the process's exit status.

    Args:
        end: the worker's end of its socket.
        setup: the study's facts.
        import_error: what happened when this process imported the code (only where workers are fresh interpreters).
    """
    link = Link(end)
    mark_worker()
    set_threads(setup.threads)
    try:
        assignment = link.receive("assign")
        if "store" in assignment:
            from .store_keeper import keep_store

            keep_store(link, assignment["store"])
        while _run_trial(link, setup, assignment, import_error):
            assignment = link.receive("assign")
        atexit._run_exitfuncs()  # the interpreter is not wound down: that takes torch 0.1 s, and nobody waits for it
    except LinkClosed:
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _run_trial(
    link: Link, setup: StudySetup, assignment: Mapping[str, Json], import_error: BaseException | None
) -> bool:
    """One trial; True when this process may take another."""
    phases_s: dict[str, float] = {}
    began = time.monotonic()
    ending = _run_entry(setup, assignment, link, phases_s, import_error)
    spent_s = time.monotonic() - began
    elsewhere_s = phases_s.get("report_wait", 0.0) + phases_s.get("checkpoint", 0.0)
    phases_s["user"] = max(spent_s - elsewhere_s, 0.0)
    sys.stdout.flush()
    sys.stderr.flush()
    alone = assignment["max_workers"] == 1  # others leave threads behind
    again = setup.reuse_workers and alone and ending.outcome == "completed" and not has_children()
    link.send(
        "ended", outcome=ending.outcome, value=ending.value, failure=ending.failure, message=ending.message,
        phases_s=phases_s, again=again,
    )
    return again


def _run_entry(
    setup: StudySetup, assignment: Mapping[str, Json], link: Link, phases_s: dict[str, float],
    import_error: BaseException | None,
) -> Ending:
    """Whatever user code does, an ending comes of it."""
    try:
        write_output_to(Path(assignment["log"]))
        describe_trial(assignment)
        set_devices(assignment["slot"]["gpus"], assignment["slot"]["gpu_share"])
        seed_all(assignment["seed"])
        if import_error is not None:
            raise import_error
        if setup.entry["kind"] == "command":
            from .command_run import run_command

            return run_command(setup, assignment, link)
        from .entry import call_function

        return call_function(setup, assignment, link, phases_s)
    except LinkClosed:
        raise
    except BaseException as error:  # KeyboardInterrupt, SystemExit and a pause's TrialLetGo are endings too
        ending = ending_of(error, setup.code_dir)
        if ending.outcome == "failed":
            traceback.print_exc()
        return ending
