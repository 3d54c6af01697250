"""The strategy process: it answers, is killed, hangs, cannot start, and the strategy comes back as it was."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from shoal.errors import SpecError
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies.port import Pending, Result
from shoal.service.ports import Answer, StrategyHost, SuggestionAnswer
from shoal.service.strategy_channel import StrategyChannel
from shoal.service.strategy_host import InProcessHost, ProcessHost
from shoal.spaces import Categorical, Choice, Float, Int, Space

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.99)), adam=None),
    n=Int(0, 10**30),
    kind=Categorical([None, True, 1, 1.0]),
)
LONG_S = 60.0


def spec(name: str = "s", strategy: str = "random", space: Space | None = SPACE, **options: Any) -> StudySpec:
    return StudySpec(
        name=name,
        space=None if space is None else space.to_json(),
        objectives=(Objective(metric="score", direction="maximize"),),
        entry=EntryPoint(kind="objective"),
        strategy=Chosen(name=strategy, options=options),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=100),
        seed=5,
    )


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def process_host() -> Iterator[ProcessHost]:
    host = ProcessHost()
    yield host
    host.close()


@pytest.fixture(params=[InProcessHost, ProcessHost])
def host(request: pytest.FixtureRequest) -> Iterator[StrategyHost]:
    made = request.param()
    yield made
    made.close()


def answers(host: StrategyHost, count: int = 1) -> list[Any]:
    """Wait until the host has given `count` answers."""
    found: list[Answer | SuggestionAnswer] = []
    until = time.monotonic() + LONG_S
    while len(found) < count:
        assert time.monotonic() < until, "no answer"
        select.select(host.waitables(), [], [], 0.1)
        found += host.drain()
    return found


def study(host: StrategyHost, name: str, trials: int, disturb: Callable[[int], None] = lambda ask: None) -> list[Any]:
    """A study of two workers, one ask a trial; the configurations."""
    configs: list[Any] = []
    told = 0
    for ask in range(trials):
        disturb(ask)
        results = []
        if len(configs) - told >= 2:
            value = float("nan") if told == 3 else -told / 7
            results.append(Result(number=told, config=configs[told], state="completed", values=(value,)))
            told += 1
        pending = [Pending(number=n, config=configs[n]) for n in range(told, len(configs))]
        host.ask(name, ask, len(configs), 1, results, pending, 1000 + ask)
        (answer,) = answers(host)
        if answer.error:
            continue
        configs.append(answer.proposals[0].config)
    return configs


def test_answers_like_the_strategy_in_this_process() -> None:
    results = []
    for host in (InProcessHost(), ProcessHost()):
        host.open("s", spec(strategy="tpe", n_startup_trials=3))
        assert host.uses_history("s")
        results.append(study(host, "s", 8))
        host.close()
    assert results[0] == results[1]
    assert [type(config.kind) for config in results[0]] == [type(config.kind) for config in results[1]]


@pytest.mark.parametrize("strategy", ["tpe", "cmaes", "nsga2"])
def test_a_killed_process_comes_back_as_it_was(process_host: ProcessHost, strategy: str) -> None:
    """Killed between two asks: the next one is answered as if nothing had been, or fails once and is asked again."""
    options = {"tpe": {"n_startup_trials": 3}, "cmaes": {"popsize": 3}, "nsga2": {"population_size": 3}}[strategy]
    undisturbed = InProcessHost()
    undisturbed.open("s", spec(strategy=strategy, **options))
    expected = study(undisturbed, "s", 12)

    def kill_between(ask: int) -> None:
        if ask in (5, 9):
            (fd,) = process_host.waitables()
            os.kill(pid_of(process_host), signal.SIGKILL)
            select.select([fd], [], [], LONG_S)
            assert process_host.drain() == []

    process_host.open("s", spec(strategy=strategy, **options))
    assert study(process_host, "s", 12, kill_between) == expected


def test_death_during_an_ask_fails_that_ask_only(process_host: ProcessHost) -> None:
    process_host.open("s", spec())
    os.kill(pid_of(process_host), signal.SIGSTOP)
    process_host.ask("s", 0, 0, 2, [], [], 1)
    process_host.ask("s", 1, 2, 2, [], [], 2)
    os.kill(pid_of(process_host), signal.SIGKILL)
    failed, fine = answers(process_host, 2)
    assert failed.error.startswith("the strategy process ended with code -9") and not failed.exhausted
    assert (fine.ask, fine.error, len(fine.proposals)) == (1, "", 2)


def test_a_hanging_ask_is_ended_at_its_deadline() -> None:
    clock = Clock()
    host = ProcessHost(deadline_s=5.0, clock=clock)
    host.open("s", spec())
    pid = pid_of(host)
    os.kill(pid, signal.SIGSTOP)
    host.ask("s", 0, 0, 1, [], [], 1)
    clock.now = 4.9
    assert host.drain() == []
    clock.now = 5.1
    (answer,) = host.drain()
    assert "did not answer in 5 s" in answer.error
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    host.ask("s", 1, 0, 1, [], [], 2)
    assert answers(host)[0].error == ""
    host.close()


def test_a_process_that_cannot_start_fails_every_ask_and_nothing_else() -> None:
    host = ProcessHost(channel=partial(StrategyChannel, "shoal.no_such_module"))
    host.open("s", spec())
    for ask in range(3):
        host.ask("s", ask, 0, 1, [], [], 1)
        (answer,) = answers(host)
        assert "No module named shoal.no_such_module" in answer.error
    host.close()


def test_a_strategy_that_raises_is_built_again(host: StrategyHost) -> None:
    """A configuration from another space breaks the tell; the study's next ask works, with all that is sound told."""
    host.open("s", spec(strategy="tpe"))
    host.suggest("s", 0, 0, "x", {"type": "no such"}, 1)
    assert "no such" in answers(host)[0].error
    host.ask("s", 0, 0, 1, [], [], 1)
    assert answers(host)[0].error == ""


def test_several_studies_and_an_exhausted_one(host: StrategyHost) -> None:
    small = Space(a=Int(1, 3))
    host.open("big", spec("big"))
    host.open("small", spec("small", "grid", small))
    assert not host.uses_history("small")
    host.ask("big", 0, 0, 2, [], [], 1)
    host.ask("small", 0, 0, 9, [], [], 1)
    big, few = answers(host, 2)
    assert (big.study, len(big.proposals), big.exhausted) == ("big", 2, False)
    assert (few.study, len(few.proposals), few.exhausted) == ("small", 3, True)


def test_define_by_run(host: StrategyHost) -> None:
    host.open("s", spec(strategy="tpe", space=None))
    host.ask("s", 0, 0, 1, [], [], 1)
    assert answers(host)[0].proposals[0].config is None
    domain = Categorical([True, 1, 1.0, None]).to_json()
    host.suggest("s", 0, 2, "x", domain, 7)
    (first,) = answers(host)
    host.suggest("s", 0, 3, "x", domain, 8)
    (second,) = answers(host)
    assert (first.number, first.generation, first.path) == (0, 2, "x")
    assert repr(first.value) == repr(second.value)


def test_a_message_larger_than_the_socket(process_host: ProcessHost) -> None:
    wide = Space(**{f"x{i}": Float(0.0, 1.0) for i in range(300)})
    process_host.open("s", spec(space=wide))
    results = [
        Result(number=i, config=config, state="completed", values=(1.0,)) for i, config in enumerate(samples(wide))
    ]
    process_host.ask("s", 0, len(results), 1, results, [], 1)
    assert answers(process_host)[0].error == ""


def test_unknown_strategies_are_refused_at_open(host: StrategyHost) -> None:
    with pytest.raises(SpecError, match="Did you mean 'random'"):
        host.open("s", spec(strategy="randm"))


def test_the_process_dies_with_its_parent() -> None:
    code = (
        "import os, sys, time; from shoal.service.strategy_channel import StrategyChannel;"
        "print(StrategyChannel().pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    until = time.monotonic() + LONG_S
    while is_alive(child):
        assert time.monotonic() < until, "it outlived its parent"


def samples(space: Space) -> list[Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return [space.sample(rng) for _ in range(200)]


def pid_of(host: ProcessHost) -> int:
    assert host._channel is not None
    return host._channel.pid


def is_alive(pid: int) -> bool:
    """A zombie that nobody reaps is not alive."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
