"""A study as the simulator needs it: trials with curves, epoch times and speed-ups, and how it is stopped early.

Curves and times come from a finished study in the journal, where one is named; else curves are made up
(`simulator.synthetic`) and times come from the cost model of the architectures or are spread about a given mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from ..errors import SpecError
from ..scheduler.simulator import synthetic
from ..scheduler.simulator.workload import Judge, SimulatedStudy, SimulatedTrial
from ..search.early_stopping import make_rule
from ..search.early_stopping.all_objectives import AllObjectivesRule
from ..search.early_stopping.asha import AshaRule
from ..search.spec import Chosen, Json, Objective, StudySpec
from ..spaces.cost import Machine, step_time_s

if TYPE_CHECKING:
    from ..search.study_data import StudyData
    from ..search.trial_record import TrialRecord

Curves = tuple[tuple[float, ...], ...]

DEFAULT_EPOCH_S = 60.0

TRAINING_FLOP_PER_MAC = 6
"""Two for the multiplication and addition, forward once and backward twice."""

BYTES_PER_PARAMETER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a person says about a study that has not run.

    Attributes:
        epoch_s: mean seconds of an epoch on one GPU; None: from `samples`, else `DEFAULT_EPOCH_S`.
        samples: of an epoch; with the cost model of the architectures that gives epoch times.
        epochs: of a full training, where the stopping rule does not say.
        trials: instead of the study's own number.
        machine: what the cost model takes a GPU for.
        seed: of curves and times.
    """

    epoch_s: float | None = None
    samples: int | None = None
    epochs: int | None = None
    trials: int | None = None
    machine: Machine = field(default_factory=lambda: Machine(flop_per_s=2e13))
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known of one trial: values by epoch (lower is better), seconds of an epoch on one worker.

    `others` are the curves of the study's further objectives, where early stopping looks at all.
    """

    curve: tuple[float, ...]
    epoch_s: float
    others: tuple[tuple[float, ...], ...] = ()


def simulated(
    spec: StudySpec, assumed: Assumptions, *, networks: Sequence[Json] = (), past: Sequence[Past] = ()
) -> SimulatedStudy:
    """The study with its trials.

    Args:
        networks: for some sampled configurations, what their architectures cost (`spaces.cost.summary`).
        past: trials of a finished study; they are drawn from, in random order.

    Raises:
        SpecError: it is not known how many trials, or how many epochs, or the study asks for no GPU.
    """
    count = assumed.trials or spec.budget.trials
    if count is None:
        raise SpecError(f"study {spec.name} sets no number of trials.", "Say how many to simulate: --trials 100.")
    one = {name: value for name, value in spec.early_stopping.options.items() if name != "metric"}
    rule = make_rule(Chosen(name=spec.early_stopping.name, options=one), spec.watched)
    halving = rule if isinstance(rule, AshaRule) else None
    epochs = halving.milestones[0][-1] if halving is not None else assumed.epochs
    if epochs is None:
        raise SpecError(
            f"how long a trial of study {spec.name} trains is not known: its early stopping sets no max_epochs.",
            "Say how many epochs a full training has: --epochs 27.",
        )
    promotes = halving is not None and halving.is_promotion and not spec.watches_all
    random = Random(assumed.seed)
    drawn, others = [], []
    for number in range(count):
        seen = past[random.randrange(len(past))] if past else None
        drawn.append(_trial(spec, assumed, random, number, epochs, networks, past, seen))
        others.append(_other_curves(spec, assumed, number, epochs, seen) if spec.watches_all else ())
    if halving is not None and promotes:
        drawn = [_in_bracket(trial, halving.bracket(trial.number)) for trial in drawn]
    return SimulatedStudy(
        name=spec.name,
        trials=drawn,
        milestones=halving.milestones[0] if halving is not None and promotes else (epochs,),
        eta=halving.reduction_factor if halving is not None else 3,
        rule="promote" if promotes or spec.early_stopping.name == "none" else "stop",
        judge=judge_of(spec, others),
        weight=spec.weight,
        priority=spec.priority,
        k_min=spec.resources.min_workers,
        gpus=_gpus(spec),
        can_pause=spec.entry.kind == "trial",
        gpu_hours=spec.budget.gpu_hours,
    )


def judge_of(spec: StudySpec, others: Sequence[Curves]) -> Callable[[], Judge]:
    """Makes the study's own stopping rule, in its stopping form, for one simulated run.

    Args:
        others: of each trial the curves of the further objectives, where the rule looks at all; lower is better.
    """
    chosen = spec.early_stopping
    if "form" in chosen.options:
        chosen = Chosen(name=chosen.name, options={**chosen.options, "form": "stopping"})

    def make() -> Judge:
        rule = make_rule(chosen, spec.watched)

        def goes_on(number: int, epoch: int, value: float) -> bool:
            if isinstance(rule, AllObjectivesRule):
                rule.observe_all(number, epoch, (value, *(curve[epoch - 1] for curve in others[number])))
            else:
                rule.observe(number, epoch, spec.watched.loss(value))
            return rule.verdict(number, can_pause=False).action == "continue"

        return goes_on

    return make


def past_of(state: StudyData) -> list[Past]:
    """The curves and epoch times of a study in the journal.

    Raises:
        SpecError: none of its trials has reported anything.
    """
    spec = state.spec
    wanted = spec.objectives if spec.watches_all else (spec.watched,)
    found = []
    for record in state.trials.values():
        curve, *others = (_curve(record, objective) for objective in wanted)
        if not curve or not all(others) or not record.run_s:
            continue
        many = synthetic.speedups(max(record.workers, 1))[-1]
        found.append(Past(curve=curve, epoch_s=record.run_s / len(curve) * many, others=tuple(others)))
    if not found:
        raise SpecError(
            f"study {state.spec.name} has no trial with reports: there is nothing to simulate from.",
            "Name a study that has run, or leave --like out.",
        )
    return found


def _curve(record: TrialRecord, objective: Objective) -> tuple[float, ...]:
    """The losses after epoch 1, 2, ... as far as the trial has reported; an epoch without one has the next one's."""
    values: list[float] = []
    for step, value in record.curve_of(objective.metric):
        if value is not None:
            values += [objective.loss(value)] * (step - len(values))
    return tuple(values)


def _other_curves(spec: StudySpec, assumed: Assumptions, number: int, epochs: int, seen: Past | None) -> Curves:
    """Curves of the objectives after the first, as recorded, else made up without regard to the first."""
    if seen is not None and len(seen.others) == len(spec.objectives) - 1:
        return tuple(_extended(curve, epochs) for curve in seen.others)
    random = Random(f"{assumed.seed}#{number}")
    return tuple(synthetic.curve(random, epochs) for _ in spec.objectives[1:])


def _extended(curve: tuple[float, ...], epochs: int) -> tuple[float, ...]:
    """A curve that was cut off keeps its last value."""
    return curve[:epochs] + curve[-1:] * (epochs - len(curve))


def _trial(
    spec: StudySpec,
    assumed: Assumptions,
    random: Random,
    number: int,
    epochs: int,
    networks: Sequence[Json],
    past: Sequence[Past],
    seen: Past | None,
) -> SimulatedTrial:
    k_max = spec.resources.max_workers
    if seen is not None:
        seconds = seen.epoch_s * (assumed.epoch_s / fmean(p.epoch_s for p in past) if assumed.epoch_s else 1.0)
        return SimulatedTrial(
            number=number,
            curve=_extended(seen.curve, epochs),
            epoch_s=seconds,
            speedups=synthetic.speedups(k_max),
        )
    parts = networks[number % len(networks)] if networks else ()
    if not parts:
        return SimulatedTrial(
            number=number,
            curve=synthetic.curve(random, epochs),
            epoch_s=synthetic.epoch_s(random, assumed.epoch_s or DEFAULT_EPOCH_S),
            speedups=synthetic.speedups(k_max),
        )
    step_s = [sum(_step_s(part, assumed.machine, 1 << i) for part in parts) for i in range(k_max.bit_length())]
    relative = sum(part["macs"] for part in parts) / fmean(sum(p["macs"] for p in row) for row in networks if row)
    seconds = (assumed.epoch_s or DEFAULT_EPOCH_S) * relative
    if assumed.samples is not None and assumed.epoch_s is None:
        seconds = step_s[0] * assumed.samples / parts[0]["batch"]
    return SimulatedTrial(
        number=number,
        curve=synthetic.curve(random, epochs),
        epoch_s=seconds,
        speedups=tuple(step_s[0] / one for one in step_s),
    )


def _step_s(network: Mapping[str, Json], machine: Machine, workers: int) -> float:
    return step_time_s(
        machine,
        flop_per_sample=TRAINING_FLOP_PER_MAC * network["macs"],
        batch=network["batch"],
        gradient_bytes=BYTES_PER_PARAMETER * network["parameters"],
        workers=workers,
    )


def _in_bracket(trial: SimulatedTrial, bracket: int) -> SimulatedTrial:
    return SimulatedTrial(
        number=trial.number, curve=trial.curve, epoch_s=trial.epoch_s, speedups=trial.speedups, bracket=bracket
    )


def _gpus(spec: StudySpec) -> Fraction:
    wanted = spec.resources.gpus_per_worker
    gpus = Fraction(1) if wanted == "auto" else Fraction(wanted)
    if not gpus:
        raise SpecError(
            f"study {spec.name} asks for no GPU: there is nothing to share out.",
            "Simulate it with --set gpus_per_worker=1.",
        )
    return gpus
