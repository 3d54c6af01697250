"""Single runs of strategies on the tasks of `search_tasks`: one study, one trial after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.search import strategies
from shoal.search.seeds import ask_seed
from shoal.search.spec import Chosen, Objective
from shoal.search.strategies.port import Result, Strategy

from .search_peers import Smac
from .search_tasks import Task, task
from .search_tasks.anchors import Regrets

DOWN = (Objective(metric="loss", direction="minimize"),)
READ_AT = (25, 50, 100)
TIMED_TASK = "cash_1501"


def strategy_for(task: Task, name: str, options: Mapping[str, Any], seed: int) -> Strategy:
    """A fresh strategy for a run on a task; `smac` is SMAC3's, see `search_peers`."""
    if name == "smac":
        return Smac(task.space, seed)
    return strategies.make(Chosen(name=name, options=options), task.space, DOWN, seed=seed)


def one_run(
    task: Task, name: str, options: Mapping[str, Any], seed: int, trials: int, read_at: Sequence[int] = READ_AT
) -> tuple[Regrets, float]:
    """One study, one trial after the other: regret by number of trials, and median CPU time of the last asks in ms."""
    strategy = strategy_for(task, name, options, seed)
    rng = np.random.default_rng(seed)
    lowest = np.inf
    regret = np.inf
    regrets: dict[int, float] = {}
    asks_ms: list[float] = []
    told: list[Result] = []
    for number in range(trials):
        started = time.process_time()
        strategy.tell(told)
        proposals = strategy.ask(number, 1, (), ask_seed(seed, number))
        asks_ms.append(1e3 * (time.process_time() - started))
        config = proposals[0].config
        assert config is not None
        loss = task.noisy(config, rng)
        if loss < lowest:
            lowest, regret = loss, task.regret(task.true(config))
        attrs = proposals[0].attrs
        told = [Result(number=number, config=config, state="completed", values=(loss,), attrs=attrs)]
        if number + 1 in read_at:
            regrets[number + 1] = round(regret, 5)
    return regrets, float(np.median(asks_ms[-20:]))


def ask_cpu_ms(name: str, options: Mapping[str, Any], results: int) -> float:
    """Median CPU time of five asks with so many random results told, in ms."""
    timed = task(TIMED_TASK)
    strategy = strategy_for(timed, name, options, 0)
    rng = np.random.default_rng(0)
    told = []
    for number in range(results):
        config = timed.space.sample(rng)
        told.append(Result(number=number, config=config, state="completed", values=(timed.noisy(config, rng),)))
    strategy.tell(told)
    asks_ms = []
    for number in range(results, results + 6):
        started = time.process_time()
        (proposal,) = strategy.ask(number, 1, (), ask_seed(0, number))
        asks_ms.append(1e3 * (time.process_time() - started))
        assert proposal.config is not None
        loss = timed.noisy(proposal.config, rng)
        result = Result(number=number, config=proposal.config, state="completed", values=(loss,), attrs=proposal.attrs)
        strategy.tell([result])
    return float(np.median(asks_ms[1:]))
