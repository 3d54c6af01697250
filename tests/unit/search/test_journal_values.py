"""The plain values that a journal is made of, and what is read out of them."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.errors import JournalError, NotFound, SpecError
from shoal.search import snapshot
from shoal.search.codec import KINDS, decode, encode
from shoal.search.editing import edit
from shoal.search.events import StudyEdited, TrialReported
from shoal.search.journal.filesystem import refuse_network_file_system
from shoal.search.journal.memory import MemoryJournal
from shoal.search.numbers import decode_number, encode_number
from shoal.search.replay import catch_up, read_study, save_snapshot
from shoal.search.seeds import ask_seed, suggest_seed, trial_seed
from shoal.search.spec import Budget, Objective
from shoal.search.story import story
from shoal.search.transitions import TABLE, Cause, TrialStatus, diagram, follow


def test_seeds_never_change():
    """They are part of every journal: a resumed study must derive the same."""
    assert trial_seed(0, 0) == 8986335568462882095
    assert trial_seed(2**62, 123) == 5804363901232128532
    assert ask_seed(0, 0) == 4876077625086284804
    assert suggest_seed(0, 0, "lr") == 3329511354657775149


@pytest.mark.parametrize("value", [0.1 + 0.2, -0.0, 1e308, 5e-324, math.inf, -math.inf, math.nan, None])
def test_numbers_survive_json(value):
    body = json.loads(json.dumps(encode_number(value), allow_nan=False))
    back = decode_number(body)
    assert back == value or (math.isnan(back) and math.isnan(value))


@pytest.mark.parametrize("body", [True, "1", [1], {}, "NaN"])
def test_what_is_no_number(body):
    assert decode_number(body) is None


def test_integers_beyond_floats_are_infinite():
    assert decode_number(-(10**400)) == -math.inf


def test_every_kind_of_event_has_a_name():
    assert {"StudyCreated", "TrialReported", "TrialEnded", "CommandDone", "Event"} <= set(KINDS)


def test_an_unknown_kind_is_newer_than_the_program():
    with pytest.raises(JournalError, match=r"'TrialMoved'.*newer") as caught:
        decode("TrialMoved", 1.0, "{}")
    assert caught.value.remedy == "Upgrade shoal."


@pytest.mark.parametrize("body", ["{", "[]", '{"number": 1}', '{"bogus": 1}', "null"])
def test_a_body_that_does_not_fit_is_reported(body):
    with pytest.raises(JournalError, match="cannot be read"):
        decode("TrialReported", 1.0, body)


def test_stored_text_is_never_executed():
    """T80: whatever a body holds stays a value."""
    evil = {"__reduce__": ["os.system", "touch /tmp/pwned"], "py/object": "os.system"}
    event = TrialReported(at=0.0, number=0, generation=1, step=1, metrics=evil, can_pause=False)
    assert decode("TrialReported", 0.0, encode(event)[1]) == event


def test_the_table_of_transitions_is_all_there_is():
    for status in TrialStatus:
        for cause in Cause:
            if (status, cause) in TABLE:
                assert follow(status, cause) is TABLE[status, cause]
            else:
                with pytest.raises(JournalError, match=f"trial 7 is {status} and cannot be {cause}"):
                    follow(status, cause, "trial 7")
    back = {cause for status, cause in TABLE if status.is_terminal}
    assert back == {Cause.REOPENED, Cause.REQUEUED}  # the study goes on after its end
    assert len(diagram().splitlines()) == len(TABLE)


def test_what_an_edit_may_change(study):
    spec = study().spec
    larger = replace(spec, budget=Budget(trials=50), code="abc", priority=3)
    assert edit(spec, larger) is larger


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objectives": (Objective(metric="acc", direction="minimize"),)}, "objective maximize acc .* minimize acc"),
        ({"objectives": (Objective(metric="loss", direction="maximize"),)}, "objective maximize acc .* maximize loss"),
        ({"seed": 5}, "seed 0 .* 5"),
        ({"value_from": "best"}, "value last .* best"),
        ({"space": None}, "define by run"),
    ],
)
def test_what_an_edit_may_not_change(study, changes, message):
    """T76: a reopened study keeps its direction; another one is an error."""
    spec = study().spec
    with pytest.raises(SpecError, match=message):
        edit(spec, replace(spec, **changes))


def test_a_wider_space_keeps_the_old_trials(study):
    """T09: trials that fit the new version of the space are told to the strategy, the others are kept untold."""
    from shoal.spaces import Int, Space

    s = study(trials=3)
    s.propose(5, 900)
    for number in range(2):
        s.assign(number)
        s.end(number, value=float(number))
    changed = replace(s.spec, space=Space(x=Int(0, 500)).to_json(), budget=Budget(trials=4))
    s.handle(StudyEdited(at=s.at, spec=changed.to_json(), reason="its file changed"))
    (ask,) = s.wish(room=0)
    assert [result.number for result in ask.results] == [0]
    assert s.state.trials[1].config == {"x": 900} and s.state.best.number == 1


def test_the_story_of_a_trial(study):
    s = study(trials=1)
    s.propose(5)
    s.assign(0)
    s.report(0, 1, acc=0.512345678, loss="nan")
    s.end(0, run_s=2.0)
    texts = [text for _, text in story(s.events, 0)]
    assert texts == [
        "proposed (ask 0): {'x': 5}: a try",
        "started (generation 1) on here, 1 worker, GPU 0: room for it",
        "epoch 1: acc 0.512346, loss nan",
        "completed after 2.0 s: returned",
    ]
    assert story(s.events, 7) == []


def test_a_study_opens_from_its_journal_with_and_without_a_snapshot(study):
    s = study(trials=2)
    s.propose(5, 6)
    s.assign(0)
    s.report(0, 1, acc=0.5)
    journal = MemoryJournal()
    journal.append("digits", s.events)
    journal.commit()
    whole = read_study(journal, "digits")
    assert snapshot.to_json(whole) == snapshot.to_json(s.state)
    save_snapshot(whole, journal)
    s.report(0, 2, acc=0.6)
    journal.append("digits", s.events[-1:])
    journal.commit()
    assert catch_up(whole, journal) == 1
    opened = read_study(journal, "digits")
    assert snapshot.to_json(opened) == snapshot.to_json(whole) == snapshot.to_json(s.state)
    assert opened.last_seq == len(s.events)


def test_a_snapshot_of_another_format_is_not_used(study):
    s = study(trials=2)
    journal = MemoryJournal()
    journal.append("digits", s.events)
    journal.commit()
    journal.save_snapshot("digits", 2, {"format": -1})
    assert read_study(journal, "digits").last_seq == len(s.events)


def test_no_such_study():
    with pytest.raises(NotFound, match="no study 'digits'"):
        read_study(MemoryJournal(), "digits")


def test_a_journal_without_its_beginning():
    journal = MemoryJournal()
    journal.append("digits", [TrialReported(at=0.0, number=0, generation=1, step=1, metrics={}, can_pause=False)])
    journal.commit()
    with pytest.raises(JournalError, match="begins with TrialReported"):
        read_study(journal, "digits")


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/me/local\\040disk rw - xfs /dev/sdb1 rw
"""


def test_network_file_systems_are_refused():
    refuse_network_file_system(Path("/data/journal.db"), MOUNTS)
    refuse_network_file_system(Path("/home/me/local disk/journal.db"), MOUNTS)
    with pytest.raises(JournalError, match=r"network file system \(nfs4\)") as caught:
        refuse_network_file_system(Path("/home/me/.shoal/journal.db"), MOUNTS)
    assert "--data" in caught.value.remedy
