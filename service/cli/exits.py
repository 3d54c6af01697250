"""Exit codes, and how an error becomes two lines on stderr."""

from __future__ import annotations

import sys
import traceback
from enum import IntEnum

from ...errors import ShoalError


class Exit(IntEnum):
    """What the exit code of every command means."""

    OK = 0
    STUDY_FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREACHABLE = 4
    ALL_TRIALS_FAILED = 5
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done",
    Exit.STUDY_FAILED: "the study failed, or shoal itself did (journal locked or damaged, disk full)",
    Exit.USAGE: "the command, the study's file or a setting is not valid",
    Exit.NOT_FOUND: "no such study, trial or file",
    Exit.UNREACHABLE: "the server cannot be reached, or refused",
    Exit.ALL_TRIALS_FAILED: "every trial of the study failed",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
}


def tell(error: BaseException, *, debug: bool) -> int:
    """Write `error` to stderr, a line of cause and a line of remedy, and return the exit code.

    Args:
        debug: write the traceback first.
    """
    if debug:
        traceback.print_exception(error)
    if isinstance(error, ShoalError):
        return _two_lines(error.cause, error.remedy, error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return _two_lines("interrupted.", "", Exit.INTERRUPTED)
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    remedy = "This is a fault in shoal." + ("" if debug else " Run again with --debug and report the traceback.")
    return _two_lines(cause, remedy, Exit.STUDY_FAILED)


def tell_usage(message: str, remedy: str) -> int:
    """Write what is wrong with the command line itself."""
    return _two_lines(message, remedy, Exit.USAGE)


def _two_lines(cause: str, remedy: str, code: int) -> int:
    print("error: " + " ".join(cause.split()), file=sys.stderr)
    if remedy:
        print("remedy: " + " ".join(remedy.split()), file=sys.stderr)
    return int(code)
