"""Every figure of every awkward study draws, as strict JSON, with nothing of it taken for markup."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from shoal.dashboards.figures.catalogue import POOL_FIGURES, STUDY_FIGURES, Options, pool_figure, study_figure
from shoal.dashboards.figures.strict_json import dumped, figure_json
from shoal.dashboards.intervals import Intervals
from shoal.dashboards.study_view import StudyView
from shoal.errors import NotFound, SpecError
from shoal.search import events as e
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.spaces import Categorical, Choice, Float, Int, Repeat, Space

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    flag=Categorical([True, False]),
    odd=Categorical([(0, "a"), None, "<b>&\"'"]),
    layers=Repeat(Space(width=Int(1, 8)), 1, 2),
    optimizer=Choice(sgd=Space(momentum=Float(0, 1)), adam=None),
)
METRIC = "accuracy"


def view(space: Space, told: Sequence[tuple[str, object]], name: str = "study") -> StudyView:
    """A study of one trial for each (outcome, last value) of `told`."""
    import numpy as np

    spec = StudySpec(
        name=name,
        space=space.to_json(),
        objectives=(Objective(metric=METRIC, direction="maximize"),),
        entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=max(len(told), 1)),
    )
    events: list[e.Event] = [e.StudyCreated(at=0.0, spec=spec.to_json())]
    for number, (outcome, value) in enumerate(told):
        config = space.sample(np.random.default_rng(number)).to_json()
        events.append(
            e.TrialProposed(
                at=1.0 + number, number=number, config=config, source="strategy", ask=0, seen_seq=0, reason="drawn"
            )
        )
        if outcome == "queued":
            continue
        events.append(
            e.TrialAssigned(
                at=2.0 + number, number=number, generation=1, node="n", workers=1, gpus=(), gpu_share=0.0, reason="r"
            )
        )
        for step in (1, 2, 3):
            metrics = {METRIC: value if step == 3 else 0.1 * step}
            events.append(
                e.TrialReported(
                    at=2.0 + number + step, number=number, generation=1, step=step, metrics=metrics, can_pause=True
                )
            )
        if outcome == "running":
            continue
        events.append(
            e.TrialEnded(at=6.0 + number, number=number, generation=1, outcome=outcome, reason="r", run_s=4.0)  # type: ignore[arg-type]
        )
    state = StudyFold(spec, lambda chosen, objective: UnstoppedRule())
    intervals = Intervals()
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
    return StudyView(state, intervals)


STUDIES = {
    "empty": view(SPACE, []),
    "nothing finished": view(SPACE, [("running", 0.5), ("queued", 0.0)]),
    "no parameters": view(Space(), [("completed", 0.5)]),
    "not finite": view(SPACE, [("completed", "nan"), ("completed", "inf"), ("stopped", "-inf"), ("completed", 0.7)]),
    "all failed": view(SPACE, [("failed", 0.1)] * 3),
    "ordinary": view(SPACE, [("completed" if n % 3 else "stopped", n / 20) for n in range(20)]),
    "many parameters": view(Space(**{f"p{n}": Float(0, 1) for n in range(1000)}), [("completed", 0.5)] * 2),
}


@pytest.mark.parametrize("name", STUDY_FIGURES)
@pytest.mark.parametrize("study", STUDIES)
def test_a_figure_of_any_study_is_strict_json(name: str, study: str) -> None:
    shown = STUDIES[study]
    if name == "trial_curve" and 0 not in shown.state.trials:
        with pytest.raises(NotFound):
            study_figure(shown, name, Options(number=0))
        return
    body = json.loads(dumped(figure_json(study_figure(shown, name, Options(number=0)))))
    assert body["layout"]


@pytest.mark.parametrize("name", POOL_FIGURES)
def test_a_figure_of_the_pool_takes_any_studies(name: str) -> None:
    for views in ([], list(STUDIES.values())):
        assert json.loads(dumped(figure_json(pool_figure(views, name))))["layout"]


def test_an_ordinary_history_shows_every_ended_trial() -> None:
    figure = study_figure(STUDIES["ordinary"], "history")
    points = sum(len(trace.x) for trace in figure.data if trace.mode and "markers" in trace.mode)
    assert points >= 20


def test_unknown_figures_and_options_are_told() -> None:
    with pytest.raises(NotFound, match="Did you mean history"):
        study_figure(STUDIES["empty"], "histry")
    with pytest.raises(SpecError, match="by='moon'"):
        Options(by="moon")  # type: ignore[arg-type]


def test_importing_the_figures_loads_what_threads_would_race_for() -> None:
    """Two first requests at once met in plotly's circular imports, or in a half-imported pandas: server errors."""
    names = ["plotly.graph_objs._figure", *(["pandas"] if find_spec("pandas") else [])]
    program = f"import sys, shoal.dashboards.figures; sys.exit(not set({names}) <= set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
