"""Search an architecture and its hyperparameters together on scikit-learn's digits (8 x 8 images).

    shoal run examples/digits_cnn.py

The networks are shoal's own families with smaller ranges; a rule keeps them under 200,000 parameters, which is known
before anything is built.
"""

from functools import cache

import torch
from torch import nn

import shoal
from shoal.spaces import Choice, Constant, Float, Int, Ordinal, Repeat, Space, require
from shoal.spaces.architectures import DenseNet, ResNet, build
from shoal.spaces.cost import cost

small = {"stem": Constant("small"), "blocks": Repeat(Int(1, 3), 1, 2)}
digits_images = {"input_shape": (1, 8, 8), "num_classes": 10}

space = Space(
    net=Choice(
        residual=ResNet(block=Constant("basic"), width=Int(8, 32, log=True), **small, **digits_images),
        dense=DenseNet(growth=Int(4, 16), bottleneck=Int(1, 4), **small, **digits_images),
    ),
    lr=Float(1e-3, 1e-1, log=True),
    momentum=Float(0.5, 0.99),
    batch_size=Ordinal([32, 64, 128]),
    rules=[require(lambda s: cost(s.net).parameters <= 200_000)],
)


@cache
def digits() -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """(images, labels) to train on and a stratified quarter held out; images are (1, 8, 8) with pixels in [0, 1]."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16.0, labels, test_size=0.25, stratify=labels, random_state=0)
    x_train, x_val, y_train, y_val = (torch.from_numpy(part) for part in split)
    return (x_train.float().view(-1, 1, 8, 8), y_train), (x_val.float().view(-1, 1, 8, 8), y_val)


def train(trial: shoal.Trial) -> None:
    """Train for up to 9 epochs; the study decides after each report whether to go on."""
    config = trial.config
    data, val_data = digits()
    model = build(config.net, num_classes=10, in_channels=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=config.lr, momentum=config.momentum)
    loader = trial.prepare(model, optimizer, data, batch_size=config.batch_size)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return nn.functional.cross_entropy(model(x), y, reduction="sum"), len(y)

    def accuracy(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return (model(x).argmax(1) == y).sum(), len(y)

    for _ in trial.epochs(9):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        trial.report(val_accuracy=trial.evaluate(accuracy, val_data))


study = shoal.Study(
    space=space,
    train=train,
    maximize="val_accuracy",
    trials=12,
    strategy="tpe",
    early_stopping=shoal.ASHA(max_epochs=9, min_epochs=1),
    value="best",
)
