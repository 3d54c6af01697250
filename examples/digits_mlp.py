"""Tune a small network on scikit-learn's digits: architecture, optimizer and batch size in one space.

    shoal run examples/digits_mlp.py
"""

from collections.abc import Callable, Iterator
from functools import cache

import torch
from torch import nn

import shoal
from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Ordinal, Repeat, Space

space = Space(
    lr=Float(1e-4, 1e-1, log=True),
    batch_size=Ordinal([32, 64, 128, 256]),
    optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.99)), adam=Space(beta2=Float(0.9, 0.9999))),
    layers=Repeat(Space(width=Int(16, 256, log=True), activation=Categorical(["relu", "gelu", "tanh"])), 1, 4),
)

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


@cache
def digits() -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """(images, labels) to train on and a stratified quarter held out; pixels in [0, 1]."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16.0, labels, test_size=0.25, stratify=labels, random_state=0)
    x_train, x_val, y_train, y_val = (torch.from_numpy(part) for part in split)
    return (x_train.float(), y_train), (x_val.float(), y_val)


def build(config: Configuration) -> tuple[nn.Module, torch.optim.Optimizer]:
    """The network and the optimizer that a configuration describes."""

    def modules() -> Iterator[nn.Module]:
        width = 64
        for layer in config.layers:
            yield nn.Linear(width, layer.width)
            yield ACTIVATIONS[layer.activation]()
            width = layer.width
        yield nn.Linear(width, 10)

    model = nn.Sequential(*modules())
    if config.optimizer == "sgd":
        return model, torch.optim.SGD(model.parameters(), lr=config.lr, momentum=config.optimizer.momentum)
    return model, torch.optim.Adam(model.parameters(), lr=config.lr, betas=(0.9, config.optimizer.beta2))


def train(trial: shoal.Trial) -> None:
    """Train for up to 27 epochs; the study decides after each report whether to go on."""
    data, val_data = digits()
    model, optimizer = build(trial.config)
    loader = trial.prepare(model, optimizer, data, batch_size=trial.config.batch_size)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return nn.functional.cross_entropy(model(x), y, reduction="sum"), len(y)

    def accuracy(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return (model(x).argmax(1) == y).sum(), len(y)

    for _ in trial.epochs(27):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        trial.report(val_accuracy=trial.evaluate(accuracy, val_data))


study = shoal.Study(
    space=space,
    train=train,
    maximize="val_accuracy",
    trials=30,
    strategy="tpe",
    early_stopping=shoal.ASHA(max_epochs=27, min_epochs=3),
    value="best",
    workers=(1, 4),
)
