"""AlexNet in its one-tower form (Krizhevsky, arXiv 1404.5997)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from ..architecture import Architecture
from ..configuration import Configuration
from ..float_domain import Float
from ..int_domain import Int
from ..repeat import Repeat

if TYPE_CHECKING:
    from torch import nn


class AlexNet(Architecture):
    """Five convolutions, three poolings, two hidden layers with dropout."""

    points: ClassVar = {"alexnet": {"channels": [64, 192, 384, 256, 256], "hidden": [4096, 4096], "dropout": 0.5}}

    channels = Repeat(Int(8, 512, log=True), 5, 5)
    hidden = Repeat(Int(64, 4096, log=True), 1, 2)
    dropout = Float(0.0, 0.8)

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network, for images of at least 63 x 63; `in_channels` (3) says what it is fed."""
        from torch import nn

        first, second, third, fourth, fifth = config.channels
        widths = [fifth * 36, *config.hidden]
        head: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            head += [nn.Dropout(config.dropout), nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        return nn.Sequential(
            nn.Conv2d(options.get("in_channels", 3), first, 11, 4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(first, second, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(second, third, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(third, fourth, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(fourth, fifth, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.AdaptiveAvgPool2d(6),
            nn.Flatten(),
            *head,
            nn.Linear(widths[-1], num_classes),
        )
