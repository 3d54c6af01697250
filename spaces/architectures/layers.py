"""Small torch pieces that several families are made of. Import only inside `build`."""

from __future__ import annotations

from torch import nn

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "silu": nn.SiLU}


def activation(name: str) -> nn.Module:
    """An activation by name."""
    return _ACTIVATIONS[name]()


def conv_bn(in_channels: int, out_channels: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    """A convolution without bias that keeps the size at stride 1, and its batch norm."""
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2, bias=False)
    return [conv, nn.BatchNorm2d(out_channels)]


def image_stem(kind: str, in_channels: int, out_channels: int) -> list[nn.Module]:
    """What stands before the stages: "imagenet" (7x7 at stride 2 and a pooling) or "small" (3x3 at stride 1)."""
    if kind == "small":
        return [*conv_bn(in_channels, out_channels, 3), nn.ReLU(inplace=True)]
    return [*conv_bn(in_channels, out_channels, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
