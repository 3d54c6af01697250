"""`shoal debug STUDY#7`: run one trial again in this process, so that `breakpoint()` and a debugger work.

Nothing is written to the journal or the trial's folder: checkpoints go to a temporary folder, reports to stderr.
"""

from __future__ import annotations

import pdb
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import CodeError, NotFound
from .exits import Exit
from .options import DataFlag, NumberWord, TrialName, data_directory
from .terminal_link import TerminalLink
from .trial_reference import parse_trial

if TYPE_CHECKING:
    from ...search.fold import StudyFold
    from ...search.spec import StudySpec
    from ...search.trial_record import TrialRecord


def debug(
    trial: TrialName,
    number: NumberWord = None,
    data: DataFlag = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Use the code of this file, edited since, in place of the code that ran."),
    ] = None,
) -> int:
    """Run one trial again in this process. Same configuration and seed; breakpoints work."""
    from .journal_reading import open_reader

    directory = data_directory(data)
    study, index = parse_trial(trial, number)
    with open_reader(directory) as reader:
        record = reader.trial(study, index)
        state = reader.state(study)
    spec = state.spec
    code_dir = _code(spec, directory, file)
    print(f"{study}#{index} again, in this process; the journal is left alone", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="shoal-debug-") as scratch:
        try:
            returned = _call(state, record, code_dir, Path(scratch))
        except CodeError:
            raise
        except Exception as error:
            traceback.print_exc()
            if sys.stdin.isatty():
                pdb.post_mortem(error.__traceback__)
            return Exit.STUDY_FAILED
    if returned is not None:
        print(returned)
    return Exit.OK


def _code(spec: StudySpec, directory: Path, file: Path | None) -> Path:
    """Put the code first on the import path; return its folder."""
    from ...trial_runner.archive import module_of, unpack

    if file is not None:
        if not file.is_file():
            raise NotFound(f"there is no file {file}.", "Name the study's file, or leave --file out.")
        code_dir, _ = module_of(file)
    elif not spec.code:
        code_dir = Path.cwd()
    else:
        archive = directory / "code" / f"{spec.code}.tar.gz"
        if not archive.is_file():
            raise CodeError(f"the code that {spec.name} ran is no longer in {archive.parent}.", "Give --file FILE.")
        code_dir = unpack(archive, directory / "code" / spec.code)
    sys.path.insert(0, str(code_dir))
    return code_dir


def _call(state: StudyFold, record: TrialRecord, code_dir: Path, scratch: Path) -> object:
    from ...search.seeds import trial_seed
    from ...spaces import Space
    from ...trial_runner.entry import load_function
    from ...trial_runner.seeding import seed_all

    spec = state.spec
    seed = trial_seed(spec.seed, record.number)
    space = None if spec.space is None else Space.from_json(spec.space)
    if spec.entry.kind == "command":
        _run_command(state, record, code_dir, scratch, seed)
        return None
    function = load_function(spec.entry.module, spec.entry.function, str(code_dir))
    seed_all(seed)  # after the import, which may have loaded torch
    link = TerminalLink(record.flat)
    objective = spec.objective
    if space is None:
        from ...trial_runner.optuna_trial import OptunaTrial

        return function(
            OptunaTrial(
                number=record.number,
                link=link,
                metric=objective.metric,
                direction=objective.direction,
                suggested=record.flat,
                reported_step=0,
            )
        )
    config = space.configuration(record.config)
    if spec.entry.kind == "objective":
        return function(config)
    from ...trial_runner.trial import Trial

    return function(
        Trial(
            config=config,
            number=record.number,
            seed=seed,
            link=link,
            checkpoint_dir=scratch,
            max_workers=spec.resources.max_workers,
            max_shards=spec.max_shards,
            metric=objective.metric,
            direction=objective.direction,
        )
    )


def _run_command(state: StudyFold, record: TrialRecord, code_dir: Path, scratch: Path, seed: int) -> None:
    """Run the trial's program on this terminal.

    Raises:
        CodeError: it ended with a status other than 0.
    """
    from ...dashboards.terminal.parameters import flat
    from ...trial_runner.command_template import fill

    own = {"trial": record.number, "seed": seed, "checkpoint_dir": str(scratch)}
    line = fill(state.spec.entry.command, {**own, **flat(state, record)})
    print(f"$ {line}", file=sys.stderr)
    status = subprocess.run(line, shell=True, cwd=code_dir).returncode
    if status != 0:
        raise CodeError(f"the program ended with status {status}.", "Its own output above says why.")
