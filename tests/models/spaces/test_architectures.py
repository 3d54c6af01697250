"""The families on the meta device and, small, for real: the papers' networks are points in them."""

import json

import numpy as np
import pytest
import torch

from shoal.errors import SpaceError
from shoal.spaces import Architecture, Choice, Configuration, Constant, Float, Int, Ordinal, Repeat, Space, require
from shoal.spaces.architectures import (
    MLP,
    AlexNet,
    DenseNet,
    LeNet,
    Net201,
    ResNet,
    Transformer,
    architecture_parts,
    build,
)
from shoal.spaces.cost import (
    Machine,
    cost,
    fits,
    predict,
    predict_configuration,
    summary,
    why_infeasible,
)  # fmt: skip

REFERENCES = [
    (LeNet(), "lenet5", 61_706, 416_520),
    (AlexNet(), "alexnet", 61_100_840, 714_188_480),
    (ResNet(), "resnet18", 11_689_512, 1_814_073_344),
    (ResNet(), "resnet50", 25_557_032, 4_089_184_256),
    (DenseNet(), "densenet121", 7_978_856, 2_834_161_664),
]


@pytest.mark.parametrize(("family", "member", "parameters", "macs"), REFERENCES, ids=[row[1] for row in REFERENCES])
def test_reference_values(family: Architecture, member: str, parameters: int, macs: int) -> None:
    prediction = predict_configuration(family.point(member), batch=2)
    assert (prediction.parameters, prediction.macs) == (parameters, macs)
    assert prediction.work > prediction.macs and prediction.average_parallelism > prediction.depth > 0
    assert prediction.gradient_bytes == 4 * parameters and prediction.training_flop == 6 * macs


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (LeNet(), (1, 32, 32)),
        (MLP(), (64,)),
        (ResNet(blocks=Constant((1, 2)), width=Constant(8), stem=Constant("small")), (3, 16, 16)),
        (DenseNet(growth=Constant(4), stem=Constant("small"), blocks=Constant((2, 2))), (3, 16, 16)),
        (Transformer(layers=Int(1, 2), patch=Ordinal([4, 8])), (3, 32, 32)),
        (Net201(cells=Constant(1), width=Constant(4)), (3, 16, 16)),
    ],
)
def test_random_members_train_a_step(family: Architecture, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(3):
        model = build(family.space.sample(rng), 5)
        out = model(torch.zeros(2, *shape))
        assert out.shape == (2, 5)
        if any(parameter.requires_grad for parameter in model.parameters()):
            out.sum().backward()


def test_a_cell_has_the_parameters_that_the_benchmark_publishes() -> None:
    edges = ["edge_0_1", "edge_0_2", "edge_1_2", "edge_0_3", "edge_1_3", "edge_2_3"]
    for operations, millions in (("none " * 6, 0.073306), ("none " * 5 + "conv1", 0.101306)):
        cell = dict(zip(edges, operations.split(), strict=True))
        config = Net201().space.validate({"cell": cell})
        model = build(config, 10)
        assert sum(parameter.numel() for parameter in model.parameters()) == round(millions * 1e6)


class Wide(Architecture):
    """A user's own architecture, with a rule about its cost."""

    input_shape = (8,)
    num_classes = 3
    width = Int(1, 1000, log=True)
    rules = (require(lambda s: cost(s).parameters <= 500),)

    def build(self, config: Configuration, num_classes: int, **options: object) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(8, config.width), torch.nn.ReLU(), torch.nn.Linear(config.width, num_classes)
        )


def test_rules_may_speak_of_cost() -> None:
    space = Space(net=LeNet, lr=Float(0, 1), rules=[require(lambda s: (cost(s.net).parameters <= 50_000) | (s.lr > 2))])
    assert repr(space.rules[0]) == "require((cost(net).parameters <= 50000) | (lr > 2))"
    again = Space.from_json(space.to_json())
    assert again == space
    rng = np.random.default_rng(0)
    for _ in range(5):
        config = again.sample(rng)
        assert predict_configuration(config.net).parameters <= 50_000
    with pytest.raises(SpaceError, match=r"breaks require\(\(cost"):
        space.validate({"net": LeNet.points["lenet5"], "lr": 1.0})


def test_a_rule_about_the_cost_of_a_users_own_class() -> None:
    space = Wide().space
    assert repr(space.rules[0]) == "require(cost(self).parameters <= 500)"
    widths = [space.sample(np.random.default_rng(seed)).width for seed in range(20)]
    assert max(widths) <= 41 < 1000, "12 parameters a unit and 3"
    elsewhere = Space.from_json({**space.to_json(), "architecture": {"entry_point": "not_loaded_here:Wide"}})
    assert any(elsewhere.sample(np.random.default_rng(seed)).width > 41 for seed in range(20)), "never imported here"
    with pytest.raises(SpaceError, match="cannot be imported here"):
        build(elsewhere.sample(np.random.default_rng(0)), 3)


def test_mistakes_about_costs_are_explained() -> None:
    with pytest.raises(SpaceError, match="Did you mean 'parameters'"):
        Space(net=LeNet, rules=[require(lambda s: cost(s.net).parameter <= 5)])
    with pytest.raises(SpaceError, match="not an architecture"):
        Space(net=LeNet, lr=Float(0, 1), rules=[require(lambda s: cost(s.lr).parameters <= 5)])
    with pytest.raises(SpaceError, match="cannot run on a batch"):
        predict(lambda: torch.nn.Linear(3, 4), (5,))
    with pytest.raises(SpaceError, match="at least 2"):
        predict(lambda: torch.nn.Linear(3, 4), (3,), batch=1)
    with pytest.raises(SpaceError, match="is not an architecture"):
        build(Space(a=Int(1, 2)).sample(np.random.default_rng(0)), 3)
    with pytest.raises(SpaceError, match="does not divide"):
        build(Transformer(patch=Constant(5)).space.sample(np.random.default_rng(0)), 3)


def test_a_choice_between_architectures_builds_and_has_a_cost() -> None:
    space = Space(
        batch_size=Constant(64),
        net=Choice(lenet=LeNet(input_shape=(1, 32, 32)), mlp=MLP(input_shape=(64,)), none=None),
        many=Repeat(MLP(input_shape=(64,)), 1, 1),
        rules=[require(lambda s: cost(s.net).parameters <= 100_000)],
    )
    configs = [space.sample(np.random.default_rng(seed)) for seed in range(12)]
    assert {config.net.choice for config in configs} == {"lenet", "mlp", "none"}
    for config in configs:
        paths = [path for path, _ in architecture_parts(config)]
        assert paths == (["many[0]"] if config.net == "none" else ["net", "many[0]"])
        if config.net != "none":
            assert sum(parameter.numel() for parameter in build(config.net, 10).parameters()) <= 100_000
    assert why_infeasible(configs[0], device_bytes=2**40, gpu=True) is None
    reason = why_infeasible(configs[0], device_bytes=1000, gpu=False)
    assert reason is not None and "at batch 64" in reason and "no batch fits" in reason


def test_nothing_is_refused_for_an_input_that_a_family_only_assumes() -> None:
    config = Space(net=ResNet()).sample(np.random.default_rng(0))
    assert why_infeasible(config, device_bytes=1000, gpu=False) is None


def test_what_the_study_feeds_is_what_costs_are_estimated_for() -> None:
    small = {"block": Constant("basic"), "blocks": Repeat(Constant(1), 1, 1), "width": Constant(8)}
    space = Space(net=ResNet(input_shape=(1, 8, 8), num_classes=10, stem=Constant("small"), **small))
    space = Space.from_json(json.loads(json.dumps(space.to_json())))
    config = space.sample(np.random.default_rng(0))
    (row,) = summary(config, machine=Machine(flop_per_s=1e13))
    built = build(config.net, num_classes=10, in_channels=1)
    assert row["parameters"] == sum(parameter.numel() for parameter in built.parameters())
    assert row["macs"] == (1 * 8 + 2 * 8 * 8) * 9 * 64 + 8 * 10
    assert why_infeasible(config, device_bytes=1000, gpu=False) is not None


class Fragile(Architecture):
    """Builds only for even widths."""

    input_shape = (4,)
    num_classes = 2
    width = Int(1, 20)

    def build(self, config: Configuration, num_classes: int, **options: object) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(4, 2 * (config.width // 2)), torch.nn.Linear(config.width, num_classes)
        )


def test_a_network_that_cannot_be_built_breaks_the_rule_and_is_infeasible() -> None:
    space = Space(net=Fragile, rules=[require(lambda s: cost(s.net).parameters > 0)])
    widths = {space.sample(np.random.default_rng(seed)).net.width for seed in range(20)}
    assert all(width % 2 == 0 for width in widths) and len(widths) > 3
    odd = space.from_flat({"net.width": 5})
    assert space.violations(odd) == ["require(cost(net).parameters > 0)"]
    reason = why_infeasible(odd, device_bytes=2**40, gpu=False)
    assert reason is not None and reason.startswith("net cannot be built: The network cannot run")


def test_the_summary_of_a_configuration() -> None:
    space = Space(batch_size=Constant(64), net=LeNet)
    config = space.validate({"net": LeNet.points["lenet5"]})
    (row,) = summary(config, machine=Machine(flop_per_s=1e13), most_workers=4)
    assert row["path"] == "net" and row["batch"] == 64
    assert (row["parameters"], row["macs"], row["depth"]) == (61_706, 416_520, 46)
    assert row["average_parallelism"] == round(64 * row["work"] / row["depth"])
    assert row["memory_mib"] > 1 and row["workers"] in (1, 2, 4)
    assert summary(Space(a=Int(1, 2)).sample(np.random.default_rng(0)), machine=Machine(flop_per_s=1e13)) == []


def test_what_does_not_fit_is_told_with_the_batch_that_would() -> None:
    prediction = predict_configuration(ResNet().point("resnet18"), batch=8)
    room = prediction.memory_at(20)
    verdict = fits(prediction, batch=64, device_bytes=room, gpu=False)
    assert not verdict.fits and verdict.largest_batch == 20
    assert verdict.reason == (
        f"needs {prediction.memory_at(64) / 2**30:.1f} GiB at batch 64, the device has {room / 2**30:.1f} GiB; "
        "batch ≤ 20 fits"
    )
    assert fits(prediction, batch=20, device_bytes=room, gpu=False).fits
    assert not fits(prediction, batch=20, device_bytes=room, gpu=True).fits, "a GPU needs a margin"
    assert "no batch fits" in fits(prediction, batch=8, device_bytes=1000, gpu=False).reason


def test_predicted_memory_is_what_a_step_allocates() -> None:
    config = ResNet().point("resnet18")
    prediction = predict(lambda: build(config, 10), (3, 64, 64), batch=8, optimizer="momentum")
    model = build(config, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.randn(8, 3, 64, 64), torch.zeros(8, dtype=torch.long)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    with torch.backends.mkldnn.flags(enabled=False):  # its scratch memory depends on the processor and on the threads
        step()
        optimizer.zero_grad()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    state = [value for values in optimizer.state.values() for value in values.values()]
    static = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers(), *state, images, labels))
    assert prediction.memory_bytes == pytest.approx(static + peak, rel=0.05)
