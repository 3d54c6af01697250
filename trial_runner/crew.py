"""The workers of one trial, as their agent sees them.

Most trials have one worker from beginning to end, and everything passes through. Of several, rank 0 speaks for the
trial; the agent, who alone knows which processes live, says who forms a group with whom (`elastic_group.py` is the
workers' side). A group is ordered by a number, its formation, and stands when every worker of it has said so.

* First, all workers form one.
* Resize: new workers are started and run the user's code up to their first epoch while the others train on. When all
  are ready, everybody is ordered to form the new group at the next step.
* Loss: those that miss a peer leave their group and say how many exchanges they have finished; a meeting under way is
  called off. When all that are left have said so, the largest power of two of them, those that are ahead first, is
  ordered to go on. New workers without the trial's state are ended.

Workers may be on other nodes (`guest_worker.py`). They always arrive: a trial begins with those of its own node. Rank 0
is of its own node too, where the trial's files are; when none of those is left, the trial is lost and begins again from
its checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .formation import Formation, after_loss
from .messages import Ended, LaunchTrial, Reported, Resized, ResizeTrial, RunnerEvent, Slot, Started
from .quarters import Quarters
from .stuck import Idleness, never_forming
from .wire import Message
from .worker_process import EndedFor, WorkerProcess

IDLE_RECOVERIES = 3
"""How often in a row a group may be formed anew without anybody having died: the network is broken then, not a peer."""


class Crew:
    """The workers of one trial, from its launch until nothing of them is left."""

    def __init__(self, launch: LaunchTrial, slots: Sequence[Slot], quarters: Quarters) -> None:
        self.launch = launch
        self._quarters = quarters
        self._workers: dict[int, WorkerProcess] = {}  # all that are not gone
        self._slots: dict[int, Slot] = {}
        self._ranks: list[WorkerProcess] = []  # of the group that stands, or is being formed
        self._with_state: set[int] = set()
        self._formation: Formation | None = None
        self._formation_number = 0
        self._unsent = False
        self._formed: dict[int, float] = {}  # worker → how long it stood still
        self._forming_since: dict[int, float] = {}
        self._lost: dict[int, int] = {}  # worker → exchanges it had finished
        self._gathering = False
        self._idleness = Idleness()
        self._recoveries = 0
        self._resize: ResizeTrial | None = None
        self._newcomers: list[WorkerProcess] = []
        self._ready: set[int] = set()
        self._failed_resize = 0
        self._verdicts: dict[int, dict[str, Any]] = {}
        self._reported: set[int] = set()
        self._began = time.monotonic()
        self._without_lead: Ended | None = None  # what another than rank 0 said of the trial's end
        self._end: Ended | None = None
        self._events: list[RunnerEvent] = []
        here = [slot for slot in slots if quarters.is_here(slot)]
        here = here[: 1 << (len(here).bit_length() - 1)]
        for rank, slot in enumerate(here):
            worker = self._recruit(slot, rank=rank, workers=len(here), arrives=False)
            self._ranks.append(worker)
            self._with_state.add(worker.id)
        if len(here) > 1:
            self._order(Formation(kind="form", ranks=tuple(self._ranks)))
        if len(here) < len(slots):
            self._begin_resize(
                ResizeTrial(
                    study=launch.study, number=launch.number, generation=launch.generation, resize=0, slots=tuple(slots)
                )
            )

    @property
    def is_over(self) -> bool:
        """Is nothing left to be told to it?"""
        return self._end is not None or (bool(self._ranks) and self._ranks[0].has_ended)

    @property
    def workers(self) -> list[WorkerProcess]:
        """All that are not gone."""
        return list(self._workers.values())

    @property
    def is_several(self) -> bool:
        """Does anybody wait for anybody?"""
        waiting = self._gathering or self._formation is not None
        return (waiting or len(self._workers) > 1) and self._end is None

    # --- what the head asks ----------------------------------------------------------------------

    def tell(self, kind: str, **fields: Any) -> None:
        """Pass a message on to every worker, since any may have to succeed rank 0."""
        if kind == "verdict":
            self._verdicts = {fields["step"]: fields}
        for worker in self._workers.values():
            worker.channel.send(kind, **fields)

    def end_with(self, outcome: EndedFor, reason: str) -> None:
        """Note why it is being killed, and kill it."""
        for worker in self._workers.values():
            worker.end_with(outcome, reason)
            self._quarters.kill(worker)

    def resize(self, order: ResizeTrial) -> list[RunnerEvent]:
        """Begin to go over to other slots, if that is possible now."""
        kept, _ = self._match(order.slots)
        why_not = self._why_not(order, kept)
        if why_not:
            return [self._resized(order.resize, ok=False, stall_s=0.0, reason=why_not)]
        self._begin_resize(order)
        return self._take_events()

    # --- what happens ----------------------------------------------------------------------------

    def hear(self, worker: WorkerProcess, said: Sequence[RunnerEvent], group: Sequence[Message]) -> list[RunnerEvent]:
        """What a worker said: for the head, and about its group."""
        for message in group:
            self._hear_group(worker, message)
        if self._ranks and worker is self._ranks[0]:
            for event in said:
                self._pass_on(worker, event)
        return self._take_events()

    def gone(self, worker: WorkerProcess, ended: Ended) -> list[RunnerEvent]:
        """Nothing of a worker is left; `ended` is how its part ended."""
        del self._workers[worker.id]
        self._recoveries = 0
        led = bool(self._ranks) and worker is self._ranks[0]
        had_state = worker.id in self._with_state
        self._with_state.discard(worker.id)
        if self._end is None:
            self._judge(worker, ended, led=led, had_state=had_state)
        if not self._workers:
            if self._end is None:
                lost = replace(ended, outcome="failed", failure=ended.failure or "LOST", value=None)
                self._end = self._without_lead or lost
            self._events.append(self._end)
        return self._take_events()

    def on_store(self, port: int) -> None:
        """The store has opened."""
        if self._unsent:
            self._send_order(port)

    def check(self, now: float, silent: Sequence[WorkerProcess]) -> None:
        """End who has fallen silent, or does not get on with forming a group."""
        ranks = self._formation.ranks if self._formation is not None else ()
        late = never_forming(now, ranks, self._forming_since, self._formed)
        awaited = [worker for worker in self._left() if worker.id not in self._lost] if self._gathering else []
        for worker in [*silent, *self._idleness.never_noticing(now, awaited), *late]:
            self._quarters.kill(worker)

    # --- inside: forming -------------------------------------------------------------------------

    def _recruit(self, slot: Slot, *, rank: int, workers: int, arrives: bool) -> WorkerProcess:
        limit_s = self.launch.time_limit_s
        launch = replace(
            self.launch, slots=(slot,), reported_step=max(self._reported, default=self.launch.reported_step),
            time_limit_s=None if limit_s is None else max(limit_s - (time.monotonic() - self._began), 0.0),
        )  # fmt: skip
        worker = self._quarters.recruit(launch, {"rank": rank, "workers": workers, "arrives": arrives})
        self._workers[worker.id] = worker
        self._slots[worker.id] = slot
        return worker

    def _order(self, formation: Formation) -> None:
        self._formation = formation
        self._ranks = list(formation.ranks)
        self._formation_number += 1
        self._formed.clear()
        self._forming_since.clear()
        self._lost.clear()
        self._gathering = False
        port = self._quarters.store_port() if len(formation.ranks) > 1 else 0
        self._unsent = port is None
        if port is not None:
            self._send_order(port)

    def _send_order(self, port: int | None) -> None:
        assert self._formation is not None, "there is an order to send"
        self._unsent = False
        for worker, fields in self._formation.orders(self._formation_number, port, self._quarters.host):
            worker.channel.send(self._formation.kind, **fields)

    def _hear_group(self, worker: WorkerProcess, message: Message) -> None:
        match message["kind"]:
            case "ready":
                self._ready.add(worker.id)
                self._order_resize()
            case "forming":
                if message["formation"] == self._formation_number:
                    self._forming_since[worker.id] = time.monotonic()
            case "formed":
                if message["formation"] == self._formation_number and not self._gathering:
                    self._formed[worker.id] = float(message["stall_s"])
                    self._with_state.add(worker.id)
                    self._settle()
            case "lost":
                self._lost[worker.id] = int(message["completed"])
                self._gather("a worker was lost")

    def _settle(self) -> None:
        """The group stands, if everybody of it has said so."""
        formation = self._formation
        if formation is None or any(worker.id not in self._formed for worker in formation.ranks):
            return
        self._formation = None
        stall_s = max(self._formed[worker.id] for worker in formation.ranks)
        if formation.kind == "resize" and self._resize is not None:
            order, self._resize, self._newcomers = self._resize, None, []
            if order.resize:  # else its guests have come, whom it was given when it was launched
                self._events.append(self._resized(order.resize, ok=True, stall_s=stall_s, reason=formation.reason))
        elif formation.kind == "recover":
            failed, self._failed_resize = self._failed_resize, 0
            self._events.append(self._resized(failed, ok=not failed, stall_s=stall_s, reason=formation.reason))
        self._order_resize()  # one that began while another group was formed

    # --- inside: resizing ------------------------------------------------------------------------

    def _match(self, slots: Sequence[Slot]) -> tuple[list[WorkerProcess], list[Slot]]:
        """Workers that keep their slots, by rank, and slots that need a new one."""
        left = sorted(slots, key=lambda slot: not self._quarters.is_here(slot))  # guests have the last ranks
        kept = []
        for worker in self._ranks:
            if self._slots[worker.id] in left:
                left.remove(self._slots[worker.id])
                kept.append(worker)
        return kept, left

    def _why_not(self, order: ResizeTrial, kept: Sequence[WorkerProcess]) -> str:
        size = len(order.slots)
        if self.is_over or not self._ranks:
            return "the trial is ending"
        if self._resize is not None or self._formation is not None or self._gathering:
            return "its workers are changing already"
        if self.launch.max_workers == 1:
            return "it was started for one worker"
        if size < 1 or size & (size - 1) or size > self.launch.max_shards:
            return f"{size} workers are no power of two up to {self.launch.max_shards}"
        if not kept:
            return "it would keep none of its workers"
        return "" if any(not worker.node for worker in kept) else "it would keep none of its own node's workers"

    def _begin_resize(self, order: ResizeTrial) -> None:
        """Call for the new workers; the resize follows when they are ready."""
        kept, newcomers = self._match(order.slots)
        self._resize = order
        size = len(order.slots)
        try:
            for place, slot in enumerate(newcomers):
                worker = self._recruit(slot, rank=len(kept) + place, workers=size, arrives=True)
                self._newcomers.append(worker)
        except OSError as error:
            self._give_up_resize(f"a new worker cannot be started: {error.strerror}")
        self._order_resize()

    def _order_resize(self) -> None:
        """Order the resize once every newcomer is ready."""
        order = self._resize
        if order is None or self._formation is not None or self._gathering:
            return
        if any(worker.id not in self._ready for worker in self._newcomers):
            return
        kept, _ = self._match(order.slots)
        ranks = [*kept, *self._newcomers]
        reason = f"{len(self._ranks)} to {len(ranks)} workers"
        self._order(
            Formation(
                kind="resize", ranks=tuple(ranks), left_out=tuple(w for w in self._ranks if w not in kept),
                joiners=tuple(range(len(kept), len(ranks))), reason=reason,
            )
        )  # fmt: skip

    def _give_up_resize(self, why: str) -> None:
        order, self._resize = self._resize, None
        newcomers, self._newcomers = self._newcomers, []
        for worker in newcomers:
            if worker.id in self._workers and worker.id not in self._with_state:
                worker.end_with("cancelled", why)
                self._quarters.kill(worker)
        if order is not None:
            self._events.append(self._resized(order.resize, ok=False, stall_s=0.0, reason=why))

    def _resized(self, resize: int, *, ok: bool, stall_s: float, reason: str) -> Resized:
        launch = self.launch
        return Resized(
            study=launch.study, number=launch.number, generation=launch.generation, resize=resize, ok=ok,
            slots=tuple(self._slots[worker.id] for worker in self._ranks), stall_s=stall_s, reason=reason,
        )  # fmt: skip

    # --- inside: losses --------------------------------------------------------------------------

    def _gather(self, why: str) -> None:
        """Wait until everybody who is left knows of the loss; then let them go on."""
        if self._end is not None:
            return
        if not self._gathering:
            self._gathering = True
            self._recoveries += 1
            if self._unsent:
                self._send_order(None)  # they wait for it, and answer that somebody is lost
            for worker in self._formation.ranks if self._formation is not None else self._ranks:
                worker.channel.send("called_off", formation=self._formation_number)
            ordered, self._formation = self._formation, None
            if self._resize is not None and ordered is not None and ordered.kind == "resize":
                self._failed_resize, self._resize = self._resize.resize, None  # told with the group that follows
            self._give_up_resize(why)
        left = self._left()
        all_said = all(worker.id in self._lost for worker in left)
        if all(worker.node for worker in left) or (all_said and self._recoveries > IDLE_RECOVERIES):
            for worker in left:  # none is left where the trial's files are, or they find no end
                self._quarters.kill(worker)
        elif all_said:
            self._order(after_loss(left, self._ranks, self._lost, why))

    def _left(self) -> list[WorkerProcess]:
        """Those that can go on."""
        return [w for w in self._workers.values() if w.id in self._with_state and not w.has_ended]

    def _judge(self, worker: WorkerProcess, ended: Ended, *, led: bool, had_state: bool) -> None:
        """What it means for the trial that a worker has ended."""
        lost = ended.outcome == "failed" and ended.failure == "LOST"
        if worker.was_released:
            return
        if not had_state:
            self._newcomer_gone(worker, f"a new worker ended: {ended.reason}")
        elif lost:
            self._gather(ended.reason)
        elif led or ended.outcome in ("failed", "cancelled"):
            self._end = ended
            for other in self._workers.values():
                if ended.outcome in ("failed", "cancelled") or other.id not in self._with_state:
                    self._quarters.kill(other)
                else:
                    self._quarters.hurry(other)
        elif ended.outcome in ("paused", "stopped"):
            self._without_lead = ended
        if not self._left():
            for other in self._workers.values():
                if other.id not in self._with_state:  # nobody is left whom it could join
                    self._quarters.kill(other)

    def _newcomer_gone(self, worker: WorkerProcess, why: str) -> None:
        if self._formation is not None and worker in self._formation.ranks:
            self._gather(why)
        elif worker in self._newcomers:
            self._give_up_resize(why)

    # --- inside: what rank 0 says ----------------------------------------------------------------

    def _pass_on(self, worker: WorkerProcess, event: RunnerEvent) -> None:
        match event:
            case Started():
                pids = [member.pid for member in self._ranks if member.pid is not None]
                self._events.append(replace(event, pids=tuple(pids) or event.pids))
            case Reported() if event.step in self._reported:  # sent again by one that has succeeded rank 0
                verdict = self._verdicts.get(event.step)
                if verdict is not None:
                    worker.channel.send("verdict", **verdict)
            case Reported():
                self._reported.add(event.step)
                self._events.append(event)
            case _:
                self._events.append(event)

    def _take_events(self) -> list[RunnerEvent]:
        events, self._events = self._events, []
        return events
