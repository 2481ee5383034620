"""`cgnn predict`: classes of all nodes from a trained model, under the user's own ids."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.options import OUTPUT_PANEL, option
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import choose_splits, find_start, note_unread_options
from cgnn_cli.pipeline import plan, up_to
from cgnn_cli.store.outputs import write_output

EMBEDDINGS_HELP = "Also write the last hidden layer of one split's model as .npz."


def register(app: typer.Typer) -> None:
    command(
        app,
        "predict",
        predict,
        help="Write the predicted class and its probability for every node.",
        brief="Predicted class of every node. [green]cgnn predict --output predictions.csv[/green]",
        example="cgnn predict --dataset demo --output predictions.csv",
        panel="Use the results",
        extra=options.config_parameters("compute", *up_to("train"), *options.DATASET_SECTIONS),
    )


def predict(
    session: Session,
    output: Annotated[Path, option("--output -o", "CSV or .parquet file: id, predicted, probability.", OUTPUT_PANEL)],
    embeddings: Annotated[Path | None, option("--embeddings", EMBEDDINGS_HELP, OUTPUT_PANEL)] = None,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    split: options.Split = None,
    restart: options.Restart = False,
) -> Outcome:
    """Mean class probabilities of the models of the chosen splits."""
    for file in (output, embeddings):
        check_output(session, file)
    session.configure(restart=restart)
    start = find_start(session, "eval", inputs)
    trained, wanted = start, split
    if start.stage.name != "train":
        splits = choose_splits(session, start, "train", split)
        trained, wanted = plan("train", start, options.stage_configs(session.settings), splits), None
        note_unread_options(session, trained)
    result = session.workspace.predict(trained, wanted)
    if len(result.splits) > 1:
        session.talker.note(
            f"probabilities are the mean over {len(result.splits)} splits' models, which between them have seen most "
            "labels; `cgnn eval` gives honest scores"
        )
    write_output(output, result.to_table(output.suffix.lower().removeprefix(".")))
    if embeddings is not None:
        write_output(embeddings, result.embeddings())
        session.talker.say(f"embeddings are those of split {result.splits[0]}'s model")
    ((checkpoint, hit),) = session.workspace.obtain(trained)
    written = {"embeddings": str(embeddings) if embeddings else None, **standin_mark(checkpoint)}
    summary = {"nodes": len(result.ids), "splits": result.splits, **written}
    cache = "hit" if hit else "miss"
    return Outcome.of(said_of(output), summary, artifact=output, key=checkpoint.key, cache=cache)
