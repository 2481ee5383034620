"""`cgnn explain`: one node, its neighbours, their times and weights, and what the model says about it."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from cgnn_cli.commands import console, options
from cgnn_cli.commands.options import OUTPUT_PANEL, argument, option
from cgnn_cli.commands.output import check_output, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import find_start
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.pipeline import is_after, plan, up_to
from cgnn_cli.store.outputs import write_output

PARTS = ("popularity", "direct", "indirect")
FIGURE_HELP = "Also draw them, as .svg or .png."


def register(app: typer.Typer) -> None:
    command(
        app,
        "explain",
        explain,
        help="One node: its neighbours with times and weights, and what the model says about it.",
        brief="A node and its neighbours: times, weights, prediction. [green]cgnn explain NODE[/green]",
        example="cgnn explain 17 --dataset demo --figure node17.svg",
        panel="Use the results",
        extra=options.config_parameters(*options.COMPUTE_WITHOUT_JOBS, *up_to("commute"), *options.DATASET_SECTIONS),
    )


def explain(
    session: Session,
    node: Annotated[str, argument("NODE", "The node's id, exactly as in your files.")],
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    top: Annotated[int, option("--top", "Most neighbours to show in each direction.", min=1)] = 20,
    figure: Annotated[Path | None, option("--figure", FIGURE_HELP, OUTPUT_PANEL, metavar="FILE")] = None,
) -> Outcome:
    """Table of the heaviest neighbours in each direction."""
    if figure is not None:
        _check_figure(figure)
        check_output(session, figure)
    start = find_start(session, "train", inputs)
    if is_after("commute", start.stage.name):
        start = plan("commute", start, options.stage_configs(session.settings), ())
    step = start.find("commute")
    if step is None or "graph" not in step.inputs:
        raise UpstreamError(
            f"{start.stage.name} {start.key[:12]} was made without commute times, or they are not in the store",
            "name a commute artifact with --input, or a --dataset",
        )
    explanation = session.workspace.explain(step, node, start.find("train"))
    ((header, hit),) = session.workspace.obtain(step)
    found, prediction = explanation.neighbourhood, explanation.prediction
    for note in explanation.notes:
        session.talker.note(note)
    if figure is not None:
        if not found.out and not found.into:
            raise DataError(f"{found.id} has no neighbours, so there is nothing to draw", "leave --figure out")
        from cgnn_cli.report.neighbour_figure import draw_neighbours

        write_output(figure, draw_neighbours(found, figure.suffix.lower()[1:], top=top))
        session.talker.say(f"figure: {figure}")
    summary = {
        "node": found.id,
        "label": found.label,
        "prediction": prediction,
        "out": [row.to_json() for row in found.out[:top]],
        "in": [row.to_json() for row in found.into[:top]],
        "out_count": len(found.out),
        "in_count": len(found.into),
        "figure": str(figure) if figure else None,
        **standin_mark(header),
    }
    path = step.file or session.store.path(header.stage, header.key)
    outcome = Outcome.of_artifact(path, header, hit=hit, summary=summary)
    outcome.text = _text(found, prediction, top)
    return outcome


def _check_figure(path: Path) -> None:
    """Fail before anything is computed."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise UsageError(f"--figure {path}: figures are written as .svg or .png", "give the file one of these endings")
    if find_spec("matplotlib") is None:
        raise UsageError("--figure needs matplotlib, which is not installed", "pip install 'cgnn[plot]'")


def _text(found: Any, prediction: dict[str, Any] | None, top: int) -> Any:
    lines = [found.id + (f", label {found.label}" if found.label else "")]
    if prediction:
        models = "the model" if prediction["models"] == 1 else f"the mean of {prediction['models']} models"
        seen = prediction["trained_on_it"]
        known = f", {seen} of which trained on its label" if seen else ""
        probability = f"with probability {prediction['probability']:.3f}"
        lines.append(f"predicted {prediction['class']} {probability} by {models}{known}")
    if not found.out and not found.into:
        lines.append("no neighbours: no edge leads from it or to it, so it hears only itself")
        return Group(*lines)
    tables: list[str | Table] = []
    for title, rows in (("out-neighbours, by weight", found.out), ("in-neighbours, by weight", found.into)):
        none = f"no {title.split(',')[0]}"
        tables.append(_table(title, rows[:top], rest=len(rows) - top) if rows else none)
    return Group(*lines, *tables)


def _table(title: str, rows: list[Any], *, rest: int) -> Any:
    labelled = any(row.label for row in rows)
    parts = any(not math.isnan(row.indirect) for row in rows)
    figures = ("weight", "commute", "h to it", "h back", "ratio r", *(PARTS if parts else ()))
    table = Table("neighbour", *(["label"] if labelled else []), *map(console.figure, figures), "tie")
    table.title, table.title_justify = title, "left"
    for row in rows:
        numbers = (_weight(row.weight), *map(_time, (row.commute, row.hitting, row.hitting_back)), _ratio(row.ratio))
        numbers += tuple(_time(getattr(row, name)) for name in PARTS if parts)
        label = [row.label or ""] if labelled else []
        table.add_row(row.id, *label, *numbers, "mutual" if row.mutual else "")
    if rest > 0:
        table.caption, table.caption_justify = f"and {rest:,} more", "left"
    return table


def _time(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.2f}" if 0.01 <= abs(value) < 1e6 or value == 0 else f"{value:.3e}"


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _weight(value: float) -> str:
    return f"{value:.4f}" if value >= 1e-4 or value == 0 else f"{value:.0e}"
