"""`python -m shoal.service.cli.spec_process FILE`: import a study file away from the caller.

Writes one JSON object to stdout: {"specs": [StudySpec, ...]} or {"error": {"kind", "cause", "remedy"}}. What the file
itself prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from shoal.errors import ShoalError
from shoal.search.spec import Json


def main(file: Path) -> Json:
    """Load `file` and describe what was found."""
    from shoal.service.cli.study_file import load_studies

    try:
        return {"specs": [study.spec().to_json() for study in load_studies(file)]}
    except ShoalError as error:
        return {"error": {"kind": type(error).__name__, "cause": error.cause, "remedy": error.remedy}}


if __name__ == "__main__":
    reply_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # even a print from C code or a child process cannot reach the reply
    with reply_to:
        json.dump(main(Path(sys.argv[1])), reply_to)
