"""The Typer application: every command under its name, and what happens when one fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ...errors import ShoalError
from .exits import Exit, tell, tell_usage

# typer keeps click (its own copy in recent versions) private; this is its UsageError in all of them
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

EPILOG = (
    "Exit codes: 0 done, 1 study failed, 2 usage, 3 not found, 4 unreachable, 5 all trials failed, 130 interrupted."
)


def application() -> typer.Typer:
    """Build the application; commands appear in help in this order."""
    from . import (
        catalogue,
        dashboard,
        debugging,
        doctor,
        following,
        inspecting,
        pool_cluster,
        remarks,
        running,
        simulating,
        starting,
        steering,
    )

    app = typer.Typer(
        name="shoal",
        help="Hyperparameter and architecture search over a shared GPU pool.",
        epilog=EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(everywhere)
    for command in (
        starting.init,
        starting.check,
        running.run,
        debugging.debug,
        simulating.simulate,
        inspecting.ls,
        inspecting.show,
        inspecting.trials,
        catalogue.strategies,
        following.watch,
        following.logs,
        following.explain,
        dashboard.dashboard,
        steering.pause,
        steering.resume,
        steering.stop,
        steering.kill,
        steering.set_,
        steering.enqueue,
        remarks.note,
        remarks.tag,
        inspecting.export,
        doctor.doctor,
    ):
        settings = remarks.DASHED_WORDS if command is remarks.tag else None
        app.command(command.__name__.rstrip("_"), context_settings=settings)(command)
    app.add_typer(pool_cluster.pool_commands(), name="pool")
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"shoal {version('shoal')}")
        raise typer.Exit


def everywhere(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Hyperparameter and architecture search over a shared GPU pool."""


def main(argv: Sequence[str]) -> int:
    """Parse `argv`, run the command, turn errors into two lines and an exit code."""
    words = [word for word in argv if word != "--debug"]
    debug = len(words) != len(argv)
    try:
        command = typer.main.get_command(application())
        code = command.main(args=words or ["--help"], prog_name="shoal", standalone_mode=False)
        sys.stdout.flush()
        return int(code or Exit.OK) if words else Exit.USAGE
    except UsageError as error:
        return _usage(error)
    except (BrokenPipeError, SystemExit):
        # the reader of stdout has left (`shoal trials x | head`), which click turns into an exit of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except typer.Abort:
        return tell(KeyboardInterrupt(), debug=debug)
    except (ShoalError, KeyboardInterrupt, Exception) as error:
        return tell(error, debug=debug)


def _usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "shoal"
    message = str(getattr(error, "format_message", lambda: error)()).strip()
    for marker in (" Did you mean", " (Possible options:"):
        cause, found, guess = message.partition(marker)
        if found:
            names = guess.strip(" )?").replace("'", "")
            return tell_usage(cause, f"Did you mean {names}? See {path} --help.")
    return tell_usage(message, f"See {path} --help.")
