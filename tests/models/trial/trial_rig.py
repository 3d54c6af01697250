"""Runs a training function as a worker would, with a study that answers by script."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from shoal.spaces import Configuration, Float, Space
from shoal.trial_runner.let_go import TrialLetGo
from shoal.trial_runner.link import Link
from shoal.trial_runner.seeding import seed_all
from shoal.trial_runner.trial import Trial

torch.set_num_threads(1)  # what a worker gets; tiny models on many threads mostly wait for one another

SPACE = Space(lr=Float(1e-4, 1.0, log=True))
SEED = 20261


class ScriptedLink:
    """A study's end of the wire: `verdicts` by step ("continue" by default), `suggestions` by path."""

    def __init__(
        self, verdicts: Mapping[int, str] | None = None, suggestions: Mapping[str, Any] | None = None
    ) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.pause_requested: str | None = None
        self.pause_after_polls: int | None = None
        self._verdicts = dict(verdicts or {})
        self._suggestions = dict(suggestions or {})
        self._unanswered: list[int] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))
        if kind == "report":
            self._unanswered.append(fields["step"])

    def receive(self, kind: str) -> dict[str, Any]:
        if kind == "suggestion":
            path = self.sent[-1][1]["path"]
            known = path in self._suggestions
            error = "" if known else f"nothing is scripted for {path}"
            return {"kind": kind, "path": path, "value": self._suggestions.get(path), "error": error}
        step = self._unanswered.pop(0)  # an IndexError here: the trial waits for an answer that nobody owes it
        return {"kind": kind, "step": step, "verdict": self._verdicts.get(step, "continue"), "reason": f"step {step}"}

    def poll(self) -> None:
        if self.pause_after_polls is not None:
            self.pause_after_polls -= 1
            if self.pause_after_polls == 0:
                self.pause_requested = "asked to"

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [fields for sent, fields in self.sent if sent == kind]

    def reports(self) -> list[tuple[int, dict[str, float]]]:
        return [(fields["step"], fields["metrics"]) for fields in self.all("report")]

    def warnings(self) -> list[str]:
        return [fields["text"] for fields in self.all("warn")]


@dataclass
class Run:
    """How a run of a trial ended."""

    outcome: str
    returned: Any
    link: ScriptedLink
    reason: str = ""
    trial: Trial | None = field(default=None, repr=False)


def config(lr: float = 0.01) -> Configuration:
    return SPACE.configuration({"lr": lr})


def new_trial(
    folder: Path, link: ScriptedLink | Link, *, shards: int = 1, reported_step: int = 0, **more: Any
) -> Trial:
    """A trial as the worker makes it."""
    seed_all(SEED)
    options: dict[str, Any] = {
        "config": config(), "number": 7, "seed": SEED, "checkpoint_dir": folder / "checkpoints", "max_workers": shards,
        "max_shards": shards, "metric": "score", "direction": "maximize",
    }  # fmt: skip
    return Trial(link=link, reported_step=reported_step, **(options | more))


def run(
    train: Callable[[Trial], Any],
    folder: Path,
    *,
    shards: int = 1,
    verdicts: Mapping[int, str] | None = None,
    reported_step: int = 0,
    link: ScriptedLink | None = None,
    **more: Any,
) -> Run:
    """Run `train` once, to its end or until it is let go."""
    link = ScriptedLink(verdicts) if link is None else link
    trial = new_trial(folder, link, shards=shards, reported_step=reported_step, **more)
    try:
        return Run("completed", train(trial), link, trial=trial)
    except TrialLetGo as let_go:
        return Run(let_go.outcome, None, link, let_go.reason, trial)


def run_in_pieces(
    train: Callable[[Trial], Any], folder: Path, *, shards: int = 1, **more: Any
) -> tuple[Any, list[Any]]:
    """Run `train`, paused after every epoch; what it returned, and all its reports."""
    reports: list[Any] = []
    for _ in range(100):
        known = reports[-1][0] if reports else 0
        always = dict.fromkeys(range(100), "pause")
        piece = run(train, folder, shards=shards, reported_step=known, verdicts=always, **more)
        reports += piece.link.reports()
        if piece.outcome == "completed":
            return piece.returned, reports
        assert piece.outcome == "paused"
    raise AssertionError("it never ends")


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Nested state as a flat dict, tensors copied."""
    if isinstance(value, Mapping):
        return {k: v for key, item in value.items() for k, v in flatten(item, f"{path}/{key}").items()}
    if isinstance(value, list | tuple):
        return {k: v for key, item in enumerate(value) for k, v in flatten(item, f"{path}/{key}").items()}
    return {path: value.detach().clone() if isinstance(value, torch.Tensor) else value}


def differences(one: Any, other: Any) -> list[str]:
    """The names of what is not equal to the last bit."""
    a, b = flatten(one), flatten(other)
    unequal = [name for name in a.keys() & b.keys() if not _same(a[name], b[name])]
    return sorted(a.keys() ^ b.keys()) + sorted(unequal)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(_bits(a), _bits(b))
    return type(a) is type(b) and (a == b or repr(a) == repr(b))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor
