"""Multilayer perceptrons."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..architecture import Architecture
from ..configuration import Configuration
from ..float_domain import Float
from ..int_domain import Int
from ..listed_domains import Categorical
from ..repeat import Repeat

if TYPE_CHECKING:
    from torch import nn


class MLP(Architecture):
    """Hidden layers with one activation and dropout."""

    input_shape = (64,)
    num_classes = 10

    hidden = Repeat(Int(16, 512, log=True), 1, 4)
    activation = Categorical(["relu", "gelu", "tanh"])
    dropout = Float(0.0, 0.5)

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `input_shape` ((64,)) says what it is fed."""
        from torch import nn

        from .layers import activation

        inputs = prod(options.get("input_shape", self.input_shape))
        layers: list[nn.Module] = [nn.Flatten()]
        for width in config.hidden:
            layers += [nn.Linear(inputs, width), activation(config.activation), nn.Dropout(config.dropout)]
            inputs = width
        return nn.Sequential(*layers, nn.Linear(inputs, num_classes))
