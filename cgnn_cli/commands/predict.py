"""`cgnn predict`: classes of all nodes from a trained model, under the user's own ids."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer

from cgnn_cli.commands.inspect import check_output, standin_mark, write_output
from cgnn_cli.commands.options import (
    DATASET_SECTIONS,
    OUTPUT_PANEL,
    DatasetOption,
    InputOption,
    RestartOption,
    SplitOption,
    config_parameters,
    stage_configs,
)
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.stages import chosen_splits, find_start, note_unread_options, reject_fixed_options
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import plan


def register(app: typer.Typer) -> None:
    command(
        app,
        "predict",
        extra=config_parameters("compute", "rewire", "dilap", "commute", "train", *DATASET_SECTIONS),
        help="Write the predicted class and its probability for every node.",
        short_help="Predicted class of every node. [green]cgnn predict --output predictions.csv[/green]",
        epilog="Example: cgnn predict --dataset demo --output predictions.csv",
        rich_help_panel="Use the results",
    )(predict)


def predict(
    session: Session,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="CSV or .parquet file: id, predicted, probability.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ],
    embeddings: Annotated[
        Path | None,
        typer.Option(
            "--embeddings",
            help="Also write the last hidden layer of one split's model as .npz.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    dataset: DatasetOption = None,
    inputs: InputOption = None,
    split: SplitOption = None,
    restart: RestartOption = False,
) -> Outcome:
    """Mean class probabilities of the models of the chosen splits."""
    check_output(output)
    check_output(embeddings)
    runner = session.runner(restart=restart)
    start = find_start(session, "eval", inputs)
    reject_fixed_options(start, session.settings)
    if start.stage.name == "train":
        step, wanted = start, split
    else:
        splits = chosen_splits(runner, start, "train", split)
        step, wanted = plan("train", start, stage_configs(session.settings), splits), None
        note_unread_options(session, step)
    checkpoint, hit = runner.obtain(step)
    splits = sorted(set(wanted or step.config.splits))
    if missing := [number for number in splits if number not in step.config.splits]:
        raise UsageError(f"--split {missing[0]}: the given checkpoint has only the splits {list(step.config.splits)}")
    if len(splits) > 1:
        session.talker.note(
            f"probabilities are the mean over {len(splits)} splits' models, which between them have seen most labels; "
            "`cgnn eval` gives honest scores"
        )
    graph = runner.data(step.inputs["graph"])

    from cgnn_cli.export import write_table
    from cgnn_cli.stages.predict import predict_classes

    result = predict_classes(
        graph, runner.operators(step), runner.data(step), step.config.train, splits, runner.compute
    )
    ids = graph.ids()
    names = graph.class_labels()
    predicted = [names[k] for k in result.classes.tolist()]
    columns = {"id": ids, "predicted": predicted, "probability": result.probability}
    write_output(output, write_table(columns, output.suffix.lower().removeprefix(".")))
    if embeddings is not None:
        _write_embeddings(embeddings, ids, result.hidden)
        session.talker.say(f"embeddings are those of split {splits[0]}'s model")
    values = {
        "artifact": str(output),
        "key": checkpoint.key,
        "cache": "hit" if hit else "miss",
        "summary": {
            "nodes": len(ids),
            "splits": splits,
            "embeddings": str(embeddings) if embeddings else None,
            **standin_mark(checkpoint),
        },
    }
    return Outcome(str(output), values)


def _write_embeddings(path: Path, ids: Any, hidden: Any) -> None:
    import numpy as np

    buffer = io.BytesIO()
    np.savez_compressed(buffer, id=ids, embeddings=hidden)
    write_output(path, buffer.getvalue())
