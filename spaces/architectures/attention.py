"""The transformer as a module. Import only inside `build`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..configuration import Configuration


class ImageTransformer(nn.Module):
    """Input (batch, channels, height, width), output (batch, classes)."""

    def __init__(self, config: Configuration, in_channels: int, tokens: int, num_classes: int) -> None:
        super().__init__()
        width = config.heads * config.head_dim
        self.patches = nn.Conv2d(in_channels, width, config.patch, config.patch)
        self.positions = nn.Parameter(torch.zeros(1, tokens, width))
        nn.init.normal_(self.positions, std=0.02)
        self.layers = nn.Sequential(*(EncoderLayer(config) for _ in range(config.layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        out: Tensor = self.head(self.norm(self.layers(tokens)).mean(1))
        return out


class EncoderLayer(nn.Module):
    """Self-attention and a two-layer perceptron, each after a layer norm and added to its input."""

    def __init__(self, config: Configuration) -> None:
        super().__init__()
        width = config.heads * config.head_dim
        self.heads = config.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, config.mlp_ratio * width), nn.GELU(), nn.Linear(config.mlp_ratio * width, width)
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        out: Tensor = x + self.dropout(self.mlp(self.norm2(x)))
        return out

    def attention(self, x: Tensor) -> Tensor:
        """Scaled dot-product attention over the tokens; x is (batch, tokens, width)."""
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return out
