"""Invariants of the elastic policy under any order of events: `simulator.chaos`, driven by hypothesis."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.simulator.chaos import Chaos


class ElasticMachine(RuleBasedStateMachine):
    """Invariants 1, 2, 4 and 10: checked by `Chaos` after every event."""

    @initialize(random=st.randoms(use_true_random=False), gangs=st.booleans(), shares=st.booleans())
    def build(self, random: Random, gangs: bool, shares: bool) -> None:
        self.gangs, self.shares = gangs, shares
        self.chaos = Chaos(ElasticPolicy(), random, gangs=gangs, shares=shares)

    @rule(events=st.integers(1, 20))
    def events(self, events: int) -> None:
        for _ in range(events):
            self.chaos.step()

    @rule()
    def settle(self) -> None:
        """Invariant 3: at rest, no GPU is free while a new trial that fits anywhere waits."""
        self.chaos.settle()
        if not self.shares:
            assert not self.chaos.unserved()
        if not self.shares and not self.gangs:
            assert not self.chaos.idle_while_wanted()


TestElasticMachine = ElasticMachine.TestCase
TestElasticMachine.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_the_same_events_give_the_same_actions(seed: int) -> None:
    """Invariant 5, within a process."""

    def play() -> list[str]:
        chaos = Chaos(ElasticPolicy(), Random(seed))
        for _ in range(60):
            chaos.step()
        return chaos.log

    assert play() == play()


@pytest.mark.slow
def test_a_hundred_thousand_random_events() -> None:
    """Invariants 1, 2, 4 and 10 again, in rounds of fixed seeds; `make fuzz` plays ten times as many."""
    for seed in range(200):
        random = Random(seed)
        chaos = Chaos(ElasticPolicy(), random, gangs=seed % 2 == 0, shares=seed % 4 < 2)
        for _ in range(500):
            chaos.step()
        chaos.settle()


@pytest.mark.slow
def test_the_same_actions_whatever_the_hash_seed() -> None:
    """Invariant 5, across processes."""
    script = (
        "from random import Random\n"
        "from shoal.scheduler.elastic_policy import ElasticPolicy\n"
        "from shoal.scheduler.simulator.chaos import Chaos\n"
        "chaos = Chaos(ElasticPolicy(), Random(7))\n"
        "for _ in range(400): chaos.step()\n"
        "print(chr(10).join(chaos.log))\n"
    )
    logs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    ]
    assert logs[0] == logs[1]
    assert logs[0].count("\n") > 50
