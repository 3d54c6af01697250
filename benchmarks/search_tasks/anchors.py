"""What existing tools reached on these tasks, recorded once: the rows to beat."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .data import folder

Block = tuple[str, int]
"""(task, seed): what is compared."""

Regrets = Mapping[int, float]
"""Number of trials → regret of the incumbent."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """Regrets by method and block."""

    regrets: Mapping[str, Mapping[Block, Regrets]]

    def compared(
        self, method: str, ours: Mapping[Block, Regrets], trials: int, tasks: Sequence[str]
    ) -> dict[str, float | int] | None:
        """How we do against a method at `trials` trials on `tasks`: wins, blocks, p. None without a common block.

        A win counts 1, a tie 1/2. `p` is of Wilcoxon's signed-rank test on log(regret + 0.001), two-sided.
        """
        from scipy.stats import wilcoxon

        theirs = self.regrets[method]
        blocks = [block for block in ours if block in theirs and block[0] in tasks]
        if not blocks:
            return None
        a = np.array([ours[block][trials] for block in blocks])
        b = np.array([theirs[block][trials] for block in blocks])
        gaps = np.log(a + 1e-3) - np.log(b + 1e-3)
        wins = float(np.mean((a < b) + 0.5 * (a == b)))
        p = float(wilcoxon(gaps).pvalue) if np.any(gaps) else 1.0
        return {
            "wins": round(wins, 3),
            "p": float(f"{p:.2g}"),
            "blocks": len(blocks),
            "mean": round(float(b.mean()), 4),
        }


def anchors() -> Anchors:
    """The recorded runs of 100 trials: Optuna (TPE, GP, CMA-ES, random), SMAC3 and regularized evolution."""
    regrets: dict[str, dict[Block, Regrets]] = {}
    with (folder() / "anchors" / "single_fidelity.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            block = row["task"], int(row["seed"])
            at = {trials: float(row[f"regret_{trials}"]) for trials in (25, 50, 100)}
            regrets.setdefault(row["method"], {})[block] = at
    return Anchors(regrets)
