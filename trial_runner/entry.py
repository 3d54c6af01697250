"""Calls the study's function the way its kind is called."""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CodeError, TrialError
from .elastic_group import ElasticGroup
from .ending import Ending
from .link import Link
from .messages import FailAt, Json
from .metrics import as_number
from .pulse import beat
from .step_boundary import arrival
from .study_setup import PICKLED, StudySetup, setup_file

if TYPE_CHECKING:
    from ..spaces import Configuration, Space

UserFunction = Any  # the user's function: the one named boundary where the type is open


def say_started(link: Link) -> None:
    """The next line is the user's."""
    link.send("started", pid=os.getpid(), at=time.monotonic())


@functools.cache
def load_function(module: str, function: str, code_dir: str) -> UserFunction:
    """The user's function; `code_dir` is on the import path already.

    Raises:
        CodeError: the module has no such function.
    """
    if module == PICKLED:
        import cloudpickle

        return cloudpickle.loads((Path(code_dir) / f"{PICKLED}.pkl").read_bytes())
    try:
        return functools.reduce(getattr, function.split("."), importlib.import_module(module))
    except AttributeError:
        raise CodeError(
            f"module {module!r} has no function {function!r} when a worker imports it.",
            "Define it at module level, outside of `if __name__ == '__main__':`.",
        ) from None


def call_function(
    setup: StudySetup, assignment: Mapping[str, Json], link: Link, phases_s: dict[str, float]
) -> Ending:
    """Run the trial to its end; `phases_s` gets what only the trial can measure. What user code raises is passed on."""
    function = load_function(setup.entry["module"], setup.entry["function"], setup.code_dir)
    kind = setup.entry["kind"]
    if assignment["inherits"] is not None and kind != "trial":
        raise TrialError(
            "it is to start from another trial's state, and a function of this kind keeps none.",
            "Write it as train(trial) with trial.prepare(...), trial.register(...) or trial.save(...), "
            "or use another strategy.",
        )
    if kind == "objective":
        config = configuration_of(setup, assignment)
        say_started(link)
        returned = function(config)
        if isinstance(returned, Mapping):
            return _ending_of_metrics(returned, assignment["objectives"], link)
        return _ending_of_value(returned, assignment["objectives"])
    if kind == "optuna":
        from .optuna_trial import OptunaTrial

        asked = OptunaTrial(
            number=assignment["number"], link=link, metric=assignment["metric"], direction=assignment["direction"],
            suggested=assignment["suggested"], reported_step=assignment["reported_step"],
        )
        say_started(link)
        return _ending_of_value(function(asked), assignment["objectives"])
    return _call_with_trial(function, setup, assignment, link, phases_s)


def configuration_of(setup: StudySetup, assignment: Mapping[str, Json]) -> Configuration:
    """The trial's configuration as the user sees it."""
    return space_of(setup.study_dir).configuration(assignment["config"])


@functools.cache
def space_of(study_dir: str) -> Space:
    """The study's space; parsed once a process, by the fork server for all its workers."""
    from ..spaces import Space

    return Space.from_json(StudySetup.read(setup_file(Path(study_dir))).space)


def _call_with_trial(
    function: UserFunction, setup: StudySetup, assignment: Mapping[str, Json], link: Link, phases_s: dict[str, float]
) -> Ending:
    from .trial import Trial

    group = None
    if assignment["max_workers"] > 1:
        group = ElasticGroup(link, f"{assignment['number']}/{assignment['generation']}")
        beat(link)
        if assignment["workers"] > 1 and not assignment["arrives"]:
            group.form_first()
    trial = Trial(
        config=configuration_of(setup, assignment), number=assignment["number"], seed=assignment["seed"], link=link,
        checkpoint_dir=Path(assignment["checkpoint_dir"]),
        inherits=None if assignment["inherits"] is None else Path(assignment["inherits"]),
        max_workers=assignment["max_workers"], max_shards=assignment["max_shards"], split=assignment["split"],
        metric=assignment["metric"], direction=assignment["direction"],
        reported_step=assignment["reported_step"], group=group, elastic=group,
        arrive=functools.partial(arrival, group) if group is not None and assignment["arrives"] else None,
        fail_at=None if assignment["fail_at"] is None else FailAt(**assignment["fail_at"]), trace=assignment["trace"],
    )
    say_started(link)
    try:
        returned = function(trial)
    finally:
        phases_s |= trial.phases_s
    if returned is None:
        return Ending(outcome="completed", message="the function returned")
    return _ending_of_value(returned, assignment["objectives"])


def _ending_of_metrics(returned: Mapping[object, object], objectives: Sequence[str], link: Link) -> Ending:
    """A dict of metrics is a report, and the objectives in it are the result.

    Raises:
        TrialError: an objective is not in it, or something in it is not a number.
    """
    for metric in objectives:
        if metric not in returned:
            raise TrialError(
                f"the function returned a dict without {metric!r}; it has {', '.join(map(repr, returned)) or 'none'}.",
                f"Return {{{', '.join(f'{name!r}: ...' for name in objectives)}}}.",
            )
    numbers = {str(name): as_number(str(name), value) for name, value in returned.items()}
    link.send("report", step=1, metrics=numbers, can_pause=False)
    return _completed([numbers[name] for name in objectives])


def _ending_of_value(returned: object, objectives: Sequence[str]) -> Ending:
    """A number, or one of each objective in their order, is the result.

    Raises:
        TrialError: it is none.
    """
    listed = list(returned) if isinstance(returned, list | tuple) and len(objectives) > 1 else [returned]
    wanted = "a number" if len(objectives) == 1 else f"{len(objectives)} numbers ({', '.join(objectives)})"
    try:
        values = [as_number(metric, value) for metric, value in zip(objectives, listed, strict=True)]
    except (TrialError, ValueError):
        remedy = (
            f"Return one float: the trial's {objectives[0]}."
            if len(objectives) == 1
            else f"Return a tuple ({', '.join(objectives)}), or report them and return nothing."
        )
        raise TrialError(
            f"the function returned {_shown(returned)} ({type(returned).__name__}), not {wanted}.", remedy
        ) from None
    return _completed(values)


def _completed(values: list[float]) -> Ending:
    value: Json = values[0] if len(values) == 1 else values
    return Ending(outcome="completed", message="the function returned", value=value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
