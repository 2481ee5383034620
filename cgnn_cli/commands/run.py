"""`cgnn run`: all stages, and the comparison of weights that belongs with every result."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from cgnn_cli.commands.options import (
    COMPUTE_PANEL,
    DATASET_SECTIONS,
    DatasetOption,
    DryRunOption,
    ForceOption,
    FormatOption,
    InputOption,
    RestartOption,
    SplitOption,
    config_parameters,
    stage_configs,
)
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.stages import (
    chosen_splits,
    deliver,
    find_start,
    note_unread_options,
    reject_fixed_options,
    show_forecast,
)
from cgnn_cli.configs import CommuteConfig, StageConfig, TrainConfig
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import COMMANDS, Step, plan
from cgnn_cli.report.paired import paired_difference
from cgnn_cli.runner import Runner
from cgnn_cli.settings import Resolved
from cgnn_cli.store.artifact import Header

MOST_EXACT = 20_000


def compared(nodes: int) -> dict[str, CommuteConfig]:
    """The weights that are compared; true times of a large graph come from the series."""
    true_times: Literal["exact", "series"] = "exact" if nodes <= MOST_EXACT else "series"
    return {
        "no weights": CommuteConfig(solver="pi-only", proximity="none"),
        "svd, exp (paper)": CommuteConfig(solver="svd", proximity="exp"),
        f"{true_times}, inverse": CommuteConfig(solver=true_times, proximity="inverse"),
        "pi-only, inverse": CommuteConfig(solver="pi-only", proximity="inverse"),
    }


CompareOption = Annotated[
    bool | None,
    typer.Option(
        "--compare/--no-compare",
        help="Train also without weights, with the paper's, with true times and with pi-only, on the same splits.",
        show_default="yes for demo, else no",
        rich_help_panel=COMPUTE_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    example = "cgnn run --dataset demo"
    command(
        app,
        "run",
        extra=config_parameters("compute", *COMMANDS, *DATASET_SECTIONS),
        help="Walk all stages, from a dataset to scores; by default on the embedded demo graph.",
        short_help=f"Walk all stages; by default on the embedded demo graph. [green]{example}[/green]",
        epilog=f"Example: {example}",
        rich_help_panel="All stages",
    )(run)


def run(
    session: Session,
    dataset: DatasetOption = None,
    inputs: InputOption = None,
    split: SplitOption = None,
    compare: CompareOption = None,
    restart: RestartOption = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    output_format: FormatOption = "h5",
) -> Outcome:
    """Plan every stage, obtain them in order, and show the scores."""
    settings = session.settings
    if not inputs and settings.value("dataset") is None:
        settings.values["dataset"] = Resolved("demo")
    name = None if inputs else settings.value("dataset")
    runner = session.runner(forced=(*COMMANDS, "fit") if force else (), restart=restart)
    start = find_start(session, "eval", inputs, dry_run=dry_run)
    reject_fixed_options(start, settings)
    configs = stage_configs(settings)
    graph = start.find("graph")
    target = "eval" if graph is None or runner.split_count(graph) else "commute"
    if target == "commute":
        session.talker.note("this dataset has no labels, so the run ends with the commute times")
    compare = (name == "demo" if compare is None else compare) and target == "eval"
    if compare and start.stage.name != "graph":
        raise UsageError("--compare needs a --dataset: a given artifact has fixed weights", "use --no-compare")

    splits = list(chosen_splits(runner, start, target, split))
    step = plan(target, start, configs, splits)
    plans = _comparison_plans(start, configs, splits, runner.graph_figure(start, "nodes")) if compare else {}
    note_unread_options(session, step, *plans.values())
    if dry_run:
        return show_forecast(runner, step, *plans.values())
    runner.obtain_all(step.upstream())
    outcome = deliver(session, runner, step, output_format)
    if target == "eval":
        rows = {_title(runner, step): runner.obtain(step)[0]}
        if compare:
            rows = _compare(runner, plans, step)
            outcome.values["summary"] = {**outcome.values["summary"], "comparison": _comparison_values(rows)}
        outcome.table = score_table(rows, (graph and name_of(session.store, graph.key, name)) or "scores")
    return outcome


def _comparison_plans(start: Step, configs: dict[str, StageConfig], splits: list[int], nodes: int) -> dict[str, Step]:
    """Evaluations of the same model on the same splits with other weights."""
    train = configs["train"]
    assert isinstance(train, TrainConfig)
    weighted = {**configs, "train": dataclasses.replace(train, model="cgnn")}
    weights = compared(nodes)
    return {name: plan("eval", start, {**weighted, "commute": commute}, splits) for name, commute in weights.items()}


def _compare(runner: Runner, plans: dict[str, Step], asked: Step) -> dict[str, Header]:
    """The scores of all plans; what was asked for comes last if it is new."""
    rows = {name: runner.obtain(step)[0] for name, step in plans.items()}
    if asked.key not in {header.key for header in rows.values()}:
        rows[f"{_title(runner, asked)} (as asked)"] = runner.obtain(asked)[0]
    return rows


def _title(runner: Runner, step: Step) -> str:
    """The weights of an evaluation, or its model where that has none."""
    commute = step.inputs.get("commute")
    if commute is None:
        return str(step.config.train.model)
    config = runner.obtain(commute)[0].config
    scale = config.get("scale", 1.0)
    return f"{config['solver']}, {config['proximity']}" + (f" {scale}" if scale != 1.0 else "")


def _comparison_values(rows: dict[str, Header]) -> list[dict[str, Any]]:
    return [
        {
            "weights": name,
            "key": header.key,
            "test_accuracy": header.summary["test_accuracy"],
            "validation_accuracy": header.summary["validation_accuracy"],
            "macro_f1": header.summary["macro_f1"],
            "test_accuracy_per_split": header.summary["test_accuracy_per_split"],
        }
        for name, header in rows.items()
    ]


def score_table(rows: dict[str, Header], dataset: str) -> Table:
    """Mean and standard deviation over the splits, and the paired difference to the first row."""
    first = next(iter(rows.values()))
    runs = first.summary["test_accuracy"]["runs"]
    counted = f"{runs} split{'s' if runs > 1 else ''}"
    table = Table(title=f"{dataset}: accuracy and macro-F1 in %, mean ± std over {counted}", box=box.SIMPLE_HEAD)
    table.caption = f"direction {first.summary['direction']}"
    table.pad_edge = False
    table.add_column("weights")
    for name in ("test", "validation", "macro-F1"):
        table.add_column(name, justify="right", no_wrap=True)
    if len(rows) > 1:
        table.add_column("gain ± s.e.", justify="right", no_wrap=True)
        table.caption += "; gain: paired difference of test accuracy to the first row"
    for name, header in rows.items():
        cells = [_spread(header.summary[figure]) for figure in ("test_accuracy", "validation_accuracy", "macro_f1")]
        if len(rows) > 1:
            cells.append("" if header is first else _difference(header, first))
        table.add_row(name, *cells)
    return table


def _spread(values: dict[str, float]) -> str:
    return f"{100 * values['mean']:.2f} ± {100 * values['std']:.2f}"


def _difference(header: Header, first: Header) -> str:
    figures = "test_accuracy_per_split"
    gap = paired_difference(header.summary[figures], first.summary[figures])
    return f"{100 * gap.mean:+.2f}" + ("" if gap.error is None else f" ± {100 * gap.error:.2f}")
