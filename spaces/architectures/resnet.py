"""Residual networks (He et al., arXiv 1512.03385)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..architecture import Architecture
from ..configuration import Configuration
from ..int_domain import Int
from ..listed_domains import Categorical
from ..repeat import Repeat

if TYPE_CHECKING:
    from torch import nn


def _member(block: str, blocks: list[int]) -> dict[str, Any]:
    return {"block": block, "blocks": blocks, "width": 64, "stem": "imagenet"}


class ResNet(Architecture):
    """Stages of residual blocks; every stage after the first halves the image and doubles the width.

    Bottleneck blocks have their stride in the 3x3 convolution, as in every reference implementation since.
    """

    points: ClassVar = {
        "resnet18": _member("basic", [2, 2, 2, 2]),
        "resnet34": _member("basic", [3, 4, 6, 3]),
        "resnet50": _member("bottleneck", [3, 4, 6, 3]),
        "resnet101": _member("bottleneck", [3, 4, 23, 3]),
        "resnet152": _member("bottleneck", [3, 8, 36, 3]),
    }

    block = Categorical(["basic", "bottleneck"])
    blocks = Repeat(Int(1, 36, log=True), 1, 4)
    width = Int(8, 128, log=True)
    stem = Categorical(["imagenet", "small"])

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `in_channels` (3) says what it is fed."""
        from torch import nn

        from .layers import image_stem
        from .residual import BasicBlock, Bottleneck

        block = BasicBlock if config.block == "basic" else Bottleneck
        layers = image_stem(config.stem, options.get("in_channels", 3), config.width)
        channels = config.width
        for stage, count in enumerate(config.blocks):
            width = config.width * 2**stage
            for index in range(count):
                stride = 2 if stage and not index else 1
                layers.append(block(channels, width, stride))
                channels = width * block.expansion
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, num_classes))
