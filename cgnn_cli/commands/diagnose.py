"""`cgnn diagnose`: should commute times help on this graph? Figures and a verdict, before anything is trained."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure, make_table, styled
from cgnn_cli.commands.output import standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import plan, up_to

if TYPE_CHECKING:
    from cgnn_cli.analysis.verdict import Verdict

COMMUTE_OPTIONS = [f"commute.{field.name}" for field in dataclasses.fields(CommuteConfig) if field.name != "verify"]
VERIFY_HELP = "Edges whose exact times are solved for, chosen at random."


def register(app: typer.Typer) -> None:
    own, before = (*reversed(COMMUTE_OPTIONS), *reversed(up_to("dilap"))), options.DATASET_SECTIONS
    command(
        app,
        "diagnose",
        diagnose_dataset,
        help="Should commute times help on this graph? Figures and a verdict, before anything is trained.",
        brief="Should commute times help on a graph? [green]cgnn diagnose --dataset demo[/green]",
        example="cgnn diagnose --dataset demo",
        panel="Graphs",
        extra=options.config_parameters("compute.threads", "compute.memory_limit", *own, *before),
    )


def diagnose_dataset(
    session: Session,
    dataset: options.Dataset = None,
    verify: Annotated[int, options.option("--verify", VERIFY_HELP, min=1)] = 256,
) -> Outcome:
    """Obtain the commute times of the chosen solver, sample exact ones, and judge."""
    name = session.settings.value("dataset")
    if name is None:
        raise UsageError("diagnose needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    start = session.workspace.datasets().step(name, session.graph_config())
    step = plan("commute", start, options.stage_configs(session.settings), ())
    ((header, hit),) = session.workspace.obtain(step)
    diagnosis = session.workspace.diagnose(step, verify)
    figures, verdict = diagnosis.figures, diagnosis.verdict
    summary = {"verdict": verdict.to_json(), "figures": figures, "solver": header.config, **standin_mark(header)}
    outcome = Outcome.of_artifact(session.store.path("commute", header.key), header, hit=hit, summary=summary)
    outcome.text = _text(name, figures, verdict, step.config)
    return outcome


def _text(name: str, figures: dict[str, Any], verdict: Verdict, config: CommuteConfig) -> Group:
    table = make_table("figure", figure("value"), "what it is", rows=_rows(figures, config), title_justify="left")
    table.title = f"{name}: {figures['nodes']:,} nodes, {figures['edges']:,} edges"
    reasons = Table.grid(padding=(0, 1))
    for reason in verdict.reasons:
        reasons.add_row(" -", reason.says)
    return Group(table, styled(verdict.headline, "bold"), reasons)


def _rows(figures: dict[str, Any], config: CommuteConfig) -> list[tuple[str, str, str]]:
    ratio, labels, error = figures["ratio"] or {}, figures["label_similarity"] or {}, figures["solver_error"]
    around = figures["effective_neighbours"]
    return [
        ("edges with a way back", _share(figures["returning_edges"]), "on a directed cycle of the graph as it is"),
        ("reciprocity", _share(figures["reciprocity"]), "edges whose reverse is an edge too"),
        ("largest component", _share(figures["largest_component_share"]), "nodes strongly connected with each other"),
        ("sinks", _share(figures["sink_share"]), "nodes without out-neighbours"),
        ("edge homophily", _share(figures["homophily"]), "edges between labelled nodes of one class"),
        ("test twins", _share(figures["test_twins"]), "test nodes with a training node of the same out-neighbours"),
        (
            "ratio r, 5 % to 95 %",
            f"{ratio['p5']:.3f} to {ratio['p95']:.3f}" if ratio else "-",
            f"c / (1/pi_i + 1/pi_j), exact, on {figures['sampled_edges']} edges; median "
            + (f"{ratio['median']:.3f}" if ratio else "-"),
        ),
        ("beyond popularity", _share(figures["beyond_popularity"]), "variance of log r as a share of that of log c"),
        ("c as pi orders it", _number(figures["spearman_with_pi"]), "Spearman of c with 1/pi_i + 1/pi_j"),
        ("labels to edges", _count(labels.get("adjacency")), "|M - (A + A^T)|^2"),
        ("labels to weights", _count(labels.get("weights")), "|M - (C_in + C_out)|^2, weights in use"),
        (
            "the same, best scales",
            f"{_count(labels.get('adjacency_scaled'))}; {_count(labels.get('weights_scaled'))}",
            "least distance of a multiple of A + A^T; of C_in + C_out",
        ),
        (
            "solver error",
            _share(error["median_relative_error"], 3),
            f"{config.solver} against exact c, median; 95th percentile {_share(error['p95_relative_error'], 3)}",
        ),
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
    return "-" if value is None else f"{value:.4f}"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
