"""What may be passed as data, and what is said about the rest."""

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shoal.errors import TrialError
from shoal.tests.models.trial.trial_rig import ScriptedLink, new_trial


def loader(folder: Path, data: Any, **options: Any) -> Any:
    model = torch.nn.Linear(2, 2)
    trial = new_trial(folder, ScriptedLink(), shards=options.pop("shards", 1))
    return trial.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), data, **({"batch_size": 4} | options))


class Dicts:
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, int]:
        return {"input": index, "label": -index}


Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    "data",
    [
        (np.arange(6.0), np.arange(6)),
        [torch.arange(6.0), torch.arange(6)],
        Pair(torch.arange(6.0), torch.arange(6)),
        torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6)),
        torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6)), range(6)),
        [(float(i), i) for i in range(6)],
        (np.arange(6.0)[::-1][::-1], np.arange(12)[::2] // 2),
    ],
    ids=["arrays", "tensors", "named", "dataset", "subset", "samples", "strided"],
)
def test_the_same_data_in_many_forms(data: Any, tmp_path: Path) -> None:
    batches = [part for batch in loader(tmp_path, data, shuffle=False) for part in batch]
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0]]
    assert [y.tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5]]


def test_dicts_stay_whole(tmp_path: Path) -> None:
    (first,), _ = [list(batch) for batch in loader(tmp_path, Dicts(), shuffle=False)]
    assert first["label"].tolist() == [0, -1, -2, -3]


def test_a_collate_function_of_ones_own(tmp_path: Path) -> None:
    (first,), _ = [list(batch) for batch in loader(tmp_path, Dicts(), shuffle=False, collate_fn=len)]
    assert first == 4


def test_length_is_global_steps(tmp_path: Path) -> None:
    assert len(loader(tmp_path, torch.zeros(10, 2))) == 3
    assert len(loader(tmp_path, torch.zeros(10, 2), drop_last=True)) == 2
    assert [len(batch) for batch in loader(tmp_path, torch.zeros(10, 2))] == [4, 4, 2]


class Stream(torch.utils.data.IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(3))


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (Stream(), "Stream, which can only be iterated"),
        ((i for i in range(3)), "generator, which can only be iterated"),
        (torch.utils.data.DataLoader(Dicts()), "a DataLoader"),  # type: ignore[arg-type]
        (torch.zeros(0, 2), "empty"),
        ((torch.zeros(3), torch.zeros(4)), r"different lengths: \[3, 4\]"),
        (3, "data is a int"),
    ],
)
def test_data_that_cannot_be_cut(data: Any, cause: str, tmp_path: Path) -> None:
    with pytest.raises(TrialError, match=cause) as caught:
        loader(tmp_path, data)
    assert caught.value.remedy


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, True])
def test_batch_sizes(batch_size: Any, tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="not a positive integer"):
        loader(tmp_path, torch.zeros(4, 2), batch_size=batch_size)


def test_drop_last_must_leave_something(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="leaves no batch: 3 samples, batch_size=4"):
        loader(tmp_path, torch.zeros(3, 2), drop_last=True)


def test_swapped_arguments(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(TrialError, match="model is a SGD"):
        new_trial(tmp_path, ScriptedLink()).prepare(optimizer, model, torch.zeros(4, 2), batch_size=2)  # type: ignore[arg-type]


def test_the_cut_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loader(tmp_path, torch.zeros(300, 2), batch_size=200, shards=8)
    assert capsys.readouterr().out == "trial 7: batches of 200 in V=4 shards of 50 samples\n"
