"""What every registered strategy owes, in every kind of space."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import pytest

from shoal.errors import SpecError
from shoal.search import strategies
from shoal.search.spec import Chosen, Objective
from shoal.search.strategies.codec import (
    past_ask_from_json,
    past_ask_to_json,
    proposal_from_json,
    proposal_to_json,
)
from shoal.search.strategies.port import DefineByRun, PastAsk, Pending, Proposal, Result, Strategy
from shoal.spaces import Categorical, Choice, Constant, Float, Int, Ordinal, Repeat, Space, forbid, require

SPACES = {
    "flat": Space(lr=Float(1e-4, 1e-1, log=True), width=Int(1, 64), kind=Categorical(["a", True, 1, None])),
    "conditional": Space(
        optimizer=Choice(
            sgd=Space(momentum=Float(0.0, 0.99)),
            adam=Space(beta2=Float(0.9, 0.999), lr=Float(0.0, 1.0)),
            adagrad=None,
            rmsprop=Space(lr=Int(1, 3)),
        )
    ),
    "repeat": Space(layers=Repeat(Space(width=Int(8, 64, log=True), op=Categorical(["x", "y"])), 0, 3)),
    "rules": Space(
        low=Int(0, 5),
        high=Int(0, 10),
        scale=Float(0.0, 1.0, step=0.1),
        rules=[
            require(lambda s: s.high >= s.low),
            forbid(lambda s: (s.low == 1) & (s.high == 5)),
            forbid(lambda s: (s.scale > 0.55) & (s.low > 2)),
        ],
    ),
    "finite": Space(a=Ordinal([1, 2, 4]), b=Categorical(["x", "y"]), c=Constant(3), d=Int(0, 4, step=2)),
    "huge": Space(n=Int(0, 10**40), m=Int(-(2**60), 2**60), f=Float(-1e308, 1e308), one=Float(1.0, 1.0)),
    "single": Space(a=Int(3, 3), b=Constant("x")),
}
COUNTS = {"finite": 18, "single": 1}
TINY = {"finite", "single"}
UP = (Objective(metric="score", direction="maximize"),)

EAGER: dict[str, dict[str, object]] = {  # options that bring the models in after a few trials
    "random_forest": {"n_startup_trials": 3, "n_trees": 5},
    "bayesian": {"n_startup_trials": 3},
    "evolution": {"population": 4},
    "portfolio": {"n_startup_trials": 3},
    "reinforcement": {"n_startup_trials": 3, "batch": 2, "likelihood_steps": 2},
    "tpe": {"n_startup_trials": 3},
    "gp": {"n_startup_trials": 3},
    "cmaes": {"popsize": 3},
    "nsga2": {"population_size": 3},
    "optuna:TPESampler": {"n_startup_trials": 3},
    "optuna:GPSampler": {"n_startup_trials": 3},
    "optuna:CmaEsSampler": {"popsize": 3},
    "optuna:NSGAIISampler": {"population_size": 3},
    "optuna:NSGAIIISampler": {"population_size": 3},
}
SLOW = {"gp", "optuna:GPSampler"}
HEAVY = {"bayesian", "portfolio", "random_forest", "reinforcement"}
ONCE = [name for name in strategies.names() if not strategies.describe(name).waits]
"""Those that propose a configuration once; the others go on with it in a further trial."""
NEEDS_FINITE = {"optuna:BruteForceSampler"}

CASES = [
    pytest.param(name, space, id=f"{name}-{space}", marks=[pytest.mark.slow] if name in SLOW | HEAVY else [])
    for name in strategies.names()
    for space in SPACES
    if not (name in NEEDS_FINITE and SPACES[space].size() is None)
]


def made(name: str, space: Space | None) -> Strategy:
    return strategies.make(Chosen(name=name, options=EAGER.get(name, {})), space, UP, seed=3)


def made_light(name: str, space: Space) -> Strategy:
    """The same, with models that come in late: they cost up to a second an ask."""
    options = {"n_startup_trials": 12} if name in SLOW | HEAVY else EAGER.get(name, {})
    return strategies.make(Chosen(name=name, options=options), space, UP, seed=3)


def became(number: int, proposal: Proposal) -> Result:
    """Every kind of end in turn: good ones, NaN, infinite, failed, infeasible, stopped, cancelled."""
    config = proposal.config
    ends: list[tuple[str, tuple[float, ...] | None]] = [
        ("completed", (number / 7.0,)),
        ("completed", (math.nan,)),
        ("completed", (1.0 - number,)),
        ("failed", None),
        ("completed", (math.inf,)),
        ("stopped", (0.5,)),
        ("completed", (0.25,)),
        ("infeasible", None),
        ("stopped", None),
        ("cancelled", None),
        ("completed", (-math.inf,)),
    ]
    state, values = ends[number % len(ends)]
    curve = ((1, math.nan), (2, 0.1 * number)) if state in ("completed", "stopped") and number % 2 else ()
    return Result(number=number, config=config, state=state, values=values, curve=curve, attrs=proposal.attrs)  # type: ignore[arg-type]


@dataclass
class Run:
    """A study of two workers around a strategy: it tells the oldest open trial, then asks for the next."""

    strategy: Strategy
    proposals: list[Proposal] = field(default_factory=list)
    past: list[PastAsk] = field(default_factory=list)
    told: list[Result] = field(default_factory=list)

    def step(self) -> bool:
        """Ask once; False when the space is exhausted."""
        first, seed = len(self.proposals), 1000 + len(self.past)
        results: tuple[Result, ...] = ()
        if first - len(self.told) >= 2:
            results = (became(len(self.told), self.proposals[len(self.told)]),)
        self.told += results
        self.strategy.tell(results)
        pending = tuple(self.pending())
        self.past.append(
            PastAsk(ask=len(self.past), first_number=first, n=1, seed=seed, results=results, pending=pending)
        )
        proposals = self.strategy.ask(first, 1, pending, seed)
        self.proposals += proposals
        return bool(proposals)

    def pending(self) -> list[Pending]:
        return [
            Pending(number=number, config=self.proposals[number].config, curve=((1, 0.3),))
            for number in range(len(self.told), len(self.proposals))
        ]

    def steps(self, count: int) -> Run:
        for _ in range(count):
            if not self.step():
                break
        return self


def lengths(name: str) -> int:
    return 8 if name in SLOW else 14 if name in HEAVY else 24


@pytest.mark.parametrize(("name", "space_name"), CASES)
def test_proposals_are_valid_and_repeatable(name: str, space_name: str) -> None:
    """T14, T19, T44: valid, honour the rules, none twice in a finite space, survive JSON, and the same calls give the
    same proposals."""
    space = SPACES[space_name]
    run = Run(made(name, space)).steps(lengths(name))
    assert run.proposals
    for proposal in run.proposals:
        assert proposal.config is not None and proposal.reason
        assert space.violations(proposal.config) == []
        sent = json.loads(json.dumps(proposal_to_json(proposal)))
        assert proposal_from_json(sent, space) == proposal
    fresh = [proposal for proposal in run.proposals if proposal.parent is None]
    keys = [proposal.config.key() for proposal in fresh if proposal.config is not None]
    if space.size() is not None:
        assert len(set(keys)) == len(keys)
    again = Run(made(name, space)).steps(lengths(name))
    assert [p.config for p in again.proposals] == [p.config for p in run.proposals]


@pytest.mark.parametrize(("name", "space_name"), CASES)
def test_restored_goes_on_as_undisturbed(name: str, space_name: str) -> None:
    """Told everything in another order, or, where the strategy asks for it, its asks repeated from their JSON."""
    space = SPACES[space_name]
    run = Run(made(name, space)).steps(lengths(name) - 2)
    restored = made(name, space)
    if run.strategy.replays_asks:
        for past in run.past:
            past = past_ask_from_json(json.loads(json.dumps(past_ask_to_json(past))), space)
            restored.tell(past.results)
            restored.ask(past.first_number, past.n, past.pending, past.seed)
    else:
        restored.tell(run.told[::-1])
    twin = Run(restored, list(run.proposals), list(run.past), list(run.told))
    run.steps(2)
    twin.steps(2)
    assert [p.config for p in twin.proposals] == [p.config for p in run.proposals]


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("space_name", sorted(TINY))
def test_finite_space_ends_clean(name: str, space_name: str) -> None:
    """T19: every configuration once, then none, however often one asks."""
    run = Run(made_light(name, SPACES[space_name])).steps(100)
    assert len(run.proposals) == COUNTS[space_name]
    assert run.strategy.ask(99, 5, run.pending(), 7) == []


@pytest.mark.parametrize("name", strategies.names())
def test_workers_starting_together_get_different_configs(name: str) -> None:
    """T20: eight asks on an empty study, in one go and one by one."""
    space = SPACES["finite"]
    at_once = made(name, space).ask(0, 8, [], 5)
    assert len({p.config.key() for p in at_once if p.config is not None}) == 8
    strategy = made(name, space)
    pending: list[Pending] = []
    for number in range(8):
        (proposal,) = strategy.ask(number, 1, pending, number)
        pending.append(Pending(number=number, config=proposal.config))
    assert len({p.config.key() for p in pending if p.config is not None}) == 8


@pytest.mark.parametrize("name", ONCE)
def test_a_constant_objective_breaks_nothing(name: str) -> None:
    """T24: ties are fine."""
    space = SPACES["finite"]
    strategy = made_light(name, space)
    seen = set()
    for number in range(9):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        seen.add(proposal.config.key())
        strategy.tell([Result(number=number, config=proposal.config, state="completed", values=(10.0,))])
    assert len(seen) == 9


@pytest.mark.parametrize("name", ONCE)
def test_foreign_configurations_count_as_tried(name: str) -> None:
    """Enqueued and fallback trials, which the strategy never proposed, are neither proposed again nor a surprise."""
    space = SPACES["finite"]
    foreign = list(space.grid(1))
    strategy = made_light(name, space)
    done = [
        Result(number=i, config=config, state="completed", values=(float(i),)) for i, config in enumerate(foreign[:9])
    ]
    strategy.tell(done)
    waiting = [Pending(number=9 + i, config=config) for i, config in enumerate(foreign[9:14])]
    proposals = strategy.ask(14, 10, waiting, 11)
    assert sorted(p.config.key() for p in proposals if p.config is not None) == sorted(
        config.key() for config in foreign[14:]
    )


@pytest.mark.parametrize("name", [name for name in strategies.names() if strategies.describe(name).defines_by_run])
def test_define_by_run(name: str) -> None:
    """A trial's questions are answered within their domains, the same way when asked twice, and after a restart."""
    questions = [
        ("x", Float(-5.0, 5.0)),
        ("n", Int(1, 10**30)),
        ("kind", Categorical(["a", None, True])),
        ("step", Float(0.0, 1.0, step=0.25)),
        ("fixed", Int(2, 2)),
    ]
    if name in NEEDS_FINITE:
        questions = [(path, domain) for path, domain in questions if path not in ("x", "n")]
    domains = {path: domain.to_json() for path, domain in questions}
    strategy = made(name, None)
    assert isinstance(strategy, DefineByRun)
    results: list[Result] = []
    for number in range(8):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is None
        flat: dict[str, object] = {}
        for path, domain in questions:
            value = strategy.suggest(number, path, domain.to_json(), 100 * number)
            assert domain.contains(domain.parse(value, path))
            json.dumps(value)
            assert strategy.suggest(number, path, domain.to_json(), 100 * number) == value
            flat[path] = value
        state = "failed" if number == 3 else "completed"
        values = None if number == 3 else (math.nan if number == 2 else float(number),)
        result = Result(number=number, config=None, state=state, values=values, flat=flat, domains=domains)  # type: ignore[arg-type]
        results.append(result)
        strategy.tell([result])
    strategy = made(name, None)
    strategy.tell(results)
    half = {path: results[0].flat[path] for path in list(domains)[:2]}
    pending = [Pending(number=8, config=None, flat=half, domains={path: domains[path] for path in half})]
    strategy.ask(9, 1, pending, 9)
    assert isinstance(strategy, DefineByRun)
    for path in half:
        if strategy.uses_history:
            assert strategy.suggest(8, path, domains[path], 5) == half[path]


@pytest.mark.parametrize("name", ["grid", "sobol"])
def test_fixed_designs_refuse_define_by_run(name: str) -> None:
    with pytest.raises(SpecError, match="needs a declared space"):
        made(name, None)


@pytest.mark.parametrize("name", strategies.names())
def test_description_is_complete(name: str) -> None:
    info = strategies.describe(name)
    assert info.name == name and info.summary and info.cost
    strategy: Strategy = made(name, SPACES["finite"])
    assert strategy.uses_history == info.uses_history
    assert strategy.replays_asks == info.replays_asks
    assert not info.waits or info.uses_history
    for option in info.options:
        assert option.help and not option.required
