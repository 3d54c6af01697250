"""Runs a `shoal.Command` trial: any program, its metrics read from what it prints.

The program stays in the worker's process group, so that whatever ends the worker ends it and all it started, and it
asks the kernel to die with the worker. It cannot be paused; a stop is SIGTERM to the group, then SIGKILL.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections import ChainMap
from collections.abc import Mapping
from typing import IO, TextIO

from ..spaces.configuration import Configuration
from .command_output import Steps, metrics_in
from .command_template import fill
from .descent import die_with_parent, kill_group
from .ending import Ending
from .entry import configuration_of, say_started
from .failures import LINE_CHARS
from .link import Link
from .messages import Json
from .study_setup import StudySetup

TERM_GRACE_S = 5.0
"""How long a program may take to end after SIGTERM: enough to write a small file; others wait for its devices."""

ENDED_CHECK_S = 1.0
"""A silence after which it is looked whether the program itself has ended."""

READ_BYTES = 1 << 16


def run_command(setup: StudySetup, assignment: Mapping[str, Json], link: Link) -> Ending:
    """Start the program, pass its reports on, obey a stop; how it ended."""
    config = configuration_of(setup, assignment)
    line = fill(setup.entry["command"], _values(config, assignment))
    print(f"$ {line}", flush=True)
    worker = os.getpid()
    say_started(link)
    program = subprocess.Popen(
        line, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=setup.code_dir or None, preexec_fn=lambda: die_with_parent(worker),  # this process has one thread
    )
    return _Watch(program, assignment, link).until_the_end()


def _values(config: Configuration, assignment: Mapping[str, Json]) -> Mapping[str, Json]:
    """By path: decisions (a choice's tag, a repeated part's count), constants, then the trial's own facts."""
    own = {"trial": assignment["number"], "seed": assignment["seed"], "checkpoint_dir": assignment["checkpoint_dir"]}
    return ChainMap(config.flat(), config, own)  # type: ignore[arg-type]  # only read


class _Output:
    """One of the program's two streams: copied to the log as it comes, cut into lines."""

    def __init__(self, pipe: IO[bytes], log: TextIO) -> None:
        self.pipe = pipe
        self._log = log
        self._rest = b""
        self.last_line = ""

    def read(self) -> list[str] | None:
        """Whole lines that have come (a carriage return ends one too: progress bars); None at the end."""
        received = os.read(self.pipe.fileno(), READ_BYTES)
        self._log.buffer.write(received)
        self._log.buffer.flush()
        pieces = (self._rest + received).replace(b"\r", b"\n").split(b"\n")
        self._rest = b"" if not received else pieces.pop()
        lines = [piece.decode(errors="replace") for piece in pieces if piece.strip()]
        if lines:
            self.last_line = lines[-1]
        return lines if received or lines else None


class _Watch:
    """Follows a running program."""

    def __init__(self, program: subprocess.Popen[bytes], assignment: Mapping[str, Json], link: Link) -> None:
        assert program.stdout is not None and program.stderr is not None
        self._program = program
        self._assignment = assignment
        self._link = link
        self._output = _Output(program.stdout, sys.stdout)
        self._errors = _Output(program.stderr, sys.stderr)
        self._steps = Steps()
        self._stopped: str | None = None

    def until_the_end(self) -> Ending:
        with selectors.DefaultSelector() as selector:
            selector.register(self._output.pipe, selectors.EVENT_READ, self._output)
            selector.register(self._errors.pipe, selectors.EVENT_READ, self._errors)
            selector.register(self._link, selectors.EVENT_READ, None)
            open_streams = 2
            while open_streams:
                ready = selector.select(ENDED_CHECK_S)
                if not ready and self._program.poll() is not None:
                    break  # what it left running in the background holds the streams open
                for key, _ in ready:
                    if key.data is None:
                        self._obey()
                    elif not self._follow(key.data):
                        selector.unregister(key.fileobj)
                        open_streams -= 1
                if self._stopped is not None:
                    return self._stop()
        return self._ending(self._program.wait())

    def _follow(self, stream: _Output) -> bool:
        """Take in a stream's lines; False at its end."""
        lines = stream.read()
        if lines is None:
            return False
        if stream is self._output:
            for line in lines:
                metrics = metrics_in(line)
                if self._assignment["metric"] in metrics:
                    self._report(metrics)
        return True

    def _report(self, metrics: dict[str, float]) -> None:
        step = self._steps.of(metrics)
        if step > self._assignment["reported_step"]:
            self._link.send("report", step=step, metrics=metrics, can_pause=False)

    def _obey(self) -> None:
        while (verdict := self._link.try_receive("verdict")) is not None:
            if verdict["verdict"] == "stop":
                self._stopped = verdict["reason"]

    def _stop(self) -> Ending:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # we are in the group that gets it
        kill_group(0, signal.SIGTERM)
        try:
            self._program.wait(TERM_GRACE_S)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        return Ending(outcome="stopped", message=self._stopped or "")

    def _ending(self, status: int) -> Ending:
        if status == 0:
            return Ending(outcome="completed", message="the program ended")
        last = " ".join(self._errors.last_line.split())[:LINE_CHARS]
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
        return Ending(outcome="failed", failure="BUG", message=f"the program ended {how}: {last or 'no error output'}")
