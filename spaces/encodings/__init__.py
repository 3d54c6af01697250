"""Configurations as numbers, for models: flat features, kernel inputs, and tokens."""

from .forest import ForestEncoding
from .gp import GpEncoding
from .tokens import TokenEncoding

__all__ = ["ForestEncoding", "GpEncoding", "TokenEncoding"]
