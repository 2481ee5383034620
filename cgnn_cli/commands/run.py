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
from cgnn_cli.execution.results import Runs
from cgnn_cli.pipeline import COMMANDS, plan
from cgnn_cli.presets.lookup import AUTO, FOUND, rows_of
from cgnn_cli.report.paired import difference_text, paired_difference
from cgnn_cli.report.run_names import name_runs
from cgnn_cli.report.table import spread_text
from cgnn_cli.settings import Resolved
from cgnn_cli.solver_table import exact_or_series
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.choices import read_choice

FIGURES = ("test_accuracy", "validation_accuracy", "macro_f1")


PAPER = CommuteConfig(solver="svd", proximity="exp")


def compared(nodes: int) -> list[CommuteConfig]:
    """The weights that are compared; true times of a graph for which `exact` takes long come from the series."""
    return [
        CommuteConfig(solver="pi-only", proximity="none"),
        PAPER,
        CommuteConfig(solver=exact_or_series(nodes, quickly=True), proximity="inverse"),
        CommuteConfig(solver="pi-only", proximity="inverse"),
    ]


COMPARE_HELP = "Train also without weights, with the paper's, with true times and with pi-only, on the same splits."
CompareOption = Annotated[
    bool | None,
    options.option("--compare/--no-compare", COMPARE_HELP, options.COMPUTE_PANEL, show_default="yes for demo, else no"),
]


def register(app: typer.Typer) -> None:
    command(
        app,
        "run",
        run,
        help="Walk all stages, from a dataset to scores; by default on the embedded demo graph.",
        brief="Walk all stages; by default on the embedded demo graph.",
        example="cgnn run --dataset demo",
        panel="From a graph to scores",
        common="--dataset --preset --model --layers --hidden --dropout --lr --epochs --metric --proximity --compare "
        "--split --jobs --device --dry-run",
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
    weights = compared(runner.graph_figure(start, "nodes")) if compare else []
    plans = [plan("eval", start, {**weighted, "commute": config}, splits) for config in weights]
    note_unread_options(session, step, *plans)
    if dry_run:
        return show_forecast(session, step, *plans)
    session.workspace.obtain(*step.lineage, *plans)
    outcome = deliver(session, step, output_format)
    if target == "eval":
        if name and not settings.preset and not session.as_json:
            session.talker.say(hint(session, name, start.key))
        marks = {other.key: " (paper)" * (config == PAPER) for other, config in zip(plans, weights, strict=True)}
        # What was asked for comes last if it is new.
        marks.setdefault(step.key, (" (chosen)" if settings.preset == AUTO else " (as asked)") * compare)
        rows = _rows(session, {other.key: runner.obtain(other)[0] for other in (*plans, step)}, marks)
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
    here = session.settings.form(dataset)
    if found := [name for name in FOUND if (here, model) in rows_of(name, [model])]:
        return f"hint: there are settings of {model} for {dataset}; --preset {' or '.join(found)} takes them"
    return f"hint: `cgnn tune --dataset {dataset}` chooses a model and its settings on validation"


def _rows(session: Session, headers: dict[str, Header], marks: dict[str, str]) -> dict[str, Header]:
    """The scores by the short names of their runs; beside others, those of cgnn are told by their weights."""
    source = Runs(session.store)
    runs = name_runs([source.of(header) for header in headers.values()])
    session.workspace.track(runs)
    labels = runs.values()
    names = [each.setting if each.model == "cgnn" and len(headers) > 1 else str(each) for each in labels]
    return {name + marks[key]: headers[key] for name, key in zip(names, headers, strict=True)}


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
    return difference_text(gap)
