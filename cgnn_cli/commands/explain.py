"""`cgnn explain`: one node, what the model says about it and why, and its neighbours with times and weights."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from cgnn_cli.commands import console, options
from cgnn_cli.commands.finding import last_run
from cgnn_cli.commands.options import OUTPUT_PANEL, argument, option
from cgnn_cli.commands.output import check_output, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import find_start
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.pipeline import Step, is_after, plan, up_to
from cgnn_cli.store.outputs import write_output
from cgnn_cli.workspace import MOST_LEFT_OUT

PARTS = ("popularity", "direct", "indirect")
KINDS = (".svg", ".png", ".pdf")
FIGURE_HELP = "Also draw the node among its neighbours, as .svg, .png or .pdf."
CLASS_HELP = "Give the reasons for this class. Default: the predicted one."
TRY_HELP = "Leave out at most this many neighbours in turn, the heaviest first."
EDGES = {"to": "->", "from": "<-", "both": "<->", "none": "heard without an edge"}


def register(app: typer.Typer) -> None:
    command(
        app,
        "explain",
        explain,
        help="One node: what the model says about it, what each neighbour adds to that, and their times and weights.",
        brief="Why the model says what it says of a node.",
        example="cgnn explain 17 --figure node17.svg",
        panel="Use the results",
        common="--dataset --class --top --try --figure --input --json",
        extra=options.config_parameters(*options.COMPUTE_WITHOUT_JOBS, *up_to("commute"), *options.DATASET_SECTIONS),
    )


def explain(
    session: Session,
    node: Annotated[str, argument("NODE", "The node's id, exactly as in your files.")],
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    about: Annotated[str | None, option("--class", CLASS_HELP, metavar="NAME")] = None,
    top: Annotated[int, option("--top", "Show at most this many neighbours in each table.", min=1)] = 20,
    most: Annotated[int, option("--try", TRY_HELP, min=0)] = MOST_LEFT_OUT,
    figure: Annotated[Path | None, option("--figure", FIGURE_HELP, OUTPUT_PANEL, metavar="FILE")] = None,
) -> Outcome:
    """What the model says and why, then tables of the heaviest neighbours in each direction."""
    if figure is not None:
        _check_figure(figure)
        check_output(session, figure)
    step = _start(session, inputs)
    if (figure or about) and step.stage.name != "train" and not session.workspace.newest_training(step):
        flag = "--figure" if figure else "--class"
        raise UpstreamError(
            f"{flag} is about what a model says, and none was trained with these weights",
            "`cgnn run` trains one; leave the options of stages out to take the run made last",
        )
    explanation = session.workspace.explain(step, node, about, most)
    ((header, hit),) = session.workspace.obtain(step)
    found, reasons = explanation.neighbourhood, explanation.reasons
    for note in explanation.notes:
        session.talker.note(note)
    if reasons is None:
        session.talker.note("no reasons: no model was trained with these weights; `cgnn run` trains one")
    elif untried := [reason for reason in reasons.neighbours if reason.adds is None and reasons.hear]:
        session.talker.note(
            f"{len(untried):,} of {len(reasons.neighbours):,} neighbours were not left out in turn, only the "
            f"{reasons.tried} heaviest; --try sets how many"
        )
    if figure is not None:
        _draw(session, figure, reasons)
    summary = {
        "node": found.id,
        "label": found.label,
        "prediction": None if reasons is None else _prediction(reasons, explanation.train_key),
        "reasons": None if reasons is None else reasons.to_json(),
        "out": [row.to_json() for row in found.out[:top]],
        "in": [row.to_json() for row in found.into[:top]],
        "out_count": len(found.out),
        "in_count": len(found.into),
        "figure": str(figure) if figure else None,
        **standin_mark(header),
    }
    path = step.file or session.store.path(header.stage, header.key)
    outcome = Outcome.of_artifact(path, header, hit=hit, summary=summary)
    outcome.text = _text(found, reasons, top, timed=step.find("commute") is not None)
    return outcome


def _start(session: Session, inputs: list[Path] | None) -> Step:
    """The run made last, of all or on the dataset; or times, where options or a file name some, or there is no run."""
    named = any(session.settings.given_in(stage) for stage in up_to("commute"))
    if not (inputs or named or session.settings.preset):
        dataset = session.settings.value("dataset")
        graph = find_start(session, "eval", None).find("graph") if dataset else None
        if trained := last_run(session, graph):
            return trained
    start = find_start(session, "train", inputs)
    if is_after("commute", start.stage.name):
        start = plan("commute", start, options.stage_configs(session.settings), ())
    return start


def _check_figure(path: Path) -> None:
    """Fail before anything is computed."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"--figure {path}: figures are written as {', '.join(KINDS)}", "give the file such an ending")
    if kind == ".svg":
        return
    if find_spec("matplotlib") is None:
        hint = "pip install 'cgnn[plot]', or write .svg"
        raise UsageError(f"--figure {path} needs matplotlib, which is not installed", hint)


def _draw(session: Session, figure: Path, reasons: Any) -> None:
    from cgnn_cli.report.neighbour_figure import draw_neighbours

    if not reasons.neighbours:
        raise DataError(f"{reasons.id} has no neighbours, so there is nothing to draw", "leave --figure out")
    write_output(figure, draw_neighbours(reasons, figure.suffix.lower()[1:]))
    session.talker.say(f"figure: {figure}")


def _prediction(reasons: Any, train_key: str | None) -> dict[str, Any]:
    return {
        "class": reasons.predicted,
        "probability": round(reasons.probabilities[reasons.predicted], 6),
        "models": reasons.models,
        "trained_on_it": reasons.trained_on_it,
        "train_key": train_key,
    }


def _text(found: Any, reasons: Any, top: int, *, timed: bool) -> Any:
    lines: list[str | Table] = [found.id + (f", label {found.label}" if found.label else "")]
    if reasons is not None:
        lines += [*_said(reasons), *_reasons(reasons, top, timed=timed)]
    if not found.out and not found.into:
        return Group(*lines, "no neighbours: no edge leads from it or to it, so it hears only itself")
    for title, rows in (("out-neighbours, by weight", found.out), ("in-neighbours, by weight", found.into)):
        if timed:
            none = f"no {title.split(',')[0]}"
            lines.append(_table(title, rows[:top], rest=len(rows) - top) if rows else none)
    return Group(*lines)


def _said(reasons: Any) -> list[str]:
    """The prediction, in words."""
    models = "the model" if reasons.models == 1 else f"the mean of {reasons.models} models"
    seen = reasons.trained_on_it
    known = f", {seen} of which trained on its label" if seen and reasons.models > 1 else ""
    known = ", which was trained on its label" if seen and reasons.models == 1 else known
    said = f"predicted {reasons.predicted} with probability {reasons.probabilities[reasons.predicted]:.3f} by {models}"
    others = [pair for pair in reasons.probabilities.items() if pair[0] != reasons.predicted]
    others.sort(key=lambda pair: -pair[1])
    more = f", and {len(others) - 4} more" if len(others) > 4 else ""
    listed = ", ".join(f"{name} {value:.3f}" for name, value in others[:4]) + more
    return [said + known, *([f"other classes: {listed}"] if others else []), reasons.of_neighbours]


def _reasons(reasons: Any, top: int, *, timed: bool) -> list[str | Table]:
    """What each neighbour adds, in a table."""
    if not reasons.neighbours:
        return []
    if not reasons.hear:
        return ["this model takes no messages of neighbours that could be left out in turn"]
    from cgnn_cli.report.neighbourhood import points

    amounts = any(reason.amount not in (1, 2) and reason.edge != "none" for reason in reasons.neighbours)
    columns = ["adds", "without it", *["amount"] * amounts, *["weight", "commute"] * timed]
    table = Table("neighbour", "class", "edge", *map(console.figure, columns))
    table.title = f"what each neighbour adds to the probability of {reasons.about}, in points: left out in turn"
    table.title_justify = "left"
    for reason in reasons.neighbours[:top]:
        shown = reason.label or f"{reason.predicted}? {reason.probability:.2f}"
        without = "-" if reason.adds is None else f"{reasons.probability - reason.adds:z.3f}"
        numbers = [points(reason.adds), without, *[_time(reason.amount)] * amounts]
        numbers += [_weight(reason.weight), _time(reason.commute)] * timed
        table.add_row(reason.id, shown, EDGES[reason.edge], *numbers)
    rest = len(reasons.neighbours) - top
    table.caption = "class with a question mark: predicted" + (f"; and {rest:,} more" if rest > 0 else "")
    table.caption_justify = "left"
    return [table]


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
    return f"{value:z,.2f}" if 0.01 <= abs(value) < 1e6 or value == 0 else f"{value:.3e}"


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:z.4f}"


def _weight(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if value >= 1e-4 or value == 0 else f"{value:.0e}"
