"""Densely connected networks (Huang et al., arXiv 1608.06993)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..architecture import Architecture
from ..configuration import Configuration
from ..float_domain import Float
from ..int_domain import Int
from ..listed_domains import Categorical
from ..repeat import Repeat

if TYPE_CHECKING:
    from torch import nn


def _member(blocks: list[int], growth: int) -> dict[str, Any]:
    return {"blocks": blocks, "growth": growth, "bottleneck": 4, "compression": 0.5, "stem": "imagenet"}


class DenseNet(Architecture):
    """Blocks in which every layer sees all layers before it, and halving transitions between them (DenseNet-BC)."""

    points: ClassVar = {
        "densenet121": _member([6, 12, 24, 16], 32),
        "densenet169": _member([6, 12, 32, 32], 32),
        "densenet201": _member([6, 12, 48, 32], 32),
    }

    blocks = Repeat(Int(1, 48, log=True), 1, 4)
    growth = Int(4, 48)
    bottleneck = Int(1, 8)
    compression = Float(0.25, 1.0, step=0.25)
    stem = Categorical(["imagenet", "small"])

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `in_channels` (3) says what it is fed."""
        from torch import nn

        from .dense import DenseLayer
        from .layers import image_stem

        channels = 2 * config.growth
        layers = image_stem(config.stem, options.get("in_channels", 3), channels)
        for stage, count in enumerate(config.blocks):
            if stage:
                kept = int(channels * config.compression)
                conv = nn.Conv2d(channels, kept, 1, bias=False)
                layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), conv, nn.AvgPool2d(2, 2)]
                channels = kept
            for _ in range(count):
                layers.append(DenseLayer(channels, config.growth, config.bottleneck))
                channels += config.growth
        head = [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers, *head, nn.Linear(channels, num_classes))
