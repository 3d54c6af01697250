"""`shoal show STUDY --importance`: how much each parameter mattered, and how sure that is."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import SpecError
from .output import Format, write_json, write_rows

if TYPE_CHECKING:
    from ...search.study_data import StudyData

ImportanceFlag = Annotated[
    bool, typer.Option("--importance", help="How much each parameter mattered, instead, with a 90 % interval.")
]
EvaluatorFlag = Annotated[
    str, typer.Option("--evaluator", help="With --importance: ped_anova, fanova or mdi.", metavar="NAME")
]
WithStoppedFlag = Annotated[
    bool | None,
    typer.Option(
        "--with-stopped/--only-completed",
        help="With --importance: take stopped trials, too; default: while fewer than 10 have completed.",
    ),
]


MetricFlag = Annotated[
    str, typer.Option("--metric", help="With --importance: for this objective; default: the first.", metavar="NAME")
]


def write_importance(
    state: StudyData, form: Format, *, evaluator: str, with_stopped: bool | None, metric: str
) -> None:
    """Write a row for each parameter, the most important first, and on stderr what they are from.

    Raises:
        SpecError: there is no such evaluator, or the study has too few trials.
        NotFound: the study has no objective `metric`.
    """
    from ...dashboards.importances import EVALUATORS, importances, sample, why_none
    from ...dashboards.study_view import StudyView

    chosen = next((name for name in EVALUATORS if name == evaluator), None)
    if chosen is None:
        raise SpecError(f"evaluator {evaluator!r} is unknown.", f"Use one of {', '.join(EVALUATORS)}.")
    data = sample(StudyView(state), with_stopped=with_stopped, metric=metric)
    found = importances(data, evaluator=chosen)
    if not found:
        raise SpecError(f"study {state.name} has no importance yet.", why_none(data))
    rows = [asdict(one) for one in found]
    if form == "json":
        about = {"evaluator": chosen, "metric": data.objective.metric}
        write_json({**about, "completed": data.completed, "stopped": data.stopped, "parameters": rows})
        return
    what = f"{chosen} for {data.objective.metric} over {data.told()}"
    print(f"{what}; low and high are the ends of a 90 % interval", file=sys.stderr)
    write_rows(rows, form)
