"""`cgnn tune`: model and settings for a dataset, chosen on validation alone, and what commute times added."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.options import COMPUTE_PANEL, INPUT_PANEL, OUTPUT_PANEL, option
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.sweep_table import SHOWN_ROWS, Board, configuration_values, sweep_table, validation_text
from cgnn_cli.configs import metric_words
from cgnn_cli.errors import UsageError
from cgnn_cli.presets.lookup import AUTO, Row
from cgnn_cli.presets.recording import check_record, record_row
from cgnn_cli.redaction import redacted_command
from cgnn_cli.sweeps import SWEPT, set_words
from cgnn_cli.tuning.budget import MINUTES, Budget

if TYPE_CHECKING:
    from cgnn_cli.tuning.search import Gain, Tuned

ASKED = ("train.class_weights", "train.metric_class", "train.metric")  # of all options of a training
MODEL_HELP = "Compare settings of this model alone; `cgnn models` lists and describes them."
MODEL = options.keyword(
    "model",
    None,
    Annotated[str | None, option("--model", MODEL_HELP, INPUT_PANEL, metavar="NAME", show_default="several")],
)
DEFAULT_OUTPUT = Path("tuned.toml")
MINUTES_HELP = "Time to search; no training is begun after it. The same command goes on later."
MinutesOption = Annotated[
    float | None, option("--minutes", MINUTES_HELP, COMPUTE_PANEL, show_default=f"{MINUTES:g}", min=0)
]
TRIALS_HELP = (
    "Try this many configurations instead, however long it takes: the same choice on any machine, under any load."
)
TrialsOption = Annotated[int | None, option("--trials", TRIALS_HELP, COMPUTE_PANEL, min=1)]
SeedOption = Annotated[int, option("--seed", "Seed of the search.", INPUT_PANEL, min=0)]
OUTPUT_HELP = "Preset file to write the choice into, a row of it; other rows stay."
OutputOption = Annotated[Path, option("--output -o", OUTPUT_HELP, OUTPUT_PANEL)]


def register(app: typer.Typer) -> None:
    command(
        app,
        "tune",
        tune,
        help="Choose the model and its settings for a dataset on validation nodes, within a time or a number of "
        "trials, and say what commute times added. Test labels are never read. What is set with --set, in the "
        "environment or a file holds in every configuration.",
        brief="Choose model and settings on validation, within a time.",
        example="cgnn tune --dataset demo --trials 6",
        panel="From a graph to scores",
        common="--dataset --minutes --trials --metric --model --split --output --set --seed --jobs --device --json",
        extra=[MODEL, *options.config_parameters("compute", *ASKED, *options.DATASET_SECTIONS)],
    )


def tune(
    session: Session,
    dataset: options.Dataset = None,
    minutes: MinutesOption = None,
    trials: TrialsOption = None,
    seed: SeedOption = 0,
    split: options.Split = None,
    output: OutputOption = DEFAULT_OUTPUT,
) -> Outcome:
    """Search, keep the choice in the store and in a preset file, and show what was compared."""
    from cgnn_cli.tuning.search import describe_point, gain_line

    dataset = session.settings.value("dataset")
    if not dataset:
        raise UsageError("tune needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    if minutes is not None and trials is not None:
        raise UsageError("--minutes and --trials are two budgets", "give one of them")
    if output.suffix != ".toml":
        raise UsageError(f"--output {output} is no preset file", "give it a name that ends in .toml")
    check_record(str(output), "")
    budget = Budget(MINUTES if minutes is None else minutes, trials)
    fixed = session.settings.changed(SWEPT)
    judged = metric_words(session.settings.value("train.metric"), session.settings.value("train.metric_class"))
    title = f"{dataset}: validation {judged} in %, mean ± std over the splits"
    with Board(session.talker, title) as board:
        session.workspace.runner.reporter = board
        tuned = session.workspace.tune(
            dataset, fixed, budget=budget, seed=seed, splits=sorted(set(split or ())), finished=board.finished
        )
    record_row(str(output), session.settings.form(dataset), tuned.model, Row(tuned.row, tuned.search))
    best = f"{tuned.best.name.split()[0]}  {describe_point(tuned.best.settings)}"
    use, by_file = commands_of(session, tuned, output)
    lines = [tuned.story(), f"best: {best}, validation {validation_text(tuned.best)}", gain_line(tuned)]
    for line in (*lines, f"use it: {use}", f"or from the preset file: {by_file}"):
        session.talker.say(line)
    if len(tuned.runs) > SHOWN_ROWS:
        session.talker.say(f"the table has the best {SHOWN_ROWS}; --json tells all")
    cache = "miss" if board.computed else "hit"
    summary = {**tuned_values(tuned), "preset": str(output), "command": use}
    table = sweep_table(tuned.runs[:SHOWN_ROWS], title, tuned.scores)
    return Outcome.of(table, summary, artifact=output, key=tuned.best.checkpoint, cache=cache)


def commands_of(session: Session, tuned: Tuned, output: Path) -> tuple[str, str]:
    """The commands that train and score the choice: as the store has it, and as the preset file has it."""
    form = set_words(session.settings.changed(("graph",)))
    words, place = ["cgnn", "run", "--dataset", tuned.dataset, *form], session.given.place()
    by_store, by_file = ["--preset", AUTO], ["--model", tuned.model, "--preset", str(output)]
    return redacted_command([*words, *by_store, *place]), redacted_command([*words, *by_file, *place])


def tuned_values(tuned: Tuned) -> dict[str, Any]:
    """What `--json` says: configurations in the order of the table."""
    return {
        "dataset": tuned.dataset,
        "ended_by": tuned.ended_by,
        "stopped": tuned.stopped,
        "splits": {str(splits): count for splits, count in tuned.counts},
        "configurations": [
            {**configuration_values(run), "settled_score": score or None}
            for run, score in zip(tuned.runs, tuned.scores, strict=True)
        ],
        "best": {"name": tuned.best.name, "model": tuned.model, "settings": tuned.row, **tuned.search},
        "commute_times": None if tuned.gain is None else gain_values(tuned.gain),
    }


def gain_values(gain: Gain) -> dict[str, Any]:
    """A paired difference on validation scores: with commute times minus every weight 1."""
    rows = {"weighted": configuration_values(gain.weighted), "twin": configuration_values(gain.twin)}
    paired = gain.paired.to_json()
    paired["validation_to_train"] = paired.pop("test_to_train")
    return {"is_chosen": gain.is_chosen, **rows, "paired": paired}
