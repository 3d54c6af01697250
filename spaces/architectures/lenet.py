"""LeNet-5 and its relatives (LeCun et al., Proc. IEEE 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..architecture import Architecture
from ..configuration import Configuration
from ..int_domain import Int
from ..listed_domains import Categorical, Ordinal

if TYPE_CHECKING:
    from torch import nn


class LeNet(Architecture):
    """Two convolutions with pooling, two hidden layers.

    The member `lenet5` has the full connection table between the two convolutions and a plain linear output, as every
    modern implementation; the paper's sparse table and radial basis output are left out.
    """

    input_shape = (1, 32, 32)
    num_classes = 10
    points: ClassVar = {
        "lenet5": {"channels1": 6, "channels2": 16, "kernel": 5, "hidden1": 120, "hidden2": 84, "activation": "tanh"}
    }

    channels1 = Int(2, 64, log=True)
    channels2 = Int(4, 128, log=True)
    kernel = Ordinal([3, 5, 7])
    hidden1 = Int(16, 512, log=True)
    hidden2 = Int(16, 512, log=True)
    activation = Categorical(["tanh", "relu", "gelu"])

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `in_channels` (1) and `image_size` (32) say what it is fed."""
        from torch import nn

        from .layers import activation

        in_channels, image_size = options.get("in_channels", 1), options.get("image_size", 32)
        side = ((image_size - config.kernel + 1) // 2 - config.kernel + 1) // 2
        return nn.Sequential(
            nn.Conv2d(in_channels, config.channels1, config.kernel),
            activation(config.activation),
            nn.AvgPool2d(2),
            nn.Conv2d(config.channels1, config.channels2, config.kernel),
            activation(config.activation),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(config.channels2 * side**2, config.hidden1),
            activation(config.activation),
            nn.Linear(config.hidden1, config.hidden2),
            activation(config.activation),
            nn.Linear(config.hidden2, num_classes),
        )
