"""`shoal check FILE --exact`: does this training code give the same bits on one worker, on two, and across a pause?

Two epochs of one configuration are trained three times in real workers, each writing down digests of its state before
every step (`trial_runner/trace.py`). What differs first, and when, says much about why.
"""

from __future__ import annotations

import select
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import CodeError, SpecError
from ...search.seeds import trial_seed
from ...search.spec import Json, StudySpec
from ...trial_runner.archive import pack_project
from ...trial_runner.messages import (
    AnswerReport,
    Ended,
    FailAt,
    KillTrial,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Reported,
    RunnerEvent,
    Slot,
)
from ...trial_runner.node_agent import NodeAgent
from ...trial_runner.trace import read_trace

EPOCHS = 2
PATIENCE_S = 600.0
"""For one of the three runs; two epochs that take longer are better checked on less data."""

Trace = Mapping[tuple[int, int], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training: what its workers wrote down, by rank, and what it reported, by step."""

    name: str
    traces: tuple[Trace, ...]
    reports: Mapping[int, Mapping[str, Json]]
    approximate: bool


def exactness(spec: StudySpec, file: Path) -> dict[str, Json]:
    """Train the study's first sampled configuration three times; what `shoal check --exact` prints.

    Raises:
        SpecError: the study's code takes no trial.
        CodeError: it fails in one of the runs.
    """
    if spec.entry.kind != "trial" or spec.space is None:
        raise SpecError(
            f"--exact trains functions that take a trial and have a space; {spec.name} runs {spec.entry.kind} code.",
            "Write it as train(trial) with trial.prepare and trial.backward.",
        )
    with (
        tempfile.TemporaryDirectory(prefix="shoal-exact-") as scratch,
        closing(Bench(spec, file, Path(scratch))) as bench,
    ):
        one = bench.run("1 worker", workers=1)
        steps = [step for epoch, step in one.traces[0] if epoch == 0]
        if not steps:
            return {"exact": None, "compared": "nothing: trial.backward was not called"}
        two = bench.run("2 workers", workers=2)
        middle = FailAt(rank=0, epoch=0, step=len(steps) // 2 + 1, how="pause")
        paused = bench.run(f"a pause at step {middle.step}", workers=1, pause=middle)
    found = [*_between_ranks(two), *_between(one, two), *_between(one, paused)]
    report: dict[str, Json] = {
        "exact": not found,
        "compared": f"{len(one.traces[0])} steps, {len(next(iter(one.traces[0].values())))} values each: "
        f"1 worker, 2 workers, {paused.name}",
    }
    if found and one.approximate:
        found[0]["likely_cause"] = "it asks for that: trial.prepare(..., exact=False)"
    return report | (found[0] if found else {})


class Bench:
    """A node agent in a folder of its own, on which the runs are made."""

    def __init__(self, spec: StudySpec, file: Path, folder: Path) -> None:
        from ...spaces import Space
        from .checking import sampled

        self._spec = replace(spec, name="exact")
        self._config = sampled(Space.from_json(spec.space), spec.seed, 1)[0].to_json()
        self._study_dir = folder / "data" / "studies" / "exact"
        self._agent = NodeAgent(folder / "data")
        self._trials = 0
        code = pack_project(file, folder / "data" / "code")
        entry = {"kind": "trial", "module": spec.entry.module, "function": spec.entry.function, "command": ""}
        self._agent.perform(
            PrepareStudy(
                study="exact", entry=entry, space=spec.space, code=code.sha, archive=code.path,
                study_dir=self._study_dir, threads_per_worker=spec.resources.threads_per_worker, standby=2,
            )
        )
        prepared = next(event for event in self._events() if isinstance(event, Prepared))
        if not prepared.ok:
            self._agent.close()
            raise CodeError(prepared.note, "Mend it and check again.")

    def close(self) -> None:
        self._agent.close()

    def run(self, name: str, *, workers: int, pause: FailAt | None = None) -> Run:
        """Two epochs; after a pause, another worker goes on."""
        number, self._trials = self._trials, self._trials + 1
        reports: dict[int, Mapping[str, Json]] = {}
        checkpoints = self._study_dir / "trials" / f"{number:04d}" / "checkpoints"
        launch = LaunchTrial(
            study="exact", number=number, generation=1, config=self._config, seed=trial_seed(self._spec.seed, 0),
            metric=self._spec.objective.metric, direction=self._spec.objective.direction, slots=(Slot(),) * workers,
            max_workers=2, max_shards=max(self._spec.max_shards, 2), fail_at=pause, trace=True,
        )
        ended = self._train(launch, checkpoints, reports)
        if ended.outcome == "paused":
            again = replace(launch, generation=2, fail_at=None, reported_step=max(reports, default=0))
            ended = self._train(again, checkpoints, reports)
        if ended.outcome == "failed":
            raise CodeError(f"on {name} the training failed: {ended.reason}", "Mend it and check again.")
        traces = tuple(read_trace(checkpoints, rank) for rank in range(workers))
        return Run(name=name, traces=traces, reports=reports, approximate=ended.approximate)

    def _train(self, launch: LaunchTrial, checkpoints: Path, reports: dict[int, Mapping[str, Json]]) -> Ended:
        self._agent.perform(launch)
        number, generation = launch.number, launch.generation
        for event in self._events():
            if isinstance(event, Ended):
                return event
            if isinstance(event, Reported):
                reports[event.step] = event.metrics
                answer = AnswerReport(
                    study="exact", number=number, generation=generation, step=event.step,
                    verdict="continue" if event.step < EPOCHS else "stop", reason="checked",
                )
                self._agent.perform(answer)
            elif event is None and any(epoch >= EPOCHS for epoch, _ in read_trace(checkpoints, 0)):
                kill = KillTrial(study="exact", number=number, generation=generation, reason="checked")
                self._agent.perform(kill)
        raise AssertionError("events end with an exception only")

    def _events(self) -> Iterator[RunnerEvent | None]:
        """What happens; None now and then."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            due_s = self._agent.next_due_s()
            select.select(self._agent.waitables(), [], [], 0.1 if due_s is None else min(due_s, 0.1))
            yield from self._agent.drain()
            yield None
        raise CodeError(f"{EPOCHS} epochs took longer than {PATIENCE_S:g} s.", "Check with less data.")


def _between(one: Run, other: Run) -> list[dict[str, Json]]:
    """The first difference between two runs, if there is any."""
    mine, theirs = one.traces[0], other.traces[0]
    for at in sorted(mine.keys() & theirs.keys()):
        names = sorted(
            name for name in mine[at].keys() | theirs[at].keys() if mine[at].get(name) != theirs[at].get(name)
        )
        if names:
            return [_difference(other.name, at, names, _cause(at, names, paused="pause" in other.name))]
    for step in sorted(one.reports.keys() & other.reports.keys()):
        if repr(one.reports[step]) != repr(other.reports[step]):
            cause = "the state is the same but not what is reported: measure with trial.evaluate or trial.mean"
            return [_difference(other.name, (step - 1, 0), [f"the report at step {step}"], cause)]
    return []


def _between_ranks(run: Run) -> list[dict[str, Json]]:
    """The first step at which the workers of one run do not agree."""
    first, second = run.traces
    for at in sorted(first.keys() & second.keys()):
        names = sorted(name for name in first[at] if first[at][name] != second[at].get(name))
        if names:
            cause = "the two workers do other things between the steps: does something depend on rank, time or process?"
            return [_difference("its two workers", at, names, cause)]
    return []


def _difference(where: str, at: tuple[int, int], names: list[str], cause: str) -> dict[str, Json]:
    return {
        "differs": where,
        "first_at": f"epoch {at[0]}, before step {at[1]}",
        "first_tensor": names[0],
        "others": len(names) - 1,
        "likely_cause": cause,
    }


def _cause(at: tuple[int, int], names: list[str], *, paused: bool) -> str:
    """What usually is behind a difference that shows first there."""
    if paused:
        return (
            "something the loop keeps in variables of its own, or an object that was not registered, steers the "
            "training: use trial.register(name, object) or trial.save"
        )
    if at == (0, 1):
        return "the state differs before the first step: is something drawn before trial.prepare that is not seeded?"
    if at[1] == 1:
        return "something between two epochs depends on the number of workers, or on random numbers drawn unequally"
    return (
        "the loss is no sum over samples with its own weight, or the step does something else than trial.backward with "
        "gradients (a second .backward(), a mean over the micro-batch)"
    )
