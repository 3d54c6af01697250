"""The models learn what they are meant to learn, and the bandit and the population do what their papers say."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.spec import Chosen, Objective
from shoal.search.strategies import make
from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.gaussian_process import Hyperparameters, Posterior, fitted
from shoal.search.strategies.port import Pending, Result, Strategy
from shoal.search.strategies.random_forest import Forest
from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Space, distance

DOWN = (Objective(metric="loss", direction="minimize"),)
BOTH = (*DOWN, Objective(metric="score", direction="maximize"))
MODELS = ["random_forest", "bayesian", "evolution", "portfolio"]
BOWL = Space(x=Float(-1.0, 1.0), kind=Choice(a=Space(y=Float(-1.0, 1.0)), b=Space(n=Int(0, 9))))


def loss(config: Configuration) -> float:
    """Lowest at x = 0.3 in branch a with y = -0.5."""
    inner = (config.kind.y + 0.5) ** 2 if config.kind == "a" else 0.5 + 0.01 * config.kind.n
    return float((config.x - 0.3) ** 2 + inner)


def made(name: str, space: Space = BOWL, objectives: tuple[Objective, ...] = DOWN, **options: object) -> Strategy:
    return make(Chosen(name=name, options=options), space, objectives, seed=1)


def lowest(strategy: Strategy, trials: int) -> float:
    values = []
    for number in range(trials):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        values.append(loss(proposal.config))
        result = Result(
            number=number, config=proposal.config, state="completed", values=(values[-1],), attrs=proposal.attrs
        )
        strategy.tell([result])
    return min(values)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random_forest", "bayesian"])
def test_models_find_what_random_search_does_not(name: str) -> None:
    assert lowest(made(name), 30) < 0.5 * lowest(made("random"), 30)


@pytest.mark.parametrize("name", MODELS)
def test_two_objectives(name: str) -> None:
    """Valid proposals, and the ends of the front are found from both sides."""
    options = {"evolution": {"population": 4}}.get(name, {"n_startup_trials": 4})
    strategy = made(name, objectives=BOTH, **options)
    for number in range(8):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        values = (loss(proposal.config), proposal.config.x)
        result = Result(number=number, config=proposal.config, state="completed", values=values, attrs=proposal.attrs)
        strategy.tell([result])


def test_process_sees_which_parameter_matters() -> None:
    rng = np.random.default_rng(0)
    features = rng.random((40, 3))
    losses = np.sin(6 * features[:, 0])
    losses = (losses - losses.mean()) / losses.std()
    numeric = np.ones(3, dtype=bool)
    found = fitted(features, losses, numeric, Hyperparameters.prior(3))
    assert found.log_weights[0] > found.log_weights[1:].max() + 1.0
    posterior = Posterior(features, losses, numeric, found)
    assert np.abs(posterior.mean(features) - losses).max() < 0.2
    mean, deviation = posterior.moments(rng.random((5, 3)))
    assert mean.shape == deviation.shape == (5,) and np.all(deviation > 0)


def test_process_takes_repeated_rows_and_constant_losses() -> None:
    """T24: the covariance of equal rows is singular but for the noise."""
    features = np.zeros((6, 2))
    numeric = np.array([True, False])
    found = fitted(features, np.zeros(6), numeric, Hyperparameters.prior(2))
    assert np.isfinite(Posterior(features, np.zeros(6), numeric, found).moments(np.ones((3, 2)))).all()


def test_forest_believes_pending_trials_to_be_as_expected() -> None:
    cube = UnitCube(BOWL)
    rng = np.random.default_rng(3)
    rows = cube.draw(rng, 30)
    losses = rows[:, 0] - rows[:, 0].mean()
    forest = Forest(cube, 20)
    belief = forest.fit(rows, losses, rng)
    place = rows[[int(np.argmin(losses))]] * 0.99
    extended = forest.extended(belief, place, belief.mean(place), rng)
    assert abs(extended.mean(place)[0] - belief.mean(place)[0]) < 0.2


@pytest.mark.parametrize("name", MODELS)
def test_eight_workers_do_not_crowd_one_place(name: str) -> None:
    """T20: the eight proposals of a block know of one another."""
    strategy = made(name)
    rng = np.random.default_rng(4)
    configs = [BOWL.sample(rng) for _ in range(30)]
    strategy.tell([Result(number=i, config=c, state="completed", values=(loss(c),)) for i, c in enumerate(configs)])
    waiting = [Pending(number=30, config=BOWL.sample(rng))]
    proposals = strategy.ask(31, 8, waiting, 7)
    assert len({p.config.key() for p in proposals if p.config is not None}) == 8


def test_children_of_evolution_come_from_the_young() -> None:
    """The best trial is the oldest; it has left the population, so no child is one of its own."""
    space = Space(**{f"op{i}": Categorical(["a", "b", "c"]) for i in range(8)})
    strategy = make(Chosen(name="evolution", options={"population": 4}), space, DOWN, seed=0)
    rng = np.random.default_rng(5)
    configs = [space.sample(rng) for _ in range(12)]
    strategy.tell([Result(number=i, config=c, state="completed", values=(float(i),)) for i, c in enumerate(configs)])
    for number in range(12, 40):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        of = int(proposal.reason.split("trial ")[1].split(",")[0])
        assert of >= 8
        assert distance(configs[of], proposal.config) == pytest.approx(1 / 8)


def test_portfolio_asks_the_arm_that_earns() -> None:
    """All good trials came from the forest, all bad ones from the process: the forest is asked more often."""
    shares = {}
    for winner, loser in (("forest", "process"), ("process", "forest")):
        strategy = made("portfolio")
        rng = np.random.default_rng(6)
        for number in range(30):
            by, value = (winner, -number) if number % 2 else (loser, number)
            result = Result(
                number=number, config=BOWL.sample(rng), state="completed", values=(float(value),), attrs={"by": by}
            )
            strategy.tell([result])
        asked = [p.attrs["by"] for seed in range(12) for p in strategy.ask(30, 1, [], seed)]
        shares[winner] = asked.count(winner) - asked.count(loser)
    assert shares["forest"] > 4 and shares["process"] > 4


@pytest.mark.parametrize("name", MODELS)
def test_a_study_whose_trials_are_all_paused_is_learned_from(name: str) -> None:
    """Under ASHA hardly a trial ever ends: the model has to come in all the same."""
    options = {"population": 8} if name == "evolution" else {"n_startup_trials": 8}
    space = Space(x=Float(0.0, 1.0))
    strategy = made(name, space, **options)
    paused = [
        Pending(number=number, config=space.configuration({"x": number / 12}), curve=((1, abs(number / 12 - 0.5)),))
        for number in range(12)
    ]
    (proposal,) = strategy.ask(12, 1, paused, 5)
    assert "random" not in proposal.reason


@pytest.mark.slow  # imports torch
def test_policy_starts_uniform_and_learns_the_better_option() -> None:
    import torch

    from shoal.search.strategies.policy import Policy, Trainer
    from shoal.spaces.encodings import TokenEncoding

    space = Space(**{f"op{i}": Categorical(["a", "b", "c", "d"]) for i in range(3)})
    encoding = TokenEncoding(space)
    good = encoding.encode(space.configuration({"op0": "a", "op1": "c", "op2": "b"}))
    bad = encoding.encode(space.configuration({"op0": "d", "op1": "d", "op2": "d"}))
    for algorithm in ("pqt", "ppo", "reinforce"):
        policy = Policy(encoding, seed=0)
        chances, entropies = policy.log_chances([good, bad])
        assert torch.allclose(chances, torch.full((2,), -3 * np.log(4.0)), atol=1e-5)
        assert torch.allclose(entropies, torch.full((2,), 3 * np.log(4.0)), atol=1e-5)
        trainer = Trainer(policy, algorithm=algorithm, learning_rate=0.02, entropy=0.01, likelihood_steps=3)
        for _ in range(8):
            trainer.learn([good, bad], np.array([1.0, -1.0]), [good])
        after, _ = policy.log_chances([good, bad])
        assert after[0] > chances[0] + 0.3 and after[1] < chances[1]
        assert len(policy.write(np.random.default_rng(0))) == 3
