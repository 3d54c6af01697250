"""Ordinary and awkward training code. Each function trains three epochs and returns its whole final state."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from shoal.trial_runner.trial import Trial

FEATURES, CLASSES = 8, 3
SAMPLES = 300  # 2 * 128 + 44: the last batch is smaller
EPOCHS = 3
BATCH = 128  # four shards of 32


def samples() -> tuple[torch.Tensor, torch.Tensor]:
    """Three noisy clouds, the same every time."""
    generator = torch.Generator().manual_seed(5)
    y = torch.randint(0, CLASSES, (SAMPLES,), generator=generator)
    centres = torch.randn(CLASSES, FEATURES, generator=generator)
    return centres[y] + torch.randn(SAMPLES, FEATURES, generator=generator), y


def mlp() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(FEATURES, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, CLASSES)
    )


def state(*objects: Any) -> list[Any]:
    return [copy.deepcopy(obj.state_dict()) for obj in objects]


def sum_loss(model: nn.Module) -> Any:
    return lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))


def score(trial: Trial, model: nn.Module) -> float:
    return trial.evaluate(lambda x, y: model(x).argmax(1) == y, samples())


def epochs(trial: Trial, model: nn.Module, loader: Any) -> Iterator[Any]:
    """The batches of all epochs, with a report after each."""
    for _ in trial.epochs(EPOCHS):
        yield from loader
        trial.report(score=score(trial, model))


def mlp_adamw(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=trial.config.lr)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            loss = trial.backward(sum_loss(model), batch)
            trial.mean("loss", loss, len(batch))
            optimizer.step()
        trial.report(score=score(trial, model))
    return state(model, optimizer)


def cnn_sgd(trial: Trial) -> Any:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, CLASSES)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = samples()
    images = (x[:, :, None] * x[:, None, :])[:, None]
    loader = trial.prepare(model, optimizer, (images, y), batch_size=BATCH)
    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(sum_loss(model), batch)
            optimizer.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (images, y)))
    return state(model, optimizer)


def transformer_adamw(trial: Trial) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.1, batch_first=True)
    model = nn.Sequential(nn.Unflatten(1, (4, 2)), nn.Linear(2, 8), layer, nn.Flatten(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        optimizer.step()
    return state(model, optimizer)


def step_scheduler_and_clipping(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=3 * EPOCHS)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    trial.register("scheduler", scheduler)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
    return state(model, optimizer, scheduler)


def epoch_scheduler(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])  # its state holds a Counter
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    trial.register("scheduler", scheduler)
    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(sum_loss(model), batch)
            optimizer.step()
        scheduler.step()
        trial.report(score=score(trial, model))
    return state(model, optimizer, scheduler)


def accumulation(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for _ in trial.epochs(EPOCHS):
        optimizer.zero_grad()
        for step, batch in enumerate(loader):
            trial.backward(sum_loss(model), batch)
            if step % 2 == 1:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
        trial.report(score=score(trial, model))
    return state(model, optimizer)


def scaler(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    trial.register("scaler", scaler)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch, scaler)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
    return state(model, optimizer, scaler)


def autocast_bf16(trial: Trial) -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(model(x), y, reduction="sum"), len(y)

    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(loss_fn, batch)
        optimizer.step()
    return state(model, optimizer)


def moving_average(trial: Trial) -> Any:
    model = mlp()
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    trial.register("average", average)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        optimizer.step()
        average.update_parameters(model)
    return state(model, optimizer, average)


def two_optimizers(trial: Trial) -> Any:
    body, head = nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU()), nn.Linear(8, CLASSES)
    fast, slow = torch.optim.SGD(head.parameters(), lr=0.1), torch.optim.Adam(body.parameters(), lr=0.01)
    loader = trial.prepare({"body": body, "head": head}, [fast, slow], samples(), batch_size=BATCH)
    model = nn.Sequential(body, head)
    for batch in epochs(trial, model, loader):
        for optimizer in (fast, slow):
            optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        for optimizer in (fast, slow):
            optimizer.step()
    return state(body, head, fast, slow)


def adversarial(trial: Trial) -> Any:
    """Two backward passes over one batch, each with its own noise; the judge's gradients of the second are dropped."""
    maker = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, FEATURES))
    judge = nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
    make = torch.optim.Adam(maker.parameters(), lr=0.01)
    tell = torch.optim.Adam(judge.parameters(), lr=0.01)
    loader = trial.prepare([maker, judge], [make, tell], samples(), batch_size=BATCH)

    def telling(x: torch.Tensor, _y: torch.Tensor) -> Any:
        fake = maker(torch.randn(len(x), 4)).detach()
        return F.softplus(-judge(x)).sum() + F.softplus(judge(fake)).sum(), len(x)

    def making(x: torch.Tensor, _y: torch.Tensor) -> Any:
        return F.softplus(-judge(maker(torch.randn(len(x), 4)))).sum(), len(x)

    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            tell.zero_grad()
            trial.backward(telling, batch)
            tell.step()
            make.zero_grad()
            trial.mean("score", trial.backward(making, batch))
            make.step()
        trial.report()
    return state(maker, judge, make, tell)


def lbfgs(trial: Trial) -> Any:
    model = nn.Linear(FEATURES, CLASSES)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=5)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for batch in epochs(trial, model, loader):

        def closure(batch: Any = batch) -> torch.Tensor:
            optimizer.zero_grad()
            return trial.backward(sum_loss(model), batch)

        optimizer.step(closure)
    return state(model, optimizer)


def unused_and_frozen(trial: Trial) -> Any:
    """One head unused in even steps, one never, a frozen layer that thaws in epoch 1."""
    model = nn.ModuleDict(
        {
            "body": nn.Linear(FEATURES, 8),
            "even": nn.Linear(8, CLASSES),
            "odd": nn.Linear(8, CLASSES),
            "no": nn.Linear(2, 2),
        }
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    model["body"].requires_grad_(False)
    for epoch in trial.epochs(EPOCHS):
        if epoch == 1:
            model["body"].requires_grad_(True)
        for step, batch in enumerate(loader):
            optimizer.zero_grad()
            trial.backward(sum_loss(nn.Sequential(model["body"], model["odd" if step % 2 else "even"])), batch)
            assert model["no"].weight.grad is None
            assert model["even" if step % 2 else "odd"].weight.grad is None
            optimizer.step()
        trial.report(score=epoch)
    return [*state(model, optimizer), [p.requires_grad for p in model.parameters()]]


def tied_weights(trial: Trial) -> Any:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = nn.Linear(FEATURES, 4), nn.Linear(4, FEATURES)
            self.decode.weight = nn.Parameter(torch.randn(FEATURES, 4))
            self.again = nn.Linear(4, FEATURES)
            self.again.weight = self.decode.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.decode(self.encode(x)) + self.again(self.encode(x).tanh())

    model = Tied()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            loss = trial.backward(lambda x, _y: (((model(x) - x) ** 2).sum(), x.numel()), batch)
            trial.mean("score", loss)
            optimizer.step()
        trial.report()
    assert model.again.weight is model.decode.weight
    return state(model, optimizer)


def nan_skip_and_break(trial: Trial) -> Any:
    """A batch with a NaN is skipped; every epoch breaks off early; steps are counted in the user's own state."""
    x, y = samples()
    x[17] = float("nan")
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=BATCH)
    steps = trial.load() or {"taken": 0, "skipped": 0}
    for _ in trial.epochs(EPOCHS):
        for step, batch in enumerate(loader):
            if step == 2:
                break
            optimizer.zero_grad()
            loss = trial.backward(sum_loss(model), batch)
            if not torch.isfinite(loss):
                steps["skipped"] += 1
                continue
            optimizer.step()
            steps["taken"] += 1
        trial.save(steps)
        trial.report(score=steps["taken"])
    return [*state(model, optimizer), steps]


def token_weights(trial: Trial) -> Any:
    """The loss is divided by the number of labelled samples; most of a batch may have none."""
    x, y = samples()
    labels = torch.where(torch.arange(SAMPLES) % 7 == 0, y, -100)
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, (x, labels), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.cross_entropy(model(x), y, ignore_index=-100, reduction="sum"), (y != -100).sum()

    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(loss_fn, batch)
        optimizer.step()
    return state(model, optimizer)


def contrastive(trial: Trial) -> Any:
    """Samples of a micro-batch are compared with one another."""
    model = nn.Linear(FEATURES, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = F.normalize(model(x + 0.1 * torch.randn_like(x)), dim=1)
        return F.cross_entropy(z @ F.normalize(model(x), dim=1).T, torch.arange(len(x)), reduction="sum"), len(x)

    for _ in trial.epochs(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            trial.mean("score", trial.backward(loss_fn, batch), len(batch))
            optimizer.step()
        trial.report()
    return state(model, optimizer)


def hooks_and_own_buffers(trial: Trial) -> Any:
    """Gradient and forward hooks, a buffer that is replaced instead of written to, one that state_dict leaves out."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(FEATURES, CLASSES)
            self.register_buffer("seen", torch.zeros(()))
            self.register_buffer("unsaved", torch.zeros(FEATURES), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = self.seen + 1
            self.unsaved.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return self.layer(x - self.unsaved)

    model = Counting()
    model.layer.weight.register_hook(lambda gradient: gradient.clamp(-1.0, 1.0))
    model.layer.register_forward_hook(lambda _module, _args, output: output * 1.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        optimizer.step()
    return [*state(model, optimizer), model.unsaved.clone()]


def python_and_numpy_noise(trial: Trial) -> Any:
    """Randomness from every generator, inside the loss and between the steps."""
    import random

    import numpy as np

    model = nn.Linear(FEATURES, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        noise = random.random() + np.random.rand()
        return F.cross_entropy(model(x + noise * torch.randn_like(x)), y, reduction="sum"), len(y)

    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(loss_fn, batch)
        optimizer.param_groups[0]["lr"] = 0.1 * (random.random() + float(np.random.rand()) + torch.rand(()).item())
        optimizer.step()
    return state(model, optimizer)


class Jittered:
    """A map-style data set with random augmentation, from every generator."""

    def __init__(self) -> None:
        self._x, self._y = samples()

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        import random

        import numpy as np

        noise = random.random() + np.random.rand() + torch.rand(FEATURES)
        return self._x[place] + 0.1 * noise, self._y[place]


def augmentation_in_processes(trial: Trial) -> Any:
    """Samples are fetched and augmented in two processes of a DataLoader."""
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, Jittered(), batch_size=BATCH, num_workers=2)
    for batch in epochs(trial, model, loader):
        optimizer.zero_grad()
        trial.backward(sum_loss(model), batch)
        optimizer.step()
    return state(model, optimizer)


ALL = [
    mlp_adamw, cnn_sgd, transformer_adamw, step_scheduler_and_clipping, epoch_scheduler, accumulation, scaler,
    autocast_bf16, moving_average, two_optimizers, adversarial, lbfgs, unused_and_frozen, tied_weights,
    nan_skip_and_break, token_weights, contrastive, hooks_and_own_buffers, python_and_numpy_noise,
]  # fmt: skip
