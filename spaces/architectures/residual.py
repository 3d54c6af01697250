"""The two residual blocks of He et al. Import only inside `build`."""

from __future__ import annotations

from torch import Tensor, nn

from .layers import conv_bn


class _Residual(nn.Module):
    """relu(body(x) + shortcut(x)); the shortcut is a 1x1 convolution where the shape changes."""

    def __init__(self, body: nn.Module, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.body = body
        changed = stride != 1 or in_channels != out_channels
        self.shortcut = nn.Sequential(*conv_bn(in_channels, out_channels, 1, stride)) if changed else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.body(x) + self.shortcut(x))
        return out


class BasicBlock(_Residual):
    """Two 3x3 convolutions."""

    expansion = 1

    def __init__(self, in_channels: int, width: int, stride: int) -> None:
        body = nn.Sequential(*conv_bn(in_channels, width, 3, stride), nn.ReLU(inplace=True), *conv_bn(width, width, 3))
        super().__init__(body, in_channels, width, stride)


class Bottleneck(_Residual):
    """1x1, 3x3, 1x1 convolutions; the last one widens by four."""

    expansion = 4

    def __init__(self, in_channels: int, width: int, stride: int) -> None:
        body = nn.Sequential(
            *conv_bn(in_channels, width, 1),
            nn.ReLU(inplace=True),
            *conv_bn(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *conv_bn(width, width * self.expansion, 1),
        )
        super().__init__(body, in_channels, width * self.expansion, stride)
