"""Where configurations come from, and what happens to one that is known already."""

from shoal.search.asking import BLOCK
from shoal.search.duplicates import MAX_KNOWN_IN_A_ROW
from shoal.search.events import AskAnswered, Enqueued, FailureKind, TrialProposed
from shoal.search.instructions import Ask
from shoal.search.seeds import ask_seed
from shoal.search.transitions import TrialStatus


def test_history_free_strategies_are_asked_in_blocks(study):
    s = study(uses_history=False, trials=100)
    (ask,) = s.wish(room=0)
    assert (ask.n, ask.seed) == (BLOCK, ask_seed(0, 0))
    s.answer(*range(BLOCK))
    assert s.wish(room=4) == []
    for number in range(BLOCK - 10):
        s.assign(number)
        s.end(number, value=1.0)
    (ask,) = s.wish(room=4)
    assert (ask.ask, ask.first_number, ask.n) == (1, BLOCK, 100 - BLOCK)


def test_strategies_with_history_are_asked_one_ahead(study):
    s = study(uses_history=True, trials=100)
    (ask,) = s.wish(room=3)
    assert ask.n == 4
    assert s.wish(room=3) == []
    s.answer(1, 2, 3, 4)
    for number in range(3):
        s.assign(number)
    assert s.wish(room=0) == []
    s.assign(3)
    (ask,) = s.wish(room=0)
    assert ask.n == 1 and [pending.number for pending in ask.pending] == [0, 1, 2, 3]


def test_results_are_told_once_in_the_order_of_ending(study):
    s = study()
    s.propose(1, 2, 3)
    for number in range(3):
        s.assign(number)
    s.end(2, value=0.2)
    s.end(0, "failed", "boom", failure=FailureKind.OOM)
    ask = next(i for i in s.wish(room=2) if isinstance(i, Ask))
    assert [(r.number, r.state, r.values, r.failure) for r in ask.results] == [
        (2, "completed", (0.2,), None),
        (0, "failed", None, "OOM"),
    ]
    assert ask.results[0].config.to_json() == {"x": 3}
    s.answer(4, 5, 6)
    for number in (3, 4, 5):
        s.assign(number)
    s.end(1, value=0.1)
    (ask,) = s.wish(room=1)
    assert [r.number for r in ask.results] == [1]


def test_fewer_proposals_than_asked_end_the_search(study):
    s = study(trials=10)
    s.wish(room=3)
    s.answer(1)
    assert s.state.exhausted
    s.assign(0)
    s.end(0, value=1.0)
    assert s.state.status == "completed"
    assert s.state.reason == "the strategy has nothing more to propose (trials so far: 1)"


def test_a_failing_strategy_is_stood_in_for_at_random(study):
    s = study(trials=2)
    s.wish(room=1)
    s.answer(error="no answer within 60 s")
    proposed = [event for event in s.events if isinstance(event, TrialProposed)]
    assert [event.source for event in proposed] == ["fallback", "fallback"]
    assert proposed[0].reason == "random, since the strategy failed: no answer within 60 s"
    assert isinstance(s.events[-1], AskAnswered) and not s.state.exhausted


def test_an_answer_nobody_waits_for_changes_nothing(study):
    s = study()
    s.wish(room=1)
    s.answer(1, 2)
    before = len(s.events)
    outcome = s.state.answer(0, [], False, "", s.at, before + 1)
    assert outcome.events == () and outcome.instructions == ()


def test_enqueued_configurations_go_first_and_once(study):
    """T23: the same key counts once."""
    s = study(trials=3)
    for _ in range(10):
        s.handle(Enqueued(at=s.at, config={"x": 7}, key="seed"))
    s.wish(room=2)
    assert [r.config for r in s.state.trials.values()] == [{"x": 7}]
    assert s.state.trials[0].source == "enqueued"
    assert s.state.pending_ask is not None and s.state.pending_ask.first_number == 1


def test_enqueued_beyond_the_budget_wait_for_a_larger_one(study):
    s = study(trials=1)
    for x in (1, 2):
        s.handle(Enqueued(at=s.at, config={"x": x}, key=str(x)))
    s.wish(room=4)
    s.assign(0)
    s.end(0, value=1.0)
    assert s.state.status == "completed" and len(s.state.enqueued) == 1


def test_reuse_tells_the_known_result_again(study):
    s = study(trials=3, duplicates="reuse")
    s.propose(5)
    s.assign(0)
    s.end(0, value=0.5)
    s.propose(5, 6)
    twin = s.state.trials[1]
    assert (twin.status, twin.value, twin.duplicate_of, twin.generation) == (TrialStatus.COMPLETED, 0.5, 0, 0)
    assert "trial 0" in twin.reason
    assert s.state.best.number == 0


def test_reuse_waits_for_a_result_that_is_on_its_way(study):
    s = study(trials=3, duplicates="reuse")
    s.propose(5, 5, 5)
    assert s.offers(s.instructions) == [0]
    s.assign(0)
    s.report(0, 1, acc=0.4)
    s.end(0)
    assert [s.state.trials[n].value for n in range(3)] == [0.4, 0.4, 0.4]
    assert s.state.status == "completed"


def test_reuse_runs_the_twin_of_a_trial_that_failed(study):
    s = study(trials=3, duplicates="reuse")
    s.propose(5, 5, 5)
    s.assign(0)
    done = s.end(0, "failed", "boom", failure=FailureKind.BUG)
    assert s.offers(done) == [1]
    s.assign(1)
    s.end(1, value=0.7)
    assert s.state.trials[2].value == 0.7 and s.state.trials[2].duplicate_of == 1


def test_reject_costs_no_budget(study):
    s = study(trials=2, duplicates="reject")
    s.propose(5, 5)
    assert s.state.trials[1].status is TrialStatus.CANCELLED
    assert s.state.budget_left == 1
    s.wish(room=1)
    s.answer(6)
    s.assign(0)
    s.assign(2)
    s.end(0, value=1.0)
    s.end(2, value=2.0)
    assert s.state.status == "completed" and len(s.state.trials) == 3


def test_replicate_runs_it_again(study):
    s = study(trials=2, duplicates="replicate")
    s.propose(5, 5)
    assert s.offers(s.instructions) == [0, 1]


def test_a_strategy_that_only_repeats_itself_is_not_asked_for_ever(study):
    s = study(trials=2, duplicates="reject")
    s.propose(5)
    asks = 0
    while not s.state.exhausted:
        s.wish(room=4)
        assert s.state.pending_ask is not None
        s.answer(*[5] * s.state.pending_ask.n)
        asks += 1
        assert asks <= MAX_KNOWN_IN_A_ROW
    s.assign(0)
    s.end(0, value=1.0)
    assert s.state.status == "completed"


def test_a_replay_makes_the_same_of_all_this(study):
    from shoal.search import snapshot

    s = study(trials=4, duplicates="reuse")
    s.propose(5, 5, 6)
    s.assign(0)
    s.report(0, 1, acc=0.4, loss="nan")
    s.end(0, phases_s={"user": 1.0})
    s.assign(2)
    assert snapshot.to_json(s.replayed()) == snapshot.to_json(s.state)


def test_several_objectives(study):
    from shoal.search.spec import Objective

    both = (Objective(metric="acc", direction="maximize"), Objective(metric="size", direction="minimize"))
    s = study(trials=3, objectives=both)
    s.propose(1, 2, 3)
    for number in range(3):
        s.assign(number)
    s.end(0, value=[0.5, 10])
    s.report(1, 1, acc=0.7, size=30)
    s.end(1)
    s.report(2, 1, acc=0.9)
    s.end(2)
    assert s.state.trials[0].values == (0.5, 10.0)
    assert s.state.trials[1].values == (0.7, 30.0)
    assert s.state.trials[2].message == "never reported size and returned no number (it reported acc)"
