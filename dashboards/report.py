"""One HTML file with a study's figures and tables, which opens anywhere, offline, years later."""

from __future__ import annotations

import html
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ShoalError
from ..search.spec import Json
from ..search.transitions import TrialStatus
from ..search.trial_record import TrialRecord
from . import pages
from .axes import written
from .figures import OF_OBJECTIVE, STUDY_FIGURES, Options, dumped, figure_json, study_figure
from .redaction import redacted
from .study_view import StudyView
from .terminal.figures import duration, number
from .terminal.standing import leader

FOLDER = Path(pages.__file__).parent
FIGURES = tuple(name for name in STUDY_FIGURES if name != "trial_curve")
WIDE = ("parallel_coordinates", "slices", "gantt", "architecture")
"""Figures that take the whole width of the page."""

BEST_ROWS = 50

SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
for (const [name, figure] of Object.entries(JSON.parse(document.getElementById("figures").textContent))) {
  figure.layout.font.color = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
  Plotly.newPlot("plot-" + name, figure.data, figure.layout, { responsive: true, displayModeBar: false });
}
"""


def report(view: StudyView) -> str:
    """The page as text.

    Args:
        view: the study; of several objectives, the figures that show one at a time are there for each.
    """
    drawn = {name: figure_json(study_figure(view, name)) for name in FIGURES}
    charts = _charts(FIGURES, "")
    for i, objective in enumerate(view.state.spec.objectives[1:], start=1):
        options = Options(metric=objective.metric)
        drawn |= {f"{name}-{i}": figure_json(study_figure(view, name, options)) for name in OF_OBJECTIVE}
        charts += f"<h2>{_text(f'{objective.direction} {objective.metric}')}</h2>{_charts(OF_OBJECTIVE, f'-{i}')}"
    title = html.escape(view.name)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title} · shoal report</title>",
            f"<style>{(FOLDER / 'shoal.css').read_text(encoding='utf-8')}</style>",
            f"</head><body><main><h1>{title}</h1>",
            facts(view),
            charts,
            "<h2>Best trials</h2>",
            trials_table(view),
            "</main>",
            f'<script type="application/json" id="figures">{script_safe(drawn)}</script>',
            f"<script>{(FOLDER / 'plotly' / 'plotly-strict.min.js').read_text(encoding='utf-8')}</script>",
            f"<script>{SCRIPT}</script></body></html>",
        ]
    )


def write_report(view: StudyView, path: Path) -> None:
    """Write the page into a file.

    Raises:
        ShoalError: the file cannot be written.
    """
    try:
        path.write_text(report(view), encoding="utf-8")
    except OSError as error:
        raise ShoalError(f"{path} cannot be written: {error.strerror}.", "Name a file in a folder you own.") from error


def facts(view: StudyView) -> str:
    """The study's standing as a list of HTML boxes."""
    state, best = view.state, view.state.best
    counts = ", ".join(f"{n} {status}" for status, n in state.counts().items() if n)
    used = f"{state.gpu_s / 3600:.4g} GPU-hours" if state.gpu_s else duration(state.run_s)
    boxes = [
        ("state", state.status, "; ".join(part for part in (_as_of(view), _told(state.reason)) if part)),
        ("trials", str(len(state.trials)), counts or "none"),
        ("used", used, f"{state.epochs_trained} epochs"),
        ("strategy", state.spec.strategy.name, f"early stopping: {state.spec.early_stopping.name}"),
        (
            f"best {view.objective.metric}",
            number(best.value) if best is not None else "-",
            f"trial {best.number}" if best is not None else _leads(view),
        ),
    ]
    inner = "".join(
        f'<div class="fact"><div class="name">{_text(name)}</div><div class="value">{_text(value)}</div>'
        f'<div class="more">{_text(more)}</div></div>'
        for name, value, more in boxes
    )
    return f'<div class="facts">{inner}{_configuration(view, best)}{_remarks(view)}</div>'


def _as_of(view: StudyView) -> str:
    """The last moment that the report knows of."""
    at = view.state.last_at
    return "" if at is None else f"as of {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _told(reason: str) -> str:
    return "" if reason == "created" else reason


def _leads(view: StudyView) -> str:
    """The trial to look at before one has completed."""
    first = leader(view.state)
    return "no trial has completed" + (f"; {number(first.best_value)} so far in trial {first.number}" if first else "")


def _remarks(view: StudyView) -> str:
    """What people wrote on the study; nothing where they did not."""
    note, tags = view.state.note, view.state.tags
    if not note and not tags:
        return ""
    shown = "".join(f'<span class="tag">{_text(tag)}</span>' for tag in tags)
    text = f'<p class="note-text">{_text(note)}</p>' if note else ""
    return f'<div class="fact wide"><div class="name">note and tags</div><div class="tags">{shown}</div>{text}</div>'


def _configuration(view: StudyView, best: TrialRecord | None) -> str:
    """The best trial's parameters, each kept in one piece."""
    if best is None:
        return ""
    pairs = "".join(
        f'<span><span class="quiet">{_text(path)}=</span>{_text(written(value))}</span>'
        for path, value in view.flat(best).items()
    )
    inner = f'<span class="pairs">{pairs}</span>' if pairs else "(no parameters)"
    return f'<div class="fact wide"><div class="name">best configuration</div><div class="more">{inner}</div></div>'


def trials_table(view: StudyView, rows: int = BEST_ROWS) -> str:
    """The best trials first, completed ones before stopped and paused ones, then failed ones, with the reasons."""
    valued = sorted(
        view.judged(),
        key=lambda t: (t.status is not TrialStatus.COMPLETED, view.objective.loss(t.value or 0.0), t.number),
    )
    failed = [t for t in view.trials if t.status is TrialStatus.FAILED]
    shown = [*valued[:rows], *failed[: rows // 5]]
    body = "".join(
        _row(
            [
                str(t.number),
                str(t.status),
                _values(t),
                str(t.last_step),
                " ".join(f"{path}={written(value)}" for path, value in view.flat(t).items()),
                "; ".join(part for part in (" ".join(t.tags), t.note) if part),
                t.reason,
            ]
        )
        for t in shown
    )
    columns = ("trial", "state", "value", "epochs", "parameters", "tags and note", "why")
    head = "".join(f"<th>{name}</th>" for name in columns)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _values(trial: TrialRecord) -> str:
    """The value, or of several objectives each with its name."""
    named = trial.named_values or {}
    if len(named) < 2:
        return number(trial.value)
    return ", ".join(f"{metric} {number(value)}" for metric, value in named.items())


def script_safe(body: Json) -> str:
    """JSON that cannot end the script element it stands in.

    >>> script_safe("</script>")
    '"\\\\u003c/script>"'
    """
    return dumped(body).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _charts(names: Iterable[str], suffix: str) -> str:
    """Places for figures, which the script fills by their ids."""
    places = "\n".join(
        f'<section class="{_class_of(name)}"><div class="plot" id="plot-{name}{suffix}"></div></section>'
        for name in names
    )
    return f'<div class="charts">{places}</div>'


def _class_of(figure: str) -> str:
    return "chart wide" if figure in WIDE else "chart"


def _row(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"


def _text(value: object) -> str:
    return html.escape(redacted(str(value)))
