"""Expected improvement, by its logarithm: far from the best, where it underflows, it still says which way is better.

Source: Ament et al. 2023, "Unexpected Improvements to Expected Improvement for Bayesian Optimization", section 4.1.
"""

from __future__ import annotations

import numpy as np

_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def log_improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> np.ndarray:
    """log E[max(best - Y, 0)] for Y normal with these means and standard deviations (> 0).

    >>> float(log_improvement(np.array([0.0]), np.array([1.0]), 0.0)[0].round(4))
    -0.9189
    """
    from scipy.special import erfcx, ndtr

    z = (best - mean) / deviation
    near = np.maximum(z, -1.0)
    plain = np.log(np.exp(-0.5 * near**2 - _HALF_LOG_2PI) + near * ndtr(near))
    far = np.minimum(z, -1.0)
    # h(z) = phi(z) (1 - |z| sqrt(pi/2) erfcx(|z| / sqrt 2)), and the bracket is about 1 / z^2 where it cancels
    bracket = np.where(
        far > -1e4, 1.0 + far * np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2.0)), 1.0 / np.maximum(far**2, 1.0)
    )
    tail = -0.5 * far**2 - _HALF_LOG_2PI + np.log(np.maximum(bracket, 1.0 / (far**2 + 3.0) * 0.5))
    return np.asarray(np.where(z > -1.0, plain, tail) + np.log(deviation))


def log_probability_below(mean: np.ndarray, deviation: np.ndarray, level: float) -> np.ndarray:
    """log P(Y <= level) for Y normal with these means and standard deviations (> 0).

    >>> float(log_probability_below(np.array([0.0]), np.array([1.0]), 0.0)[0].round(4))
    -0.6931
    """
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr((level - mean) / deviation))
