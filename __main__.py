"""`python -m shoal` and the console script `shoal`."""

import sys


def main() -> None:
    """Run the command line; the exit code is documented in docs/command-line.md."""
    from shoal.service.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
