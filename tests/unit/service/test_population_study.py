"""Population-based training through the real head, on a simulated pool."""

from typing import Any

from shoal.search.replay import load_study
from shoal.search.story import story
from shoal.search.transitions import TrialStatus


def curve(number: int, config: Any, seed: int, step: int) -> tuple[float, dict[str, float]] | None:
    """Twelve epochs of one second; better the nearer x is to 0.3."""
    return (1.0, {"score": step - abs(config["x"] - 0.3)}) if step <= 12 else None


OPTIONS = {"population": 4, "interval_epochs": 3}


def test_every_stretch_is_a_trial(make_head: Any, make_study: Any) -> None:
    world = make_head(curve)
    state = world.add(make_study(strategy="population", strategy_options=OPTIONS, trials=99))
    world.head.run()
    assert state.status == "completed"
    assert {record.status for record in state.trials.values()} == {TrialStatus.COMPLETED}
    ends = [record.last_step for record in state.trials.values() if record.steps]
    assert sorted(ends)[:4] == [3, 3, 3, 3] and max(ends) == 12
    idle = [record for record in state.trials.values() if not record.steps]
    assert len(idle) <= 4, "a member finds out once that the function trains no further"
    assert all(record.values == state.trials[record.parent].values for record in idle)
    for record in [record for record in state.trials.values() if record.steps]:
        parent = None if record.parent is None else state.trials[record.parent]
        began = 0 if parent is None else parent.last_step
        assert record.steps == list(range(began + 1, record.last_step + 1))
        assert parent is None or parent.ended_at <= record.started_at
    assert state.epochs_trained == sum(len(record.steps) for record in state.trials.values())
    assert any(record.parent is not None and record.config != state.trials[record.parent].config
               for record in state.trials.values())  # fmt: skip


def test_one_device_keeps_the_population_together(make_head: Any, make_study: Any) -> None:
    world = make_head(curve, gpus=1)
    state = world.add(make_study(strategy="population", strategy_options=OPTIONS, trials=12))
    world.head.run()
    first, rest = list(state.trials.values())[:4], list(state.trials.values())[4:]
    assert [record.last_step for record in first] == [3] * 4
    lines = {record.attrs["member"]: record.last_step for record in rest}
    assert set(lines) == {0, 1, 2, 3} and set(lines.values()) <= {9, 12}  # 12: it took over one that was ahead


def test_the_lineage_is_in_the_journal(make_head: Any, make_study: Any) -> None:
    world = make_head(curve)
    state = world.add(make_study(strategy="population", strategy_options=OPTIONS, trials=12))
    world.head.run()
    again = load_study(world.journal, "s")
    assert {n: r.to_json() for n, r in again.trials.items()} == {n: r.to_json() for n, r in state.trials.items()}
    last = max(state.trials)
    parent = state.trials[last].parent
    grandparent = state.trials[parent].parent
    told = [text for _, text in story((event for _, event in world.journal.read("s")), last)]
    assert told[1] == f"starts from the state of trial {parent}, which came from {grandparent}"
    assert "trained as far as the strategy wanted: epoch 9 of 9" in " ".join(told)
