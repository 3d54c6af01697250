"""What people ask of a running head, over a simulated pool."""

from typing import Any

from shoal.search.events import CommandDone, TrialAssigned
from shoal.search.transitions import TrialStatus
from shoal.service.commands import Command


def done(world: Any) -> list[CommandDone]:
    return [event for event in world.events if isinstance(event, CommandDone)]


def send(world: Any, **command: Any) -> CommandDone:
    """Put a command into the table and turn the head until it is acknowledged."""
    before = len(done(world))
    world.journal.put_command("s", Command(**command).to_json())
    world.head._next_poll = 0.0  # look now instead of within a tenth of a second
    world.turns(lambda: len(done(world)) > before)
    return done(world)[-1]


def running(state: Any) -> int:
    return len(state.by_status[TrialStatus.RUNNING])


def test_pause_and_resume(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4 and all(r.steps for r in state.trials.values() if r.workers))
    ack = send(world, verb="pause", who="shoal pause")
    assert ack.ok
    assert "4 of 4 running trials" in ack.effect
    world.turns(lambda: running(state) == 0)
    assert state.status == "paused"
    assert len(state.by_status[TrialStatus.PAUSED]) == 4
    assert not send(world, verb="pause").ok
    assert send(world, verb="resume").ok
    world.head.run()
    assert state.counts()[TrialStatus.COMPLETED] == 12
    assert all([step for step, _ in r.curve] == list(range(1, 10)) for r in state.trials.values())


def test_stop_lets_running_trials_finish(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4)
    ack = send(world, verb="stop")
    assert "4 running trials finish, 8 queued trials are cancelled" in ack.effect
    world.head.run()
    assert state.status == "stopped"
    assert state.counts()[TrialStatus.COMPLETED] == 4


def test_kill_ends_everything_now(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4)
    at = world.runner.now()
    assert "4 running trials are killed" in send(world, verb="kill").effect
    world.head.run()
    assert state.status == "stopped"
    assert world.runner.now() <= at + 1.0
    assert state.counts()[TrialStatus.COMPLETED] == 0


def test_one_trial_is_killed_and_its_device_used_again(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4)
    ack = send(world, verb="kill", number=2, who="shoal kill")
    assert ack.effect == "1 trial: trial s#2 is killed"
    world.head.run()
    assert state.trials[2].status is TrialStatus.CANCELLED
    assert "asked by shoal kill" in state.trials[2].reason
    assert state.counts()[TrialStatus.COMPLETED] == 11


def test_commands_about_trials_that_are_not_there(make_head: Any, make_study: Any) -> None:
    world = make_head()
    world.add(make_study())
    ack = send(world, verb="stop", number=77)
    assert not ack.ok
    assert "s#77 does not exist" in ack.effect


def test_t23_the_same_configuration_enqueued_ten_times_runs_once(make_head: Any, make_study: Any) -> None:
    """T23: the key makes it count once."""
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4)
    effects = [send(world, verb="enqueue", config={"x": 0.3}, key="seed").effect for _ in range(10)]
    assert effects[0].startswith("1 trial:")
    assert set(effects[1:]) == {"0 trials: this configuration was enqueued before (same key)"}
    (enqueued,) = [record for record in state.trials.values() if record.source == "enqueued"]
    world.head.run()
    started = [event.number for event in world.events if isinstance(event, TrialAssigned)]
    assert started[:5] == [0, 1, 2, 3, enqueued.number]
    (displaced,) = state.numbers(TrialStatus.CANCELLED)
    assert state.trials[displaced].generation == 0
    assert len(state.trials) - 1 == 12  # the strategy's last proposal made room: the budget holds


def test_an_enqueued_configuration_that_could_never_run_is_refused(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study(trials=4))
    world.turns(lambda: running(state) == 4)
    ack = send(world, verb="enqueue", config={"x": 0.3}, key="late")
    assert not ack.ok
    assert ack.effect == "all 4 trials of study s have started; raise its budget first"


def test_a_trial_that_is_about_to_end_cannot_pause(make_head: Any, make_study: Any) -> None:
    world = make_head(lambda *_: (1.0, {"score": 0.5}))
    state = world.add(make_study(trials=1))
    world.turns(lambda: state.trials[0].steps if state.trials else False)
    assert send(world, verb="stop", number=0).ok
    ack = send(world, verb="pause", number=0)
    assert not ack.ok and "about to end" in ack.effect


def test_a_configuration_outside_the_space_is_refused(make_head: Any, make_study: Any) -> None:
    world = make_head()
    world.add(make_study())
    ack = send(world, verb="enqueue", config={"x": 7.0}, key="far")
    assert not ack.ok
    assert "x" in ack.effect


def test_a_command_of_another_version_is_answered(make_head: Any, make_study: Any) -> None:
    world = make_head()
    world.add(make_study())
    world.journal.put_command("s", {"verb": "explode"})
    world.head._next_poll = 0.0
    world.turns(lambda: bool(done(world)))
    assert not done(world)[0].ok


def test_what_may_change_while_a_study_runs(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: running(state) == 4)
    ack = send(world, verb="edit", changes={"weight": 2.0, "priority": 1, "trials": 5, "gpu_hours": None})
    assert ack.ok
    assert ack.effect == "study s: weight 1.0 -> 2.0, priority 0 -> 1, trials 12 -> 5, gpu_hours none -> none"
    assert (state.spec.weight, state.spec.priority, state.spec.budget.trials) == (2.0, 1, 5)
    for changes, said in (
        ({"weigth": 2.0}, "Did you mean weight?"),
        ({"seed": 3}, "seed cannot change while the study runs"),
        ({"weight": -1}, "not a number above 0"),
        ({"trials": "many"}, "not a whole number"),
    ):
        ack = send(world, verb="edit", changes=changes)
        assert not ack.ok
        assert said in ack.effect
    world.head.run()


def test_a_study_that_is_over_does_not_change(make_head: Any, make_study: Any) -> None:
    """Another study keeps the head running; this one's workers are gone."""
    world = make_head()
    over = world.add(make_study(trials=2))
    world.add(make_study(name="long", trials=200))
    world.turns(lambda: over.is_over)
    ack = send(world, verb="edit", changes={"trials": 50})
    assert not ack.ok
    assert "shoal run goes on with it" in ack.effect
