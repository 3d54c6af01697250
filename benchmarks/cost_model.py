"""The cost model against the allocator: five networks of the literature.

    python -m benchmarks.cost_model --json [--batch 4]

One object per network: `parameters`, `macs`, `work`, `depth` (of one sample's forward pass), `average_parallelism` (of
the batch), `predicted_memory_mib`, `measured_memory_mib` (peak of the CPU allocator over a real training step with
momentum, parameters and optimizer included), `estimate_ms` (building on the meta device and predicting; median of 5).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import torch

from shoal.spaces import Architecture, Configuration
from shoal.spaces.architectures import AlexNet, DenseNet, LeNet, ResNet, build
from shoal.spaces.cost import Prediction, predict_configuration

NETWORKS: list[tuple[Architecture, str]] = [
    (LeNet(), "lenet5"),
    (AlexNet(), "alexnet"),
    (ResNet(), "resnet18"),
    (ResNet(), "resnet50"),
    (DenseNet(), "densenet121"),
]
MIB = 2**20


def measured_bytes(family: Architecture, config: Configuration, batch: int) -> int:
    """Peak bytes of a training step as the allocator counted them, after one step to create the optimizer's state."""
    model = build(config, family.num_classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(batch, *family.input_shape), torch.zeros(batch, dtype=torch.long)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    state = [tensor for values in optimizer.state.values() for tensor in values.values()]
    held = peak = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers(), *state, images, labels))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    results = profile.profiler.kineto_results
    events = [event for event in results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return int(peak)


def estimate(config: Configuration, batch: int) -> tuple[Prediction, float]:
    """The prediction, and the median of five times it took, in ms."""
    times_ms = []
    for _ in range(5):
        started = time.perf_counter()
        prediction = predict_configuration(config, batch=batch, optimizer="momentum")
        _ = prediction.memory_bytes
        times_ms.append((time.perf_counter() - started) * 1e3)
    return prediction, statistics.median(times_ms)


def row(family: Architecture, member: str, batch: int) -> dict[str, Any]:
    """What is printed for one network."""
    config = family.point(member)
    prediction, estimate_ms = estimate(config, batch)
    return {
        "parameters": prediction.parameters,
        "macs": prediction.macs,
        "work": prediction.work,
        "depth": prediction.depth,
        "average_parallelism": round(prediction.average_parallelism),
        "predicted_memory_mib": round(prediction.memory_bytes / MIB, 2),
        "measured_memory_mib": round(measured_bytes(family, config, batch) / MIB, 2),
        "estimate_ms": round(estimate_ms, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--batch", type=int, default=4, help="samples in the step")
    arguments = parser.parse_args()
    rows = {member: row(family, member, arguments.batch) for family, member in NETWORKS}
    if arguments.json:
        print(json.dumps({"batch": arguments.batch, "torch": torch.__version__, "networks": rows}, indent=2))
        return
    for member, values in rows.items():
        print(member, " ".join(f"{name}={value}" for name, value in values.items()))


if __name__ == "__main__":
    main()
