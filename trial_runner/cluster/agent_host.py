"""The far side: a node's agent with a thread of its own, so that any thread and any transport can ask it.

The thread lives as long as the agent: the kernel kills the agent's children when the thread that started them ends
(`descent.py`). Everybody else leaves work in its inbox.

An agent belongs to one head at a time. While that head is away the trials go on; after `lease_s` without a sign of it
the agent ends them and lets go of the node.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ...errors import ShoalError
from ..messages import (
    Ended,
    ForgetStudy,
    Instruction,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    RunnerEvent,
    Warned,
)
from ..node_agent import NodeAgent
from .checkpoint_store import CheckpointStore
from .ledger import Ledger
from .mirror import Mirror
from .ports import Holder, News, NodeFacts, Refused, Welcome

LEASE_S = 300.0
"""How long trials go on without a head: time to notice that a head died, and to start it again. Longer: a program that
somebody killed and forgot keeps its GPUs for longer."""

ALONE_S = 3.0
"""After so long without a sign of its head an agent answers for it what any head would say (`Ledger.obvious_answers`);
other trials wait at their next report."""

LOOK_S = 0.5  # how often the agent looks whether its head is still there

Deed = Callable[[], None]
T = TypeVar("T")


class AgentHost:
    """A node's agent, its books and its lease.

    Args:
        facts: what the node offers.
        data_dir: the agent's own folder on the node's disk; what an earlier agent left running there is killed.
        lease_s: see above.
        stay: keep the agent for other heads when its own has left or died.
        gone: called from the agent's thread when it has ended everything and will not come back.
    """

    def __init__(
        self, facts: NodeFacts, data_dir: Path, *, lease_s: float = LEASE_S, stay: bool = False,
        gone: Deed = lambda: None,
    ) -> None:
        self.facts = facts
        self._data_dir = data_dir
        self._lease_s = lease_s
        self._stay = stay
        self._gone = gone
        self._lock = threading.Condition()
        self._ledger = Ledger()
        self._inbox: list[Deed] = []
        self._early: dict[int, tuple[Instruction, ...]] = {}  # batches that overtook others
        self._performed = 0
        self._session = 0
        self._holder: Holder | None = None
        self._heard_at = time.monotonic()
        self._draining = False
        self._over = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        # of the agent's thread alone:
        self._studies: dict[str, PrepareStudy] = {}
        self._mirror: Mirror | None = None
        self._arriving: dict[tuple[str, int], list[Instruction]] = {}  # told to trials whose files are on their way
        self._agent = self._new_agent()
        self._thread = threading.Thread(target=self._live, name="shoal-agent", daemon=True)
        self._thread.start()

    # --- asked from anywhere ----------------------------------------------------------------------------

    def hello(self, holder: Holder, *, fresh: bool) -> Welcome | Refused:
        """See `AgentLink.hello`."""
        with self._lock:
            if self._over:
                return Refused(reason="the agent is ending", is_ending=True)
            refusal = self._refusal(holder)
        if refusal:
            return Refused(reason=refusal)
        try:
            return self._ask(lambda: self._take_over(holder, fresh=fresh))
        except Exception as error:  # whatever it is, the head can do without the node and say why
            return Refused(reason=f"the agent cannot begin: {error!r}")

    def poll(self, session: int, since: int, done: int, wait_s: float) -> News:
        """See `AgentLink.poll`."""
        with self._lock:
            if session == self._session:
                self._heard_at = time.monotonic()
                self._ledger.forget(done)
                self._lock.wait_for(lambda: self._over or session != self._session or self._ledger.last > since, wait_s)
            if session != self._session or self._over:
                return News(current=False)
            self._heard_at = time.monotonic()
            return News(
                current=True, events=self._ledger.after(since), performed=self._performed, draining=self._draining
            )

    def perform(
        self, session: int, batch: int, instructions: Sequence[Instruction], code: Mapping[str, bytes]
    ) -> None:
        """See `AgentLink.perform`; `code`: archives by their hash, those that this node has not had yet."""
        for sha, archive in code.items():
            self._keep_code(sha, archive)
        with self._lock:
            if session != self._session or batch <= self._performed:
                return
            self._early[batch] = tuple(instructions)
            while (following := self._early.pop(self._performed + 1, None)) is not None:
                self._performed += 1
                self._inbox.append(lambda todo=following: self._perform(todo))  # type: ignore[misc]
        self._wake()

    def has_code(self, sha: str) -> bool:
        """Is an archive of this content here already?"""
        return self._archive(sha).exists()

    def leave(self, session: int) -> None:
        """End everything that runs, and the agent, unless it stays for the next head."""
        with self._lock:
            is_current = session == self._session
        if is_current:
            self._ask(lambda: self._let_go(stop=not self._stay))

    def stop(self) -> None:
        """A person wants the agent to end, with everything that runs."""
        self._ask(lambda: self._let_go(stop=True))

    def drain(self, *, wanted: bool) -> None:
        """A person wants the node to be empty (or takes that back); the head sees it to."""
        with self._lock:
            self._draining = wanted
            self._lock.notify_all()

    def state(self) -> dict[str, Any]:
        """For `shoal pool status`: who holds the agent and what it runs."""
        with self._lock:
            holder, silent_s = self._holder, time.monotonic() - self._heard_at
            return {
                "node": self.facts.node, "gpus": len(self.facts.gpus), "cpus": self.facts.cpus,
                "device_model": self.facts.device_model, "pid": os.getpid(), "stays": self._stay,
                "holder": None if holder is None else holder.text, "draining": self._draining,
                "head_silent_s": None if holder is None else round(silent_s, 1),
                "trials": sorted(f"{trial.study}#{trial.number}" for trial in self._ledger.trials),
                "guests_of": self._agent.guests_of,
            }  # fmt: skip

    # --- the agent's thread -----------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            self._work()
        finally:  # also after a fault of ours: the node then gets another agent
            self._gone()

    def _work(self) -> None:
        while not self._over:
            due_s = self._agent.next_due_s()
            timeout_s = LOOK_S if due_s is None else min(due_s, LOOK_S)
            readable, _, _ = select.select([*self._agent.waitables(), self._wake_read], [], [], timeout_s)
            if self._wake_read in readable:
                os.read(self._wake_read, 1 << 16)
            with self._lock:
                deeds, self._inbox = self._inbox, []
            for deed in deeds:
                deed()
            if not self._over:
                self._take_in(self._agent.drain())
                self._look_for_head()
        self._agent.close()

    def _take_over(self, holder: Holder, *, fresh: bool) -> Welcome | Refused:
        refusal = self._cannot_see(holder)
        if refusal:
            return Refused(reason=refusal)
        former = self._holder
        if fresh or former is None or former.owner != holder.owner or former.store != holder.store:
            self._clear()
        if self._mirror is None:
            self._mirror = Mirror(CheckpointStore(holder.store), self._data_dir / "studies", self._warn)
        with self._lock:
            self._holder = holder
            self._session += 1
            self._performed = 0
            self._early.clear()
            self._heard_at = time.monotonic()
            self._ledger.hand_over()
            self._lock.notify_all()
            return Welcome(
                session=self._session, facts=self.facts, door=self._agent.door, trials=self._ledger.trials
            )

    def _perform(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            key = (getattr(instruction, "study", ""), getattr(instruction, "number", -1))
            if key in self._arriving:
                self._arriving[key].append(instruction)
                continue
            with self._lock:
                study = self._studies.get(key[0])
                self._ledger.told(instruction, "" if study is None else study.code)
            match instruction:
                case PrepareStudy():
                    self._prepare(instruction)
                case LaunchTrial():
                    self._fetch_then_launch(instruction)
                case ForgetStudy():
                    self._studies.pop(instruction.study, None)
                    with self._lock:
                        self._ledger.drop(instruction.study)
                    self._agent.perform(instruction)
                    if self._mirror is not None:
                        self._mirror.forget(instruction.study)
                case _:
                    self._agent.perform(instruction)

    def _prepare(self, prepare: PrepareStudy) -> None:
        """Ready for the study; a head that was started again finds it as its predecessor left it."""
        prepare = replace(
            prepare, study_dir=self._data_dir / "studies" / prepare.study,
            archive=None if prepare.archive is None else self._archive(prepare.code),
        )
        former = self._studies.get(prepare.study)
        if former is not None and replace(former, standby=prepare.standby) == prepare:
            self._take_in([Prepared(study=prepare.study, ok=True, note="")])
            return
        self._studies[prepare.study] = prepare
        with self._lock:
            self._ledger.drop(prepare.study)
        self._agent.perform(prepare)
        self._take_in(self._agent.drain())  # code that cannot be unpacked is said at once

    def _fetch_then_launch(self, launch: LaunchTrial) -> None:
        key = (launch.study, launch.number)
        self._arriving[key] = []
        assert self._mirror is not None, "a head has been here"
        agent = self._agent

        def arrived() -> None:
            if self._agent is agent and key in self._arriving:
                self._agent.perform(launch)
                self._perform(self._arriving.pop(key))

        self._mirror.bring(launch, lambda: self._post(arrived))

    def _take_in(self, events: Sequence[RunnerEvent]) -> None:
        for event in events:
            if isinstance(event, Prepared) and not event.ok:
                self._studies.pop(event.study, None)  # the next head has it tried again
            if isinstance(event, Ended) and self._mirror is not None:
                agent, goes_on = self._agent, event.outcome in ("paused", "failed")
                if not goes_on:
                    self._publish(event)
                self._mirror.settle(
                    event.study, event.number,
                    lambda event=event, agent=agent, goes_on=goes_on: self._post(  # type: ignore[misc]
                        lambda: self._publish(event) if goes_on and agent is self._agent else None
                    ),
                )
            else:
                self._publish(event)

    def _publish(self, event: RunnerEvent) -> None:
        with self._lock:
            self._ledger.record(event)
            self._lock.notify_all()

    def _look_for_head(self) -> None:
        with self._lock:
            silent_s = time.monotonic() - self._heard_at
            held = self._holder is not None or not self._stay
            answers = self._ledger.obvious_answers() if held and silent_s > ALONE_S else []
        if held and silent_s > self._lease_s:
            self._let_go(stop=not self._stay)
        elif answers:
            self._perform(answers)

    def _let_go(self, *, stop: bool) -> None:
        self._clear()
        with self._lock:
            self._holder = None
            self._session += 1
            self._over = self._over or stop
            self._lock.notify_all()

    def _clear(self) -> None:
        """End everything, wait until it has gone, and start with empty books."""
        self._agent.close()
        if self._mirror is not None:
            self._mirror.close()
            self._mirror = None
        self._studies.clear()
        self._arriving.clear()
        self._agent = self._new_agent()
        with self._lock:
            self._ledger = Ledger()

    def _new_agent(self) -> NodeAgent:
        return NodeAgent(self._data_dir, node=self.facts.node, host=self.facts.host)

    # --- inside -----------------------------------------------------------------------------------------

    def _refusal(self, holder: Holder) -> str:
        """Why this head cannot have the agent now."""
        held = self._holder
        if held is None:
            return ""
        if held.owner == holder.owner:
            older = holder.fence < held.fence
            return f"a head that was started later has the node ({held.text})" if older else ""
        if time.monotonic() - self._heard_at > self._lease_s:
            return ""
        return f"the node is held by {held.text}"

    def _cannot_see(self, holder: Holder) -> str:
        try:
            seen = CheckpointStore(holder.store).sees(holder.probe)
        except (OSError, ShoalError) as error:
            return f"the shared storage {holder.store} cannot be read here: {error}"
        return "" if seen else f"the storage {holder.store} is not the same here as at the head"

    def _warn(self, study: str, number: int, text: str) -> None:
        self._post(lambda: self._publish(Warned(study=study, number=number, generation=0, text=text)))

    def _archive(self, sha: str) -> Path:
        return self._data_dir / "code" / f"{sha}.tar.gz"

    def _keep_code(self, sha: str, content: bytes) -> None:
        final = self._archive(sha)
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = final.with_name(f".{sha}.{threading.get_ident()}")
        draft.write_bytes(content)
        draft.replace(final)

    def _ask(self, question: Callable[[], T]) -> T:
        """Have the agent's thread answer."""
        answer: Future[T] = Future()

        def ask() -> None:
            try:
                answer.set_result(question())
            except Exception as error:  # the asker's to deal with: the agent goes on
                answer.set_exception(error)

        self._post(ask)
        return answer.result()

    def _post(self, deed: Deed) -> None:
        with self._lock:
            self._inbox.append(deed)
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: it is awake
            os.write(self._wake_write, b"x")
