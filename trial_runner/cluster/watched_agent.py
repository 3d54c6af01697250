"""The near side of one agent: a thread that listens to it, sends it batches, and notices when it falls silent.

One long poll after the other carries events one way and signs of life both ways. An agent that has been silent for
`silence_s` counts as lost, whatever it is doing: its trials go on elsewhere. The thread keeps asking for it, and when
it answers again it is taken over afresh: everything that it still ran is ended, and it comes back as an empty node.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..messages import Instruction, RunnerEvent
from .ports import AgentDead, AgentLink, AgentSilent, Holder, News, Refused, Welcome

SILENCE_S = 2.5
"""Silence after which a node counts as lost. Shorter: a busy node is taken for a dead one. Longer: its devices and its
trials are missed for longer."""

POLL_WAIT_S = 0.5
"""How long an agent may keep a poll that it has nothing to say to: a sign of life twice a second."""

PATIENCE_S = 1.0  # how long to wait for an answer before looking whether the head is closing

RETRY_S = 2.0  # how often an agent that is somebody else's is asked again

SOON_S = 0.1  # how soon one is asked again that will answer, or be dead, in a moment

RESEND_S = 2.0  # a batch that polls have not confirmed for so long is sent again

LEAVE_S = 15.0  # how long an agent may take to end its trials, and to bring what they wrote to the storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The agent is this head's."""

    welcome: Welcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """The agent would not be taken over."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Events, with the number of the last one."""

    events: tuple[RunnerEvent, ...]
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drains:
    """A person wants the node to be empty, or has taken that back."""

    draining: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The agent is not this head's any more. `dead`: it will not come back."""

    reason: str
    dead: bool


Heard = Arrived | Turned | Said | Drains | Lost


@dataclass(slots=True)
class Batch:
    """Instructions on their way."""

    number: int
    instructions: tuple[Instruction, ...]
    sent_at: float


class WatchedAgent:
    """One agent and the thread that watches it.

    Args:
        tell: called from that thread with whatever is heard.
    """

    def __init__(
        self, node: str, link: AgentLink, holder: Holder, tell: Callable[[str, Heard], None],
        *, silence_s: float = SILENCE_S,
    ) -> None:
        self.node = node
        self._link = link
        self._holder = holder
        self._tell = tell
        self._silence_s = silence_s
        self._lock = threading.Lock()
        self._session: int | None = None
        self._unconfirmed: deque[Batch] = deque()
        self._batches = 0
        self._done = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"shoal-{node}", daemon=True)
        self._thread.start()

    def perform(self, instructions: Sequence[Instruction]) -> None:
        """Send instructions; dropped while the agent is lost."""
        with self._lock:
            if self._session is None:
                return
            self._batches += 1
            batch = Batch(number=self._batches, instructions=tuple(instructions), sent_at=time.monotonic())
            self._unconfirmed.append(batch)
            self._send(self._session, batch)

    def done(self, last: int) -> None:
        """Events up to this number are in the journal."""
        self._done = last

    def close(self) -> None:
        """Have the agent leave; `join` waits for it."""
        self._closing.set()

    def join(self) -> None:
        self._thread.join()

    # --- the thread -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        fresh = False
        try:
            while not self._closing.is_set():
                welcome = self._take_over(fresh=fresh)
                if isinstance(welcome, Refused):
                    if not welcome.is_ending:
                        self._tell(self.node, Turned(reason=welcome.reason))
                    self._closing.wait(SOON_S if welcome.is_ending else RETRY_S)
                    continue
                if welcome is None:
                    break
                self._begin(welcome)
                reason = self._listen(welcome.session)
                fresh = True
                if self._closing.is_set():
                    self._leave(welcome.session)
                    break
                self._end_session()
                self._tell(self.node, Lost(reason=reason, dead=False))
        except AgentDead as error:
            self._end_session()
            self._tell(self.node, Lost(reason=str(error), dead=True))
        except Exception as error:  # a fault of ours: the head must not wait for a node that nobody watches
            self._end_session()
            self._tell(self.node, Lost(reason=repr(error), dead=True))
            raise

    def _take_over(self, *, fresh: bool) -> Welcome | Refused | None:
        """What the agent answers; None: nobody wants to know any more."""
        while not self._closing.is_set():
            try:
                return self._link.hello(self._holder, fresh=fresh, timeout_s=PATIENCE_S)
            except AgentSilent:
                self._closing.wait(SOON_S)
        return None

    def _begin(self, welcome: Welcome) -> None:
        with self._lock:
            self._session = welcome.session
            self._unconfirmed.clear()
            self._batches = self._done = 0
        self._tell(self.node, Arrived(welcome=welcome))

    def _listen(self, session: int) -> str:
        """Until the agent is lost; why."""
        since, draining = 0, False
        heard_at = time.monotonic()
        while not self._closing.is_set():
            left_s = self._silence_s - (time.monotonic() - heard_at)
            if left_s <= 0:
                return f"silent for {self._silence_s:g} s"
            try:
                news = self._link.poll(
                    session, since=since, done=self._done, wait_s=min(POLL_WAIT_S, left_s / 2), timeout_s=left_s
                )
            except AgentSilent:
                self._closing.wait(min(0.1, left_s))
                continue
            heard_at = time.monotonic()
            if not news.current:
                return "another head has taken it over, or it has ended"
            if news.draining != draining:
                draining = news.draining
                self._tell(self.node, Drains(draining=draining))
            if news.events:
                since = news.events[-1][0]
                self._tell(self.node, Said(events=tuple(event for _, event in news.events), last=since))
            self._confirm(session, news)
        return "closing"

    def _confirm(self, session: int, news: News) -> None:
        now = time.monotonic()
        with self._lock:
            while self._unconfirmed and self._unconfirmed[0].number <= news.performed:
                self._unconfirmed.popleft()
            for batch in self._unconfirmed:
                if now - batch.sent_at > RESEND_S:
                    batch.sent_at = now
                    self._send(session, batch)

    def _send(self, session: int, batch: Batch) -> None:
        with contextlib.suppress(AgentSilent):  # sent again, unless the agent is lost before
            self._link.perform(session, batch.number, batch.instructions)

    def _end_session(self) -> None:
        with self._lock:
            self._session = None
            self._unconfirmed.clear()

    def _leave(self, session: int) -> None:
        with contextlib.suppress(AgentSilent, AgentDead):  # dead, or it ends by itself when its lease does
            self._link.leave(session, timeout_s=LEAVE_S)
