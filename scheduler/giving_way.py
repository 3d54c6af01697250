"""Who gives way so that a trial finds a place: the fewest trials on one node.

Grown trials shrink first, others are paused second. They are trials of studies beyond their share, or such that find
another place at once, which is a migration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice

from .dispatch import model_of
from .elastic_state import StudyEntry, TrialState
from .node_space import NodeSpace
from .placement import Cluster
from .within_study import Devices

LOOKED_AT = 9
"""The nodes on which room may be made: the trial's own, and those that have most of it already."""

Plan = dict[int, tuple[StudyEntry, TrialState, int]]
"""By order of arrival: whose trial gives way, and the workers that it is left with; 0: it pauses."""


@dataclass(slots=True)
class Tenants:
    """Trials of others on one node alone that can give way, and devices there that are on their way back."""

    trials: list[tuple[StudyEntry, TrialState]] = field(default_factory=list)
    returning: Devices = 0


def cheapest_plan(
    cluster: Cluster, studies: Mapping[str, StudyEntry], study: StudyEntry, trial: TrialState, workers: int
) -> tuple[str, Plan]:
    """The node on which the fewest have to give way for `trial` of `study` to have `workers` workers, and they.

    The node's name is empty if there is none, or nobody has to: shares of a GPU, and what is larger than a node, find
    room wherever a device is free.
    """
    best: tuple[str, Plan] = ("", {})
    if trial.unit != int(trial.unit) or workers > cluster.largest_room(trial.offer.request):
        return best
    own = {slot.node for slot in trial.slots}
    near = [cluster.nodes[name] for name in own if len(own) == 1 and name in cluster.nodes]
    request, bound_to = trial.offer.request, model_of(cluster, trial)
    usable = (node for node in chain(near, cluster.emptiest()) if cluster.may_serve(node, request, bound_to))
    nodes = {node.name: node for node in islice(usable, LOOKED_AT)}
    tenants = _tenants(studies, study, nodes)
    for node in nodes.values():
        more = workers - trial.k if node.name in own else workers
        plan = _plan(cluster, node, trial, more, tenants[node.name])
        if plan and (not best[0] or len(plan) < len(best[1])):
            best = (node.name, plan)
    return best


def _tenants(
    studies: Mapping[str, StudyEntry], study: StudyEntry, nodes: Collection[str]
) -> dict[str, Tenants]:
    found = {name: Tenants() for name in nodes}
    for other in studies.values():
        for trial in other.trials.values():
            node = trial.slots[0].node if trial.slots else ""
            if node not in found:
                continue
            found[node].returning += trial.returning
            gives_way = trial.status == "running" and trial.offer.can_pause and not trial.at_rung
            if other is not study and gives_way and len({slot.node for slot in trial.slots}) == 1:
                found[node].trials.append((other, trial))
    return found


def _plan(cluster: Cluster, node: NodeSpace, trial: TrialState, more: int, there: Tenants) -> Plan:
    """Who gives way until the node has devices for `more` workers of the trial; empty if that cannot be, or if these
    would lack processors or memory all the same."""
    missing = more * trial.unit - cluster.free_on(node) - there.returning
    elsewhere: Devices = cluster.free - cluster.free_on(node)
    others = {other.name: other for other, _ in there.trials}
    beyond = {name: other.keeps() - other.share for name, other in others.items()}
    line = sorted(there.trials, key=lambda pair: (-beyond[pair[0].name], -pair[1].k, pair[1].arrival))
    shrinks = [(other, t, t.k // 2) for other, t in line if not t.rigid and t.k // 2 >= t.offer.request.k_min]
    plan: Plan = {}
    for other, victim, left in (*shrinks, *((other, t, 0) for other, t in line)):
        if missing <= 0:
            break
        request = victim.offer.request
        now = plan[victim.arrival][2] if victim.arrival in plan else victim.k
        given: Devices = Fraction(now - left) * victim.unit
        if given <= beyond[other.name]:
            beyond[other.name] -= given
        elif (
            left == 0
            and victim.arrival not in plan
            and given <= elsewhere
            and cluster.fits(request, request.k_min, model_of(cluster, victim), (node.name,))
        ):
            elsewhere -= given
        else:
            continue
        missing -= given
        plan[victim.arrival] = (other, victim, left)
    wanted = trial.offer.request
    cpus, memory = node.free_cpus - more * wanted.cpus, node.free_memory - Fraction(more * (wanted.memory_gib or 0))
    for _, victim, left in plan.values():
        cpus += (victim.k - left) * victim.offer.request.cpus
        memory += Fraction((victim.k - left) * (victim.offer.request.memory_gib or 0))
    return plan if missing <= 0 and cpus >= 0 and memory >= 0 else {}
