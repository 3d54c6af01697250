"""Settings under which the same program gives the same bits.

Operations without a deterministic implementation (a few, on GPUs) warn instead of failing: the trial then runs, its log
names the operation, and its score may vary in the last bits. Refusing would forbid whole families of models for a
promise that their owners did not ask for. The number of threads, which also shows in the bits, is set by whoever starts
the worker.
"""

from __future__ import annotations

import os
import sys


def set_environment() -> None:
    """What has to be in the environment before CUDA starts."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def set_torch() -> None:
    """Deterministic algorithms, no kernels picked by their speed, one compilation whatever shapes came before."""
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    # filling torch.empty with NaN finds reads of uninitialised memory, and costs a pass over every new tensor
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False
    if "torch._dynamo" in sys.modules:
        import torch._dynamo

        torch._dynamo.config.automatic_dynamic_shapes = False
