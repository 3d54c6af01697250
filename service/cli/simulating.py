"""`shoal simulate`: what studies would take on pools of other sizes, before anybody pays for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import SpecError
from .options import DataFlag, OutputFlag, data_directory, output_format
from .output import write_rows

if TYPE_CHECKING:
    from ...scheduler.simulator.workload import SimulatedStudy
    from ...search.spec import Json, StudySpec
    from ..forecast import PolicyName
    from ..simulated_studies import Assumptions, Past

MOST_SAMPLES = 16
"""Configurations whose architectures are costed; more of them change the mean epoch time by a few per cent."""

COLUMNS = ("gpus", "policy", "makespan_s", "time_to_best_s", "utilisation", "gpu_hours", "fairness", "trained_in_full")


def simulate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Python files that define a shoal.Study each.")
    ],
    gpus: Annotated[str, typer.Option("--gpus", help="Pool sizes to compare, e.g. 8,16,32.")] = "8",
    policy: Annotated[
        str,
        typer.Option("--policy", help="elastic, ray_default, equal_share, static_k, fifo; several with commas."),
    ] = "elastic",
    k: Annotated[int, typer.Option("--k", help="Workers of every trial under static_k.", min=1)] = 1,
    gpus_per_node: Annotated[int, typer.Option("--gpus-per-node", help="GPUs of a node.", min=1)] = 8,
    mtbf_h: Annotated[
        float | None, typer.Option("--mtbf-h", help="Mean hours between failures of a node; default: never.", min=0.01)
    ] = None,
    epoch_s: Annotated[
        float | None,
        typer.Option("--epoch-s", help="Mean seconds of an epoch on one GPU [default: 60].", min=1e-3),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", help="Samples of an epoch: times then come from the cost model.", min=1),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Epochs of a full training, if the study does not say.", min=1)
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", help="Budget of trials.", min=1)] = None,
    like: Annotated[
        str | None, typer.Option("--like", help="Take curves and epoch times from this study of the journal.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting of Study(...); may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of made-up curves, times and failures.", min=0)] = 0,
    data: DataFlag = None,
    output: OutputFlag = None,
) -> None:
    """Simulate studies on pools of other sizes. Makespan, time to best, utilisation, fairness; nothing is run."""
    from ..forecast import Pool, forecast
    from ..simulated_studies import Assumptions
    from .checking import machine_here
    from .overrides import read_changes

    sizes = [_size(word) for word in gpus.split(",")]
    policies = [_policy(word) for word in policy.split(",")]
    form = output_format(output)
    past = _past(like, data)
    assumed = Assumptions(
        epoch_s=epoch_s, samples=samples, epochs=epochs, trials=trials, machine=machine_here(), seed=seed
    )
    specs = _specs(files, read_changes(sets or []))
    studies = [_simulated(spec, networks, assumed, past, place) for place, (spec, networks) in enumerate(specs)]
    limits = [spec.budget.study_time_limit_s for spec, _ in specs]
    until_s = max((limit for limit in limits if limit is not None), default=float("inf"))
    rows: list[dict[str, Json]] = []
    for name in policies:
        for size in sizes:
            pool = Pool(
                gpus=size,
                gpus_per_node=gpus_per_node,
                mtbf_h=mtbf_h,
                static_workers=k,
                until_s=float("inf") if None in limits else until_s,
                seed=seed,
            )
            rows.append(asdict(forecast(studies, pool, name)))
    print(_assumptions(specs, assumed, like), file=sys.stderr)
    write_rows(rows, form, columns=[c for c in COLUMNS if c != "fairness" or len(studies) > 1])


def _specs(files: Sequence[Path], changes: dict[str, Json]) -> list[tuple[StudySpec, list[Json]]]:
    from .overrides import overridden
    from .study_file import specs_of

    found = []
    for file in files:
        found += [(overridden(spec, changes), networks) for spec, networks in specs_of(file, MOST_SAMPLES)]
    names = [spec.name for spec, _ in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise SpecError(f"two studies are called {double!r}.", "Give each its name: shoal.Study(name=..., ...).")
    return found


def _simulated(
    spec: StudySpec, networks: Sequence[Json], assumed: Assumptions, past: Sequence[Past], place: int
) -> SimulatedStudy:
    from ..simulated_studies import simulated

    known = networks if any(networks) else ()
    if assumed.samples is not None and not known and not past:
        raise SpecError(
            f"--samples needs the cost of a network, and study {spec.name} has no architecture in its space.",
            "Say how long an epoch takes: --epoch-s 60.",
        )
    return simulated(spec, replace(assumed, seed=assumed.seed + place), networks=known, past=past)


def _past(like: str | None, data: Path | None) -> list[Past]:
    if like is None:
        return []
    from ..simulated_studies import past_of
    from .journal_reading import open_reader

    with open_reader(data_directory(data)) as reader:
        return past_of(reader.state(like))


def _size(word: str) -> int:
    if not word.strip().isdecimal() or int(word) < 1:
        raise SpecError(
            f"--gpus {word.strip()!r} is not a number of GPUs: a pool has at least 1.",
            "Write e.g. --gpus 8 or --gpus 8,16,32.",
        )
    return int(word)


def _policy(word: str) -> PolicyName:
    from ...search.strategies.options import nearest
    from ..forecast import POLICIES

    name = word.strip().replace("-", "_")
    if name not in POLICIES:
        raise SpecError(f"policy {word.strip()!r} is unknown.{nearest(name, POLICIES)}", f"Use {', '.join(POLICIES)}.")
    return name


def _assumptions(specs: Sequence[tuple[StudySpec, list[Json]]], assumed: Assumptions, like: str | None) -> str:
    """One line on where the numbers come from."""
    from ..simulated_studies import DEFAULT_EPOCH_S

    all_of = [spec.name for spec, _ in specs if spec.watches_all]
    over_all = f"; {', '.join(all_of)} stops over all objectives, in the stopping form" if all_of else ""
    if like is not None:
        return f"curves and epoch times as in study {like}; speed-ups by Amdahl's law with 5 % serial work{over_all}"
    curves = "made-up learning curves" + (over_all and ", one for each objective") + over_all
    costed = any(any(networks) for _, networks in specs)
    if assumed.samples is not None and assumed.epoch_s is None:
        return f"{curves}; epoch times and speed-ups from the cost model, {assumed.samples} samples an epoch"
    mean = f"epochs of {assumed.epoch_s or DEFAULT_EPOCH_S:g} s on one GPU on average"
    mean += "" if assumed.epoch_s else " (say --epoch-s)"
    return f"{curves}; {mean}; speed-ups " + ("from the cost model" if costed else "with 5 % serial work")
