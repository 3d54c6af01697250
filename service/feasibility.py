"""Refusing architectures that fit no device of the pool, before anything is launched.

The prediction builds a network on the meta device, which takes torch and up to half a second: it is done where
strategies live, never in the head.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..search.strategies.port import Proposal
from ..spaces import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """The largest device of the pool: its memory, and whether it is a GPU (which needs a margin)."""

    size_bytes: int
    gpu: bool


def judged(proposals: Iterable[Proposal], device: DeviceMemory | None) -> list[Proposal]:
    """The proposals, those that cannot be trained on `device` marked with the reason; None: nothing is known."""
    return [replace(proposal, infeasible=_why(proposal.config, device)) for proposal in proposals]


def _why(config: Configuration | None, device: DeviceMemory | None) -> str:
    if config is None or device is None:
        return ""
    from ..spaces.cost import why_infeasible

    return why_infeasible(config, device_bytes=device.size_bytes, gpu=device.gpu) or ""
