"""What `shoal check` says about a study: everything that can be known without running user code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...search.spec import Json, Resources, StudySpec

if TYPE_CHECKING:
    from ...spaces import Configuration, Space
    from ...spaces.cost import Machine

SAMPLES = 5

CPU_FLOP_PER_S = 5e10
GPU_FLOP_PER_S = 2e13
"""Single-precision peaks of one CPU core with 256-bit vectors and of a small data-centre GPU. They only enter the
estimate of the best worker count, through the ratio of computing to exchanging gradients: a device ten times as
fast wants about a tenth of the workers."""
COUNT_LIMIT = 100_000
"""Spaces up to this size are counted exactly with their rules, one configuration after the other."""


def described(spec: StudySpec, samples: int = SAMPLES, networks: Sequence[Json] = ()) -> dict[str, Json]:
    """The report on one study. Keys as printed by `shoal check -o json`.

    Args:
        spec: the study.
        samples: how many configurations to draw.
        networks: for each of them, what its architectures cost, where that is known.

    Raises:
        ShoalError: the strategy, the stopping rule or the request for devices is not possible.
    """
    from ...search.early_stopping import check_rule
    from ...search.strategies import describe, make
    from ...spaces import Space

    space = None if spec.space is None else Space.from_json(spec.space)
    make(spec.strategy, space, spec.objectives, constraints=spec.constraints)
    check_rule(spec.early_stopping, spec.objectives)
    report: dict[str, Json] = {
        "name": spec.name,
        "runs": runs(spec),
        "objective": f"{goals(spec)} (the {spec.value_from} report of a trial)",
        "strategy": chosen(spec.strategy.name, spec.strategy.options),
        "early_stopping": chosen(spec.early_stopping.name, spec.early_stopping.options),
        "budget": budget(spec),
        "resources": resources(spec.resources),
        "seed": spec.seed,
    }
    if spec.reproducible is not None:
        report["reproducible"] = f"trial n is proposed from the results before n - {spec.reproducible}"
    if spec.constraints and not describe(spec.strategy.name).constraints:
        report["subject_to"] = f"{spec.strategy.name} looks at no results: constraints only decide what counts as best"
    if space is None:
        report["space"] = "defined while the objective runs"
        return report
    report["space"] = {d.path: str(d.domain) for d in space.all_decisions()}
    report["size"] = size(space)
    report["samples"] = [config.flat() for config in sampled(space, spec.seed, samples)]
    if any(networks):
        report["networks"] = list(networks)
    return report


def goals(spec: StudySpec) -> str:
    """Objectives and outcome constraints."""
    wanted = ", ".join(f"{objective.direction} {objective.metric}" for objective in spec.objectives)
    return f"{wanted} subject to {', '.join(map(str, spec.constraints))}" if spec.constraints else wanted


def runs(spec: StudySpec) -> str:
    """What a worker will call."""
    entry = spec.entry
    if entry.kind == "command":
        return entry.command
    call = {"trial": "(trial)", "objective": "(config)", "optuna": "(trial), as Optuna does"}[entry.kind]
    return f"{entry.module}:{entry.function}{call}"


def chosen(name: str, options: Json) -> str:
    """A strategy or rule with its options."""
    written = ", ".join(f"{key}={value!r}" for key, value in options.items())
    return f"{name}({written})" if written else name


def budget(spec: StudySpec) -> dict[str, Json]:
    """The limits that are set."""
    limits = {
        "trials": spec.budget.trials,
        "max_failures": spec.budget.max_failures,
        "trial_time_limit_s": spec.budget.trial_time_limit_s,
        "study_time_limit_s": spec.budget.study_time_limit_s,
    }
    return {name: value for name, value in limits.items() if value is not None}


def resources(wanted: Resources) -> dict[str, Json]:
    """What a trial asks for, and how many trials this machine runs side by side.

    Raises:
        ShoalError: the request cannot be read, or this machine has no GPU for it.
    """
    from ..pool import discover, request_of

    devices = discover()
    request = request_of(wanted, devices)
    room = [devices.cpus // request.cpus] if request.cpus else []
    if request.gpus:
        room.append(int(len(devices.gpus) / request.gpus))
    return {
        "workers": str(request.k_min) if request.k_min == request.k_max else f"{request.k_min} to {request.k_max}",
        "gpus_per_worker": str(request.gpus),
        "cpus_per_worker": request.cpus,
        "memory_gib": wanted.memory_gib,
        "threads_per_worker": wanted.threads_per_worker,
        "here_side_by_side": min(room) // request.k_min if room else None,
    }


def size(space: Space) -> Json:
    """Exact number of configurations, as text when rules make it an upper bound; "infinite" for continuous spaces."""
    whole = space.size()
    if whole is None:
        return "infinite"
    if not space.rules:
        return whole
    counted = space.count(COUNT_LIMIT) if whole <= COUNT_LIMIT else None
    return counted if counted is not None else f"at most {whole} (before rules)"


def network_line(cost: Mapping[str, Json]) -> str:
    """What one architecture of a sampled configuration costs, for people."""
    workers = cost["workers"]
    return (
        f"{cost['path'] or 'the network'}: {cost['parameters']:,} parameters, {cost['macs']:,} MACs, "
        f"W {cost['work']:,}, D {cost['depth']:,}, W/D {cost['average_parallelism']:,} at batch {cost['batch']}, "
        f"{cost['memory_mib']:,} MiB, {workers} worker{'s' * (workers != 1)}"
    )


def machine_here() -> Machine:
    """What the estimate of the best worker count takes this machine's devices for."""
    from ...spaces.cost import Machine
    from ..pool import discover

    return Machine(flop_per_s=GPU_FLOP_PER_S if discover().gpus else CPU_FLOP_PER_S)


def sampled(space: Space, seed: int, count: int) -> list[Configuration]:
    """A few random configurations, the same for the same seed."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(count)]
