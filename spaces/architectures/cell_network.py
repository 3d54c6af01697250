"""Cells as modules. Import only inside `build`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from ..operations import AvgPool, ConvBN, EdgeOperation, Identity, MaxPool, SeparableConvBN, Zero
from .layers import conv_bn


class CellModule(nn.Module):
    """A cell at one width: every node is the sum of its incoming edges.

    Args:
        nodes: how many nodes, input and output included.
        operations: (source, target) → operation.
        channels: of input and output.
    """

    def __init__(self, nodes: int, operations: Mapping[tuple[int, int], EdgeOperation], channels: int) -> None:
        super().__init__()
        self.nodes = nodes
        self.edges = nn.ModuleDict(
            {
                f"{source}_{target}": operation_module(operation, channels)
                for (source, target), operation in operations.items()
                if not isinstance(operation, Zero)
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        values: list[Tensor | None] = [x]
        for target in range(1, self.nodes):
            total: Tensor | None = None
            for source in range(target):
                value, key = values[source], f"{source}_{target}"
                if value is not None and key in self.edges:
                    brought = self.edges[key](value)
                    total = brought if total is None else total + brought
            values.append(total)
        out = values[-1]
        return x.new_zeros(()).expand_as(x) if out is None else out


class Reduction(nn.Module):
    """The residual block between stages: halves the image, changes the width."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.ReLU(), *conv_bn(in_channels, out_channels, 3, 2), nn.ReLU(), *conv_bn(out_channels, out_channels, 3)
        )
        self.shortcut = nn.Sequential(nn.AvgPool2d(2, 2), nn.Conv2d(in_channels, out_channels, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x) + self.shortcut(x)
        return out


def operation_module(operation: EdgeOperation, channels: int) -> nn.Module:
    """The module of an operation at stride 1."""
    match operation:
        case Identity():
            return nn.Identity()
        case ConvBN(kernel):
            return nn.Sequential(nn.ReLU(), *conv_bn(channels, channels, kernel))
        case SeparableConvBN(kernel):
            depthwise = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False)
            return nn.Sequential(nn.ReLU(), depthwise, *conv_bn(channels, channels, 1))
        case AvgPool(kernel):
            return nn.AvgPool2d(kernel, 1, padding=kernel // 2, count_include_pad=False)
        case MaxPool(kernel):
            return nn.MaxPool2d(kernel, 1, padding=kernel // 2)
    raise AssertionError(operation)
