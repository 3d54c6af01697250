"""Where the recorded trainings are."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "search"


class MissingDataError(Exception):
    """The data of the tasks, or what reads them, is not on this machine."""


def folder() -> Path:
    """The data's folder.

    Raises:
        MissingDataError: there is none.
    """
    path = Path(os.environ.get("SHOAL_SEARCH_DATA", BESIDE))
    if not path.is_dir():
        raise MissingDataError(f"no search data in {path}; set SHOAL_SEARCH_DATA to the folder that has nb201.npz")
    return path


@cache
def table(name: str) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file."""
    with np.load(folder() / name) as arrays:
        return {key: arrays[key] for key in arrays.files}


@cache
def document(name: str) -> Any:
    """A JSON file."""
    return json.loads((folder() / name).read_text(encoding="utf-8"))


@cache
def session(scenario: str) -> Any:
    """The ONNX model of a YAHPO scenario, on one thread.

    Raises:
        MissingDataError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise MissingDataError("the surrogates need onnxruntime: pip install 'shoal[bench]'") from None
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(folder() / "yahpo" / scenario / "model.onnx", sess_options=options)
