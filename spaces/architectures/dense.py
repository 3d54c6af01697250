"""The layer of a dense block. Import only inside `build`."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DenseLayer(nn.Module):
    """Batch norm, ReLU, 1x1 to `bottleneck * growth` channels, batch norm, ReLU, 3x3; joined to its input."""

    def __init__(self, in_channels: int, growth: int, bottleneck: int) -> None:
        super().__init__()
        middle = bottleneck * growth
        self.body = nn.Sequential(
            nn.BatchNorm2d(in_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channels, middle, 1, bias=False),
            nn.BatchNorm2d(middle),
            nn.ReLU(inplace=True),
            nn.Conv2d(middle, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], 1)
