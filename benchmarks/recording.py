"""Results that are kept: under a name that says what was measured when, on what, and of which commit."""

from __future__ import annotations

import datetime
import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")


def record(name: str, result: dict[str, Any]) -> Path:
    """Keep a benchmark's result; where it lies."""
    git = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    commit = git.stdout.strip() or "uncommitted"
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}_{datetime.date.today().isoformat()}_{cpu_name()}_{commit}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    return path


def cpu_name() -> str:
    """The processor's model, fit for a file's name."""
    try:
        text = Path("/proc/cpuinfo").read_text()
        found = re.search(r"model name\s*:\s*(.*)", text)
    except OSError:
        found = None
    name = found.group(1) if found else platform.processor() or platform.machine()
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:40]
