"""What `cgnn data import` takes: every option declared once, with its help text. Its command line is made from here."""

import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from cgnn_cli.configs import LARGEST_SEED, StageConfig, option
from cgnn_cli.errors import UsageError

FILES, COLUMNS, SPLITS = "Files", "Columns of the edge file", "Splits"


@dataclass(frozen=True)
class ImportOptions(StageConfig):
    """The user's files and how they are taken. A column is a name in the header, or a number counted from 1.

    `header` says for all text files whether their first row is one; None: it is detected for each. `comment` is what
    lines to skip start with; None: # or %, before the first row only. `impute` is for features that are NaN or
    infinite. `relabel` takes the node numbers of arrays as ids, like those of text.
    """

    stage: ClassVar[str] = "import"

    edges: Path = option(
        MISSING, "CSV, TSV or whitespace text (also .gz), Parquet, .npy, or scipy .npz.", panel=FILES, shown=False
    )
    features: Path | None = option(None, "CSV or Parquet with an id column, .npy, or sparse .npz.", panel=FILES)
    labels: Path | None = option(None, "CSV or Parquet of id,label, or .npy with -1 for unknown.", panel=FILES)
    splits: Path | None = option(
        None, "CSV or Parquet of id and one train/val/test column a split, or .npz masks.", panel=FILES
    )
    source_column: str | None = option(None, "Name, or number from 1.", panel=COLUMNS, shown="1")
    target_column: str | None = option(None, "Name, or number from 1.", panel=COLUMNS, shown="2")
    weight_column: str | None = option(
        None, "Weights; repeated edges are summed. Without it repeats count once.", panel=COLUMNS
    )
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
    split_count: int = option(10, "How many splits.", panel=SPLITS, minimum=1)
    split_seed: int = option(0, "Seed of the splits.", panel=SPLITS, minimum=0)

    def __post_init__(self) -> None:
        values = {"--splits": self.splits, "--split-ratio": self.split_ratio, "--per-class": self.per_class}
        given = [flag for flag, value in values.items() if value is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} contradict each other", "give one of them")
        if self.val is not None and self.per_class is None:
            raise UsageError("--val goes with --per-class", "add --per-class, or use --split-ratio")
        if given and self.labels is None:
            raise UsageError(f"{given[0]} needs labels", "give them with --labels")
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
