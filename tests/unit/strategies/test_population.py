"""Population-based training: who goes on, who takes over whom, what changes, and when there is nothing to propose."""

import math
from typing import Any

import numpy as np
import pytest

from shoal.errors import SpecError
from shoal.search import strategies
from shoal.search.spec import Chosen, Objective, OutcomeConstraint
from shoal.search.strategies.exploring import explored, perturbable
from shoal.search.strategies.population import Population
from shoal.search.strategies.port import Pending, Proposal, Result
from shoal.spaces import Categorical, Choice, Float, Int, Ordinal, Space, forbid

SPACE = Space(lr=Float(1e-4, 1.0, log=True), momentum=Float(0.0, 0.9), width=Int(1, 64), kind=Categorical(["a", "b"]))
UP = (Objective(metric="score", direction="maximize"),)


def population(**options: Any) -> Population:
    made = strategies.make(Chosen(name="population", options={"population": 4, **options}), SPACE, UP, seed=1)
    assert isinstance(made, Population)
    return made


class Trainings:
    """Trials that end when told to; a trial's epochs go on where its parent's ended, up to `max_epochs`."""

    def __init__(self, strategy: Population, max_epochs: int = 100) -> None:
        self.strategy = strategy
        self.max_epochs = max_epochs
        self.proposals: list[Proposal] = []
        self.epochs: dict[int, int] = {}
        self.open: list[int] = []

    def ask(self, n: int) -> list[int]:
        pending = [self.pending(number) for number in self.open]
        first = len(self.proposals)
        found = self.strategy.ask(first, n, pending, 100 + first)
        self.proposals += found
        numbers = list(range(first, first + len(found)))
        self.open += numbers
        return numbers

    def pending(self, number: int) -> Pending:
        proposal = self.proposals[number]
        return Pending(number=number, config=proposal.config, attrs=proposal.attrs)

    def end(self, number: int, score: float | None, state: Any = "completed", **facts: Any) -> None:
        self.open.remove(number)
        proposal = self.proposals[number]
        began = 0 if proposal.parent is None else self.epochs[proposal.parent]
        assert proposal.until is not None
        self.epochs[number] = min(proposal.until, self.max_epochs)
        curve = tuple((epoch, score or 0.0) for epoch in range(began + 1, self.epochs[number] + 1))
        result = Result(
            number=number, config=proposal.config, state=state, values=None if score is None else (score,),
            curve=curve if state == "completed" else (), attrs=proposal.attrs, **facts,
        )  # fmt: skip
        self.strategy.tell([result])


def test_founders_first_then_nothing_until_one_has_ended():
    runs = Trainings(population(interval_epochs=3))
    assert runs.ask(9) == [0, 1, 2, 3]
    assert all(proposal.parent is None and proposal.until == 3 for proposal in runs.proposals)
    assert runs.ask(2) == []
    runs.end(2, 0.5)
    (number,) = runs.ask(2)
    assert (runs.proposals[number].parent, runs.proposals[number].until) == (2, 6)


def test_the_weak_take_over_the_strong_and_explore():
    runs = Trainings(population())
    runs.ask(4)
    for number, score in enumerate([0.1, 0.9, 0.5, 0.4]):
        runs.end(number, score)
    runs.ask(4)
    took, *went_on = runs.proposals[4:]
    donor = runs.proposals[1].config
    assert took.parent == 1 and took.config != donor
    assert took.config.width == donor.width and took.config.kind == donor.kind
    assert "takes over member 1 (trial 1" in took.reason and "lr" in took.reason
    assert [proposal.parent for proposal in went_on] == [1, 2, 3]
    assert [proposal.config for proposal in went_on] == [runs.proposals[n].config for n in (1, 2, 3)]


def test_who_fails_takes_over_and_nobody_takes_over_who_failed():
    runs = Trainings(population())
    runs.ask(4)
    for number, score in enumerate([0.1, math.nan, 0.5, None]):
        runs.end(number, score, "failed" if score is None else "completed")
    numbers = runs.ask(4)
    parents = {runs.proposals[n].attrs["member"]: runs.proposals[n].parent for n in numbers}
    assert parents[1] == 2 and parents[3] == 2 and parents[2] == 2


def test_all_failed_begin_anew():
    runs = Trainings(population())
    for number in runs.ask(4):
        runs.end(number, None, "failed")
    again = runs.ask(4)
    assert [runs.proposals[n].parent for n in again] == [None] * 4
    assert len({proposal.config.key() for proposal in runs.proposals}) == 8


def test_the_one_behind_goes_first():
    runs = Trainings(population())
    runs.ask(4)
    for number in (3, 0):
        runs.end(number, 0.5)
    assert [runs.proposals[n].attrs["member"] for n in runs.ask(1)] == [0]
    runs.end(4, 0.6)
    assert [runs.proposals[n].attrs["member"] for n in runs.ask(5)] == [3, 0]


def test_over_when_everybody_has_trained_to_the_end():
    runs = Trainings(population(interval_epochs=4), max_epochs=10)
    runs.ask(4)
    rounds = 0
    while runs.open:
        for number in list(runs.open):
            runs.end(number, number / 100)
        runs.ask(4)
        rounds += 1
    assert rounds == 3 and len(runs.proposals) == 12
    assert {runs.epochs[n] for n in range(8, 12)} == {10}


def test_over_at_once_when_the_function_returns_at_the_end_of_a_stretch():
    """No further stretch is needed to find out that nothing is left to train."""
    runs = Trainings(population(interval_epochs=5), max_epochs=10)
    for number in runs.ask(4):
        runs.end(number, number / 100)
    for number in runs.ask(4):
        runs.end(number, number / 100, returned=True)
    assert runs.ask(4) == []


def test_a_loop_of_ones_own_is_told_stretch_by_stretch_and_goes_on():
    runs = Trainings(population())
    for number in runs.ask(4):
        proposal = runs.proposals[number]
        facts: dict[str, Any] = {"number": number, "config": proposal.config, "attrs": proposal.attrs}
        runs.strategy.tell([Result(state="completed", values=(0.1 * number,), returned=True, **facts)])
    runs.open.clear()
    assert len(runs.ask(4)) == 4


def test_what_keeps_the_constraints_is_fitter_however_good_the_rest_is():
    bound = OutcomeConstraint(metric="mib", relation="<=", bound=10.0)
    made = strategies.make(
        Chosen(name="population", options={"population": 4}), SPACE, UP, seed=1, constraints=(bound,)
    )
    assert isinstance(made, Population)
    runs = Trainings(made)
    runs.ask(4)
    for number, (score, mib) in enumerate([(0.9, 30.0), (0.5, 9.0), (0.4, 10.0), (0.8, 11.0)]):
        runs.end(number, score, outcomes=(mib,))
    first, *went_on = runs.proposals[runs.ask(4)[0] :]
    assert first.attrs["member"] == 0 and first.parent == 1, "the one furthest outside takes over the best inside"
    assert "outside of the constraints" in first.reason
    assert [proposal.parent for proposal in went_on] == [1, 2, 3]


def test_gives_up_when_no_state_can_be_taken_over():
    runs = Trainings(population())
    for number in runs.ask(4):
        runs.end(number, 0.5)
    for _ in range(4):
        (number,) = runs.ask(1)
        runs.end(number, None, "failed")
    assert runs.ask(3) == []


def test_what_it_proposes_is_known_from_what_was_told():
    first, second = Trainings(population()), Trainings(population())
    for runs in (first, second):
        runs.ask(4)
    for number in range(4):
        first.end(number, number / 10)
    for number in reversed(range(4)):
        second.end(number, number / 10)
    assert [first.proposals[n] for n in first.ask(4)] == [second.proposals[n] for n in second.ask(4)]


@pytest.mark.parametrize("seed", range(20))
def test_exploring_stays_inside_and_keeps_the_rest(seed: int):
    space = Space(
        lr=Float(1e-4, 1e-1, log=True),
        grid=Float(0.0, 1.0, step=0.25),
        layers=Int(2, 8, step=2),
        batch=Ordinal([32, 64, 128]),
        optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.99)), adam=None),
        rules=[forbid(lambda s: (s.lr > 0.05) & (s.grid > 0.6))],
    )
    rng = np.random.default_rng(seed)
    before = space.sample(rng)
    after, _ = explored(before, perturbable(space, "continuous"), 0.25, rng)
    assert space.violations(after) == []
    assert (after.layers, after.batch, str(after.optimizer)) == (before.layers, before.batch, str(before.optimizer))
    both, told = explored(before, perturbable(space, "layers, batch"), 0.0, rng)
    assert abs(both.layers - before.layers) in (0, 2) and both.batch in (32, 64, 128)
    assert both.lr == before.lr
    assert told


def test_perturbing_multiplies():
    config = SPACE.configuration({"lr": 0.01, "momentum": 0.5, "width": 10, "kind": "a"})
    rng = np.random.default_rng(0)
    seen = {round(explored(config, ["lr"], 0.0, rng)[0].lr, 6) for _ in range(20)}
    assert seen == {0.008, 0.012}


def test_wrong_options():
    with pytest.raises(SpecError, match="has no 'rate'"):
        population(perturb="rate")
    with pytest.raises(SpecError, match="exploit_share"):
        population(exploit_share=0.7)
    two = (*UP, Objective(metric="size", direction="minimize"))
    with pytest.raises(SpecError, match="one objective"):
        strategies.make(Chosen(name="population"), SPACE, two)
