"""Every error that shoal raises on purpose.

    ShoalError
    ├── SpaceError        a search space, a rule or a configuration is not valid
    ├── SpecError         a study, strategy, stopping rule or resource request is not valid
    ├── JournalError      the journal cannot be used (newer, damaged, disk full)
    │   └── JournalLocked another head holds it
    ├── CodeError         the user's file or function cannot be read, imported or archived
    ├── NotFound          no such study, trial or file
    ├── PoolError         the machine's devices cannot serve the request
    ├── StrategyError     a strategy failed or was used wrongly
    └── TrialError        the user's trial code used the Trial interface wrongly

A message says what, the value, what is allowed, what to do. `cause` is one line, `remedy` is one line;
`str(error)` is both. `assert` is for shoal's own bugs only.
"""


class ShoalError(Exception):
    """Root of the tree; catch this to catch everything shoal raises on purpose.

    Args:
        cause: one line: what is wrong, with the value and what is allowed.
        remedy: one line: what to do about it; may be empty.
    """

    exit_code = 2

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".rstrip()


class SpaceError(ShoalError):
    """A search space, a rule or a configuration is not valid."""


class SpecError(ShoalError):
    """A study, strategy, stopping rule or resource request is not valid."""


class JournalError(ShoalError):
    """The journal cannot be used: newer than this program, damaged, or the disk is full."""

    exit_code = 1


class JournalLocked(JournalError):
    """Another head holds the journal."""


class CodeError(ShoalError):
    """The user's file or function cannot be read, imported or archived."""


class NotFound(ShoalError):
    """No such study, trial or file."""

    exit_code = 3


class PoolError(ShoalError):
    """The machine's devices cannot serve the request."""


class StrategyError(ShoalError):
    """A strategy failed or was used wrongly."""

    exit_code = 1


class TrialError(ShoalError):
    """The user's trial code used the Trial interface wrongly."""

    exit_code = 1
