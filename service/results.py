"""What a finished (or interrupted) study hands back to a script or a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..search.study_state import StudyState
from ..search.trial_record import TrialRecord
from ..spaces import Configuration, Space

if TYPE_CHECKING:
    from ..dashboards.notebook import ResultFigures


class StudyResults:
    """The outcome of a study.

    `state` is "completed", "stopped", "failed", or "running"/"paused" when it was interrupted and can go on;
    `reason` says why.
    """

    def __init__(self, study: StudyState, space: Space | None) -> None:
        self._study = study
        self._space = space

    @property
    def name(self) -> str:
        return self._study.spec.name

    @property
    def state(self) -> str:
        return self._study.status

    @property
    def reason(self) -> str:
        return self._study.reason

    @property
    def exit_code(self) -> int:
        """What the command line exits with: 0 ok, 1 failed, 5 all trials failed."""
        return self._study.exit_code

    @property
    def value(self) -> float | None:
        """The best completed trial's value, of the first objective; None when none completed within the constraints."""
        best = self._study.best
        return None if best is None else best.value

    @property
    def config(self) -> Configuration | dict[str, Any] | None:
        """The best completed trial's configuration (define by run: its suggested values by name)."""
        best = self._study.best
        return None if best is None else self._config_of(best)

    @property
    def best(self) -> dict[str, Any] | None:
        """The best completed trial as a row of `trials`; of several objectives the best in the first."""
        best = self._study.best
        return None if best is None else self._row(best)

    @property
    def front(self) -> list[dict[str, Any]]:
        """The Pareto front, best in the first objective first: completed trials that keep the constraints, and to which
        no other one is superior. With one objective that is the best alone."""
        rows = [self._row(self._study.trials[number]) for number in self._study.front]
        first = self._study.spec.objective
        return sorted(rows, key=lambda row: (first.loss(row["value"]), row["number"]))

    @property
    def trials(self) -> list[dict[str, Any]]:
        """One dict a trial: number, parent (the trial whose state it started from), state, value (of the first
        objective), values (of all, by metric), feasible (does it keep the constraints), config, epochs, reason, run_s,
        gpu_s, failure, curve."""
        return [self._row(record) for record in self._study.trials.values()]

    @property
    def figures(self) -> ResultFigures:
        """Plotly figures by name: `results.figures.history()`, `.learning_curves()`, `.importance()`, ..."""
        from ..dashboards.notebook import ResultFigures

        return ResultFigures(self._study)

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dict a trial, for `pandas.DataFrame(...)`: parameters as columns named `config.<path>`."""
        rows = []
        for record in self._study.trials.values():
            row = self._row(record)
            values = row["values"] or {}
            del row["config"], row["curve"], row["values"]
            if len(record.objectives) > 1:
                row.update({f"value.{o.metric}": values.get(o.metric) for o in record.objectives})
            row.update({f"config.{path}": value for path, value in self._flat_of(record).items()})
            rows.append(row)
        return rows

    def _row(self, record: TrialRecord) -> dict[str, Any]:
        return {
            "number": record.number,
            "parent": record.parent,
            "state": str(record.status),
            "value": record.value,
            "values": record.named_values,
            "feasible": None if record.values is None else self._study.excess(record) == 0,
            "config": self._config_of(record),
            "epochs": record.curve[-1][0] if record.curve else 0,
            "reason": record.reason,
            "failure": None if record.failure is None else str(record.failure),
            "split": record.split,
            "approximate": record.approximate,
            "run_s": record.run_s,
            "gpu_s": record.gpu_s,
            "curve": list(record.curve),
        }

    def _config_of(self, record: TrialRecord) -> Configuration | dict[str, Any]:
        if self._space is None or record.config is None:
            return dict(record.flat)
        return self._space.configuration(record.config)

    def _flat_of(self, record: TrialRecord) -> dict[str, Any]:
        config = self._config_of(record)
        return dict(config.flat()) if isinstance(config, Configuration) else config

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self._study.trials)

    def __repr__(self) -> str:
        best = self._study.best
        found = "no completed trial" if best is None else f"best {best.value:.6g} (trial {best.number})"
        if len(self._study.spec.objectives) > 1:
            found = f"{len(self._study.front)} trials on the front"
        return f"StudyResults({self.name!r}: {self.state}, {len(self)} trials, {found})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ..dashboards.notebook import summary_html

        return summary_html(self._study)
