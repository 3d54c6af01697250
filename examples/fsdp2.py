"""Code that cannot be prepared: FSDP2 shards a model over the workers of a trial, which may change between two runs of
the function. The second path: save a checkpoint that any number of workers can read, and begin again.

    shoal run examples/fsdp2.py

Each trial starts torchrun on the devices that it was given; on a machine without GPUs, with two processes on CPUs.
"""

import json
import os
import shlex
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

import shoal
from shoal.spaces import Float, Ordinal, Space

STEPS, BATCH = 8, 64


class State:
    """Model and optimizer as one thing that distributed checkpoints save and load, whatever the number of workers."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer, self.epochs = model, optimizer, 0

    def state_dict(self) -> dict[str, object]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "epochs": torch.tensor(self.epochs)}

    def load_state_dict(self, state: dict[str, object]) -> None:
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.epochs = int(state["epochs"])


def build(width: int, lr: float) -> State:
    """A network whose layers are sharded over all workers."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))
    for layer in (*model[::2], model):
        fully_shard(layer)
    return State(model, torch.optim.AdamW(model.parameters(), lr=lr))


def batch(epoch: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This worker's part of a global batch, which does not depend on how many share it."""
    generator = torch.Generator().manual_seed(1000 * epoch + step)
    x = torch.randn(BATCH, 16, generator=generator)
    mine = x.chunk(dist.get_world_size())[dist.get_rank()]
    return mine, mine[:, :4].argmax(1)


def worker(folder: Path, width: int, lr: float, until: int) -> None:
    """Train to epoch `until`, from the last checkpoint in `folder`, on as many workers as there are now."""
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    state = build(width, lr)
    done = sorted(folder.glob("epoch-*/.metadata"))
    if done:
        dcp.load({"state": state}, checkpoint_id=done[-1].parent)
    for epoch in range(state.epochs, until):
        total = torch.zeros((), device=device)
        for step in range(STEPS):
            x, y = (part.to(device) for part in batch(epoch, step))
            loss = F.cross_entropy(state.model(x), y)
            loss.backward()
            state.optimizer.step()
            state.optimizer.zero_grad()
            total += loss.detach()
        dist.all_reduce(total)
        state.epochs = epoch + 1
        dcp.save({"state": state}, checkpoint_id=folder / f"epoch-{state.epochs:04d}")
        if dist.get_rank() == 0:
            mean = total.item() / STEPS / dist.get_world_size()
            print(json.dumps({"step": state.epochs, "loss": mean, "workers": dist.get_world_size()}), flush=True)
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # torch's communication threads sometimes abort the process when the interpreter takes them down


PYTHON = shlex.quote(sys.executable)  # this environment's, whichever `python` the shell would find

study = shoal.Study(
    space=Space(lr=Float(1e-3, 1e-1, log=True), width=Ordinal([32, 64])),
    train=shoal.Command(PYTHON + " fsdp2.py {checkpoint_dir} {width} {lr}"),
    minimize="loss",
    trials=2,
    strategy="random",
)

if __name__ == "__main__":
    if "RANK" in os.environ:
        worker(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(os.environ.get("EPOCHS", "6")))
    else:  # started by the trial: one process for each of its GPUs, or as many as it is told
        gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
        count = str(len(gpus) or os.environ.get("WORKERS", "2"))
        launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", count]
        os.execv(sys.executable, [sys.executable, "-m", *launcher, *sys.argv])
