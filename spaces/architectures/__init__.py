"""Families of networks as spaces; the networks of the papers are points in them. Torch comes when one is built."""

from ..architecture import Architecture, architecture_of, architecture_parts, build
from ..cell import Cell
from ..operations import AvgPool, ConvBN, Identity, MaxPool, SeparableConvBN, Zero
from .alexnet import AlexNet
from .densenet import DenseNet
from .lenet import LeNet
from .mlp import MLP
from .net201 import Net201
from .resnet import ResNet
from .transformer import Transformer

__all__ = [
    "MLP",
    "AlexNet",
    "Architecture",
    "AvgPool",
    "Cell",
    "ConvBN",
    "DenseNet",
    "Identity",
    "LeNet",
    "MaxPool",
    "Net201",
    "ResNet",
    "SeparableConvBN",
    "Transformer",
    "Zero",
    "architecture_of",
    "architecture_parts",
    "build",
]
