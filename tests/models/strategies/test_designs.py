"""Random, grid and Sobol: what is particular to each."""

from __future__ import annotations

import pytest

from shoal.search.spec import Chosen, Objective
from shoal.search.strategies import make
from shoal.search.strategies.port import Pending, Proposal, Result, Strategy
from shoal.search.strategies.unseen import Unseen
from shoal.spaces import Categorical, Choice, Float, Int, Space, forbid, require

UP = (Objective(metric="score", direction="maximize"),)
SPACE = Space(x=Float(0.0, 1.0), kind=Choice(a=Space(y=Float(0.0, 1.0)), b=None))


def made(name: str, space: Space = SPACE, *, seed: int = 0, **options: object) -> Strategy:
    return make(Chosen(name=name, options=options), space, UP, seed=seed)


def configs(proposals: list[Proposal]) -> list[object]:
    return [proposal.config for proposal in proposals]


@pytest.mark.parametrize("name", ["random", pytest.param("sobol", marks=pytest.mark.slow)])
def test_trial_n_has_its_configuration_however_asks_are_cut(name: str) -> None:
    """A parallel study is repeatable: blocks, ask seeds and results do not matter."""
    at_once = configs(made(name).ask(0, 12, [], 1))
    strategy = made(name)
    one_by_one: list[object] = []
    for number in range(12):
        proposals = strategy.ask(number, 1, [], 99 + number)
        one_by_one += configs(proposals)
        strategy.tell([Result(number=number, config=proposals[0].config, state="completed", values=(1.0,))])
    assert at_once == one_by_one
    assert configs(made(name, seed=1).ask(0, 12, [], 1)) != at_once


def test_grid_has_every_combination_once() -> None:
    strategy = made("grid", points_per_float=3)
    proposals = strategy.ask(0, 100, [], 0)
    assert len({p.config.key() for p in proposals if p.config is not None}) == len(proposals) == 3 * (3 + 1)
    assert proposals[-1].reason == "grid point 12"
    assert strategy.ask(12, 1, [], 0) == []


def test_grid_is_lazy() -> None:
    space = Space(**{f"x{i}": Float(0.0, 1.0) for i in range(40)})
    assert len(made("grid", space, points_per_float=10).ask(0, 3, [], 0)) == 3


def test_sobol_covers_evenly() -> None:
    """Each of the 16 cells of a 4 x 4 grid has exactly one of the first 16 points."""
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    points = [p.config for p in made("sobol", space).ask(0, 16, [], 0) if p.config is not None]
    assert len({(int(p.x * 4), int(p.y * 4)) for p in points}) == 16


def test_sobol_replaces_points_that_break_a_rule() -> None:
    space = Space(a=Int(0, 9), b=Int(0, 9), rules=[require(lambda s: s.a == s.b)])
    proposals = made("sobol", space).ask(0, 10, [], 0)
    assert len({p.config.key() for p in proposals if p.config is not None}) == 10
    assert any(p.reason.startswith("near Sobol point") for p in proposals)


def test_nothing_forbidden_is_proposed() -> None:
    """T11: a pair of values that is forbidden comes from no strategy."""
    space = Space(a=Int(1, 2), b=Int(4, 5), rules=[forbid(lambda s: (s.a == 1) & (s.b == 5))])
    for name in ("random", "grid", "sobol"):
        found = [p.config.flat() for p in made(name, space).ask(0, 9, [], 0) if p.config is not None]
        assert sorted(found, key=str) == [{"a": 1, "b": 4}, {"a": 2, "b": 4}, {"a": 2, "b": 5}]


def test_unseen_finds_the_last_one_of_many() -> None:
    import numpy as np

    space = Space(a=Int(0, 999), b=Categorical(["x", "y"]))
    unseen = Unseen(space)
    everything = list(space.grid(1))
    missing = everything.pop(777)
    unseen.note(everything)
    rng = np.random.default_rng(0)
    assert unseen.draw(lambda: everything[0], rng) == missing
    assert unseen.draw(lambda: everything[0], rng) is None


def test_twenty_trials_of_sixty_combinations() -> None:
    """T19: three categoricals, 60 combinations, 20 trials: no duplicate; and 60 of 60."""
    space = Space(a=Categorical(list("abc")), b=Categorical(list("abcd")), c=Categorical(list("abcde")))
    for name in ("random", "sobol", "grid"):
        strategy = made(name, space)
        keys: set[str] = set()
        pending: list[Pending] = []
        for number in range(60):
            (proposal,) = strategy.ask(number, 1, pending, number)
            assert proposal.config is not None
            keys.add(proposal.config.key())
            pending.append(Pending(number=number, config=proposal.config))
            if len(pending) > 4:
                done = pending.pop(0)
                strategy.tell([Result(number=done.number, config=done.config, state="completed", values=(1.0,))])
            assert len(keys) == number + 1
        assert strategy.ask(60, 1, pending, 60) == []
