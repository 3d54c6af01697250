"""`python -m shoal.service.cli.spec_process FILE SAMPLES`: import a study file away from the caller.

Writes one JSON object to stdout: {"studies": [{"spec": StudySpec, "networks": [...]}, ...]} or {"error": {"kind",
"cause", "remedy"}}. What the file itself prints goes to stderr. `networks` has, for each sampled configuration, what
its architectures cost (`spaces.cost.summary`); it is made here, because here the user's own classes are loaded.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import ShoalError
from shoal.search.spec import Json

if TYPE_CHECKING:
    from shoal.service.study import Study


def main(file: Path, samples: int) -> Json:
    """Load `file` and describe what was found."""
    from shoal.service.cli.study_file import load_studies

    try:
        return {"studies": [_study_json(study, samples) for study in load_studies(file)]}
    except ShoalError as error:
        return {"error": {"kind": type(error).__name__, "cause": error.cause, "remedy": error.remedy}}


def _study_json(study: Study, samples: int) -> Json:
    from shoal.service.cli.checking import machine_here, sampled
    from shoal.spaces.cost import summary

    spec = study.spec()
    drawn = [] if study.space is None else sampled(study.space, spec.seed, samples)
    most = spec.resources.max_workers
    networks = [summary(config, machine=machine_here(), most_workers=most) for config in drawn]
    return {"spec": spec.to_json(), "networks": networks}


if __name__ == "__main__":
    reply_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # even a print from C code or a child process cannot reach the reply
    with reply_to:
        json.dump(main(Path(sys.argv[1]), int(sys.argv[2])), reply_to)
