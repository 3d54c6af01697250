"""A Gaussian process over the rows of a cube: Matérn 5/2 in a weighted distance, fitted by maximum a posteriori.

The squared distance is the sum over columns of weight times squared difference; of categories the difference is 0 or 1.
Inactive numbers are imputed at 1/2 and inactive categories are one more category (Levesque et al. 2017), so a kernel
over the unrolled columns is one over conditional and repeated parameters. Priors: on every weight a log-normal around
`WEIGHT`, which grows thinner with the number of columns (Hvarfner et al. 2024: the expected distance should not grow
with the dimension); on the noise a log-normal around `NOISE`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WEIGHT = 4.0
"""Prior median of the weights in a space of one column, that is a length of 1/2; divided by the columns' number."""
WEIGHT_SPREAD = 1.5
"""Standard deviation of the logarithm of a weight: a factor of twenty either way is within two."""
NOISE, NOISE_SPREAD = 2e-3, 1.5
"""Prior median and log standard deviation of the noise variance; the losses have variance 1."""
JITTER = 1e-6
ITERATIONS = 60
"""Of L-BFGS from the prior; a warm start takes a quarter."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Logarithms: one weight a column, signal variance, noise variance."""

    log_weights: np.ndarray
    log_signal: float
    log_noise: float

    def vector(self) -> np.ndarray:
        return np.concatenate([self.log_weights, [self.log_signal, self.log_noise]])

    @classmethod
    def of(cls, vector: np.ndarray) -> Hyperparameters:
        return cls(vector[:-2], float(vector[-2]), float(vector[-1]))

    @classmethod
    def prior(cls, columns: int) -> Hyperparameters:
        return cls(np.full(columns, np.log(WEIGHT / max(columns, 1))), 0.0, np.log(NOISE))


def squared_gaps(first: np.ndarray, second: np.ndarray, numeric: np.ndarray) -> np.ndarray:
    """Squared differences by column. Shape (columns, n, m)."""
    gaps = first.T[:, :, None] - second.T[:, None, :]
    return np.asarray(np.where(numeric[:, None, None], gaps**2, gaps != 0))


def matern(distance2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matérn 5/2 of squared distances, and its derivative in them."""
    root = np.sqrt(5.0 * distance2)
    decay = np.exp(-root)
    return (1.0 + root + root**2 / 3.0) * decay, -5.0 / 6.0 * (1.0 + root) * decay


def fitted(features: np.ndarray, losses: np.ndarray, numeric: np.ndarray, start: Hyperparameters) -> Hyperparameters:
    """The hyperparameters of the highest posterior density near `start`."""
    from scipy.linalg.lapack import dpotrf, dpotri
    from scipy.optimize import minimize

    n, columns = features.shape
    gaps = squared_gaps(features, features, numeric).reshape(columns, n * n)
    prior = Hyperparameters.prior(columns).vector()
    spreads = np.concatenate([np.full(columns, WEIGHT_SPREAD), [0.5, NOISE_SPREAD]])
    eye = np.eye(n)

    def negative_log_posterior(vector: np.ndarray) -> tuple[float, np.ndarray]:
        weights, signal, noise = np.exp(vector[:-2]), np.exp(vector[-2]), np.exp(vector[-1])
        shape, slope = matern((weights @ gaps).reshape(n, n))
        factor, failed = dpotrf(signal * shape + (noise + JITTER) * eye, lower=1, clean=1)
        if failed:
            return 1e25, np.zeros_like(vector)
        lower, _ = dpotri(factor, lower=1)
        inverse = np.tril(lower) + np.tril(lower, -1).T
        solved = inverse @ losses
        value = 0.5 * losses @ solved + np.log(np.diag(factor)).sum()
        inner = np.outer(solved, solved) - inverse  # d value / d K = -inner / 2
        gradient = np.empty_like(vector)
        gradient[:-2] = -0.5 * signal * (gaps @ (inner * slope).ravel()) * weights
        gradient[-2] = -0.5 * signal * np.sum(inner * shape)
        gradient[-1] = -0.5 * noise * np.trace(inner)
        away = (vector - prior) / spreads
        return float(value + 0.5 * away @ away), gradient + away / spreads

    found = minimize(
        negative_log_posterior,
        start.vector(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-12.0, 8.0)] * columns + [(-3.0, 3.0), (-14.0, 1.0)],
        options={"maxiter": ITERATIONS},
    )
    return Hyperparameters.of(found.x)


class Posterior:
    """The process, conditioned on trials.

    Args:
        features: shape (trials, columns), as `UnitCube.gp_features`.
        losses: standardised.
        numeric: which columns are numbers.

    Attributes:
        best: the lowest expected loss of the trials.
    """

    def __init__(
        self, features: np.ndarray, losses: np.ndarray, numeric: np.ndarray, hyperparameters: Hyperparameters
    ) -> None:
        from scipy.linalg import solve_triangular

        self.features, self.losses = features, losses
        self.hyperparameters = hyperparameters
        self._numeric = numeric
        self._signal = float(np.exp(hyperparameters.log_signal))
        noise = float(np.exp(hyperparameters.log_noise)) + JITTER
        covariance = self._covariance(features) + noise * np.eye(len(features))
        lower = np.linalg.cholesky(covariance)
        # the inverse factor turns every later solve into a product, four times as fast for many rows
        self._whitener = solve_triangular(lower, np.eye(len(features)), lower=True)
        self._solved = self._whitener.T @ (self._whitener @ losses)
        self.best = float(self.mean(features).min())

    def mean(self, features: np.ndarray) -> np.ndarray:
        """Expected losses."""
        return np.asarray(self._covariance(features) @ self._solved)

    def moments(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the noiseless losses."""
        covariance = self._covariance(features)
        explained = np.sum((covariance @ self._whitener.T) ** 2, axis=1)
        return covariance @ self._solved, np.sqrt(np.maximum(self._signal - explained, 1e-8))

    def _covariance(self, features: np.ndarray) -> np.ndarray:
        """Shape (rows, trials); by the columns' products, since a cube of differences would be large."""
        weights = np.exp(self.hyperparameters.log_weights)
        numbers = self._numeric
        scaled = features[:, numbers] * np.sqrt(weights[numbers])
        trials = self.features[:, numbers] * np.sqrt(weights[numbers])
        distance2 = (scaled**2).sum(1)[:, None] + (trials**2).sum(1)[None, :] - 2.0 * scaled @ trials.T
        distance2 = np.maximum(distance2, 0.0)
        for column in np.flatnonzero(~numbers):
            distance2 += weights[column] * (features[:, column, None] != self.features[None, :, column])
        return self._signal * matern(distance2)[0]
