"""How a study uses the devices it has: who runs, and on how many workers. One greedy heap.

Admit first, grow afterwards. Every candidate that is certain to be useful (or new) enters at its smallest size,
those with most rungs behind them first; promotions that are not certain wait, except for a few scouts. What is
left over doubles the trial for which the next worker adds most, weighted by its P(useful) and by how long its way
to the top is compared with the longest: marginal-gain allocation as in Optimus (Peng et al. 2018, section 4.1),
with the weights of promising trials as in HyperSched (Liaw et al. 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush

from . import gpu_budget
from .elastic_state import ElasticTuning, StudyEntry, TrialKey, TrialState

Devices = Fraction | int


SPARE = 1e-3
"""Weight of a trial that may only have what nobody else wants: below any growth that is worth its cost."""

SCOUT = 1e3
"""Key of a scout: before everybody else; scouts are few by construction."""


@dataclass(slots=True)
class Candidate:
    """A trial that could run now, as the heap sees it.

    `kept` trials stay at their present size whatever the budget says: they cannot pause, a change is under way, or
    they are larger than the study's whole share and only just had their turn.
    `sure`: nobody is likely to displace it. `scout`: it runs ahead of its certainty. `spare`: it only gets devices
    that nobody else has a use for.
    """

    trial: TrialState
    useful: float
    rung: int
    sure: bool
    scout: bool
    spare: bool
    kept: bool
    to_next: float
    to_top_s: float


def candidates(
    study: StudyEntry, *, at: float, capacity: int, budget: Devices, tuning: ElasticTuning
) -> list[Candidate]:
    """Everybody in the study who could use devices now.

    Args:
        at: now, in seconds.
        capacity: devices of the whole pool; new trials beyond it are not looked at.
        budget: devices of the study, which bound its scouts.
    """
    found: list[Candidate] = []
    doubtful: list[tuple[Candidate, bool]] = []
    new = 0
    study.spent = gpu_budget.is_spent(study, at)
    last = gpu_budget.finisher(study) if study.spent else None
    for trial in study.trials.values():
        if trial.status in ("pausing", "stricken") or (study.spent and not gpu_budget.may_run(trial, last=last)):
            continue
        number = trial.offer.number
        rungs = study.rungs(trial)
        waiting = trial.status == "waiting"
        reached = rungs.rung_of(number) if rungs is not None else trial.offer.rung - 1
        useful, sure, undecided = 1.0, True, False
        if rungs is not None and reached >= 0:
            useful = rungs.useful(number)
            stays = trial.at_rung and not trial.offer.can_pause
            if useful <= 0.0 and not stays and (trial.at_rung or trial.offer.can_pause or waiting):
                continue
            if stays and not rungs.is_on_top(number):
                continue
            undecided = trial.offer.can_pause and rungs.waits_for_promotion(number)
            sure = (1.0 - useful) * rungs.epochs_to_next(number) <= tuning.risked_epochs
        if waiting and reached < 0:
            if new * trial.unit > capacity and not trial.epochs_done:
                continue  # who was displaced is looked at, wherever it stands in the line
            new += 1
        to_next, to_top = study.epochs_ahead(trial, at)
        status = trial.status
        over = trial.k * trial.unit > study.share and trial.k == trial.offer.request.k_min
        just_begun = over and at - trial.started_at < tuning.starved_s
        fixed = status in ("starting", "resizing") or (
            status == "running" and (just_begun or not trial.offer.can_pause)
        )
        candidate = Candidate(
            trial=trial,
            useful=useful,
            rung=reached + 1,
            sure=sure,
            scout=False,
            spare=trial.spare and not sure,
            kept=fixed and not (trial.at_rung and trial.offer.can_pause),
            to_next=to_next,
            to_top_s=to_top * trial.speed.epoch_s(1),
        )
        if sure or not undecided:
            found.append(candidate)
        if not sure and rungs is not None and useful >= tuning.speculate:
            doubtful.append((candidate, undecided))
    doubtful.sort(key=lambda d: (-d[0].rung, not d[0].trial.holds, -d[0].useful, d[0].trial.arrival))
    scouts = int(budget * tuning.scout_share + 0.5) if new else 0
    for candidate, undecided in doubtful:
        rungs = study.rungs(candidate.trial)
        below_last = (
            rungs is not None and candidate.rung < rungs.top and len(rungs.results[rungs.top - 1]) < tuning.scout_until
        )
        if scouts and below_last and candidate.useful >= tuning.scout_useful:
            candidate.scout, candidate.spare = True, False
            scouts -= 1
        if undecided and tuning.risked_epochs:
            candidate.spare = not candidate.scout
            found.append(candidate)
    return found


def allocate(
    found: Sequence[Candidate], *, budget: Devices, at: float, cost_s: float, tuning: ElasticTuning
) -> dict[TrialKey, int]:
    """Workers for every candidate that gets any.

    Args:
        found: what `candidates` returned.
        budget: devices to hand out; kept trials are paid from it first and never taken down, then those that were
            resized a short while ago, as far as it goes.
        at: now, in seconds.
        cost_s: what a resize costs, in seconds of standing still.
    """
    workers: dict[TrialKey, int] = {}
    left = budget
    cooldown_s = tuning.cooldown_costs * cost_s
    heap: list[tuple[float, int, int, Candidate]] = []
    for candidate in found:
        if candidate.kept:
            workers[candidate.trial.key] = candidate.trial.k
            left -= candidate.trial.k * candidate.trial.unit
    for candidate in found:
        trial = candidate.trial
        if candidate.kept:
            continue
        if _is_cooling(candidate, at, cooldown_s) and trial.k * trial.unit <= left:
            workers[trial.key] = trial.k
            left -= trial.k * trial.unit
        else:
            heap.append((-admission_key(candidate, tuning), trial.arrival, 0, candidate))
    heapify(heap)
    longest = max((c.to_top_s for c in found), default=1.0)
    while heap:
        _, arrival, k, candidate = heappop(heap)
        trial = candidate.trial
        step = _first_size(candidate, at, cooldown_s) if k == 0 else k
        if step * trial.unit > left:
            shrinks = not _is_rigid(trial) and not (trial.at_rung and at - trial.changed_at < cooldown_s)
            if k == 0 and step > trial.offer.request.k_min and shrinks:
                step = trial.offer.request.k_min
            if step * trial.unit > left:
                continue
        k += step
        workers[trial.key] = k
        left -= step * trial.unit
        if left > 0 and _may_grow(candidate, k, at, cost_s, cooldown_s, tuning):
            way = candidate.to_top_s / trial.speed.speedup(k) / longest
            weight = candidate.useful * SPARE if candidate.spare else candidate.useful
            key = weight * trial.speed.gain(k) * way**tuning.urgency
            heappush(heap, (-key, arrival, k, candidate))
    for candidate in found:  # a shrink so close to the next rung that it does not repay is left out
        trial = candidate.trial
        k = workers.get(trial.key, 0)
        if trial.status == "running" and not trial.at_rung and 0 < k < trial.k:
            soon = candidate.to_next * trial.speed.epoch_s(trial.k) < tuning.payback * cost_s
            extra = (trial.k - k) * trial.unit
            if soon and extra <= left:
                workers[trial.key] = trial.k
                left -= extra
    return workers


def _is_cooling(candidate: Candidate, at: float, cooldown_s: float) -> bool:
    """The trial was resized a short while ago and keeps its size, unless others have a claim to it."""
    trial = candidate.trial
    return trial.status == "running" and not candidate.spare and at - trial.changed_at < cooldown_s


def admission_key(candidate: Candidate, tuning: ElasticTuning) -> float:
    """The order in which trials enter: scouts, certain ones by depth, new ones, doubtful ones, spare ones."""
    key = candidate.useful
    if candidate.spare:
        return key * SPARE
    if candidate.scout:
        key = SCOUT + candidate.rung
    elif candidate.sure:
        key *= 1.0 + tuning.depth * candidate.rung
    if candidate.trial.status == "running" and not candidate.trial.at_rung:
        key *= 1.0 + tuning.stickiness
    return key


def _first_size(candidate: Candidate, at: float, cooldown_s: float) -> int:
    """A trial enters at its smallest size; one that was changed a short while ago at the size it has."""
    trial = candidate.trial
    if trial.k and (trial.rigid or at - trial.changed_at < cooldown_s):
        return trial.k
    return trial.offer.request.k_min


def _is_rigid(trial: TrialState) -> bool:
    """Does the trial run on a number of workers that cannot change?"""
    return trial.rigid and trial.k > 0


def _may_grow(candidate: Candidate, k: int, at: float, cost_s: float, cooldown_s: float, tuning: ElasticTuning) -> bool:
    trial = candidate.trial
    most = trial.most or trial.speed.k_max
    if 2 * k > most or trial.speed.gain(k) <= tuning.least_gain or not trial.unit:
        return False
    if trial.k == 0 or k < trial.k:
        return True
    if at - trial.changed_at < cooldown_s or not trial.offer.can_pause:
        return False
    left_s = candidate.to_next * trial.speed.epoch_s(k)
    saved_s = left_s * (1.0 - trial.speed.speedup(k) / trial.speed.speedup(2 * k))
    return trial.at_rung or saved_s >= tuning.payback * cost_s
