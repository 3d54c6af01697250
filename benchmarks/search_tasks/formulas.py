"""Tasks that are formulas: a mixed Ackley function, and two of the BBOB family on a log scale."""

from __future__ import annotations

import numpy as np

from shoal.spaces import Categorical, Configuration, Float, Int, Space

from .tables import reference
from .task import Task


def mixed_ackley() -> Task:
    """Three categories, three integers and four floats, one of them on a log scale."""
    rng = np.random.default_rng(7)
    offsets = [dict(zip("abcd", rng.permutation([0.0, 0.35, 0.6, 1.0]), strict=True)) for _ in range(3)]
    targets = rng.random(7) * 0.8 + 0.1
    space = Space(
        **{f"c{i}": Categorical(list("abcd")) for i in range(3)},
        **{f"i{i}": Int(0, 20) for i in range(3)},
        lr=Float(1e-5, 1.0, log=True),
        **{f"f{i}": Float(0.0, 1.0) for i in range(3)},
    )

    def true(config: Configuration) -> float:
        gaps = [offsets[i][config[f"c{i}"]] for i in range(3)]
        gaps += [2 * abs(config[f"i{i}"] / 20 - round(targets[i] * 20) / 20) for i in range(3)]
        gaps.append(2 * abs(np.log10(config["lr"]) / 5 + 1 - targets[3]))
        gaps += [2 * abs(config[f"f{i}"] - targets[4 + i]) for i in range(3)]
        z = np.array(gaps)
        bowl = -20 * np.exp(-0.2 * np.sqrt(np.mean((3 * z) ** 2)))
        return float(bowl - np.exp(np.mean(np.cos(2 * np.pi * 3 * z))) + 20 + np.e)

    return formula("ackleymix_10d", space, true)


def rosenbrock(dimensions: int) -> Task:
    """log10 of the Rosenbrock function around a hidden place."""
    hidden = np.random.default_rng(dimensions + 1).uniform(-3.0, 3.0, dimensions)

    def true(config: Configuration) -> float:
        z = max(1.0, np.sqrt(dimensions) / 8) * (place(config, dimensions) - hidden) + 1
        return float(np.log10(np.sum(100 * (z[:-1] ** 2 - z[1:]) ** 2 + (z[:-1] - 1) ** 2) + 1e-3))

    return formula(f"rosen_d{dimensions}", box(dimensions), true)


def rastrigin(dimensions: int) -> Task:
    """log10 of the rotated Rastrigin function around a hidden place."""
    hidden = np.random.default_rng(dimensions + 1).uniform(-3.0, 3.0, dimensions)
    rotation, _ = np.linalg.qr(np.random.default_rng(dimensions).normal(size=(dimensions, dimensions)))

    def true(config: Configuration) -> float:
        z = rotation @ (place(config, dimensions) - hidden)
        return float(np.log10(10 * (dimensions - np.sum(np.cos(2 * np.pi * z))) + np.sum(z**2) + 1e-3))

    return formula(f"rastrigin_d{dimensions}", box(dimensions), true)


def box(dimensions: int) -> Space:
    """A cube of floats."""
    return Space(**{f"x{i}": Float(-5.0, 5.0) for i in range(dimensions)})


def place(config: Configuration, dimensions: int) -> np.ndarray:
    """The floats as a vector."""
    return np.array([config[f"x{i}"] for i in range(dimensions)])


def formula(name: str, space: Space, true: object) -> Task:
    """A task without noise."""
    assert callable(true)
    best, median = reference(name)
    return Task(name=name, space=space, noisy=lambda config, rng: true(config), true=true, best=best, median=median)
