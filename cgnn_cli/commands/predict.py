"""`cgnn predict`: classes of all nodes from a trained model, under the user's own ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure, make_table
from cgnn_cli.commands.finding import find_run
from cgnn_cli.commands.options import INPUT_PANEL, OUTPUT_PANEL, option
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.sql_tables import Existing, ToSql, table_place
from cgnn_cli.configs import GraphConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import Step, up_to
from cgnn_cli.report.table import counted
from cgnn_cli.store.outputs import write_output

if TYPE_CHECKING:
    from cgnn_cli.analysis.prediction import Predictions

SHOWN_RANKS, SHOWN_CLASSES = 20, 20
RANK_COLUMNS = ("id", "predicted", "label", "part")
FILE_HELP = "CSV or .parquet file: id, predicted, probability, label, part, and the probability of every class."
OutputOption = Annotated[Path | None, option("--output -o", FILE_HELP, OUTPUT_PANEL)]
EMBEDDINGS_HELP = "Also write the last hidden layer of one split's model as .npz."
EmbeddingsOption = Annotated[Path | None, option("--embeddings", EMBEDDINGS_HELP, OUTPUT_PANEL)]
RUN_HELP = (
    "The run to take: a file that `cgnn run` or `cgnn train` printed, or the beginning of its key. With the --dataset "
    "of another graph, it is applied to that. Default: the newest run that has the given settings."
)
RunOption = Annotated[
    str | None, option("--run", RUN_HELP, INPUT_PANEL, metavar="RUN", autocompletion=options.complete_artifact)
]
CLASS_HELP = "Rank the nodes by the probability of this class; only those without a label."
ClassOption = Annotated[str | None, option("--class", CLASS_HELP, OUTPUT_PANEL, metavar="NAME")]
TOP_HELP = f"Length of the ranking. Default: all in a file, {SHOWN_RANKS} on the terminal."
TopOption = Annotated[int | None, option("--top", TOP_HELP, OUTPUT_PANEL, min=1)]
AllOption = Annotated[bool, option("--all", "Rank nodes with a label too.", OUTPUT_PANEL)]
SPLIT_HELP = "Split whose model to take; repeat it for several. Default: every split that was trained."
SplitOption = Annotated[list[int] | None, option("--split", SPLIT_HELP, INPUT_PANEL)]


def register(app: typer.Typer) -> None:
    command(
        app,
        "predict",
        predict,
        help="The class of every node and the probability of each, from models that are trained; it trains none.",
        brief="Class probabilities of every node.",
        example="cgnn predict --class fraud --top 100 --output suspects.csv",
        panel="Use the results",
        common="--output --to-sql --class --top --all --run --dataset --split --embeddings --json",
        extra=options.config_parameters(*options.COMPUTE_WITHOUT_JOBS, *up_to("train"), *options.DATASET_SECTIONS),
    )


def predict(
    session: Session,
    output: OutputOption = None,
    to_sql: ToSql = None,
    existing: Existing = None,
    embeddings: EmbeddingsOption = None,
    run: RunOption = None,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    split: SplitOption = None,
    ranked_class: ClassOption = None,
    top: TopOption = None,
    rank_all: AllOption = False,
) -> Outcome:
    """Mean class probabilities of the models of the splits that were trained, or of those chosen."""
    for file in (output, embeddings):
        check_output(session, file)
    if ranked_class is None and (top is not None or rank_all):
        raise UsageError("--top and --all are for a ranking, and no class is named", "name it: --class NAME")
    place = table_place(to_sql, existing)
    trained = find_run(session, inputs, run, split)
    other = None if run is None else _other_graph(session, trained)
    result = session.workspace.predict(trained, split, other)
    ranks = None if ranked_class is None else result.ranked(ranked_class, top, labelled=rank_all)
    if output is not None:
        write_output(output, result.to_table(output.suffix.lower().removeprefix("."), ranks))
    if place is not None:
        written = place.write(session, result.columns(ranks))
    if embeddings is not None:
        write_output(embeddings, result.embeddings())
        session.talker.say(f"embeddings are those of split {result.splits[0]}'s model")
    ((checkpoint, _),) = session.workspace.obtain(trained)
    summary = {
        "nodes": len(result.ids),
        "splits": result.splits,
        "model": trained.config.train.model,
        "graph": (trained.inputs["graph"] if result.own_graph or other is None else other).key,
        "own_graph": result.own_graph,
        **result.agreement(),
        "embeddings": str(embeddings) if embeddings else None,
        **({"table": written} if place else {}),
        **standin_mark(checkpoint),
    }
    _say_how_good(session, result)
    shown = class_table(result)
    if ranked_class is not None and ranks is not None:
        listed = ranks[: top or SHOWN_RANKS]
        summary |= {"class": ranked_class, "ranked": rank_rows(result, ranked_class, listed)}
        shown = rank_table(summary["ranked"], f"by the probability of {ranked_class}", len(ranks) - len(listed))
    return Outcome.of(shown if output is None else said_of(output), summary, artifact=output, key=checkpoint.key)


def _other_graph(session: Session, trained: Step) -> Step | None:
    """The graph of --dataset beside a run that is named, in the form of the run's own graph."""
    name = session.settings.value("dataset")
    if "dataset" not in session.settings.given:
        return None
    graph, _ = session.workspace.obtain(trained.inputs["graph"])[0]
    undirected, featureless = (bool(graph.summary.get(part)) for part in ("undirected", "featureless"))
    return session.workspace.datasets().step(name, GraphConfig(undirected=undirected, featureless=featureless))


def _say_how_good(session: Session, result: Predictions) -> None:
    """What may be concluded of predictions, and what not."""
    if result.own_graph and len(result.splits) > 1:
        session.talker.note(
            f"probabilities are the mean over {len(result.splits)} splits' models, which between them have seen most "
            "labels; `cgnn eval` gives honest scores"
        )
    if not (found := result.agreement()):
        return
    if left_out := found["left_out"]:
        known = f"{counted(left_out, 'node')} with a label trained or validated these models"
        session.talker.say(f"{known}: left out of the accuracy")
    if found["labelled"]:
        session.talker.say(
            f"accuracy on the {counted(found['labelled'], 'other node' if left_out else 'node')} with a label: "
            f"{100 * found['accuracy']:.2f} %; their most frequent label alone: {100 * found['base_rate']:.2f} %"
        )


def class_table(result: Predictions) -> Table:
    """How many nodes are predicted to be of each class."""
    unknown = result.known == ""
    rows = []
    for place, name in enumerate(result.graph.class_labels()):
        chosen, mean = result.classes == place, result.probabilities[:, place].mean()
        rows.append((int(chosen.sum()), name, int((chosen & unknown).sum()), f"{mean:.4f}"))
    rows.sort(key=lambda row: -row[0])
    columns = ("nodes", "of them without a label", "mean probability")
    table = make_table("predicted class", *(figure(name) for name in columns), pad_edge=False)
    for count, name, without, mean in rows[:SHOWN_CLASSES]:
        table.add_row(name, f"{count:,}", f"{without:,}", mean)
    more = f"the {SHOWN_CLASSES} largest of {len(rows)} classes; " if len(rows) > SHOWN_CLASSES else ""
    table.caption, table.caption_justify = f"{more}--output writes all nodes, --class ranks them", "left"
    return table


def rank_rows(result: Predictions, name: str, nodes: Any) -> list[dict[str, Any]]:
    """Nodes of a ranking by the probability of a class, as `--json` has them."""
    columns = result.columns(nodes)
    chances = columns[f"p_{name}"].tolist()
    rows = zip(*(columns[column] for column in RANK_COLUMNS), strict=True)
    return [
        {"rank": place, **dict(zip(RANK_COLUMNS, row, strict=True)), "probability": chance}
        for place, (row, chance) in enumerate(zip(rows, chances, strict=True), start=1)
    ]


def rank_table(rows: list[dict[str, Any]], title: str, left: int) -> Table:
    """The same for people; labels and parts only where there are any."""
    known = [name for name in RANK_COLUMNS if name not in ("label", "part") or any(row[name] for row in rows)]
    table = make_table(figure("rank"), *known, figure("probability"), title=title, pad_edge=False)
    for row in rows:
        table.add_row(str(row["rank"]), *(row[name] for name in known), f"{row['probability']:.4f}")
    if left:
        table.caption, table.caption_justify = f"and {left:,} more", "left"
    return table
