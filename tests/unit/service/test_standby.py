"""Workers are kept forked ahead of need, as many as trials can start at once."""

from typing import Any

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.trial_runner.messages import Instruction, PrepareStudy
from shoal.trial_runner.simulated import SimulatedRunner


class Listening(SimulatedRunner):
    """Remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(lambda *_: None)
        self.told: list[Instruction] = []

    def perform(self, instruction: Instruction) -> None:
        self.told.append(instruction)
        super().perform(instruction)


def test_as_many_stand_by_as_the_pool_has_room_for(make_head: Any, make_study: Any) -> None:
    runner = Listening()
    world = make_head(runner=runner, policy=ElasticPolicy(), gpus=3)
    world.add(make_study())
    world.head.turn()
    (prepare,) = [told for told in runner.told if isinstance(told, PrepareStudy)]
    assert prepare.standby == 3
