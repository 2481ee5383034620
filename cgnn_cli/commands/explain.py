"""`cgnn explain`: one node, its neighbours, their times and weights, and what the model says about it."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from cgnn_cli.commands.inspect import check_output, standin_mark, write_output
from cgnn_cli.commands.options import (
    DATASET_SECTIONS,
    OUTPUT_PANEL,
    DatasetOption,
    InputOption,
    config_parameters,
    stage_configs,
)
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.stages import find_start, reject_fixed_options
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.pipeline import STAGES, Step, plan
from cgnn_cli.runner import Runner, given_step

FIGURE_KINDS = (".svg", ".png")

# It trains nothing, so --jobs has no use here.
COMPUTE_OPTIONS = (
    "compute.snapshot_seconds",
    "compute.deterministic",
    "compute.memory_limit",
    "compute.threads",
    "compute.device",
)


def register(app: typer.Typer) -> None:
    command(
        app,
        "explain",
        extra=config_parameters(*COMPUTE_OPTIONS, "rewire", "dilap", "commute", *DATASET_SECTIONS),
        help="One node: its neighbours with times and weights, and what the model says about it.",
        short_help="A node and its neighbours: times, weights, prediction. [green]cgnn explain NODE[/green]",
        epilog="Example: cgnn explain 17 --dataset demo --figure node17.svg",
        rich_help_panel="Use the results",
    )(explain)


def explain(
    session: Session,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node's id, exactly as in your files.")],
    dataset: DatasetOption = None,
    inputs: InputOption = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Most neighbours to show in each direction.")] = 20,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Also draw them, as .svg or .png.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
) -> Outcome:
    """Table of the heaviest neighbours in each direction."""
    if figure is not None:
        _check_figure(figure)
        check_output(figure)
    runner = session.runner()
    start = _start(session, inputs)
    step = _commute_step(start)
    header, hit = runner.obtain(step)
    graph, times = runner.data(step.inputs["graph"]), runner.data(step)

    from cgnn_cli.stages.explain import explain_node, find_node

    number = find_node(graph, node)
    found = explain_node(graph, times, _dilap(session, runner, step), number)
    if figure is not None:
        _draw(found, figure, top)
        session.talker.say(f"figure: {figure}")
    prediction = _prediction(session, runner, start, step, number)
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
    outcome = Outcome.of_artifact(
        step.file or session.store.path(header.stage, header.key), header, hit=hit, summary=summary
    )
    outcome.text = _text(found, prediction, top)
    return outcome


def _check_figure(path: Path) -> None:
    """Fail before anything is computed."""
    if path.suffix.lower() not in FIGURE_KINDS:
        raise UsageError(f"--figure {path}: figures are written as .svg or .png", "give the file one of these endings")
    if find_spec("matplotlib") is None:
        raise UsageError("--figure needs matplotlib, which is not installed", "pip install 'cgnn[plot]'")


def _start(session: Session, inputs: list[Path] | None) -> Step:
    """The commute step, or a step that was made from one: named, or the newest."""
    start = find_start(session, "train", inputs)
    reject_fixed_options(start, session.settings)
    if list(STAGES).index(start.stage.name) >= list(STAGES).index("commute"):
        return start
    return plan("commute", start, stage_configs(session.settings), ())


def _commute_step(start: Step) -> Step:
    step = start.find("commute")
    if step is None or "graph" not in step.inputs:
        raise UpstreamError(
            f"{start.stage.name} {start.key[:12]} was made without commute times, or they are not in the store",
            "name a commute artifact with --input, or a --dataset",
        )
    return step


def _dilap(session: Session, runner: Runner, step: Step) -> Any:
    """The walk's stationary distribution, where it is at hand."""
    try:
        return runner.data(step.inputs["dilap"])
    except UpstreamError:
        session.talker.note(
            f"no ratio: it needs the dilap artifact {step.inputs['dilap'].key[:12]}, which is not in the store; "
            "name its file with another --input"
        )
        return None


def _prediction(session: Session, runner: Runner, start: Step, step: Step, node: int) -> dict[str, Any] | None:
    """What the models trained with these weights say, where there are any; only then torch is imported."""
    trained = start.find("train") or _newest_training(session, step)
    if trained is None:
        return None
    header, _ = runner.obtain(trained)
    graph, splits = runner.data(step.inputs["graph"]), list(trained.config.splits)

    from cgnn_cli.graph import TRAIN
    from cgnn_cli.stages.predict import predict_classes

    operators = runner.operators(trained)
    result = predict_classes(graph, operators, runner.data(trained), trained.config.train, splits, runner.compute)
    seen = 0 if graph.splits is None else int((graph.splits[splits, node] == TRAIN).sum())
    return {
        "class": graph.class_labels()[int(result.classes[node])],
        "probability": round(float(result.probability[node]), 6),
        "models": len(splits),
        "trained_on_it": seen,
        "train_key": header.key,
    }


def _newest_training(session: Session, step: Step) -> Step | None:
    store = session.store
    made = [header for header in store.headers("train") if header.inputs.get("commute") == step.key]
    if not made or store.find("train", made[-1].key) is None:
        return None
    named = {part.key: part.file for part in step.upstream() if part.file is not None}
    return given_step(store, made[-1], named)


def _draw(found: Any, path: Path, top: int) -> None:
    if not found.out and not found.into:
        raise DataError(f"{found.id} has no neighbours, so there is nothing to draw", "leave --figure out")
    from cgnn_cli.report.explain_figure import draw_neighbours

    write_output(path, draw_neighbours(found, path.suffix.lower()[1:], top=top))


def _text(found: Any, prediction: dict[str, Any] | None, top: int) -> Any:
    from rich.console import Group
    from rich.text import Text

    lines = [found.id + (f", label {found.label}" if found.label else "")]
    if prediction:
        models = "the model" if prediction["models"] == 1 else f"the mean of {prediction['models']} models"
        seen = prediction["trained_on_it"]
        known = f", {seen} of which trained on its label" if seen else ""
        lines.append(
            f"predicted {prediction['class']} with probability {prediction['probability']:.3f} by {models}{known}"
        )
    if not found.out and not found.into:
        lines.append("no neighbours: no edge leads from it or to it, so it hears only itself")
        return Text("\n".join(lines))
    tables = []
    for title, rows in (("out-neighbours, by weight", found.out), ("in-neighbours, by weight", found.into)):
        if rows:
            tables.append(_table(title, rows[:top], rest=len(rows) - top))
        else:
            tables.append(Text(f"no {title.split(',')[0]}"))
    return Group(Text("\n".join(lines)), *tables)


def _table(title: str, rows: list[Any], *, rest: int) -> Any:
    from rich.table import Column, Table
    from rich.text import Text

    labelled = any(row.label for row in rows)
    figures = ("weight", "commute", "h to it", "h back", "ratio r")
    table = Table(
        "neighbour", *(["label"] if labelled else []), *(Column(name, justify="right") for name in figures), "tie"
    )
    table.title, table.title_justify = title, "left"
    for row in rows:
        numbers = (_weight(row.weight), *map(_time, (row.commute, row.hitting, row.hitting_back)), _ratio(row.ratio))
        label = [Text(row.label or "")] if labelled else []
        table.add_row(Text(row.id), *label, *numbers, "mutual" if row.mutual else "")
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
