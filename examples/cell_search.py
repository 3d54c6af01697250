"""Search a cell of the NAS-Bench-201 kind on scikit-learn's digits: six edges, five operations.

    shoal run examples/cell_search.py

Cells that are the same graph under another numbering count as one: none is proposed twice.
"""

from functools import cache

import torch
from torch import nn

import shoal
from shoal.spaces import Constant, Space, forbid
from shoal.spaces.architectures import Net201, build

space = Space(
    net=Net201(cells=Constant(1), width=Constant(8), input_shape=(1, 8, 8), num_classes=10),
    rules=[
        forbid(  # nothing would reach the output
            lambda s: (
                (s.net.cell.edge_0_3 == "none") & (s.net.cell.edge_1_3 == "none") & (s.net.cell.edge_2_3 == "none")
            )
        )
    ],
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
    """Train one cell for six epochs with a cosine schedule, as the benchmark does for two hundred."""
    data, val_data = digits()
    model = build(trial.config.net, num_classes=10, in_channels=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    trial.register("schedule", schedule)
    loader = trial.prepare(model, optimizer, data, batch_size=64)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return nn.functional.cross_entropy(model(x), y, reduction="sum"), len(y)

    def accuracy(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return (model(x).argmax(1) == y).sum(), len(y)

    for _ in trial.epochs(6):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        schedule.step()
        trial.report(val_accuracy=trial.evaluate(accuracy, val_data))


study = shoal.Study(
    space=space,
    train=train,
    maximize="val_accuracy",
    trials=16,
    strategy="random",
    early_stopping=shoal.ASHA(max_epochs=6, min_epochs=2),
    value="best",
)
