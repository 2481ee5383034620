"""`cgnn diagnose`: should commute times help on this graph? Figures and a verdict, before anything is trained."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from cgnn_cli.analysis.verdict import Verdict, points
from cgnn_cli.analysis.weight_kinds import IN_USE, NO_WEIGHTS, PAPER, WEIGHTS
from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure, make_table, styled
from cgnn_cli.commands.output import standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import choose_splits
from cgnn_cli.configs import CommuteConfig, option_name
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import plan, up_to
from cgnn_cli.redaction import redacted_command
from cgnn_cli.settings import KEYS, Resolved, Settings
from cgnn_cli.solver_table import SOLVERS, exact_or_series

COMMUTE_OPTIONS = [f"commute.{field.name}" for field in dataclasses.fields(CommuteConfig) if field.name != "verify"]
AFFINITY = {"commute.proximity": WEIGHTS["affinity"]["commute.proximity"]}
VERIFY_HELP = "Edges whose exact times are solved for, chosen at random."


def register(app: typer.Typer) -> None:
    own, before = (*reversed(COMMUTE_OPTIONS), *reversed(up_to("dilap"))), options.DATASET_SECTIONS
    command(
        app,
        "diagnose",
        diagnose_dataset,
        help="Should commute times help on this graph? Figures and a verdict, before anything is trained.",
        brief="Should commute times help on a graph?",
        example="cgnn diagnose --dataset demo",
        panel="From a graph to scores",
        common="--dataset --split --verify --method --solver --threads --json",
        extra=options.config_parameters("compute.threads", "compute.memory_limit", *own, *before),
    )


def diagnose_dataset(
    session: Session,
    dataset: options.Dataset = None,
    split: options.Split = None,
    verify: Annotated[int, options.option("--verify", VERIFY_HELP, min=1)] = 256,
) -> Outcome:
    """Obtain commute times, true ones unless others are asked for, sample exact ones, and judge."""
    settings, runner = session.settings, session.workspace.runner
    name = settings.value("dataset")
    if name is None:
        raise UsageError("diagnose needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    start = session.workspace.datasets().step(name, session.graph_config())
    splits = [*choose_splits(session, start, "eval", split)] if split else ()
    take_true_times(settings, runner.graph_figure(start, "nodes"))
    step = plan("commute", start, options.stage_configs(settings), ())
    ((header, hit),) = session.workspace.obtain(step)
    diagnosis = session.workspace.diagnose(step, verify, splits)
    for used in step.lineage:  # the paper's times, which were made for comparison, are not what a training goes on from
        session.store.remember_latest(used.stage.name, used.key)
    figures, verdict = diagnosis.figures, diagnosis.verdict
    commands = commands_to_try(settings, verdict.weights, session.given.place()) if verdict.weights else []
    summary = {
        "verdict": verdict.to_json(),
        "commands": commands,
        "figures": figures,
        "solver": header.config,
        **standin_mark(header),
    }
    outcome = Outcome.of_artifact(session.store.path("commute", header.key), header, hit=hit, summary=summary)
    outcome.text = _text(name, figures, verdict, commands, step.config)
    return outcome


def take_true_times(settings: Settings, nodes: int) -> None:
    """Where nothing asks for others: a walk that is not trapped, and its true times."""
    times = {"commute.solver": exact_or_series(nodes, quickly=True), **AFFINITY}
    for values in ({"rewire.method": "escape"}, times):
        section = {KEYS[path].section for path in values}
        if all(settings.values[path].origin == "default" for path, key in KEYS.items() if key.section in section):
            settings.values |= {path: Resolved(value, "diagnose") for path, value in values.items()}


def commands_to_try(settings: Settings, weights: str, place: list[str]) -> list[str]:
    """What to run next: with the weights that the figures speak for, or without any; and the choice on validation."""
    form = settings.changed(["graph"])
    asked = form | NO_WEIGHTS
    if weights == PAPER:
        asked = form | WEIGHTS[PAPER]
    elif weights in WEIGHTS:
        own = "commute.solver" in WEIGHTS[weights]
        read = () if own else ("solver", *SOLVERS[settings.value("commute.solver")].options)
        times = {path: value for path, value in settings.changed(["commute"]).items() if KEYS[path].name in read}
        asked = form | settings.changed(up_to("dilap")) | times | WEIGHTS[weights]
    elif weights == IN_USE:
        asked = form | settings.changed(up_to("commute"))
    name, compare = settings.value("dataset"), [] if weights not in (IN_USE, *WEIGHTS) else ["--compare"]
    run = ["cgnn", "run", "--dataset", name, *_flags(asked), *compare, *place]
    return [redacted_command(run), redacted_command(["cgnn", "tune", "--dataset", name, *_flags(form), *place])]


def _flags(values: dict[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    words = []
    for path, value in values.items():
        flag = option_name(KEYS[path].name)
        words += [flag if value else flag.replace("--", "--no-", 1)] if isinstance(value, bool) else [flag, str(value)]
    return words


def _text(name: str, figures: dict[str, Any], verdict: Verdict, commands: list[str], config: CommuteConfig) -> Group:
    table = make_table("figure", figure("value"), "what it is", rows=_rows(figures, config), title_justify="left")
    table.title = f"{name}: {figures['nodes']:,} nodes, {figures['edges']:,} edges"
    reasons = Table.grid(padding=(0, 1))
    for reason in verdict.reasons:
        reasons.add_row(" -", reason.says)
    said = [f"{use}: {line}" for use, line in zip(("try", "let validation choose"), commands, strict=False)]
    return Group(table, styled(verdict.headline, "bold"), reasons, *said)


def _rows(figures: dict[str, Any], config: CommuteConfig) -> list[tuple[str, str, str]]:
    ratio, error, around = figures["ratio"] or {}, figures["solver_error"], figures["effective_neighbours"]
    gains = {name: points(gain) for name, gain in figures["weights"].items()}
    missing = [] if PAPER in gains or not gains else [(f"with weights {PAPER}", "-", "its walk cannot be solved for")]
    return [
        ("edges with a way back", _share(figures["returning_edges"]), "on a directed cycle of the graph as it is"),
        ("reciprocity", _share(figures["reciprocity"]), "edges whose reverse is an edge too"),
        ("largest component", _share(figures["largest_component_share"]), "nodes strongly connected with each other"),
        ("sinks", _share(figures["sink_share"]), "nodes without out-neighbours"),
        (
            "edge homophily",
            _share(figures["homophily"]),
            f"edges of one class, of {figures['training_edges']:,} inside the training nodes",
        ),
        ("beyond chance", _share(figures["corrected_homophily"]), "(h - sum p_c^2) / (1 - sum p_c^2)"),
        *((f"with weights {name}", gain, "weighted minus plain homophily, in points") for name, gain in gains.items()),
        *missing,
        ("test twins", _share(figures["test_twins"]), "test nodes with a training node of the same out-neighbours"),
        (
            "ratio r, 5 % to 95 %",
            f"{ratio['p5']:.3f} to {ratio['p95']:.3f}" if ratio else "-",
            f"c / (1/pi_i + 1/pi_j), exact, on {figures['sampled_edges']} edges; median "
            + (f"{ratio['median']:.3f}" if ratio else "-"),
        ),
        ("beyond popularity", _share(figures["beyond_popularity"]), "spread of log r over that of log c, squared"),
        ("c as pi orders it", _number(figures["spearman_with_pi"]), "Spearman of c with 1/pi_i + 1/pi_j"),
        (
            "solver error",
            _share(error["median_relative_error"], 3),
            f"{config.solver} against exact c, median; 95th percentile {_share(error['p95_relative_error'], 3)}",
        ),
        ("edges beyond 1e9 steps", f"{figures['edges_beyond_1e9']:,}", "max(1/pi_i, 1/pi_j), a bound of c, is larger"),
        ("effective out-neighbours", *_effective(around["out"], config)),
        ("effective in-neighbours", *_effective(around["in"], config)),
    ]


def _effective(found: dict[str, float], config: CommuteConfig) -> tuple[str, str]:
    weights = f"{config.solver}, {config.proximity}"
    if not found:
        return "-", f"with {weights}"
    return f"{found['mean']:.2f}", f"with {weights}, of {found['neighbours']:.2f} neighbours a node"


def _share(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{100 * value:.{digits}g} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:z.4f}"
