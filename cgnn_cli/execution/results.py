"""One result: a run is a configuration on some splits of a dataset, with the headers of all that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

from cgnn_cli.configs import CommuteConfig, metric_words
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import CgnnError, UsageError
from cgnn_cli.pipeline import CONFIGURED, STAGES, parts_in
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.lineage import open_artifact, walk
from cgnn_cli.store.store import Store

Status = Literal["done", "failed", "not run"]
NOT_A_SETTING = ("model", "splits", "verify")


@dataclass(eq=False)
class Run:
    """A configuration to train, and what has come of it.

    settings: by their paths, as `train.layers`; what is left out has its default. wanted: the splits to train on; all
    that the dataset has, if there are none.
    headers: of its artifacts by role, as far as they are there: trainings `fit-3`, the checkpoint `train`, the scores
    `eval`, and all stages before. checkpoint: the key of its trainings together, also before these are collected.
    measured: the metric that its scores on the test nodes are told in.
    """

    name: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    wanted: tuple[int, ...] = ()
    status: Status = "not run"
    message: str = ""
    error: Exception | None = None
    headers: dict[str, Header] = field(default_factory=dict)
    checkpoint: str = ""
    path: Path | None = None
    measured: str = "accuracy"

    def fail(self, error: Exception) -> None:
        """Note what went wrong, in a line."""
        text = error.message if isinstance(error, CgnnError) else f"{type(error).__name__}: {error}"
        self.status, self.message, self.error = "failed", " ".join(text.split()), error

    @property
    def header(self) -> Header:
        """Of the scores."""
        return self.headers["eval"]

    @property
    def key(self) -> str:
        """Of the scores; empty where there are none."""
        return self.header.key if self.is_scored else ""

    @property
    def is_scored(self) -> bool:
        return "eval" in self.headers

    @property
    def made_from(self) -> dict[str, Header]:
        """The headers of what the scores were made from."""
        return {role: header for role, header in self.headers.items() if role != "eval"}

    @property
    def fits(self) -> dict[int, Header]:
        """The trainings that are done, by split."""
        return {int(split): header for split, header in parts_in(self.headers, "fit").items()}

    @property
    def splits(self) -> list[int]:
        """The splits that are scored or, where none are, those that are trained."""
        return list(self.header.summary["splits"]) if self.is_scored else sorted(self.fits)

    @property
    def accuracies(self) -> list[float]:
        """Test accuracy of each split that is scored."""
        return list(self.header.summary["test_accuracy_per_split"]) if self.is_scored else []

    @property
    def metric(self) -> str:
        """What its epochs were chosen by."""
        return str(self.trained.get("metric", "accuracy"))

    @property
    def metric_class(self) -> str | None:
        """The class that its metric is about, if it is about one."""
        name: str | None = self.trained.get("metric_class")
        return name

    @property
    def measured_words(self) -> str:
        """What its scores are, in words."""
        return f"test {metric_words(self.measured, self.metric_class)}"

    def scores_in(self, metric: str) -> list[float | None]:
        """A metric on the test nodes of each split, None where not defined; empty if the scores do not have it."""
        if metric == "accuracy" or not self.is_scored:
            return list(self.accuracies)
        return list(self.header.summary.get("metrics", {}).get(metric, {}).get("per_split", ()))

    @property
    def scores(self) -> list[float]:
        """What it is measured by on the test nodes of each split that is scored."""
        return [score for score in self.scores_in(self.measured) if score is not None]

    @property
    def mean(self) -> float:
        """Mean score on the test nodes, of a run that is scored."""
        return fmean(self.scores)

    @property
    def std(self) -> float | None:
        """Population standard deviation over the splits; a single one has none."""
        return pstdev(self.scores) if len(self.scores) > 1 else None

    def on_splits(self, splits: Iterable[int]) -> Run:
        """The run as it would be on some of its splits alone."""
        kept = [place for place, split in enumerate(self.splits) if split in set(splits)]
        if not self.is_scored:
            return self
        names = ("splits", "test_accuracy_per_split")
        summary = self.header.summary | {name: [self.header.summary[name][place] for place in kept] for name in names}
        return replace(self, headers={**self.headers, "eval": replace(self.header, summary=summary)})

    @property
    def validation_accuracies(self) -> list[float]:
        return [float(self.fits[split].summary["validation_accuracy"]) for split in self.splits if split in self.fits]

    @property
    def validation_scores(self) -> list[float]:
        """What its epochs were chosen by, accuracy or another metric, on the validation nodes of each trained split."""
        found = (self.fits[split].summary for split in self.splits if split in self.fits)
        return [float(summary.get("validation_score", summary["validation_accuracy"])) for summary in found]

    @property
    def validation(self) -> float:
        """Mean validation score over the splits that are trained; 0 where none are."""
        return fmean(self.validation_scores) if self.validation_scores else 0.0

    @property
    def validation_deviation(self) -> float:
        """The population's standard deviation over these."""
        return pstdev(self.validation_scores) if self.validation_scores else 0.0

    @property
    def epochs(self) -> list[int]:
        return [int(self.fits[split].summary["epochs"]) for split in self.splits if split in self.fits]

    @property
    def fit_seconds(self) -> list[float]:
        """What each training took when it was made."""
        return [self.fits[split].seconds for split in self.splits if split in self.fits]

    @property
    def seconds_before(self) -> float:
        """What the stages between the graph and the trainings took when they were made."""
        return sum(header.seconds for header in self.headers.values() if STAGES[header.stage].cold)

    @property
    def seconds(self) -> float | None:
        """Cold seconds of one training: the stages before it, and the mean over its splits. None if not all are known.

        They are those recorded when each artifact was made, so a cache hit never counts.
        """
        known = "graph" in self.headers and self.splits and len(self.fit_seconds) == len(self.splits)
        return self.seconds_before + fmean(self.fit_seconds) if known else None

    @property
    def trained(self) -> dict[str, Any]:
        """The options that its trainings read."""
        header = self.headers.get("train") or next(iter(self.fits.values()), None)
        return header.config if header else {}

    @property
    def model(self) -> str:
        return str(self.trained.get("model", "unknown"))

    @property
    def direction(self) -> str:
        return str(self.trained.get("direction", ""))

    @property
    def graph_key(self) -> str:
        made = self.headers.get("eval") or self.headers.get("train")
        return made.inputs.get("graph", "") if made else ""

    @property
    def graph_notes(self) -> dict[str, Any]:
        """What is recorded about the graph: its dataset and protocol, which form it is, whether it is a stand-in."""
        return self.headers["graph"].summary if "graph" in self.headers else {}

    @property
    def split_count(self) -> int | None:
        """How many splits the dataset has."""
        return int(self.graph_notes["splits"]) if self.graph_notes else None

    @property
    def is_partial(self) -> bool:
        """Whether some split of the dataset is missing."""
        return self.split_count is not None and len(self.splits) < self.split_count

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options that its stages read, of all stages together."""
        return merged_options(self.headers)


def search_of(best: Run, configurations: int, command: str) -> dict[str, Any]:
    """How a search found its best run, as a preset tells it."""
    return {
        "validation_accuracy": round(fmean(best.validation_accuracies), 6),
        "validation_std": round(pstdev(best.validation_accuracies), 6),
        **({"metric": best.metric, "validation_score": round(best.validation, 6)} if best.metric != "accuracy" else {}),
        "splits": best.splits,
        "configurations": configurations,
        "command": command,
    }


def raise_if_all_failed(runs: Sequence[Run]) -> None:
    """A search in which nothing could be trained fails as its first run did."""
    if runs and all(run.status == "failed" for run in runs):
        error, text = runs[0].error, f"all {len(runs)} configurations failed; the first: {runs[0].message}"
        raise type(error)(text, error.hint) if isinstance(error, CgnnError) else RuntimeError(text)


def merged_options(headers: dict[str, Header]) -> dict[str, Any]:
    """The options of artifacts by role, of all stages together."""
    parts = (_unverified(headers[stage].config) for stage in CONFIGURED if stage in headers)
    return {name: value for part in parts for name, value in part.items() if name not in NOT_A_SETTING}


def _unverified(config: dict[str, Any]) -> dict[str, Any]:
    """A recorded configuration without what only the verification of its times reads, as their seed may be."""
    if not config.get("verify") or config.get("solver") not in SOLVERS:
        return config
    read = CommuteConfig.from_dict({**config, "verify": 0}).to_dict()
    return {name: value for name, value in config.items() if name in read}


@dataclass
class Runs:
    """The runs of a store, and of files, with lazily read contents."""

    store: Store
    _seen: dict[tuple[str, str], Header | None] = field(default_factory=dict)

    def named(self, names: Iterable[str]) -> list[Run]:
        """Evaluations by path or beginning of a key, each once, in the order given."""
        found = {}
        for name in names:
            path, artifact = open_artifact(self.store, name)
            header = artifact.header
            if header.stage != "eval":
                raise UsageError(
                    f"{name} is a {header.stage} artifact, and a report is about evaluations",
                    "name what `cgnn eval` or `cgnn run` printed",
                )
            found[header.key] = self.of(header, path)
        return list(found.values())

    def all(self) -> list[Run]:
        """All evaluations of the store, oldest first; a damaged one counts as missing, and the store says so."""
        headers = [header for header in self.store.headers("eval") if self._find("eval", header.key)]
        return [self.of(header, self.store.path("eval", header.key)) for header in headers]

    def content(self, header: Header, path: Path | None = None) -> Artifact:
        """The whole artifact of a header."""
        return files.read(path or self.store.path(header.stage, header.key))

    def commute_headers(self, graph_key: str) -> list[Header]:
        """All commute artifacts of a graph."""
        return [header for header in self.store.headers("commute") if header.inputs.get("graph") == graph_key]

    def options(self, header: Header) -> dict[str, Any]:
        """The options of an artifact and of all it was made from."""
        return merged_options({**dict(walk(header, self._find)), header.stage: header})

    def beside(self, trained: Header) -> list[Run]:
        """Trained models as a run, then all others of their graph; by what is recorded, without their trainings."""
        graph = trained.inputs.get("graph")
        others = [header for header in self.store.headers("train") if header.inputs.get("graph") == graph]
        headers = {header.key: header for header in (trained, *others)}.values()
        return [self.of(header, find=self._recorded) for header in headers]

    def of(
        self, header: Header, path: Path | None = None, find: Callable[[str, str], Header | None] | None = None
    ) -> Run:
        """The run of scores, or of trained models that need no scores."""
        headers = {**dict(walk(header, find or self._find)), header.stage: header}
        key = header.inputs.get("graph", "")
        recorded = str(headers["graph"].summary.get("dataset", "")) if "graph" in headers else ""
        name = name_of(self.store, key) or recorded or f"graph {key[:12]}"
        shown = name.replace("+standin", " (stand-in)").replace("+", ", ")
        trained = header.inputs.get("train", "") if header.stage == "eval" else header.key
        return Run(name, shown, status="done", headers=headers, checkpoint=trained, path=path)

    def _recorded(self, stage: str, key: str) -> Header | None:
        return None if STAGES[stage].no_start else self.store.recorded(stage, key)

    def _find(self, stage: str, key: str) -> Header | None:
        if (stage, key) not in self._seen:
            self._seen[stage, key] = self.store.find(stage, key)
        return self._seen[stage, key]
