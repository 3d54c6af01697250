"""The network of NAS-Bench-201 (Dong & Yang, arXiv 2001.00326): one cell, repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..architecture import Architecture
from ..cell import Cell
from ..configuration import Configuration
from ..listed_domains import Constant
from ..operations import AvgPool, ConvBN, Identity, Zero

if TYPE_CHECKING:
    from torch import nn


class Net201(Architecture):
    """Three stages of `cells` equal cells at widths 1, 2 and 4 times `width`, halved by residual blocks between.

    The benchmark has cells=5 and width=16 on 32 x 32 images; replace them to search something smaller.
    """

    input_shape = (3, 32, 32)
    num_classes = 10

    cell = Cell(
        nodes=4, ops={"none": Zero(), "skip": Identity(), "conv1": ConvBN(1), "conv3": ConvBN(3), "pool": AvgPool(3)}
    )
    cells = Constant(5)
    width = Constant(16)

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `in_channels` (3) says what it is fed."""
        from torch import nn

        from .cell_network import CellModule, Reduction
        from .layers import conv_bn

        cell = config.cell.space
        assert isinstance(cell, Cell)
        operations = cell.operations(config.cell)
        layers: list[nn.Module] = conv_bn(options.get("in_channels", 3), config.width, 3)
        channels = config.width
        for stage in range(3):
            if stage:
                layers.append(Reduction(channels, 2 * channels))
                channels *= 2
            layers += [CellModule(cell.graph_nodes, operations, channels) for _ in range(config.cells)]
        head = [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers, *head, nn.Linear(channels, num_classes))
