"""A study from its first ask to its end, and the trials in it."""

from shoal.search.early_stopping.port import Verdict
from shoal.search.events import (
    FailureKind,
    HeadOpened,
    StudyEnded,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialReported,
)
from shoal.search.instructions import Answer, Ask, End, Kill, Offer, Pause, Withdraw
from shoal.search.transitions import TrialStatus


def test_a_trial_from_ask_to_end(study):
    s = study(trials=1)
    (ask,) = s.wish(room=4)
    assert isinstance(ask, Ask) and (ask.ask, ask.first_number, ask.n, ask.results) == (0, 0, 1, ())
    (offer,) = s.answer(5)
    assert offer == Offer(number=0, generation=1, rung=0, priority=0, reason="a try")
    assert s.assign(0) == []
    (answer,) = s.report(0, 1, acc=0.5)
    assert isinstance(answer, Answer) and (answer.verdict, answer.step) == ("continue", 1)
    s.report(0, 2, acc=0.4)
    (end,) = s.end(0, run_s=3.0, gpu_s=6.0, phases_s={"user": 2.0})
    assert isinstance(end, End) and end.state == "completed"
    best = s.state.best
    assert best.value == 0.4 and best.best_value == 0.5 and best.best_step == 1
    assert (s.state.status, s.state.exit_code) == ("completed", 0)
    assert (s.state.run_s, s.state.gpu_s, s.state.phases_s) == (3.0, 6.0, {"user": 2.0})
    assert s.state.epochs_trained == 2
    assert best.curve == [(1, 0.5), (2, 0.4)]


def test_best_and_last_are_both_there(study):
    """T77: maximize; reports .66, .778, .66."""
    for value_from, value in (("last", 0.66), ("best", 0.778)):
        s = study(trials=1, value_from=value_from)
        s.propose(1)
        s.assign(0)
        for step, acc in enumerate((0.66, 0.778, 0.66), start=1):
            s.report(0, step, acc=acc)
        s.end(0)
        record = s.state.trials[0]
        assert (record.value, record.best_value, record.best_step) == (value, 0.778, 2)


def test_best_is_among_completed_trials_alone(study):
    """T36: minimize; trial 0 completes with 1, trial 1 is stopped at 0."""
    from shoal.search.spec import Objective

    s = study(trials=2, objectives=(Objective(metric="acc", direction="minimize"),))
    s.propose(1, 2)
    s.assign(0)
    s.assign(1)
    s.end(0, value=1.0)
    s.rule.verdicts[1, 1] = Verdict(action="stop", reason="rung 0: rank 9 of 9")
    (answer,) = s.report(1, 1, acc=0.0)
    assert answer.verdict == "stop"
    s.end(1, "stopped")
    assert s.state.best.number == 0
    assert s.state.trials[1].status is TrialStatus.STOPPED and s.state.trials[1].value == 0.0


def test_finish_counts_as_completed(study):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.rule.verdicts[0, 27] = Verdict(action="stop", reason="27 epochs are all it gets", finished=True)
    (answer,) = s.report(0, 27, acc=0.9)
    assert answer.verdict == "stop"
    s.end(0, "stopped")
    assert s.state.best.value == 0.9 and s.state.trials[0].status is TrialStatus.COMPLETED


def test_pause_at_a_rung_and_promotion(study):
    s = study(trials=2)
    s.propose(1, 2)
    for number in (0, 1):
        s.assign(number)
        s.rule.verdicts[number, 1] = Verdict(action="pause", reason="rung 0")
        assert s.report(number, 1, acc=0.1 * number)[0].verdict == "pause"
    s.end(0, "paused")
    assert s.state.trials[0].status is TrialStatus.PAUSED
    s.rule.promotable[0] = 1
    (offer,) = s.end(1, "paused")
    assert (offer.number, offer.generation, offer.rung) == (0, 2, 1)
    assert s.events[-1] == TrialDecided(
        at=s.at, number=0, decision="promote", reason="the best of its rung", rung=1
    )
    s.assign(0)
    s.report(0, 2, acc=0.3)
    s.end(0)
    assert s.state.status == "completed"
    assert s.state.trials[1].status is TrialStatus.STOPPED
    assert s.state.trials[1].reason == "trial 1 was never among the best of its rung"


def test_extending_takes_back_what_only_the_end_stopped(study):
    """T45: a finished study goes on; the paused trial is a candidate again, nothing is proposed twice."""
    from dataclasses import replace

    from shoal.search.events import StudyEdited
    from shoal.search.spec import Budget

    s = study(trials=2)
    s.propose(1, 2)
    s.assign(0)
    s.rule.verdicts[0, 1] = Verdict(action="pause", reason="rung 0")
    s.report(0, 1, acc=0.5)
    s.end(0, "paused")
    s.assign(1)
    s.end(1, value=0.9)
    assert s.state.status == "completed" and s.state.trials[0].status is TrialStatus.STOPPED
    larger = replace(s.spec, budget=Budget(trials=5))
    s.rule.promotable[0] = 1
    (offer,) = s.handle(StudyEdited(at=s.at, spec=larger.to_json(), reason="trials 2 -> 5"))
    assert (offer.number, s.state.status) == (0, "running")
    (ask,) = s.wish(room=3)
    assert (ask.n, ask.first_number) == (3, 2)
    assert [result.number for result in ask.results] == [1]


def test_a_metric_that_is_missing_or_none_leads_to_no_decision(study):
    """T27: a report without the objective, or with None, warns and decides nothing."""
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.rule.verdicts[0, 1] = s.rule.verdicts[0, 2] = Verdict(action="stop", reason="must not be asked")
    (missing,) = s.report(0, 1, loss=0.1)
    (none,) = s.report(0, 2, acc=None)
    assert (missing.verdict, none.verdict) == ("continue", "continue")
    assert "no number for acc" in missing.reason and "has loss" in missing.reason
    assert s.rule.seen == [(0, 1, None), (0, 2, None)]


def test_a_trial_without_a_value_fails_with_what_is_missing(study):
    """T29: returned None or (0.24, history): FAILED, the message names the type."""
    s = study(trials=3)
    s.propose(1, 2, 3)
    for number in range(3):
        s.assign(number)
    s.end(0)
    s.end(1, value=[0.24, {"loss": [1, 2]}])
    s.end(2, value="good")
    first, second, third = (s.state.trials[n] for n in range(3))
    assert {t.status for t in (first, second, third)} == {TrialStatus.FAILED}
    assert {t.failure for t in (first, second, third)} == {FailureKind.BUG}
    assert first.message == "never reported acc and returned no number (it reported nothing)"
    assert second.message == "returned [0.24, {'loss': [1, 2]}] of type list, wanted a number"
    assert "of type str" in third.message
    assert (s.state.status, s.state.exit_code) == ("failed", 5)


def test_diverged_is_judged_by_the_final_value(study):
    s = study(trials=2)
    s.propose(1, 2)
    s.assign(0)
    s.assign(1)
    s.report(0, 1, acc="nan")
    s.report(0, 2, acc=0.3)
    s.end(0)
    s.report(1, 1, acc=0.3)
    s.report(1, 2, acc="inf")
    s.end(1)
    assert s.state.trials[0].status is TrialStatus.COMPLETED
    assert s.state.trials[1].failure is FailureKind.DIVERGED
    assert s.state.trials[1].message == "acc ended as inf"


def test_failures_do_not_stop_the_study_and_sort_apart(study):
    """T28: one trial fails without a value, others finish."""
    s = study(trials=2)
    s.propose(1, 2)
    s.assign(0)
    s.end(0, "failed", "ValueError: boom", failure=FailureKind.BUG)
    s.assign(1)
    s.end(1, value=0.5)
    assert (s.state.status, s.state.exit_code, s.state.best.number) == ("completed", 0, 1)
    assert s.state.trials[0].message == "ValueError: boom"


def test_max_failures_ends_the_study(study):
    s = study(trials=10, max_failures=2)
    s.propose(1, 2, 3, 4)
    for number in range(3):
        s.assign(number)
    s.end(0, "failed", "boom", failure=FailureKind.BUG)
    assert s.state.status == "running"
    done = s.end(1, "failed", "boom", failure=FailureKind.OOM)
    assert s.state.status == "stopping"
    assert [type(i) for i in done] == [Withdraw, Kill]
    s.end(2, "cancelled", "killed")
    assert (s.state.status, s.state.exit_code) == ("failed", 5)
    assert s.state.counts()[TrialStatus.CANCELLED] == 2


def test_a_failed_study_can_be_resumed_after_the_code_was_mended(study):
    s = study(trials=10, max_failures=1)
    s.propose(1)
    s.assign(0)
    s.end(0, "failed", "boom", failure=FailureKind.BUG)
    assert s.state.status == "failed"
    s.handle(StudyResumed(at=s.at, reason="mended"))
    assert s.state.status == "running"
    s.propose(2)
    s.assign(1)
    s.end(1, value=1.0)
    assert s.state.status == "running"


def test_lost_trials_queue_again_at_no_charge(study):
    s = study(trials=1, max_failures=1)
    s.propose(1)
    for losses in range(1, 4):
        s.assign(0)
        (offer,) = s.end(0, "failed", "signal 9", failure=FailureKind.LOST)
        assert (offer.number, offer.generation, s.state.trials[0].losses) == (0, losses + 1, losses)
    s.assign(0)
    s.end(0, "failed", "preempted", failure=FailureKind.PREEMPTED)
    s.assign(0)
    s.end(0, "failed", "signal 9", failure=FailureKind.LOST)
    assert s.state.trials[0].failure is FailureKind.LOST
    assert s.state.user_failures == 0


def test_a_new_head_queues_what_ran(study):
    """T48: the same configuration again, also when it never reported; what was being stopped has stopped."""
    s = study(trials=3)
    s.propose(1, 2, 3)
    s.assign(0)
    s.assign(1)
    s.assign(2)
    s.report(0, 4, acc=0.5)
    s.rule.verdicts[1, 1] = Verdict(action="stop", reason="weak")
    s.report(1, 1, acc=0.1)
    done = s.handle(HeadOpened(at=s.at, fence=2, host="here", pid=2))
    assert s.offers(done) == [0, 2]
    assert s.state.trials[1].status is TrialStatus.STOPPED
    assert s.state.trials[0].config == {"x": 1} and s.state.trials[0].last_step == 4


def test_reports_of_a_former_generation_are_fenced_off(study):
    """T40: a late report changes nothing."""
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.handle(HeadOpened(at=s.at, fence=2, host="here", pid=2))
    s.assign(0)
    before = s.state.stale_events
    late = TrialReported(at=s.at, number=0, generation=1, step=1, metrics={"acc": 1.0}, can_pause=True)
    assert s.handle(late) == []
    assert s.handle(TrialEnded(at=s.at, number=0, generation=1, outcome="completed", reason="late")) == []
    again = TrialAssigned(
        at=s.at, number=0, generation=2, node="here", workers=1, gpus=(), gpu_share=1.0, reason="twice"
    )
    assert s.handle(again) == []
    assert s.state.stale_events == before + 3
    assert s.state.trials[0].curve == []


def test_a_step_seen_before_keeps_its_first_value(study):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.report(0, 1, acc=0.1)
    s.report(0, 2, acc=0.2)
    s.end(0, "failed", "signal 9", failure=FailureKind.LOST)
    s.assign(0)
    (answer,) = s.report(0, 2, acc=0.9)
    assert answer.verdict == "continue"
    assert s.state.trials[0].curve == [(1, 0.1), (2, 0.2)]
    assert s.state.epochs_trained == 2


def test_pausing_and_resuming_a_study(study):
    s = study(trials=3)
    s.propose(1, 2, 3)
    s.assign(0)
    s.assign(1)
    s.report(0, 1, acc=0.5)
    done = s.handle(StudyPaused(at=s.at, reason="lunch"))
    assert done == [Withdraw(number=2), Pause(number=0, generation=1, reason="lunch")]
    s.end(0, "paused", "lunch")
    assert s.report(1, 1, acc=0.1)[0].verdict == "pause"
    s.end(1, "paused", "lunch")
    assert s.wish(room=4) == []
    done = s.handle(StudyResumed(at=s.at, reason="back"))
    assert s.offers(done) == [0, 1, 2]  # those that had begun first


def test_stopping_lets_running_trials_finish(study):
    s = study(trials=10)
    s.propose(1, 2)
    s.assign(0)
    assert s.handle(StudyStopping(at=s.at, now=False, reason="enough")) == [Withdraw(number=1)]
    assert s.wish(room=4) == []
    (end,) = s.end(0, value=1.0)
    assert end == End(state="stopped", reason="enough")
    assert s.state.trials[1].status is TrialStatus.CANCELLED


def test_stopping_now_kills(study):
    s = study(trials=10)
    s.propose(1)
    s.assign(0)
    s.report(0, 1, acc=0.5)
    (kill,) = s.handle(StudyStopping(at=s.at, now=True, reason="enough"))
    assert isinstance(kill, Kill)
    s.end(0, "cancelled", "killed")
    assert s.state.trials[0].status is TrialStatus.CANCELLED and s.state.trials[0].value is None
    assert s.state.status == "stopped"


def test_the_time_limit_keeps_what_was_reported(study):
    s = study(trials=None, study_time_limit_s=10.0)
    s.propose(1)
    s.assign(0)
    s.report(0, 1, acc=0.5)
    s.at += 11
    (kill,) = s.wish(room=0)
    assert isinstance(kill, Kill)
    s.end(0, "cancelled", "killed")
    assert s.state.trials[0].status is TrialStatus.STOPPED and s.state.trials[0].value == 0.5
    assert s.state.status == "completed"


def test_time_between_two_heads_does_not_count(study):
    s = study(trials=None, study_time_limit_s=10.0)
    s.at += 5
    s.wish(room=1)
    s.answer(1)
    s.at += 1000
    s.handle(HeadOpened(at=s.at, fence=2, host="here", pid=2))
    assert s.state.active_s == 5.0 and s.state.status == "running"


def test_a_trial_no_pool_can_hold(study):
    s = study(trials=1)
    s.propose(1)
    s.handle(TrialInfeasible(at=s.at, number=0, reason="asks for 8 GPUs, the pool has 4: use workers=4"))
    assert s.state.trials[0].status is TrialStatus.INFEASIBLE
    assert (s.state.status, s.state.exit_code) == ("failed", 5)


def test_a_person_ends_single_trials(study):
    s = study(trials=3)
    s.propose(1, 2, 3)
    s.assign(0)
    s.report(0, 1, acc=0.5)
    assert s.handle(TrialDecided(at=s.at, number=0, decision="stop", reason="seen enough", by="person")) == []
    (answer,) = s.report(0, 2, acc=0.5)
    assert (answer.verdict, answer.reason) == ("stop", "seen enough")
    s.end(0, "stopped", "obeyed")
    assert s.state.trials[0].status is TrialStatus.STOPPED and s.state.trials[0].value == 0.5
    assert s.handle(TrialDecided(at=s.at, number=1, decision="cancel", reason="no", by="person")) == [
        Withdraw(number=1)
    ]
    assert s.handle(TrialDecided(at=s.at, number=1, decision="cancel", reason="no", by="person")) == []


def test_a_trial_that_a_person_paused_waits_for_a_person(study):
    s = study(trials=2)
    s.propose(1, 2)
    s.assign(0)
    s.report(0, 1, acc=0.5)
    (pause,) = s.handle(TrialDecided(at=s.at, number=0, decision="pause", reason="later", by="person"))
    assert isinstance(pause, Pause)
    assert s.end(0, "paused", "later") == []
    (offer,) = s.handle(TrialDecided(at=s.at, number=0, decision="promote", reason="now", by="person"))
    assert offer.number == 0


def test_ending_a_paused_trial_takes_no_offer_back(study):
    """It was taken up long ago."""
    s = study(trials=2)
    s.propose(1, 2)
    s.assign(0)
    s.rule.verdicts[0, 1] = Verdict(action="pause", reason="rung 0")
    s.report(0, 1, acc=0.5)
    s.end(0, "paused")
    assert s.handle(TrialDecided(at=s.at, number=0, decision="stop", reason="enough", by="person")) == []


def test_the_end_is_said_once(study):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.end(0, value=1.0)
    s.end(0, value=1.0)
    s.wish(room=1)
    assert sum(isinstance(event, StudyEnded) for event in s.events) == 1
