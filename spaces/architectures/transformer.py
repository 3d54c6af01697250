"""A small transformer for images (Dosovitskiy et al., arXiv 2010.11929), without a class token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import SpaceError
from ..architecture import Architecture
from ..configuration import Configuration
from ..float_domain import Float
from ..int_domain import Int
from ..listed_domains import Ordinal

if TYPE_CHECKING:
    from torch import nn


class Transformer(Architecture):
    """Patches, learned positions, pre-norm encoder layers, the mean of the tokens."""

    input_shape = (3, 32, 32)
    num_classes = 10
    points: ClassVar = {"tiny": {"patch": 4, "heads": 3, "head_dim": 64, "layers": 6, "mlp_ratio": 4, "dropout": 0.0}}

    patch = Ordinal([2, 4, 8])
    heads = Int(1, 8)
    head_dim = Ordinal([16, 32, 64])
    layers = Int(1, 12)
    mlp_ratio = Int(1, 4)
    dropout = Float(0.0, 0.5)

    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network; `input_shape` ((3, 32, 32)) says what it is fed.

        Raises:
            SpaceError: the patch does not divide the image.
        """
        from .attention import ImageTransformer

        channels, height, width = options.get("input_shape", self.input_shape)
        if height % config.patch or width % config.patch:
            raise SpaceError(
                f"patch={config.patch} does not divide an image of {height} x {width}.",
                "Replace the parameter: Transformer(patch=Ordinal([...])).",
            )
        return ImageTransformer(config, channels, (height // config.patch) * (width // config.patch), num_classes)
