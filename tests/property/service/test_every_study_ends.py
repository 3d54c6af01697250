"""Whatever happens to its trials, a study under the elastic policy comes to its end, and the pool's books are right."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import NodeUp, Request
from shoal.search.events import StudyCreated
from shoal.search.journal.memory import MemoryJournal
from shoal.search.replay import load_study
from shoal.search.study_state import StudyState
from shoal.search.transitions import TrialStatus
from shoal.service.head import Head
from shoal.service.strategy_host import InProcessHost
from shoal.service.study_run import StudyRun
from shoal.spaces import Categorical, Float, Space
from shoal.trial_runner.simulated import SimulatedFailure, SimulatedRunner

EPOCHS = 9
RULES = [
    None,
    shoal.ASHA(max_epochs=EPOCHS),
    shoal.ASHA(max_epochs=EPOCHS, min_epochs=2, reduction_factor=2),
    shoal.ASHA(max_epochs=EPOCHS, form="stopping"),
    shoal.Hyperband(max_epochs=EPOCHS),
]


def train(trial: shoal.Trial) -> None:
    """Never called."""
    raise AssertionError


def model(seed: int, trouble: float) -> Any:
    """Trials that fail, diverge, lose their processes or report nothing of use, with the probability `trouble`."""
    lost: set[tuple[int, int]] = set()

    def epoch(number: int, config: Any, trial_seed: int, step: int) -> tuple[float, dict[str, float]] | None:
        if step > EPOCHS:
            return None
        random = Random(f"{seed}/{number}/{step}")
        if random.random() < trouble:
            kind = random.choice(["BUG", "OOM", "LOST", "nan", "inf", "other"])
            if kind == "LOST" and (number, step) not in lost:
                lost.add((number, step))
                raise SimulatedFailure("LOST", "its node is gone")
            if kind in ("BUG", "OOM"):
                raise SimulatedFailure(kind, "made for the test")
            if kind in ("nan", "inf"):
                return 1.0, {"score": float(kind)}
            if kind == "other":
                return 1.0, {"speed": 1.0}
        return 0.5 + random.random(), {"score": random.random() + float(step)}

    return epoch


def open_head(journal: MemoryJournal, runner: Any, gpus: int, states: Sequence[StudyState], request: Request) -> Any:
    policy = ElasticPolicy()
    node = NodeUp(at=0.0, node="a", gpus=tuple(map(str, range(gpus))), cpus=4, memory_gib=8.0)
    head = Head(journal=journal, runner=runner, host=InProcessHost(), policy=policy, nodes=[node])
    for state in states:
        created = [] if journal.studies() else [StudyCreated(at=0.0, spec=state.spec.to_json())]
        head.add(StudyRun(state, journal, request, None, Path()), created)
    return head, policy


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    trials=st.integers(1, 30),
    gpus=st.integers(1, 5),
    most=st.sampled_from([1, 2, 4]),
    share=st.sampled_from(["1", "0.5"]),
    rule=st.sampled_from(RULES),
    trouble=st.sampled_from([0.0, 0.05, 0.3]),
    can_pause=st.booleans(),
    few_configurations=st.booleans(),
    gpu_hours=st.sampled_from([None, 10 / 3600]),
    killed_after=st.sampled_from([None, 5, 40]),
)
def test_every_study_ends(
    seed: int,
    trials: int,
    gpus: int,
    most: int,
    share: str,
    rule: Any,
    trouble: float,
    can_pause: bool,
    few_configurations: bool,
    gpu_hours: float | None,
    killed_after: int | None,
) -> None:
    space = Space(x=Categorical(["a", "b", "c", "d"])) if few_configurations else Space(x=Float(0.0, 1.0))
    study = shoal.Study(
        space=space, train=train, maximize="score", trials=trials, name="s", strategy="random", seed=seed,
        early_stopping=rule, gpu_hours=gpu_hours,
    )  # fmt: skip
    journal, request = MemoryJournal(), Request(k_min=1, k_max=most, gpus=Fraction(share), cpus=0)
    epoch = model(seed, trouble)
    state = StudyState.create(study.spec())
    head, policy = open_head(journal, SimulatedRunner(epoch, can_pause=can_pause), gpus, [state], request)
    turns = 0
    while not head._is_done():
        head.turn()
        policy.validate_state()
        turns += 1
        if turns == killed_after:
            state = load_study(journal, "s")
            head, policy = open_head(journal, SimulatedRunner(epoch, can_pause=can_pause), gpus, [state], request)
        assert turns < 5000, (state.counts(), list(policy.waiting())[:3])
    assert state.is_over
    assert all(record.status.is_terminal for record in state.trials.values())
    trained = [record for record in state.trials.values() if record.status is TrialStatus.COMPLETED]
    if trouble == 0.0:
        assert trained, state.reason  # every study ends with a trial that was trained in full
