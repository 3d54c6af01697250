"""A conditional space of thirty parameters and five rules: no invalid draw, and the draws are the distribution's."""

import numpy as np

from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Ordinal, Repeat, Space, forbid, require


def thirty_parameters() -> Space:
    layer = Space(
        width=Int(16, 256, log=True), op=Categorical(["conv", "separable", "pool"]), skip=Categorical([True, False])
    )
    return Space(
        lr=Float(1e-4, 1e-1, log=True),
        batch_size=Ordinal([32, 64, 128, 256]),
        decay=Float(0, 0.1),
        dropout=Float(0, 0.5, step=0.1),
        warmup=Int(0, 10),
        clip=Float(0.1, 10, log=True),
        label_smoothing=Float(0, 0.2),
        optimizer=Choice(
            sgd=Space(momentum=Float(0, 0.99), nesterov=Categorical([True, False])),
            adam=Space(beta1=Float(0.8, 0.99), beta2=Float(0.9, 0.9999)),
            rmsprop=Space(alpha=Float(0.9, 0.999)),
        ),
        schedule=Choice(cosine=Space(cycles=Int(1, 5)), step=Space(gamma=Float(0.1, 0.9), every=Int(1, 20)), none=None),
        layers=Repeat(layer, 1, 4),
        head=Space(depth=Int(1, 3), width=Int(16, 128)),
        rules=[
            forbid(lambda s: (s.optimizer == "adam") & (s.lr > 0.03)),
            require(lambda s: s.layers.nondecreasing("width")),
            forbid(lambda s: (s.batch_size >= 128) & (s.lr < 3e-4)),
            require(lambda s: s.layers.sum("width") + s.head.width <= 800),
            forbid(lambda s: (s.optimizer.nesterov == True) & (s.optimizer.momentum < 0.1)),  # noqa: E712
        ],
    )  # fmt: skip


def valid(config: Configuration) -> bool:
    """The five rules again, in plain Python."""
    widths = [layer.width for layer in config.layers]
    sgd = config.optimizer == "sgd"
    return (
        not (config.optimizer == "adam" and config.lr > 0.03)
        and widths == sorted(widths)
        and not (config.batch_size >= 128 and config.lr < 3e-4)
        and sum(widths) + config.head.width <= 800
        and not (sgd and config.optimizer.nesterov and config.optimizer.momentum < 0.1)
    )


def test_no_draw_is_invalid() -> None:
    space = thirty_parameters()
    assert len(space.all_decisions()) >= 30 and len(space.rules) == 5
    rng = np.random.default_rng(0)
    assert all(valid(space.sample(rng)) for _ in range(3_000))


def test_rejection_keeps_the_distribution_of_what_is_valid() -> None:
    space = thirty_parameters()
    free = Space(**space.nodes)
    rng = np.random.default_rng(1)
    wanted = [config for config in (free.sample(rng) for _ in range(6_000)) if valid(config)]
    drawn = [space.sample(rng) for _ in range(len(wanted))]
    for read in (
        lambda c: np.log(c.lr),
        lambda c: len(c.layers),
        lambda c: c.layers[0].width,
        lambda c: c.optimizer == "sgd",
    ):
        expected, found = np.array([read(c) for c in wanted]), np.array([read(c) for c in drawn])
        error = 4 * (expected.std() + found.std()) / np.sqrt(len(wanted))
        assert abs(expected.mean() - found.mean()) < error
