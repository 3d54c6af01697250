"""Invariants of a scheduling policy under any order of events."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.scheduler.first_come import FirstComePolicy
from shoal.scheduler.port import (
    Action,
    NodeUp,
    PoolEvent,
    Refuse,
    Request,
    Start,
    TrialOffered,
    TrialReleased,
    TrialWithdrawn,
)

shares = st.sampled_from(
    [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(3, 5), Fraction(1), Fraction(2)]
)
requests = st.builds(
    lambda k, gpus, cpus, memory: Request(k_min=k, k_max=k, gpus=gpus, cpus=cpus, memory_gib=memory),
    st.sampled_from([1, 2, 4]),
    shares,
    st.integers(1, 3),
    st.sampled_from([None, 0.5, 3.3]),
)


class PoolMachine(RuleBasedStateMachine):
    """Offers, withdrawals, releases, stale and repeated messages, in any order."""

    @initialize(
        gpus=st.lists(st.integers(0, 4), min_size=1, max_size=3), patience=st.sampled_from([0.0, 5.0, 1e9])
    )
    def build(self, gpus: list[int], patience: float) -> None:
        self.at = 0.0
        self.patience_s = patience
        self.policy = FirstComePolicy(patience_s=patience)
        self.running: dict[int, Start] = {}
        self.waiting: dict[int, Request] = {}
        self.requests: dict[int, Request] = {}
        self.numbers = 0
        for index, count in enumerate(gpus):
            name = f"node{index}"
            ids = tuple(f"{name}-{i}" for i in range(count))
            self.policy.step(NodeUp(at=0.0, node=name, gpus=ids, cpus=4, memory_gib=8.0))

    def step(self, event: PoolEvent) -> list[Action]:
        actions = self.policy.step(event)
        for action in actions:
            assert action.reason
            request = self.waiting.pop(action.number)
            if isinstance(action, Start):
                assert action.number not in self.running
                assert len(action.workers) == request.k_min
                self.running[action.number] = action
            else:
                assert isinstance(action, Refuse)
        return actions

    def tick(self) -> float:
        self.at += 1.0
        return self.at

    @rule(request=requests, priority=st.integers(0, 2), rung=st.integers(0, 2))
    def offer(self, request: Request, priority: int, rung: int) -> None:
        number, self.numbers = self.numbers, self.numbers + 1
        self.waiting[number] = self.requests[number] = request
        self.step(
            TrialOffered(
                at=self.tick(),
                study="s",
                number=number,
                generation=1,
                request=request,
                priority=priority,
                rung=rung,
            )
        )

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.running)))
        start = self.running.pop(number)
        self.step(TrialReleased(at=self.tick(), study="s", number=number, generation=start.generation))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.waiting)))
        del self.waiting[number]
        self.step(TrialWithdrawn(at=self.tick(), study="s", number=number))

    @precondition(lambda self: self.numbers)
    @rule(data=st.data())
    def stale_message(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, self.numbers - 1))
        before = dict(self.running)
        event: PoolEvent = TrialReleased(at=self.at, study="s", number=number, generation=0)
        if number not in self.waiting and data.draw(st.booleans()):
            event = TrialOffered(
                at=self.at,
                study="s",
                number=number,
                generation=1,
                request=self.requests[number],
                priority=0,
                rung=0,
            )
            if number not in self.running:
                return  # refused or withdrawn trials may well be offered again
        assert self.policy.step(event) == []
        assert self.running == before

    @invariant()
    def nothing_is_reserved_twice(self) -> None:
        self.policy.validate_state()

    @invariant()
    def nobody_waits_who_fits(self) -> None:
        if self.patience_s > self.at:  # before anybody has aged, no node is kept for anybody
            for request in self.waiting.values():
                assert not any(
                    (n.room_for_workers(request) or 0) >= request.k_min for n in self.policy._nodes.values()
                )

    @invariant()
    def everybody_who_waits_is_explained(self) -> None:
        assert sorted(number for _, number, _ in self.policy.waiting()) == sorted(self.waiting)

    def teardown(self) -> None:
        if not hasattr(self, "policy"):
            return
        while self.running:  # everybody who waits has its turn: nobody starves
            number = min(self.running)
            start = self.running.pop(number)
            self.step(TrialReleased(at=self.tick(), study="s", number=number, generation=start.generation))
        assert not self.waiting


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@settings(max_examples=40, deadline=None)
@given(st.lists(requests, min_size=1, max_size=12))
def test_the_same_events_give_the_same_actions(asked: list[Request]) -> None:
    def play() -> list[Action]:
        policy = FirstComePolicy()
        up = NodeUp(at=0.0, node="a", gpus=("0", "1", "2"), cpus=4, memory_gib=8.0)
        log = policy.step(up)
        for number, request in enumerate(asked):
            log += policy.step(
                TrialOffered(
                    at=1.0, study="s", number=number, generation=1, request=request, priority=0, rung=0
                )
            )
        for number in range(len(asked)):
            log += policy.step(TrialReleased(at=2.0, study="s", number=number, generation=1))
        return log

    assert play() == play()


@settings(max_examples=40, deadline=None)
@given(small=st.integers(1, 30), patience=st.sampled_from([0.0, 3.0, 10.0]))
def test_a_flood_of_small_trials_cannot_starve_a_large_one(small: int, patience: float) -> None:
    """However many small ones keep coming, the large one starts within its patience and one running time."""
    policy = FirstComePolicy(patience_s=patience)
    policy.step(NodeUp(at=0.0, node="a", gpus=("0", "1"), cpus=1, memory_gib=8.0))
    one = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)
    two = Request(k_min=1, k_max=1, gpus=Fraction(2), cpus=0)

    def offer(number: int, request: Request, at: float) -> list[Action]:
        return policy.step(
            TrialOffered(at=at, study="s", number=number, generation=1, request=request, priority=0, rung=0)
        )

    running = [a.number for n in (1, 2) for a in offer(n, one, 0.0)]
    offer(0, two, 0.0)
    at, number = 0.0, 3
    for _ in range(small + 20):  # small ones run for two seconds each, and there is always one waiting
        at += 1.0
        actions = offer(number, one, at)
        number += 1
        if running:
            actions += policy.step(TrialReleased(at=at, study="s", number=running.pop(0), generation=1))
        running += [a.number for a in actions]
        if 0 in running:
            break
    assert 0 in running
    assert at <= patience + 3.0
