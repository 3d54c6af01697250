"""What a trial tells the study, and what the study answers.

A report is sent at once and answered later; the answer is obeyed at the next step boundary, so that training goes on
while the study decides.
"""

from __future__ import annotations

import difflib
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from .group import Group, decide
from .let_go import TrialLetGo
from .metrics import as_number
from .shards import ShardPlan, can_split

Json = Any  # a JSON value: the one named boundary where the type is open

Order = tuple[Literal["paused", "stopped"], str]
"""How a trial is to let go, and why."""


class TrialLink(Protocol):
    """The worker's end of the wire (`link.Link`), or a test's."""

    pause_requested: str | None

    def send(self, kind: str, **fields: Any) -> None: ...

    def receive(self, kind: str) -> dict[str, Any]: ...

    def poll(self) -> None: ...


def gpu_memory_gib() -> float:
    """The most that this worker's allocator has held of a GPU so far, in GiB; 0 where it has used none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0.0
    most: int = max(torch.cuda.max_memory_reserved(i) for i in range(torch.cuda.device_count()))
    return most / 2**30


class Reports:
    """The trial's side of the conversation about its metrics.

    Args:
        metric: the objective's name.
        reported_step: the last step the study knows from an earlier run of this trial; those are not sent again.
    """

    def __init__(self, link: TrialLink, group: Group, *, metric: str, reported_step: int) -> None:
        self._link = link
        self._group = group
        self._metric = metric
        self._known_step = reported_step
        self._unanswered: list[dict[str, Any]] = []
        self._order: Order | None = None
        self._warned: set[str] = set()
        self.last_step = 0
        """The last step of this run of the trial."""
        self.value: float | None = None
        """The objective's value at that step; None when it was not among the metrics."""
        self.waited_s = 0.0

    def record(self, step: int, metrics: Mapping[str, object], *, can_pause: bool) -> None:
        """Send a report; a step that is not above the last one is warned about and ignored.

        Raises:
            TrialError: a metric is not a number.
        """
        numbers = {}
        for name, given in metrics.items():
            if given is None:
                self.warn("none", f"metric {name!r} is None at step {step}: it is left out of the report.")
            else:
                numbers[name] = as_number(name, given)
        if step <= self.last_step:
            self.warn(
                "step",
                f"step {step} was reported after step {self.last_step} and is ignored: steps must rise "
                "(report all metrics of an epoch in one call).",
            )
            return
        self.last_step = step
        self.value = numbers.get(self._metric)
        if self.value is None:
            near = difflib.get_close_matches(self._metric, numbers, n=1)
            hint = f" Is it {near[0]!r}?" if near else ""
            has = ", ".join(numbers) or "nothing"
            self.warn(
                "objective", f"the report at step {step} lacks the objective {self._metric!r} (it has: {has}).{hint}"
            )
        if step <= self._known_step:
            return
        report = {"step": step, "metrics": numbers, "can_pause": can_pause, "gpu_memory_gib": gpu_memory_gib()}
        if self._group.rank == 0:
            self._link.send("report", **report)
        self._unanswered.append(report)

    def count_on(self, step: int) -> None:
        """Go on from `step`, or from the last one that the study knows."""
        self.last_step = max(self.last_step, step, self._known_step)

    def warn(self, topic: str, text: str) -> None:
        """Tell the person, once a topic."""
        if topic not in self._warned and self._group.rank == 0:
            self._warned.add(topic)
            self._link.send("warn", text=text)

    def tell_plan(self, plan: ShardPlan) -> None:
        """Say what the agent needs to know of how batches are cut: how many workers are of use, that results depend on
        their number, or V, where twice as many shards would be possible."""
        self._link.send("workers", most=plan.shards)
        if plan.merged:
            self._link.send("approximate")
        elif can_split(plan.batch_size, plan.shards):
            self._link.send("shards", shards=plan.shards)

    def settle(self) -> None:
        """Wait until the study has every report; what it answers is kept for `obey`."""
        if self._group.rank == 0 and self._unanswered:
            self._order = self.order(can_pause=False)

    def obey(self, *, can_pause: bool) -> None:
        """Wait for the answers that are due, and let go if one of them, or a request, says so.

        Raises:
            TrialLetGo: the trial is paused or stopped.
        """
        order = decide(self._group, lambda: self._decided(can_pause=can_pause))
        self._order = None
        self._unanswered.clear()
        if order is not None:
            raise TrialLetGo(order[0], order[1])

    def lead(self) -> None:
        """Speak for the trial from now on: the worker that did has gone, perhaps without sending these reports."""
        for report in self._unanswered:
            self._link.send("report", **report)

    def capture(self) -> Json:
        """What another worker needs to know of this trial's reports."""
        return {"last_step": self.last_step, "value": self.value, "unanswered": self._unanswered}

    def restore(self, captured: Json) -> None:
        """Know what the worker knew that `captured` it."""
        self.last_step, self.value = captured["last_step"], captured["value"]
        self._unanswered = list(captured["unanswered"])

    def request_pause(self, reason: str) -> None:
        """As if the study had asked for it."""
        self._link.pause_requested = reason

    def pause_reason(self) -> str | None:
        """Why the trial was asked to pause, if it was and no answer is outstanding that could say otherwise."""
        self._link.poll()
        return None if self._unanswered or self._order is not None else self._link.pause_requested

    def _decided(self, *, can_pause: bool) -> Order | None:
        if self._order is None:
            self._order = self.order(can_pause=can_pause)
        return self._order

    def order(self, *, can_pause: bool) -> Order | None:
        """Wait for the answers that are due: how the trial is to let go, and why; None: it goes on."""
        self._link.poll()
        if self._unanswered:
            began = time.perf_counter()
            while True:
                answer = self._link.receive("verdict")
                if answer["verdict"] != "continue" or answer["step"] >= self._unanswered[-1]["step"]:
                    break
            self.waited_s += time.perf_counter() - began
            self._unanswered.clear()
            if answer["verdict"] == "stop":
                return "stopped", answer["reason"]
            if answer["verdict"] == "pause":
                return "paused", answer["reason"]
        if self._link.pause_requested is not None and can_pause:
            reason, self._link.pause_requested = self._link.pause_requested, None
            return "paused", reason
        return None
