"""What a study's end, a pause or the death of a program had interrupted, and how it goes on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shoal.search.early_stopping.port import Verdict
from shoal.search.events import (
    Enqueued,
    FailureKind,
    HeadOpened,
    StudyEdited,
    StudyEnded,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TrialDecided,
)
from shoal.search.instructions import Ask, Kill, Pause, Withdraw
from shoal.search.story import story
from shoal.search.transitions import TrialStatus
from shoal.spaces import Int, Space

PAUSE = Verdict(action="pause", reason="rung 0")
FINISH = Verdict(action="stop", reason="27 epochs are all it gets", finished=True)


def statuses(s: Any) -> list[str]:
    return [str(record.status) for record in s.state.trials.values()]


def ended_by_failures(study: Callable[..., Any]) -> Any:
    """max_failures=1 of 6: one failed, one was running, one waited with reports, one paused, two never ran."""
    s = study(trials=6, max_failures=1)
    s.propose(1, 2, 3, 4, 5, 6)
    for number in range(4):
        s.assign(number)
    s.report(2, 1, acc=0.2)
    s.end(2, "failed", "signal 9", failure=FailureKind.LOST)
    s.rule.verdicts[3, 1] = PAUSE
    s.report(3, 1, acc=0.3)
    s.end(3, "paused")
    s.end(0, "failed", "boom", failure=FailureKind.BUG)
    s.end(1, "cancelled", "killed")
    assert s.state.status == "failed"
    assert statuses(s) == ["failed", "cancelled", "stopped", "stopped", "cancelled", "cancelled"]
    return s


def test_max_failures_costs_only_the_failed_trials(study):
    """The code was mended: all that the end took down comes back, and the budget is what it was."""
    s = ended_by_failures(study)
    done = s.handle(StudyResumed(at=s.at, reason="mended"))
    assert s.state.status == "running"
    assert statuses(s) == ["failed", "queued", "queued", "paused", "queued", "queued"]
    assert sorted(s.offers(done)) == [1, 2, 4, 5]
    assert s.state.budget_left == 0
    for number in (1, 2, 4, 5):
        s.assign(number)
        s.end(number, value=1.0)
    assert s.state.status == "completed"
    assert s.state.trials[3].status is TrialStatus.STOPPED


def test_going_on_is_part_of_the_fold(study):
    from shoal.search import snapshot

    s = ended_by_failures(study)
    s.handle(StudyResumed(at=s.at, reason="mended"))
    assert snapshot.to_json(s.replayed()) == snapshot.to_json(s.state)
    assert s.replayed().held == s.state.held


def test_the_story_tells_that_it_goes_on(study):
    s = ended_by_failures(study)
    s.handle(StudyResumed(at=s.at, reason="mended"))
    assert story(s.events, 4)[-1] == (s.at, "waits again, since the study goes on: mended")
    assert "failed" in story(s.events, 0)[-1][1]


def test_what_a_person_cancelled_stays_cancelled(study):
    s = study(trials=2)
    s.propose(1, 2)
    s.handle(TrialDecided(at=s.at, number=0, decision="cancel", reason="no", by="person"))
    s.handle(StudyStopping(at=s.at, now=False, reason="enough"))
    assert statuses(s) == ["cancelled", "cancelled"]
    s.handle(StudyResumed(at=s.at, reason="again"))
    assert statuses(s) == ["cancelled", "queued"]


def test_a_duplicate_waits_again_for_its_original(study):
    s = study(trials=3, duplicates="reuse")
    s.propose(5, 5, 6)
    s.handle(StudyStopping(at=s.at, now=False, reason="enough"))
    done = s.handle(StudyResumed(at=s.at, reason="again"))
    assert s.offers(done) == [0, 2]
    s.assign(0)
    s.end(0, value=0.5)
    assert s.state.trials[1].value == 0.5


def test_a_duplicate_of_nothing_runs_itself(study):
    """Its original failed after the study had ended around it."""
    s = study(trials=2, duplicates="reuse")
    s.propose(5, 5)
    s.assign(0)
    s.handle(StudyStopping(at=s.at, now=False, reason="enough"))
    s.end(0, "failed", "boom", failure=FailureKind.BUG)
    done = s.handle(StudyResumed(at=s.at, reason="again"))
    assert s.offers(done) == [1]
    assert s.state.trials[1].duplicate_of is None


def test_a_trial_told_to_pause_is_paused_though_the_program_died(study):
    """Queued instead, it would go on past its rung without anybody having decided that."""
    s = study(trials=3)
    s.propose(1, 2)
    s.assign(0)
    s.assign(1)
    s.rule.verdicts[0, 1] = s.rule.verdicts[1, 1] = PAUSE
    s.report(0, 1, acc=0.1)
    s.report(1, 1, acc=0.2)
    s.end(1, "failed", "signal 9", failure=FailureKind.LOST)
    done = s.handle(HeadOpened(at=s.at, fence=2, host="here", pid=2))
    assert statuses(s) == ["paused", "paused"]
    assert s.offers(done) == []


def test_a_trial_without_a_checkpoint_cannot_wait_at_a_rung(study):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.handle(TrialDecided(at=s.at, number=0, decision="pause", reason="later", by="person"))
    assert s.offers(s.end(0, "failed", "signal 9", failure=FailureKind.LOST)) == [0]


@pytest.mark.parametrize("verdict", [FINISH, Verdict(action="stop", reason="weak")])
def test_a_pause_comes_too_late_for_a_trial_that_was_told_to_end(study, verdict):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.rule.verdicts[0, 27] = verdict
    s.report(0, 27, acc=0.9)
    assert s.handle(TrialDecided(at=s.at, number=0, decision="pause", reason="later", by="person")) == []
    s.end(0, "stopped")
    assert s.state.trials[0].status is (TrialStatus.COMPLETED if verdict.finished else TrialStatus.STOPPED)


def test_a_trial_that_had_finished_is_not_lost_by_a_kill(study):
    s = study(trials=1)
    s.propose(1)
    s.assign(0)
    s.rule.verdicts[0, 27] = FINISH
    s.report(0, 27, acc=0.9)
    (kill,) = s.handle(StudyStopping(at=s.at, now=True, reason="enough"))
    assert isinstance(kill, Kill)
    s.end(0, "cancelled", "killed")
    assert s.state.best is not None and s.state.best.value == 0.9


def test_a_paused_study_still_decides_its_rungs(study):
    """A pause between two epochs is no way past a rung."""
    s = study(trials=3)
    s.propose(1, 2, 3)
    for number in range(3):
        s.assign(number)
    s.report(0, 1, acc=0.1)
    assert Pause(number=0, generation=1, reason="lunch") in s.handle(StudyPaused(at=s.at, reason="lunch"))
    s.rule.verdicts[0, 2], s.rule.verdicts[1, 1] = PAUSE, FINISH
    assert [s.report(0, 2, acc=0.2)[0].reason, s.report(1, 1, acc=0.5)[0].reason] == ["rung 0", FINISH.reason]
    assert s.report(2, 1, acc=0.3)[0].reason == "lunch"
    s.end(0, "paused")
    s.end(1, "stopped")
    s.end(2, "paused")
    done = s.handle(StudyResumed(at=s.at, reason="back"))
    assert s.offers(done) == [2]
    assert statuses(s) == ["paused", "completed", "queued"]


@pytest.mark.parametrize("uses_history", [True, False])
def test_duplicates_that_wait_for_a_paused_trial_do_not_end_the_asking(study, uses_history):
    """Nothing runs, and what is queued waits for a trial that waits for others at its rung."""
    s = study(trials=300, duplicates="reuse", uses_history=uses_history)
    (ask,) = s.wish(room=20)
    s.answer(*[5] * ask.n)
    s.assign(0)
    s.rule.verdicts[0, 1] = PAUSE
    s.report(0, 1, acc=0.1)
    s.end(0, "paused")
    assert s.state.startable == 0 and len(s.state.twins[0]) == ask.n - 1
    assert any(isinstance(i, Ask) for i in s.wish(room=2))


def test_trials_of_a_space_that_is_no_more_are_taken_back(study):
    s = study(trials=4)
    s.propose(1, 700, 800, 900)
    for number in (0, 1, 3):
        s.assign(number)
    s.report(1, 1, acc=0.5)
    s.end(3, value=1.0)
    narrower = replace(s.spec, space=Space(x=Int(0, 500)).to_json())
    s.handle(StudyEdited(at=s.at, spec=narrower.to_json(), reason="its file changed"))
    s.handle(HeadOpened(at=s.at, fence=2, host="here", pid=2))
    assert statuses(s) == ["queued", "stopped", "cancelled", "completed"]
    assert "the space has changed" in s.state.trials[2].reason
    assert s.state.budget_left == 1  # the trial that never ran cost nothing


def test_an_end_from_outside_takes_the_offers_back(study):
    s = study(trials=3)
    s.propose(1, 2)
    done = s.handle(StudyEnded(at=s.at, state="failed", reason="the code cannot be imported"))
    assert done == [Withdraw(number=0), Withdraw(number=1)]
    assert s.offers(s.handle(StudyResumed(at=s.at, reason="run again"))) == [0, 1]


def test_an_enqueued_configuration_takes_the_place_of_the_last_proposal(study):
    s = study(trials=3, uses_history=False)
    s.wish(room=1)
    s.answer(1, 2, 3)
    s.assign(0)
    s.handle(Enqueued(at=s.at, config={"x": 7}, key="mine"))
    done = s.wish(room=0)
    assert s.offers(done) == [3, 1]
    assert statuses(s) == ["running", "queued", "cancelled", "queued"]
    assert s.state.trials[2].reason == "made room for a configuration that a person enqueued"
    assert s.state.budget_left == 0


def test_an_enqueued_configuration_that_does_not_fit_the_space_any_more(study):
    s = study(trials=3)
    s.handle(Enqueued(at=s.at, config={"x": 999}, key="mine"))
    narrower = replace(s.spec, space=Space(x=Int(0, 500)).to_json())
    s.handle(StudyEdited(at=s.at, spec=narrower.to_json(), reason="its file changed"))
    s.wish(room=1)
    assert statuses(s) == ["cancelled"] and s.state.budget_left == 3
    assert s.state.pending_ask is not None
