"""What a person waits for: the study page of 10,000 trials and 100,000 reports in a real browser.

    python -m benchmarks.dashboard --json [--peers] [--record] [--trials 10000]

| key | meaning |
|---|---|
| `first_plot_s` | navigation -> the first figure is drawn, an empty browser cache, s |
| `all_plots_s` | navigation -> every figure but the importance is drawn, s |
| `importance_s` | the importance's request -> it is drawn, computed anew, s |
| `bytes_total` | all replies as they went over the wire, headers included |
| `requests` | how many, the event stream included |
| `update_ms_p50`, `update_ms_p95` | the browser hears of new events -> what the page redraws for them is drawn, ms |
| `commit_to_drawn_ms_p50` | the events' commit -> the same, ms |
| `load_s` | the start of server and browser -> the journal is read and the studies are listed, s |

For each batch of events the page redraws the numbers, the best so far and the curves, and once in three seconds every
other figure in view. With `--peers`, an object `peers` has optuna-dashboard's on the same trials. `--record` keeps the
result under benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver

from shoal.search.journal.sqlite import SqliteJournal

from .browser import chromium, mark, waited
from .dashboard_study import trial_events, write_journal
from .recording import record

STUDY = "measured"
UPDATES = 30
UPDATE_EVERY_S = 0.7
RUNNING = 32
SPREAD = 5
"""Page loads; the median counts."""


@contextmanager
def served(data: Path) -> Iterator[str]:
    """`shoal dashboard` over a data directory, for as long as the block runs; its address with a code."""
    words = [sys.executable, "-m", "shoal", "dashboard", "--data", str(data), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def load_page(driver: webdriver.Chrome, base: str) -> dict[str, float]:
    """One visit of the study page with an empty cache."""
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    driver.get(f"{base}/study?study={STUDY}")
    waited(driver, lambda d: mark(d, "drawn all") is not None)
    sizes = driver.execute_script(
        "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".map(e => e.transferSize)"
    )
    figures = driver.execute_script(
        "return performance.getEntriesByType('mark').filter(m => m.name.startsWith('drawn '))"
        ".map(m => [m.name, m.startTime])"
    )
    drawn = {name: at / 1000 for name, at in figures}
    asked = driver.execute_script(
        "return performance.getEntriesByType('resource').find(e => e.name.includes('names=importance')).startTime"
    )
    others = [at for name, at in drawn.items() if name not in ("drawn importance", "drawn all")]
    return {
        "first_plot_s": min(others),
        "all_plots_s": max(others),
        "importance_s": drawn["drawn importance"] - asked / 1000,
        "bytes_total": sum(sizes),
        "requests": len(sizes) + 1,  # the event stream is no entry before it ends
    }


def updates(driver: webdriver.Chrome, journal: SqliteJournal, first: int) -> tuple[list[float], list[float]]:
    """(heard -> drawn, committed -> drawn) in ms, while trials go on ending and reporting."""
    driver.execute_script("performance.clearMeasures('update')")
    heard, committed = [], []
    for i in range(UPDATES):
        events = trial_events(first + i, time.time(), i % 64)
        seq = journal.append(STUDY, events) + len(events) - 1
        at_ms = time.time() * 1000
        journal.commit()
        waited(driver, lambda d, seq=seq: _drawn(d, seq) is not None, 20)  # type: ignore[misc]
        found = _drawn(driver, seq)
        assert found is not None
        heard.append(found["duration"])
        committed.append(found["ended_at_ms"] - at_ms)
        time.sleep(UPDATE_EVERY_S)
    return heard, committed


def _drawn(driver: webdriver.Chrome, seq: int) -> dict[str, float] | None:
    found: dict[str, float] | None = driver.execute_script(
        "const m = performance.getEntriesByName('update').find(e => e.detail >= arguments[0]);"
        "return m ? {duration: m.duration, ended_at_ms: performance.timeOrigin + m.startTime + m.duration} : null",
        seq,
    )
    return found


def measure(trials: int) -> dict[str, Any]:
    """All keys of the table."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        events = write_journal(data / "journal.db", STUDY, trials, running=RUNNING)
        loads = []
        for _ in range(SPREAD):  # a server each, so that every importance is computed
            began = time.perf_counter()
            with served(data) as address, chromium() as driver:
                base = _logged_in(driver, address)
                load_s = time.perf_counter() - began
                time.sleep(2.0)
                loads.append({**load_page(driver, base), "load_s": load_s})
        with served(data) as address, chromium() as driver:
            base = _logged_in(driver, address)
            load_page(driver, base)
            journal = SqliteJournal(data / "journal.db")
            try:
                heard, committed = updates(driver, journal, trials)
            finally:
                journal.close()
    result: dict[str, Any] = {key: statistics.median(load[key] for load in loads) for key in loads[0]}
    return {
        "trials": trials,
        "events": events,
        **{key: round(value, 3) for key, value in result.items()},
        "update_ms_p50": round(statistics.median(heard), 1),
        "update_ms_p95": round(statistics.quantiles(heard, n=20)[-1], 1),
        "commit_to_drawn_ms_p50": round(statistics.median(committed), 1),
    }


def _logged_in(driver: webdriver.Chrome, address: str) -> str:
    driver.get(address)
    waited(driver, lambda d: "/login" not in d.current_url)
    waited(driver, lambda d: STUDY in d.page_source)
    return address.split("/login")[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--peers", action="store_true", help="measure optuna-dashboard on the same trials too")
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    parser.add_argument("--trials", type=int, default=10_000)
    arguments = parser.parse_args()
    result = measure(arguments.trials)
    if arguments.peers:
        from .dashboard_peers import measure_peers

        result["peers"] = measure_peers(arguments.trials)
    if arguments.record:
        record("dashboard", result)
    as_json = json.dumps(result, indent=2)
    print(as_json if arguments.json else "\n".join(f"{key:<24} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
