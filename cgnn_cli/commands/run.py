"""`cgnn run`: all stages, and the comparison of weights that belongs with every result."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure, make_table
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import choose_splits, deliver, find_start, note_unread_options, show_forecast
from cgnn_cli.configs import CommuteConfig, metric_words
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import CgnnError, UsageError
from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import COMMANDS, Step, plan
from cgnn_cli.presets.lookup import AUTO, FOUND, rows_of
from cgnn_cli.report.paired import paired_difference
from cgnn_cli.report.table import spread_text
from cgnn_cli.settings import Resolved
from cgnn_cli.solver_table import exact_or_series
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.choices import read_choice

FIGURES = ("test_accuracy", "validation_accuracy", "macro_f1")


def compared(nodes: int) -> dict[str, CommuteConfig]:
    """The weights that are compared; true times of a large graph come from the series."""
    true_times = exact_or_series(nodes)
    return {
        "no weights": CommuteConfig(solver="pi-only", proximity="none"),
        "svd, exp (paper)": CommuteConfig(solver="svd", proximity="exp"),
        f"{true_times}, inverse": CommuteConfig(solver=true_times, proximity="inverse"),
        "pi-only, inverse": CommuteConfig(solver="pi-only", proximity="inverse"),
    }


COMPARE_HELP = "Train also without weights, with the paper's, with true times and with pi-only, on the same splits."
CompareOption = Annotated[
    bool | None,
    options.option("--compare/--no-compare", COMPARE_HELP, options.COMPUTE_PANEL, show_default="yes for demo, else no"),
]


def register(app: typer.Typer) -> None:
    example = "cgnn run --dataset demo"
    command(
        app,
        "run",
        run,
        help="Walk all stages, from a dataset to scores; by default on the embedded demo graph.",
        brief=f"Walk all stages; by default on the embedded demo graph. [green]{example}[/green]",
        example=example,
        panel="All stages",
        extra=options.config_parameters("compute", *COMMANDS, *options.DATASET_SECTIONS),
    )


def run(
    session: Session,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    split: options.Split = None,
    compare: CompareOption = None,
    restart: options.Restart = False,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    output_format: options.Format = "h5",
) -> Outcome:
    """Plan every stage, obtain them in order, and show the scores."""
    settings = session.settings
    if not inputs and settings.value("dataset") is None:
        settings.values["dataset"] = Resolved("demo")
    name = None if inputs else settings.value("dataset")
    session.configure(forced=(*COMMANDS, "fit") if force else (), restart=restart)
    runner = session.workspace.runner
    start = find_start(session, "eval", inputs, dry_run=dry_run)
    configs = options.stage_configs(settings)
    graph = start.find("graph")
    target = "eval" if graph is None or runner.graph_figure(graph, "splits") else "commute"
    if target == "commute":
        session.talker.note("this dataset has no labels, so the run ends with the commute times")
    compare = (name == "demo" if compare is None else compare) and target == "eval"
    if compare and start.stage.name != "graph":
        raise UsageError("--compare needs a --dataset: a given artifact has fixed weights", "use --no-compare")

    splits = list(choose_splits(session, start, target, split))
    step = plan(target, start, configs, splits)
    # What was chosen is set beside the defaults; other settings are compared with other weights alone.
    around = session.given.settings(preset=None) if settings.preset == AUTO else settings
    weighted = {**options.stage_configs(around), "train": around.config("train", model="cgnn")}
    weights = compared(runner.graph_figure(start, "nodes")) if compare else {}
    plans = {name: plan("eval", start, {**weighted, "commute": config}, splits) for name, config in weights.items()}
    note_unread_options(session, step, *plans.values())
    if dry_run:
        return show_forecast(session, step, *plans.values())
    session.workspace.obtain(*step.lineage, *plans.values())
    outcome = deliver(session, step, output_format)
    if target == "eval":
        if name and not settings.preset and not session.as_json:
            session.talker.say(hint(session, name, start.key))
        rows = {name: runner.obtain(other)[0] for name, other in plans.items()}
        if step.key not in {header.key for header in rows.values()}:  # what was asked for comes last if it is new
            origin = " (chosen)" if settings.preset == AUTO else " (as asked)"
            rows[_title(runner, step) + (origin if compare else "")] = runner.obtain(step)[0]
        if compare:
            outcome.values["summary"] = {**outcome.values["summary"], "comparison": _comparison_values(rows)}
        outcome.table = score_table(rows, (graph and name_of(session.store, graph.key, name)) or "scores")
    return outcome


def hint(session: Session, dataset: str, graph_key: str) -> str:
    """Settings that were found for this graph, or how to find some."""
    model = session.settings.value("train.model")
    try:
        if choice := read_choice(session.store, graph_key):
            return f"hint: `cgnn tune` chose {choice.model} for this graph; --preset {AUTO} takes it"
    except CgnnError as error:
        session.talker.warn(f"{error.message} ({error.hint})")
    if found := [name for name in FOUND if (dataset, model) in rows_of(name, [model])]:
        return f"hint: there are settings of {model} for {dataset}; --preset {' or '.join(found)} takes them"
    return f"hint: `cgnn tune --dataset {dataset}` chooses a model and its settings on validation"


def _title(runner: Runner, step: Step) -> str:
    """The weights of an evaluation, or its model where that has none."""
    commute = step.inputs.get("commute")
    if commute is None:
        return str(step.config.train.model)
    config = runner.obtain(commute)[0].config
    scale = config.get("scale", 1.0)
    return f"{config['solver']}, {config['proximity']}" + (f" {scale}" if scale != 1.0 else "")


def _comparison_values(rows: dict[str, Header]) -> list[dict[str, Any]]:
    figures = (*FIGURES, "test_accuracy_per_split")
    return [
        {"weights": name, "key": header.key, **{part: header.summary[part] for part in figures}}
        for name, header in rows.items()
    ]


def score_table(rows: dict[str, Header], dataset: str) -> Table:
    """Mean and standard deviation over the splits, and the paired difference to the first row."""
    first = next(iter(rows.values()))
    runs = first.summary["test_accuracy"]["runs"]
    directions = dict.fromkeys(header.summary["direction"] for header in rows.values())
    caption = f"direction {', '.join(directions)}"
    columns = ["test", "validation", "macro-F1"]
    chosen = first.summary.get("metric")  # what the models were chosen by, if not by accuracy
    columns += [metric_words(chosen, first.summary.get("metric_class"))] if chosen else []
    if len(rows) > 1:
        columns.append("gain ± s.e.")
        caption += "; gain: paired difference of test accuracy to the first row"
    table = make_table("run", *(figure(name, no_wrap=True) for name in columns), caption=caption, pad_edge=False)
    over = f"mean ± std over {runs} splits" if runs > 1 else "1 split"
    table.title = f"{dataset}: accuracy and macro-F1 in %, {over}"
    for name, header in rows.items():
        spreads = [header.summary[name] for name in FIGURES] + ([header.summary["metrics"][chosen]] if chosen else [])
        cells = [spread_text(values) for values in spreads]
        if len(rows) > 1:
            cells.append("" if header is first else _difference(header, first))
        table.add_row(name, *cells)
    return table


def _difference(header: Header, first: Header) -> str:
    figures = "test_accuracy_per_split"
    gap = paired_difference(header.summary[figures], first.summary[figures])
    return f"{100 * gap.mean:+.2f}" + ("" if gap.error is None else f" ± {100 * gap.error:.2f}")
