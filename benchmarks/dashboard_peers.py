"""optuna-dashboard on the same trials, in the same browser. It comes with the extra `peers`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver

from .browser import chromium, waited
from .dashboard_study import EPOCHS, SPACE, configuration, curve

QUIET_S = 3.0
"""A page is done when it has fetched and drawn nothing for so long."""

LIMIT_S = 180.0

WATCH = """
const seen = window.seen = { first: null, last: 0, nodes: 0 };
setInterval(() => {
  const nodes = document.querySelectorAll('.js-plotly-plot .main-svg path, .js-plotly-plot canvas').length;
  if (nodes && seen.first === null) seen.first = performance.now();
  if (nodes !== seen.nodes) { seen.nodes = nodes; seen.last = performance.now(); }
}, 20);
"""


def measure_peers(trials: int) -> dict[str, dict[str, float | int]]:
    """First plot, all plots, bytes and requests of optuna-dashboard's page of the study.

    Raises:
        SystemExit: optuna-dashboard is not installed.
    """
    program = shutil.which("optuna-dashboard", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        raise SystemExit("optuna-dashboard is not installed: pip install -c constraints.txt -e '.[peers]'")
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'optuna.db'}"
        _write_study(storage, trials)
        with _served(program, storage) as base:
            cold = _visit(base)
            warm = _visit(base)
    return {"optuna_dashboard": cold, "optuna_dashboard_warm": warm}


def _write_study(storage: str, trials: int) -> None:
    """The trials of `dashboard_study` as Optuna's: same parameters, values and curves."""
    import optuna
    from optuna.trial import TrialState, create_trial

    from shoal.search.strategies.optuna_encoding import encoding_of

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    encodings = {decision.path: encoding_of(decision.domain) for decision in SPACE.all_decisions()}
    study = optuna.create_study(storage=storage, study_name="measured", direction="maximize")
    frozen = []
    for number in range(trials):
        flat, values = configuration(number).flat(), curve(number)
        frozen.append(
            create_trial(
                state=TrialState.COMPLETE if len(values) == max(EPOCHS) else TrialState.PRUNED,
                params={path: encodings[path].param(value) for path, value in flat.items()},
                distributions={path: encodings[path].distribution for path in flat},
                intermediate_values=dict(enumerate(values, start=1)),
                value=values[-1],
            )
        )
    study.add_trials(frozen)


@contextmanager
def _served(program: str, storage: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [program, storage, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    base = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{base}/api/studies", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        yield base
    finally:
        process.terminate()
        process.wait(20)


def _visit(base: str) -> dict[str, float | int]:
    with chromium() as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        driver.set_script_timeout(LIMIT_S)
        driver.get(f"{base}/dashboard/studies/1")
        waited(driver, _is_quiet, LIMIT_S)
        seen = driver.execute_script("return window.seen")
        sizes = driver.execute_script(
            "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".map(e => e.transferSize)"
        )
    return {
        "first_plot_s": round(seen["first"] / 1000, 3),
        "all_plots_s": round(seen["last"] / 1000, 3),
        "bytes_total": sum(sizes),
        "requests": len(sizes),
    }


def _is_quiet(driver: webdriver.Chrome) -> bool:
    return bool(
        driver.execute_script(
            "const ends = performance.getEntriesByType('resource').map(e => e.responseEnd);"
            "const last = Math.max(window.seen.last, ...ends);"
            "return window.seen.first !== null && performance.now() - last > arguments[0] * 1000",
            QUIET_S,
        )
    )
