"""Answered at once, the policy has nothing more to say after a while: nobody takes devices in turns for ever."""

import random

import pytest

from shoal.scheduler.port import Ladder, StudyAdded
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one

STUDIES = 8
TRIALS = 12
LADDER = Ladder(milestones=(1, 3, 9), eta=3, planned=4 * TRIALS, lower_is_better=True)


@pytest.mark.parametrize("seed", range(6))
def test_borrowers_do_not_take_turns(seed: int):
    rng = random.Random(seed)
    head = Head(8, 8, 8, 8, 8, 8)
    names = [f"s{index}" for index in range(STUDIES)]
    for name in names:
        head.send(StudyAdded(at=0.0, study=name, weight=rng.choice((1.0, 1.0, 2.0, 4.0)), ladders=(LADDER,)))
        for number in range(TRIALS):
            serial = rng.choice((0.02, 0.05, 0.1, 0.25))
            speedups = tuple(1 / (serial + (1 - serial) / (1 << i)) for i in range(6))
            head.offer(name, number, request=one(k_max=32), epoch_s=60.0, speedups=speedups)
    reached: dict[tuple[str, int], int] = {}
    for step in range(150):
        head.at += 1.0
        key = rng.choice(sorted(head.running))
        before = len(head.log)
        rung = reached.get(key, 0)
        reached[key] = rung + 1
        head.report(*key, rung, rng.random())
        if rung == len(LADDER.milestones) - 1 and key in head.running:
            head.release(*key)
        head.offer(key[0], TRIALS + step, request=one(k_max=32), epoch_s=60.0)
        assert len(head.log) - before < 200
