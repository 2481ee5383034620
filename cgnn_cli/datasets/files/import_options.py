"""What `cgnn data import` takes: every option declared once, with its help text. Its command line is made from here."""

import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from cgnn_cli.configs import LARGEST_SEED, StageConfig, option
from cgnn_cli.errors import UsageError

FILES, COLUMNS, ROWS, SPLITS = "Files", "Columns", "Rows", "Splits"


@dataclass(frozen=True)
class ImportOptions(StageConfig):
    """The user's files and how they are taken. A column is a name in the header, or a number counted from 1.

    `header` says for all text files whether their first row is one; None: it is detected for each. `comment` is what
    lines to skip start with; None: # or %, before the first row only. `impute` is for features that are NaN or
    infinite. `relabel` takes the node numbers of arrays as ids, like those of text.
    """

    stage: ClassVar[str] = "import"

    edges: Path | None = option(
        MISSING,
        "CSV, TSV or whitespace text (also .gz), Parquet, a folder of these, GraphML, .npy, or scipy .npz.",
        panel=FILES,
        shown=False,
    )
    features: Path | None = option(
        None, "CSV or Parquet with an id column, a folder of these, .npy, or sparse .npz.", panel=FILES
    )
    labels: Path | None = option(
        None, "CSV or Parquet of id,label, a folder of these, or .npy with -1 for unknown.", panel=FILES
    )
    splits: Path | None = option(
        None, "CSV or Parquet of id and one train/val/test column per split, or .npz masks.", panel=FILES
    )
    source_column: str | None = option(
        None, "Where edges start: name, or number from 1.", panel=COLUMNS, shown="by title"
    )
    target_column: str | None = option(None, "Where edges end.", panel=COLUMNS, shown="by title")
    weight_column: str | None = option(
        None, "Weights; repeated edges are summed. Without it repeats count once.", panel=COLUMNS
    )
    id_column: str | None = option(None, "Node ids of labels, features and splits.", panel=COLUMNS, shown="by title")
    label_column: str | None = option(None, "Labels.", panel=COLUMNS, shown="by title")
    feature_columns: str | None = option(
        None,
        "Features, such as age,posts,5-9; without --features they are in the table of labels.",
        panel=COLUMNS,
        shown="all others",
    )
    time_column: str | None = option(None, "Times of edges, or of nodes in the table of labels.", panel=COLUMNS)
    header: bool | None = option(
        None, "Whether the first line names the columns.", panel=COLUMNS, flags="--header/--no-header", shown="detected"
    )
    comment: str | None = option(
        None,
        "Skip all lines that start with this sign; none: skip no line.",
        panel=FILES,
        metavar="CHAR",
        shown="# or % before the first row",
    )
    drop_invalid: bool = option(
        False, "Leave out rows that cannot be used, and count them.", panel=ROWS, flags="--drop-invalid", shown=False
    )
    combine: Literal["sum", "count", "max", "last"] | None = option(
        None, "Weight of a repeated edge.", panel=ROWS, shown="sum with weights, else 1"
    )
    unknown_label: list[str] | None = option(
        None, "A label that means no label; may be repeated.", panel=ROWS, metavar="WORD"
    )
    impute: Literal["zero"] | None = option(None, "zero: NaN and infinite features become 0.", panel=FILES)
    relabel: bool = option(
        False,
        "Take the node numbers of .npy and .npz edges as ids, so that they need not be 0..N-1.",
        panel=FILES,
        flags="--relabel",
        shown=False,
    )
    split_ratio: str | None = option(
        None, "Shares of train/validation/test in each class.", panel=SPLITS, shown="48/32/20"
    )
    per_class: int | None = option(None, "Training nodes of each class.", panel=SPLITS)
    val: int | None = option(None, "Validation nodes, with --per-class.", panel=SPLITS, shown="500")
    train_before: str | None = option(
        None, "With --time-column: nodes before this date or number train and validate.", panel=SPLITS, metavar="TIME"
    )
    test_from: str | None = option(
        None,
        "Nodes from here on test; those between the two dates validate.",
        panel=SPLITS,
        metavar="TIME",
        shown="--train-before",
    )
    split_count: int = option(10, "How many splits.", panel=SPLITS, minimum=1)
    split_seed: int = option(0, "Seed of the splits.", panel=SPLITS, minimum=0)

    def __post_init__(self) -> None:
        values = {"--splits": self.splits, "--split-ratio": self.split_ratio, "--per-class": self.per_class}
        dates = {"--train-before": self.train_before} if self.split_ratio is None or self.test_from else {}
        given = [flag for flag, value in {**values, **dates}.items() if value is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} contradict each other", "give one of them")
        if self.val is not None and self.per_class is None:
            raise UsageError("--val goes with --per-class", "add --per-class, or use --split-ratio")
        if given and self.labels is None:
            raise UsageError(f"{given[0]} needs labels", "give them with --labels")
        self._check_columns()
        if self.split_ratio is not None:
            from cgnn_cli.datasets.splits import parse_ratio

            parse_ratio(self.split_ratio)
        for flag, number in (("--per-class", self.per_class), ("--val", self.val)):
            if number is not None and number < 1:
                raise UsageError(f"{flag} must be at least 1, got {number}")
        if self.comment not in (None, "none") and not re.fullmatch(r'[^\s",;]', self.comment):
            hint = "give another, such as #; or none, which skips no line"
            raise UsageError(f"--comment {self.comment!r} is not a single character that can start a comment", hint)
        largest = LARGEST_SEED - self.split_count
        if not 0 <= self.split_seed <= largest:
            raise UsageError(f"--split-seed must be between 0 and {largest}, got {self.split_seed}")
        super().__post_init__()

    def _check_columns(self) -> None:
        """Options of columns that need another one, or contradict it."""
        needs = [
            ("--label-column", self.label_column, "--labels", self.labels),
            ("--unknown-label", self.unknown_label, "--labels", self.labels),
            ("--id-column", self.id_column, "--labels, --features or --splits", self.labels or self.features),
            ("--feature-columns", self.feature_columns, "--features or --labels", self.labels or self.features),
            ("--test-from", self.test_from, "--train-before", self.train_before),
            ("--train-before", self.train_before, "--time-column", self.time_column),
            ("--train-before", self.train_before, "--labels", self.labels),
        ]
        for flag, value, needed, there in needs:
            if value is not None and there is None:
                raise UsageError(f"{flag} needs {needed}", "add it, or leave the other out")
        if self.time_column is not None and self.train_before is None and self.combine != "last":
            raise UsageError("--time-column is for --train-before and --combine last", "add one of them")
        if self.combine == "count" and self.weight_column is not None:
            raise UsageError("--combine count counts rows and takes no weights", "leave --weight-column out")
        if self.combine not in (None, "count") and self.weight_column is None:
            raise UsageError(f"--combine {self.combine} needs weights", "name them with --weight-column")
        if self.train_before is not None:
            from cgnn_cli.datasets.files.times import parse_moment

            start, stop = parse_moment("--train-before", self.train_before), self.test_from
            if stop is not None and parse_moment("--test-from", stop) < start:
                raise UsageError(f"--test-from {stop} is before --train-before {self.train_before}", "swap them")
