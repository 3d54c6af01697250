"""What a trial takes over that starts from another's checkpoint, and what it keeps of its own.

Population-based training copies weights and changes hyperparameters (Jaderberg et al. 2017, section 3). An optimizer's
`state_dict` holds both: its moments are the donor's, its learning rate and the other settings of its groups are this
trial's own, as the training function built them from `trial.config`. A learning-rate schedule goes on where the donor
was: the rate is the own one times what the schedule had made of the donor's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import TrialError
from .checkpoints import Checkpoint, CheckpointFolder


def inherited(folder: CheckpointFolder) -> Checkpoint:
    """The last checkpoint of the trial to start from.

    Raises:
        TrialError: there is none, or none that can be read.
    """
    checkpoint, damage = folder.newest()
    if checkpoint is None:
        parent = folder.path.parent.name.lstrip("0") or "0"
        why = "; ".join(damage) or "it saved none"
        raise TrialError(
            f"it is to start from the state of trial {parent}, which has none: {why}.",
            "Give models and optimizers to trial.prepare(...), other objects to trial.register(...) or "
            "trial.save(...), and loop over trial.epochs(...).",
        )
    return checkpoint


@contextmanager
def keeping_settings(obj: Any) -> Iterator[None]:
    """While `obj` loads another trial's state: afterwards its settings are its own again."""
    groups = [_settings(group) for group in getattr(obj, "param_groups", ())]
    base_rates = list(obj.base_lrs) if hasattr(obj, "base_lrs") else None
    yield
    for group, own in zip(getattr(obj, "param_groups", ()), groups, strict=False):
        donor_rate, donor_base = group.get("lr"), group.get("initial_lr")
        group.update(own)
        if donor_base and own.get("initial_lr") is not None:
            group["lr"] = own["initial_lr"] * (donor_rate / donor_base)
    if base_rates is not None:
        obj.base_lrs = base_rates
        obj._last_lr = [group["lr"] for group in obj.optimizer.param_groups]


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    """All of an optimizer's group but its parameters."""
    return {name: value for name, value in group.items() if name != "params"}
