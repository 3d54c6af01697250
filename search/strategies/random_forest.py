"""Random forest: extremely randomised trees predict the loss, expected improvement picks the trial.

Sources: Hutter, Hoos and Leyton-Brown 2011, "Sequential Model-Based Optimization for General Algorithm Configuration"
(SMAC), sections 4.1 to 4.3; Geurts, Ernst and Wehenkel 2006, "Extremely Randomized Trees". Deviations from SMAC: trees
of random splits over all trials instead of bootstrapped best splits (smoother between trials, and a fit takes a tenth);
the deviation is that between the trees with a floor; 12 random trials before the model instead of a quarter of the
budget; losses are half ranks; one trial in twenty is random instead of every second. Several objectives are learned one
by one (`several_objectives.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...spaces import Space
from ..spec import Objective, OutcomeConstraint
from .costs import Costs
from .cube import UnitCube
from .model_based import Belief, ModelSearch
from .options import check_fields
from .several_objectives import EachForest

FLOOR = 0.1
"""Least standard deviation of a prediction, in units of the spread of the losses: trees agree exactly on a trial that
all have seen, and noise would then look like an improvement."""

GAP = 0.2
"""Distances to a constraint's bound are moved apart by so much on each side of it, in units of their spread: twice the
floor. Otherwise a place just outside looks as if it might be inside, however often it has been tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomForestOptions:
    """The forest and how it is used."""

    n_startup_trials: int = field(default=12, metadata={"low": 2, "help": "random trials before the model"})
    n_trees: int = field(default=60, metadata={"low": 2, "high": 1000, "help": "trees of the forest"})
    random_share: float = field(
        default=0.05, metadata={"low": 0, "high": 1, "help": "share of later trials that are random"}
    )
    cost_aware: bool = field(
        default=False, metadata={"help": "expected improvement per expected second of training"}
    )
    cost_horizon: int = field(
        default=60, metadata={"low": 1, "help": "results after which cost no longer counts: the study's trials"}
    )

    def __post_init__(self) -> None:
        check_fields(self, "random_forest")


class Forest:
    """Extremely randomised trees over a cube.

    Args:
        gap: what is learned is moved away from 0 by so much: of distances to a bound, which lies at 0.
    """

    rank_share = 0.5

    def __init__(self, cube: UnitCube, n_trees: int, gap: float = 0.0) -> None:
        self._cube = cube
        self._n_trees = n_trees
        self._gap = gap

    def fit(self, rows: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> Belief:
        from sklearn.ensemble import ExtraTreesRegressor

        forest = ExtraTreesRegressor(
            n_estimators=self._n_trees, min_samples_split=3, random_state=int(rng.integers(2**31))
        )
        forest.fit(self._cube.forest_features(rows), losses + np.where(losses > 0, self._gap, -self._gap))
        return ForestBelief(self._cube, forest, rows, losses)

    def extended(self, belief: Belief, rows: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> Belief:
        assert isinstance(belief, ForestBelief)
        return self.fit(np.vstack([belief.rows, rows]), np.concatenate([belief.losses, losses]), rng)


class ForestBelief:
    """A fitted forest and the trials it has seen."""

    def __init__(self, cube: UnitCube, forest: Any, rows: np.ndarray, losses: np.ndarray) -> None:
        self.rows, self.losses = rows, losses
        self._cube = cube
        self._trees = [tree.tree_ for tree in forest.estimators_]
        self.best = float(self.mean(rows).min())

    def mean(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self._predictions(rows).mean(axis=0))

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        predictions = self._predictions(rows)
        return predictions.mean(axis=0), np.sqrt(predictions.var(axis=0) + FLOOR**2)

    def _predictions(self, rows: np.ndarray) -> np.ndarray:
        """Shape (trees, rows). Past scikit-learn's checks of every call, which would take most of an ask."""
        features = self._cube.forest_features(rows).astype(np.float32)
        return np.array([tree.predict(features)[:, 0] for tree in self._trees])


def random_forest(
    space: Space,
    objectives: Sequence[Objective],
    options: RandomForestOptions,
    seed: int,
    constraints: Sequence[OutcomeConstraint] = (),
) -> ModelSearch:
    """The strategy."""
    cube = UnitCube(space)
    return ModelSearch(
        "forest",
        space,
        objectives,
        Forest(cube, options.n_trees),
        cube,
        startup=options.n_startup_trials,
        random_share=options.random_share,
        seed=seed,
        constraints=constraints,
        each=EachForest(cube, options.n_trees, FLOOR),
        bounds=Forest(cube, options.n_trees, GAP),
        costs=Costs(options.cost_horizon) if options.cost_aware else None,
    )
