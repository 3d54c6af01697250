"""Work and depth of operators, the reverse sweep on hand-made traces, the worker count. No torch."""

import pytest

from shoal.spaces.cost import Cost, Machine, best_workers, step_time_s
from shoal.spaces.cost.operators import (
    batch_norm,
    ceil_log2,
    convolution_direct,
    convolution_fft,
    convolution_winograd,
    elementwise,
    fully_connected,
    im2col_elements,
    pooling,
    reduction,
)  # fmt: skip
from shoal.spaces.cost.records import Gradient, Operation, Trace
from shoal.spaces.cost.sweep import gpu_margin_bytes, peak_bytes


def test_work_and_depth_of_the_operators() -> None:
    assert fully_connected(2, 100, 10) == Cost(2_000, 7, 2_000)
    assert convolution_direct(1, 3, 6, 28 * 28, 5, 5) == Cost(6 * 784 * 75, 2 + 3 + 3, 6 * 784 * 75)
    assert im2col_elements(1, 3, 784, 5, 5) == 784 * 75
    fft = convolution_fft(2, 3, 4, 64)
    assert fft.work == 5 * 64 * 6 * (12 + 6 + 8) + 64 * 2 * 12 and fft.depth == 2 * 6 + 2
    winograd = convolution_winograd(1, 8, 16, 7, 7)
    assert winograd.work == 16 * 4 * (9 + 12 + 32 + 8 + 4) + 8 * 16 * 16 * 16
    assert winograd.depth == 2 * 2 + 4 * 2 + 3
    assert pooling(2, 4, 49, 3, 3) == Cost(2 * 4 * 49 * 9, 4)
    assert batch_norm(8, 4, 49) == Cost(8 * 4 * 49, 3)
    assert elementwise(10) == Cost(10, 1) and reduction(64, 1) == Cost(64, 6)
    assert ceil_log2(0) == 0


def chain(*steps: tuple[list[int], list[int], list[int], Gradient]) -> Trace:
    """A trace whose storages 0, 1, 2, ... have 100 bytes each; parameters are storage 100 and up, 10 bytes each."""
    operations = tuple(
        Operation(
            inputs=tuple(key for key in inputs if key < 100),
            parameters=tuple(key for key in inputs if key >= 100),
            outputs=tuple(outputs),
            saved=tuple(saved),
            gradient=gradient,
            in_place=False,
            cost=Cost(0, 0),
        )
        for inputs, outputs, saved, gradient in steps
    )
    keys = {key for inputs, outputs, _, _ in steps for key in (*inputs, *outputs)}
    parameters = {key: 10 for key in keys if key >= 100}
    return Trace(
        batch=1,
        parameters=0,
        sizes={key: 100 for key in keys if key < 100} | parameters,
        parameter_sizes=parameters,
        fixed_bytes=sum(parameters.values()),
        input_bytes=100,
        operations=operations,
        depth=0,
    )


def test_the_reverse_sweep_of_a_chain() -> None:
    # storage 0 is the batch; 1, 2, 3 are activations; every operation saves its input
    trace = chain(([0, 100], [1], [0], "new"), ([1, 101], [2], [1], "new"), ([2, 102], [3], [2], "new"))
    # at the last operation: parameters and batch, what the last two saved, two gradients, and its own parameter's
    assert peak_bytes(trace, batch=1, optimizer="sgd") == 30 + 100 + 2 * 100 + 2 * 100 + 10
    assert peak_bytes(trace, batch=1, optimizer="adam") == 30 + 100 + 60 + 2 * 100 + 2 * 100 + 10
    assert peak_bytes(trace, batch=3, optimizer="sgd") == 30 + 3 * 500 + 10, "activations scale, parameters do not"


def test_the_gradient_of_a_skip_connection_waits() -> None:
    # 1 goes through two operations and is added to their result
    trace = chain(
        ([0, 100], [1], [], "new"),
        ([1, 101], [2], [1], "new"),
        ([2, 102], [3], [2], "new"),
        ([1, 3], [4], [], "shared"),
    )
    # the sum hands its gradient to both: while 3, 2, 1 are undone that of 1 is kept, then two are summed into a third
    assert peak_bytes(trace, batch=1, optimizer="sgd") == 30 + 100 + 100 + 20 + 300


def test_the_optimizer_step_can_be_the_peak() -> None:
    trace = chain(([0, 100], [1], [], "new"))
    assert peak_bytes(trace, batch=0, optimizer="adam") == 10 + 20 + 10 + 20
    assert peak_bytes(trace, batch=0, optimizer="momentum") == 10 + 10 + 10


def test_the_margin_on_a_gpu() -> None:
    assert gpu_margin_bytes(0) == 600 * 2**20
    assert gpu_margin_bytes(100 * 2**30) == 15 * 2**30


def test_more_workers_while_they_pay_and_fit() -> None:
    machine = Machine(flop_per_s=1e13, bandwidth_bytes_per_s=1e10)
    large = {"flop_per_sample": 25e9, "batch": 256, "gradient_bytes": 100 * 2**20}
    assert best_workers(machine, most=8, **large) == 8
    small = {"flop_per_sample": 1e6, "batch": 256, "gradient_bytes": 100 * 2**20}
    assert best_workers(machine, most=8, **small) == 1
    assert best_workers(machine, most=8, **small, fits=lambda local: local <= 64) == 4
    assert best_workers(machine, most=8, **small, fits=lambda local: False) == 0
    assert best_workers(machine, most=7, **large) == 4, "powers of two"
    assert best_workers(machine, most=8, flop_per_sample=25e9, batch=2, gradient_bytes=0) == 2, "a sample each"
    one = step_time_s(machine, workers=1, **large)
    assert one == pytest.approx(25e9 * 256 / 4e12)
