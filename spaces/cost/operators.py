"""Work and depth of one operator, forward pass (Ben-Nun & Hoefler, arXiv 1802.09941, section 4, tables 4 to 6).

Work W counts scalar multiply-add pairs (or the operator's own scalar steps), depth D the longest chain of them; W / D
is the average parallelism. Sums over n terms are trees: ⌈log2 n⌉ deep. Symbols: N samples, C channels, H x W image
in, H' x W' out, Kx x Ky kernel.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Work and depth of an operator; `macs` is the part of the work that is multiply-adds of weights or operands."""

    work: int
    depth: int
    macs: int = 0


def ceil_log2(n: int) -> int:
    """⌈log2 n⌉ for n >= 1; 0 for an empty sum.

    >>> [ceil_log2(n) for n in (1, 2, 3, 1024, 1025)]
    [0, 1, 2, 10, 11]
    """
    return max(n - 1, 0).bit_length()


def fully_connected(n: int, c_in: int, c_out: int) -> Cost:
    """A matrix product: N·Cin·Cout, log Cin deep."""
    work = n * c_in * c_out
    return Cost(work, ceil_log2(c_in), work)


def convolution_direct(n: int, c_in: int, c_out: int, out_pixels: int, kx: int, ky: int) -> Cost:
    """Direct convolution, and im2col, whose work and depth are the same (see `im2col_elements`).

    Args:
        n: samples.
        c_in: input channels *of one group*.
        c_out: output channels of all groups.
        out_pixels: H'·W'.
        kx: kernel width.
        ky: kernel height.
    """
    work = n * c_out * out_pixels * c_in * kx * ky
    return Cost(work, ceil_log2(c_in) + ceil_log2(kx) + ceil_log2(ky), work)


def im2col_elements(n: int, c_in: int, out_pixels: int, kx: int, ky: int) -> int:
    """Numbers in the buffer that im2col adds: N·H'W'·Cin·KxKy."""
    return n * out_pixels * c_in * kx * ky


def convolution_fft(n: int, c_in: int, c_out: int, pixels: int, c: int = 5) -> Cost:
    """Convolution through FFT: c·HW·log(HW)·(Cout·Cin + N·Cin + N·Cout) + HW·N·Cin·Cout; 2 log HW + log Cin deep.

    Args:
        n: samples.
        c_in: input channels.
        c_out: output channels.
        pixels: H·W.
        c: the constant of the FFT; 5 is that of radix 2 in real operations (5 n log2 n).
    """
    transforms = c * pixels * ceil_log2(pixels) * (c_out * c_in + n * c_in + n * c_out)
    product = pixels * n * c_in * c_out
    return Cost(transforms + product, 2 * ceil_log2(pixels) + ceil_log2(c_in), product)


def convolution_winograd(n: int, c_in: int, c_out: int, height: int, width: int, m: int = 2, r: int = 3) -> Cost:
    """Convolution through Winograd's minimal filtering: m x m output tiles, r x r kernel, a = m + r - 1.

    P = N·⌈H/m⌉·⌈W/m⌉ tiles; W = P·a(r² + ar + 2a² + am + m²) + Cin·Cout·P·a²; 2 log r + 4 log a + log Cin deep. The
    first term charges the transforms of one channel of kernel, input and output to every tile. The tiling itself asks
    for a kernel transform per (Cin, Cout), an input transform per tile and Cin, an output transform per tile and Cout,
    so for many channels W is a lower bound.
    """
    a = m + r - 1
    tiles = n * -(-height // m) * -(-width // m)
    transforms = tiles * a * (r * r + a * r + 2 * a * a + a * m + m * m)
    product = c_in * c_out * tiles * a * a
    return Cost(transforms + product, 2 * ceil_log2(r) + 4 * ceil_log2(a) + ceil_log2(c_in), product)


def pooling(n: int, c: int, out_pixels: int, kx: int, ky: int) -> Cost:
    """Max or average pooling: N·C·H'W'·KxKy, log Kx + log Ky deep."""
    return Cost(n * c * out_pixels * kx * ky, ceil_log2(kx) + ceil_log2(ky))


def batch_norm(n: int, c: int, pixels: int) -> Cost:
    """Batch norm: N·C·HW, log N deep (the paper's; the sums over the image are counted with those over the batch)."""
    return Cost(n * c * pixels, ceil_log2(n))


def elementwise(count: int) -> Cost:
    """An activation, a sum of two tensors, a mask: one step per number."""
    return Cost(count, 1)


def reduction(count: int, outputs: int) -> Cost:
    """A sum or mean of `count` numbers into `outputs`."""
    return Cost(count, ceil_log2(-(-count // max(outputs, 1))))
