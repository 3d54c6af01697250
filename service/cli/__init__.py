"""The command line: `shoal init | check | run | ls | show | ...`.

Data goes to stdout, everything else to stderr. Importing this package is cheap: commands import what they need when
they run, so that `shoal --help` loads neither torch nor ray nor optuna nor SQLAlchemy.
"""

from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Run the command line with these arguments (without the program's name); return the exit code."""
    from .app import main

    return main(argv)
