"""`Trial`: what a training function is given.

The interface is the same for one worker and for many. Torch is imported by the methods that need it, so that a trial
without torch never pays for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TrialError
from . import exactness
from .checkpoints import Checkpoint, CheckpointFolder
from .epochs import run_epochs
from .group import Group, SoloGroup
from .messages import FailAt
from .metrics import EpochMeans
from .preparing import data_device, keep, require_count, require_hook, require_modules
from .progress import Progress
from .reports import Reports, TrialLink
from .running_epoch import RunningEpoch
from .seeding import derive_seed
from .step_boundary import Elastic, StepBoundary
from .trace import Trace
from .trial_memory import TrialMemory
from .trial_state import Stateful, TrialState

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ..spaces import Configuration
    from .backward import Backward
    from .sharded_loader import GlobalBatch, ShardedLoader


class Trial:
    """One configuration on its way through training.

    Attributes:
        config: what the strategy chose; `trial.config.lr` or `trial.config["lr"]`.
        number: the trial's number in its study, from 0.
        seed: derived from the study's seed and the number; the worker has seeded `random`, numpy and torch with it.
        checkpoint_dir: where this trial's checkpoints are; free for files of your own beside them.
        max_workers: how many workers the trial may come to have.

    Args:
        link: the wire to the node.
        inherits: the checkpoints of another trial, whose last one this trial starts from.
        max_shards: upper bound of V, the number of shards a global batch is cut into.
        split: V is so many times as large, since the trial ran out of memory.
        metric: the objective's name.
        direction: "maximize" or "minimize".
        reported_step: the last step that the study knows from an earlier run of this trial.
        group: the trial's workers, seen from this one.
        elastic: the same group, where it can change.
        arrive: how a worker that joins others gets the trial's state from them.
        fail_at: for tests: where a worker is to die.
        trace: keep digests of the state before every step.
    """

    def __init__(
        self,
        *,
        config: Configuration,
        number: int,
        seed: int,
        link: TrialLink,
        checkpoint_dir: Path,
        inherits: Path | None = None,
        max_workers: int = 1,
        max_shards: int = 1,
        split: int = 1,
        metric: str,
        direction: str,
        reported_step: int = 0,
        group: Group | None = None,
        elastic: Elastic | None = None,
        arrive: Callable[[], Checkpoint] | None = None,
        fail_at: FailAt | None = None,
        trace: bool = False,
    ) -> None:
        exactness.set_environment()
        self.config = config
        self.number = number
        self.seed = seed
        self.checkpoint_dir = checkpoint_dir
        self.max_workers = max_workers
        self._max_shards, self._split = max_shards, split
        self._group: Group = SoloGroup() if group is None else group
        self._progress = Progress(seed)
        self._means = EpochMeans()
        self._state = TrialState()
        self._reports = Reports(link, self._group, metric=metric, reported_step=reported_step)
        self._memory = TrialMemory(
            CheckpointFolder(checkpoint_dir, direction=direction, split=split),
            self._state,
            warn=self._reports.warn,
            writes=lambda: self._group.rank == 0,
            arrive=arrive,
            inherits=None if inherits is None else CheckpointFolder(inherits, direction=direction),
        )
        if inherits is not None and arrive is None:
            self._memory.resumed()  # says so at once where there is nothing to start from
        if elastic is not None:
            elastic.on_lead = self._reports.lead
        self._running = RunningEpoch(self._progress, self._means, self._reports)
        self._boundary = StepBoundary(
            self._group, self._progress, self._memory, self._running, self._reports, elastic, fail_at,
            Trace(checkpoint_dir, self._state) if trace else None,
        )  # fmt: skip
        self._backward: Backward | None = None
        self._approximate = False
        self._comm_hook: str | None = None

    @property
    def rank(self) -> int:
        """This worker's place in the trial, from 0."""
        return self._group.rank

    @property
    def world_size(self) -> int:
        """How many workers the trial has now."""
        return self._group.world_size

    @property
    def device(self) -> torch.device:
        """Where to put the model: this worker's GPU, or the CPU."""
        import torch

        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")

    @property
    def phases_s(self) -> dict[str, float]:
        """Seconds spent on other things than the user's code."""
        return {"report_wait": self._reports.waited_s, "checkpoint": self._memory.spent_s}

    # --- state -----------------------------------------------------------------------------------

    def prepare(
        self,
        model: nn.Module | Sequence[nn.Module] | Mapping[str, nn.Module],
        optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | Mapping[str, torch.optim.Optimizer],
        data: Any,
        *,
        batch_size: int,
        shuffle: bool = True,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        exact: bool = True,
        comm_hook: str | None = None,
        **loader_options: Any,
    ) -> ShardedLoader:
        """Keep the state of models and optimizers across pauses, and cut `data` into batches.

        Args:
            model: one or several.
            optimizer: one or several.
            data: tensors or arrays (first dimension: the sample), a tuple of them, or a map-style data set.
            batch_size: samples a step, over all workers.
            shuffle: draw a new order every epoch, from (seed, epoch).
            num_workers: processes that fetch the samples of a map-style data set; no effect on what is fetched.
            collate_fn: makes a micro-batch of a list of samples.
            drop_last: leave out the last batch when it is smaller.
            exact: False: over several workers, gradients are averaged by torch's DistributedDataParallel, which is
                faster for large models and gives other bits on other numbers of workers.
            comm_hook: with exact=False, how gradients travel: "fp16" or "powersgd".
            loader_options: passed on to `torch.utils.data.DataLoader` where `num_workers` > 0.

        Returns:
            The loader: one global batch a step; its length is the number of steps, however many workers there are.

        Raises:
            TrialError: the data cannot be indexed, batch_size is not a positive integer, or comm_hook is unknown.
        """
        from .data_source import as_source
        from .sharded_loader import ShardedLoader
        from .shards import plan_of

        self._only_before_epochs("prepare")
        require_count(batch_size)
        require_hook(comm_hook, exact=exact)
        source = as_source(data, collate_fn)
        exactness.set_torch()
        require_modules(keep(self._state, "model", model))
        keep(self._state, "optimizer", optimizer)
        self._backward = None
        plan = plan_of(batch_size, self._max_shards, self._split, exact=exact)
        self._reports.tell_plan(plan)
        self._approximate, self._comm_hook = plan.merged, comm_hook
        if self.rank == 0:
            print(f"trial {self.number}: {plan.describe(self._split)}", flush=True)
        return ShardedLoader(
            source,
            plan,
            self._progress,
            self._group,
            data_device(self._state),
            shuffle=shuffle,
            drop_last=drop_last,
            workers=num_workers,
            options=loader_options,
        )

    def register(self, name: str, obj: Stateful) -> None:
        """Keep the state of `obj` (scheduler, scaler, moving average, ...) across pauses.

        Raises:
            TrialError: it has no `state_dict` and `load_state_dict`, the name is taken, or an epoch has begun.
        """
        self._only_before_epochs("register")
        self._state.add(name, obj)

    def save(self, obj: object) -> None:
        """Keep a copy of `obj` (anything that pickles); `load` gives it back after a pause or a failure.

        Inside `epochs` it is written with the epoch's checkpoint, so that it never runs ahead of the models;
        elsewhere at once.
        """
        self._memory.save_user(obj)
        if not self._progress.inside:
            self._memory.write(self._progress, step=self._reports.last_step, value=self._reports.value)

    def load(self) -> Any:
        """What `save` was given last, by this run of the trial or the one it continues; None when there is nothing.

        In a loop without `epochs`, default steps count on from the last one that the study knows.
        """
        saved = self._memory.load_user()
        resumed = self._memory.resumed()
        if resumed is not None and resumed.header.loop < 0:
            self._reports.count_on(resumed.header.step)
        return saved

    # --- training --------------------------------------------------------------------------------

    def epochs(self, n: int) -> Iterator[int]:
        """The indices 0 to n - 1, starting where a pause or a failure left off.

        Between epochs the trial checkpoints and obeys the study's answer to the last report, pausing or stopping by
        an exception that `except Exception` does not catch.

        Raises:
            TrialError: `n` is not an integer, or the checkpoint does not fit what was prepared and registered.
        """
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TrialError(f"epochs({n!r}): not an integer.", "Use e.g. trial.epochs(27).")
        if self._progress.loop < 0:
            self._warn_unregistered(sys._getframe(1).f_locals)
        return run_epochs(
            n.__index__(), self._progress, self._memory, self._reports, self._means, self._running,
            self._forget_backward,
        )  # fmt: skip

    def backward(
        self, loss_fn: Callable[..., Any], batch: GlobalBatch, scaler: torch.amp.GradScaler | None = None
    ) -> torch.Tensor:
        """Add the gradients of the whole batch's mean loss to `p.grad`, as `loss.backward()` would.

        Args:
            loss_fn: called with each micro-batch's parts; returns (loss_sum, weight): the sum over the samples (or
                tokens) and what it is to be divided by.
            batch: a batch of the loader that `prepare` returned.
            scaler: scales the loss; `scaler.step` and `scaler.update` stay yours.

        Returns:
            The mean loss of the whole batch: detached, the same on every worker. 0 when the total weight is 0.

        Raises:
            TrialError: `loss_fn` returned something else, or a loss without a gradient.
            TrialLetGo: between two steps, the trial is paused.
        """
        if self._backward is None:
            self._backward = self._new_backward()
        self._backward.check(batch)
        if self._boundary.before_backward(batch):
            return self._backward.again(self._running.recall("loss"), scaler)
        loss = self._backward(loss_fn, batch, scaler)
        self._running.note("loss", loss)
        return loss

    # --- measuring -------------------------------------------------------------------------------

    def evaluate(
        self,
        fn: Callable[..., Any],
        data: Any,
        *,
        batch_size: int = 256,
        collate_fn: Callable[[list[Any]], Any] | None = None,
    ) -> float:
        """The mean of `fn` over `data`, without gradients, with the prepared models in evaluation mode.

        Args:
            fn: called with each batch's parts; returns one value a sample, or (sum, weight).
            data: as for `prepare`.
            batch_size: samples a call.
            collate_fn: as for `prepare`.

        Raises:
            TrialError: `fn` returned something else, or the data cannot be indexed.
        """
        from .data_source import as_source
        from .evaluate import evaluate

        if self._running.replaying:
            return float(self._running.recall("evaluation"))
        value = evaluate(
            fn,
            as_source(data, collate_fn),
            list(self._state.modules()),
            self._group,
            data_device(self._state),
            batch_size=batch_size,
            seed=derive_seed(self.seed, self._progress.epoch),
        )
        self._running.note("evaluation", value)
        return value

    def mean(self, name: str, value: float | torch.Tensor, weight: float | torch.Tensor = 1) -> None:
        """Add to an epoch's mean: the sum of value · weight over the sum of weights, over all workers.

        The next `report` includes it, unless it is given there; what no report took is dropped at the epoch's end.
        """
        self._means.add(name, value, weight)

    def report(self, step: int | None = None, **metrics: float | torch.Tensor) -> None:
        """Tell the study the metrics at `step`, by default the number of finished epochs with this one (from 1).

        Steps must rise; one that does not is warned about and ignored. Inside `epochs` this only sends: the study's
        answer is obeyed between epochs. Elsewhere it waits and obeys at once: `save` first what a resume should need.

        Raises:
            TrialError: a metric is not a number, or there is none.
            TrialLetGo: outside `epochs`, the trial is paused or stopped.
        """
        if self._running.replaying:
            self._means.clear()
            return
        combined = {**self._means.over_workers(self._group), **metrics}
        if not combined:
            raise TrialError("report() was given no metric.", "Name them: trial.report(val_accuracy=0.93).")
        if step is None:
            step = self._progress.epoch + 1 if self._progress.inside else self._reports.last_step + 1
        self._reports.record(step, combined, can_pause=self._memory.can_pause)
        if not self._progress.inside:
            self._reports.obey(can_pause=self._memory.can_pause)

    # --- inside ----------------------------------------------------------------------------------

    def _only_before_epochs(self, method: str) -> None:
        if self._progress.inside:
            raise TrialError(
                f"trial.{method} was called inside trial.epochs.",
                "Call it before the loop: a resumed trial needs all its objects before its first epoch.",
            )

    def _warn_unregistered(self, variables: Mapping[str, object]) -> None:
        for name, value in self._state.unregistered(variables).items():
            self._reports.warn(
                f"unregistered {name}",
                f"{name} ({type(value).__name__}) has state that no checkpoint keeps: a pause would reset it. "
                f'Add trial.register("{name}", {name}) before the epochs.',
            )

    def _new_backward(self) -> Backward:
        kept = self._group, self._state.modules(), self._state.parameters(), self._boundary
        if self._approximate:
            from .approximate import ApproximateBackward

            return ApproximateBackward(*kept, self._comm_hook)
        from .backward import Backward

        return Backward(*kept)

    def _forget_backward(self) -> None:
        """Parameters and hooks are looked up anew every epoch (torch's replicas are too dear for that)."""
        self._backward = self._backward if self._approximate else None
