"""The configuration of every stage: small frozen dataclasses, each field with its help text.

The command line is generated from these fields, and exactly these fields go into an artifact's key, so an option
is declared once. Nothing here imports more than the standard library.
"""

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, dataclass_transform

from cgnn_cli.class_weights import parsed, settled
from cgnn_cli.errors import UsageError
from cgnn_cli.resources import parse_bytes
from cgnn_cli.solver_table import PAPER_RANK, PARTS_STEPS, SOLVERS, describe_solvers, solver_names, solvers_with

LARGEST_SEED = 2**32 - 1
Encoding = Literal["auto", "none", "structural", "roles", "degrees", "laplacian", "head-start", "adjacency"]
Metric = Literal["accuracy", "macro-f1", "balanced-accuracy", "auc", "average-precision"]
METRICS: dict[str, str] = {  # with their names in words
    "accuracy": "accuracy",
    "macro-f1": "macro-F1",
    "balanced-accuracy": "balanced accuracy",
    "auc": "AUC",
    "average-precision": "average precision",
}
OF_A_CLASS = ("auc", "average-precision")  # metrics that can be about one class
DECIDED_LATER = ("calibrate", "target_precision", "target_recall")  # on trained models, by their validation nodes
CLOSENESS = ("affinity", "neighbours")  # proximities of what grows with closeness, as times do not
UNSCALED = (*CLOSENESS, "none")  # proximities without a scale
ENCODING_SIZES = {"laplacian": 64, "head-start": 32, "adjacency": 32}  # of those that have one
WALK_OPTIONS = ("label_walk", "walk_direction", "death_rate")
FEATURE_NAMES = "feature_names"  # in a graph's summary, the titles of the columns of features, where they have some
CLUSTER = re.compile(r"(?:tcp|tls)://[^/\s]+:[0-9]+|local:[1-9][0-9]*|.+\.toml")
STRUCTURAL_NOTE = "no features given: structural ones are used"


def metric_words(metric: str, name: str | None = None) -> str:
    """A metric in words, with the class that it is about, if it can be about one."""
    return METRICS[metric] + (f" of {name}" if name is not None and metric in OF_A_CLASS else "")


def option(default: Any, help: str, **limits: Any) -> Any:
    """Declare a field with its default, its help text, its limits (`minimum`, `maximum`, `above`) and its `metavar`.

    `choices` is a function of the names that a field takes where these come from a table that may grow.
    """
    return dataclasses.field(default=default, metadata={"help": help, **limits})


@dataclass(frozen=True)
class Facts:
    """What defaults depend on, known before anything is computed.

    features: where those of the graph come from, as `feature_source` says, or "" where that is not known yet;
    proximity: that of the weights.
    """

    features: str = "own"
    proximity: str = "none"


def feature_source(summary: dict[str, Any]) -> str:
    """Where the features of a graph come from, by its summary: `own`, `structural`, or `none`.

    Graphs of 0.1.0 do not say it: there, a note tells that structural columns stand for features.
    """
    if "feature_source" in summary:
        return str(summary["feature_source"])
    if any(str(note).startswith(STRUCTURAL_NOTE) for note in summary.get("notes", ())):
        return "structural"
    return "own" if summary.get("features", 1) else "none"


@dataclass(frozen=True)
class StageConfig:
    """Base of the stage configurations: checks the limits of its fields."""

    stage: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_limits(field, getattr(self, field.name))

    def to_dict(self) -> dict[str, Any]:
        """What goes into the key and the provenance."""
        return dataclasses.asdict(self)

    def resolved(self, facts: Facts) -> Self:
        """With every `auto` that depends on the graph or on other stages replaced by what it stands for."""
        return self

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described; what it left out was not read."""
        return cls(**{field.name: values[field.name] for field in dataclasses.fields(cls) if field.name in values})


def check_limits(field: dataclasses.Field[Any], value: Any) -> None:
    """Refuse a value that a field does not allow."""
    if "choices" in field.metadata and value not in (known := field.metadata["choices"]()):
        raise UsageError(f"{option_name(field.name)} must be one of {', '.join(known)}, got {value}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    flag, limits = option_name(field.name), field.metadata
    if not math.isfinite(value):
        raise UsageError(f"{flag} must be a finite number, got {value}")
    if "minimum" in limits and value < limits["minimum"]:
        raise UsageError(f"{flag} must be at least {limits['minimum']}, got {value}")
    if "above" in limits and value <= limits["above"]:
        raise UsageError(f"{flag} must be greater than {limits['above']}, got {value}")
    if "maximum" in limits and value > limits["maximum"]:
        raise UsageError(f"{flag} must be at most {limits['maximum']}, got {value}")


def option_name(field_name: str) -> str:
    """The flag of a field: `weight_decay` is `--weight-decay`."""
    return "--" + field_name.replace("_", "-")


@dataclass(frozen=True)
class SourceConfig(StageConfig):
    """Where the files of datasets come from: never part of a key. Its keys stand outside any section."""

    stage: ClassVar[str] = "source"

    data: str | None = option(None, "Folder of downloaded datasets. Default: CGNN_DATA, or the user's data folder.")
    mirror: str | None = option(
        None, "Folder or http(s) address that holds FOLDER/FILE of the datasets; it replaces the upstream addresses."
    )
    offline: bool = option(False, "Never touch the network.")
    accept_standin: bool = option(
        False, "Take files that are not upstream's; the graph and all results made from it are marked as stand-in."
    )


@dataclass(frozen=True)
class GraphConfig(StageConfig):
    """Which form of a dataset's graph is taken: another form is another graph, with another key."""

    stage: ClassVar[str] = "graph"

    undirected: bool = option(False, "Symmetrise the graph, the paper's second setting: every edge goes both ways.")
    protocol: Literal["default", "published", "per-class", "per-class-1020", "random"] = option(
        "default",
        "Splits. published: those stored upstream. per-class: 20 of each class train, 500 validate, seeds 0 to 9. "
        "per-class-1020: the same, seed 1020 only. random: ten of 48/32/20. default: the dataset's own.",
    )
    featureless: bool = option(False, "Leave the graph's own features out.")

    def to_dict(self) -> dict[str, Any]:
        """Records of 0.1.0 know nothing of `--featureless`."""
        return {name: value for name, value in super().to_dict().items() if name != "featureless" or value}


@dataclass(frozen=True)
class RewireConfig(StageConfig):
    stage: ClassVar[str] = "rewire"

    method: Literal["auto", "path", "escape", "teleport", "none"] = option(
        "auto",
        "path (the paper): join the nodes in the order of their similarity to the mean node. "
        "escape: no new edges; where the walk would be trapped, some steps jump to any node. "
        "teleport: the same everywhere (the paper's PPR variant). "
        "none: the walk on the largest strongly connected component as it is. "
        "auto: path where the graph brought features of its own, else escape.",
    )
    walk: Literal["directed", "symmetric"] = option(
        "directed", "directed: walk along A. symmetric: walk along A + A^T (the paper's CGNN_sym)."
    )
    gamma: float = option(
        0.9, "teleport: the share of steps along edges; the rest jumps to any node.", above=0, maximum=0.999999
    )
    escape: float = option(
        0.1, "escape: the chance of a jump in components without a way out.", above=0, maximum=0.999999
    )
    escape_floor: float = option(1e-4, "escape: the chance of a jump elsewhere.", minimum=0, maximum=0.999999)

    def resolved(self, facts: Facts) -> Self:
        """The paper's path orders nodes by features, which needs features of the graph's own."""
        if self.method != "auto" or not facts.features:
            return self
        return dataclasses.replace(self, method="path" if facts.features == "own" else "escape")

    def to_dict(self) -> dict[str, Any]:
        """`--gamma` is read by `--method teleport` only, `--escape` and `--escape-floor` by `escape`."""
        unread = {"gamma"} if self.method != "teleport" else set()
        unread |= {"escape", "escape_floor"} if self.method not in ("auto", "escape") else set()
        return {name: value for name, value in super().to_dict().items() if name not in unread}


@dataclass(frozen=True)
class DilapConfig(StageConfig):
    stage: ClassVar[str] = "dilap"

    form: Literal["incidence", "random-walk"] = option(
        "incidence", "incidence: T = B diag(P) B^T (the paper's Eq. 5). random-walk: T = I - P (the form of its proof)."
    )


@dataclass(frozen=True)
class CommuteConfig(StageConfig):
    stage: ClassVar[str] = "commute"

    solver: str = option("svd", describe_solvers(), choices=solver_names)
    rank: int = option(PAPER_RANK, "Rank of the truncated SVD (svd only).", minimum=1)
    steps: int | None = option(
        None,
        f"Steps of the walk that are summed ({' and '.join(solvers_with('steps'))}). Default: "
        f"{', '.join(f'{SOLVERS[name].steps} for {name}' for name in solvers_with('steps'))}.",
        minimum=0,
        maximum=1000,
    )
    tolerance: float | None = option(
        None,
        "series: choose --steps so that the median relative error of the commute times is at most this, by exact "
        "solves on sampled edges.",
        above=0,
        maximum=1,
    )
    tail: bool = option(True, "series: add what the left-out steps of a geometric series would add.")
    probes: int = option(64, "sketch: number of random probes.", minimum=2)
    verify: int = option(0, "Measure the error on this many random edges by exact solves.", minimum=0)
    proximity: Literal["exp", "inverse", "ratio", "affinity", "neighbours", "none"] = option(
        "exp",
        "exp: exp(-(c - row minimum)/scale). inverse: (row minimum/c)^(1/scale). "
        "ratio: exp on c/(1/pi_i + 1/pi_j). affinity: the indirect part of c (exact and series). "
        "neighbours: cosine of common neighbours, without times. none: every weight 1.",
    )
    scale: str = option("1", "Scale of the proximity: a number, `row-mean` or `median` (exp and ratio only).")
    solver_seed: int = option(0, "Seed of start vectors, probes and sampled edges.", minimum=0, maximum=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if SOLVERS[self.solver].only_pi and self.proximity == "ratio":
            raise UsageError(
                f"--solver {self.solver} with --proximity ratio gives every neighbour the same weight",
                "use --proximity inverse or exp as the control, or --proximity none for equal weights",
            )
        if self.proximity == "affinity" and not SOLVERS[self.solver].parts:
            raise UsageError(
                f"--proximity affinity weighs by a part of the commute times that --solver {self.solver} does not tell",
                f"use --solver {' or '.join(name for name in solver_names() if SOLVERS[name].parts)}",
            )
        if self.proximity == "affinity" and self.steps is not None and self.steps < PARTS_STEPS:
            raise UsageError(f"--proximity affinity needs at least --steps {PARTS_STEPS}, got {self.steps}")
        if self.tolerance is not None and self.steps is not None:
            raise UsageError("--tolerance chooses --steps by itself", "give one of them")
        if self.tolerance is not None and self.solver not in (able := solvers_with("tolerance")):
            raise UsageError(
                f"--tolerance is for --solver {', '.join(able)}", "--verify measures the error of any solver"
            )
        self.scale_value()

    @property
    def step_count(self) -> int:
        """The steps to sum where they are not chosen by a tolerance."""
        return SOLVERS[self.solver].steps if self.steps is None else self.steps

    def scale_value(self) -> float | str:
        """The scale as a positive number, or the name of a data-dependent one."""
        if self.scale in ("row-mean", "median"):
            if self.proximity == "inverse":
                raise UsageError(f"--scale {self.scale} is for exp and ratio; inverse takes a number")
            return self.scale
        try:
            value = float(self.scale)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"--scale must be a positive number, row-mean or median, got {self.scale!r}")
        return value

    def to_dict(self) -> dict[str, Any]:
        """Only what the chosen solver and proximity read: `--rank` does not change an exact result."""
        values = super().to_dict()
        read = set(SOLVERS[self.solver].options)
        if "tolerance" in read:  # it chooses the steps, on edges that the seed samples
            read -= {"tolerance", "solver_seed"} if self.tolerance is None else {"steps"}
        if self.verify:
            read |= {"verify", "solver_seed"}
        for name in {"rank", "steps", "tolerance", "tail", "probes", "verify", "solver_seed"} - read:
            del values[name]
        if "steps" in values:
            values["steps"] = self.step_count
        if self.proximity in UNSCALED:
            del values["scale"]
        else:
            values["scale"] = self.scale_value()
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return super().from_dict({**values, "scale": str(values.get("scale", 1))})


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True, eq=False, repr=False)
class TrainConfig(StageConfig):
    """What every model reads, and what is asked of every model. A model is a subclass, in its folder of models/.

    title: what it is, in words; label: its name in tables; paper: where it comes from.
    operator: a name in operators/operator_table.py, or none for a model without messages.
    directions: those it can take messages from, its own first.
    learns: whether a network is trained; a model that learns nothing has a module `solution` in the place of `network`.
    share_in_use: of its operators, where a training does not propagate over all of them at a time.
    """

    stage: ClassVar[str] = "train"
    title: ClassVar[str]
    label: ClassVar[str]
    paper: ClassVar[str] = ""
    operator: ClassVar[str | None] = None
    directions: ClassVar[tuple[str, ...]] = ()
    learns: ClassVar[bool] = True
    share_in_use: ClassVar[float] = 1.0

    model: str = option(
        dataclasses.MISSING,
        "Model to train; `cgnn models` lists them, `cgnn models NAME` explains the options of one.",
        metavar="NAME",
    )
    direction: Literal["auto", "out", "in", "both", "undirected"] = option(
        "auto", "Neighbours whose messages a node takes; `cgnn models` says what each model can do. auto: its own."
    )
    lr: float = option(0.01, "Learning rate (Adam).", above=0, maximum=1e12)
    weight_decay: float = option(5e-4, "Weight decay.", minimum=0)
    epochs: int = option(1000, "Maximum number of epochs.", minimum=1)
    patience: int = option(
        100, "Stop after this many epochs without a better one (--metric on validation nodes, then loss).", minimum=1
    )
    metric: Metric = option(
        "accuracy",
        "What epochs and settings are chosen by, on validation nodes, and what a report shows. auc and "
        "average-precision: each class against the rest, and their mean, or --metric-class alone.",
    )
    metric_class: str | None = option(
        None, "The class that auc, average-precision and a target are about, by its name.", metavar="NAME"
    )
    class_weights: str = option(
        "none",
        "Weights of the classes in the loss. balanced: every class counts as much as any other. FILE: a table with the "
        "columns class,weight; a class that it leaves out has weight 1.",
        metavar="none|balanced|FILE",
    )
    calibrate: bool = option(
        False,
        "Divide class scores by a temperature, fitted on validation nodes, to make probabilities honest.",
    )
    target_precision: float | None = option(
        None,
        "Give --metric-class from a probability on that has this precision on validation nodes, with the most recall.",
        above=0,
        maximum=1,
    )
    target_recall: float | None = option(
        None,
        "Give --metric-class from a probability on that has this recall on validation nodes, with the most precision.",
        above=0,
        maximum=1,
    )
    seed: int = option(0, "Base seed; split r trains with seed + r.", minimum=0, maximum=LARGEST_SEED)
    precision: Literal["float32", "bfloat16"] = option(
        "float32", "bfloat16: dense products in 16 bits where the device has them; weights stay in 32."
    )
    encoding: Encoding = option(
        "auto",
        "Columns of a node's place in the graph, beside its features or for want of any. structural: degrees, PageRank "
        "and returns. roles: the same as normal quantiles. degrees: of the node and its neighbours. laplacian: "
        "eigenvectors. head-start: times of a walk to and from landmarks. adjacency: ways of one and two steps to and "
        "from them. auto: laplacian for a graph that has no features, none otherwise.",
    )
    encoding_size: int | None = option(
        None,
        "encoding: eigenvectors of laplacian (64), landmarks of head-start and adjacency (32).",
        minimum=1,
        maximum=1024,
    )
    feature_scaling: Literal["none", "row", "l2", "standard"] = option(
        "none",
        "Scale the graph's own features: row: absolute sum 1; l2: length 1; standard: columns to mean 0, variance 1.",
    )
    input_dropout: float = option(0.0, "Dropout of the features and encodings.", minimum=0, maximum=0.99)
    degree_features: bool = option(False, "A branch beside the graph layers that sees degrees of nodes and neighbours.")
    label_input: bool = option(
        False,
        "A branch that sees the training labels of other nodes with similar out-neighbours, never the node's own.",
    )
    label_powers: str = option("60,12,4", "label-input: powers of the similarity, each an input of its own.")
    label_walk: bool = option(
        False,
        "Columns beside the features: chances of the class that a walk meets first. Each fold of the training nodes "
        "learns from columns that are made without its labels.",
    )
    walk_direction: Literal["auto", "out", "in", "undirected"] = option(
        "auto",
        "absorption, label-walk: where the walk goes: along edges (out), against them (in), or both. "
        "auto: the best on validation.",
    )
    death_rate: float | None = option(
        None,
        "absorption, label-walk: chance that the walk ends before a step. Default: of 0.2, 0.05 and 0.01 the best on "
        "validation.",
        minimum=0.001,
        maximum=0.999,
    )
    graph_share: float = option(1.0, "Weight of the graph layers' class scores beside the branch.", minimum=0)
    branch_hidden: int = option(128, "Width of the branch.", minimum=1)
    branch_dropout: float = option(0.5, "Dropout in the branch.", minimum=0, maximum=0.99)

    def __init_subclass__(cls) -> None:
        """Every subclass is a frozen dataclass. To generate for each what stands below took a tenth of the start."""
        dataclass(frozen=True, eq=False, repr=False)(cls)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"

    def _values(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def own_options(cls) -> tuple[str, ...]:
        """The options that not every model has."""
        common = {field.name for field in dataclasses.fields(TrainConfig)}
        return tuple(field.name for field in dataclasses.fields(cls) if field.name not in common)

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(type(self), "model", None) != self.model:
            raise UsageError(f"{type(self).__name__} is not for --model {self.model}", "train_config finds what is")
        object.__setattr__(self, "class_weights", settled(self.class_weights))
        self.powers()

    def to_dict(self) -> dict[str, Any]:
        """The options that this training depends on: others are not part of its key."""
        unread = self.unread()
        read = {name: value for name, value in super().to_dict().items() if name not in unread}
        if "encoding_size" in read:
            read["encoding_size"] = self.encoding_columns
        return {**read, "direction": self.resolved_direction}

    def unread(self) -> set[str]:
        """The options that change nothing, by the values of others."""
        unread = set() if self.label_input else {"label_powers"}
        unread |= {name for name in ("metric", "class_weights", *DECIDED_LATER) if not self._differs(name)}
        if self.metric_class is None or not (self.metric in OF_A_CLASS or self.has_target):
            unread |= {"metric_class"}
        unread |= set() if self.label_walk else set(WALK_OPTIONS)
        if self.encoding not in ENCODING_SIZES:
            unread |= {"encoding_size"} if self.has_encoding else {"encoding", "encoding_size"}
        return unread if self.has_branch else unread | {"graph_share", "branch_hidden", "branch_dropout"}

    def _differs(self, name: str) -> bool:
        """Whether an option is not as 0.1.0 had it, before there was a choice."""
        return bool(getattr(self, name) != getattr(TrainConfig, name))

    def fit_options(self) -> dict[str, Any]:
        """The options that the training of a split depends on: not those of what is decided after it."""
        later = {*DECIDED_LATER, *(() if self.metric in OF_A_CLASS else ("metric_class",))}
        return {name: value for name, value in self.to_dict().items() if name not in later}

    def named_classes(self) -> list[str]:
        """The classes that options name, which a graph must have."""
        read = self.to_dict()
        weighed = parsed(self.class_weights) if read.get("class_weights", "").startswith("{") else {}
        return [*weighed, *([str(self.metric_class)] if "metric_class" in read else [])]

    def check(self) -> None:
        """Refuse options that cannot be served, or not together."""
        assert self.resolved_direction
        if self.label_walk and not self.learns:
            raise UsageError(f"--model {self.model} has no --label-walk: it trains nothing", "leave it out")
        if self.target_precision is not None and self.target_recall is not None:
            raise UsageError("--target-precision and --target-recall are two thresholds", "give one of them")
        if self.has_target and self.metric_class is None:
            raise UsageError("a target is about one class, and none is named", "name it with --metric-class")

    @property
    def has_target(self) -> bool:
        """Whether a class is given from a threshold on, and not where it is the likeliest."""
        return self.target_precision is not None or self.target_recall is not None

    @property
    def decides_later(self) -> bool:
        """Whether something is decided on the trained models: a temperature, or a threshold."""
        return self.calibrate or self.has_target

    def resolved(self, facts: Facts) -> Self:
        return dataclasses.replace(super().resolved(facts), encoding=self.encoding_of(facts.features))

    def encoding_of(self, features: str) -> Encoding:
        """The encoding that is taken, by where the features of the graph come from."""
        if features == "none" and self.encoding == "none" and not self.label_walk:
            raise UsageError(
                "this graph has no features, and --encoding none leaves a model without any input",
                "leave --encoding out, name another one, or import the graph again with --features",
            )
        if self.encoding == "auto" and features:
            return "laplacian" if features == "none" else "none"
        return self.encoding

    @property
    def has_encoding(self) -> bool:
        """Whether columns of an encoding are taken; `auto` is settled where the graph is known."""
        return self.encoding not in ("auto", "none")

    @property
    def encoding_columns(self) -> int:
        """The eigenvectors or landmarks of the encoding."""
        return self.encoding_size or ENCODING_SIZES.get(self.encoding, 0)

    @property
    def resolved_direction(self) -> str:
        """The direction that messages come from: the one asked for, or the model's own; `none` without messages."""
        if self.direction == "auto" or (self.direction == "none" and not self.directions):  # as its artifacts have it
            return self.directions[0] if self.directions else "none"
        if self.direction not in self.directions:
            able = f"it takes {', '.join(self.directions)}" if self.directions else "it takes no messages"
            raise UsageError(f"--model {self.model} has no --direction {self.direction}", able)
        return self.direction

    def told(self) -> dict[str, Any]:
        """What summaries of its results say of it."""
        return {"model": self.model, "direction": self.resolved_direction}

    def operator_kinds(self) -> tuple[str, ...]:
        """The kinds of operators that a training reads: the model's own, then those of its options."""
        own = (self.operator,) if self.operator else ()
        options = ("encoding",) * self.has_encoding + ("twins",) * self.label_input
        return own + options + ("degrees",) * self.degree_features

    def numbers_a_node(self) -> int:
        """How many a training holds for each node at its peak, beside class scores; here those of a branch."""
        return 7 * self.branch_hidden if self.has_branch else 0

    def numbers_an_entry(self) -> int:
        """How many a training holds for each entry of its operators, beside the operators themselves."""
        return 0

    def powers(self) -> tuple[float, ...]:
        """The powers of the similarity that `--label-input` takes."""
        try:
            powers = tuple(float(part) for part in self.label_powers.split(","))
        except ValueError:
            powers = (math.nan,)
        if not all(math.isfinite(power) and power > 0 for power in powers):
            raise UsageError(
                f"--label-powers {self.label_powers!r} are not positive numbers", "write them like 60,12,4"
            )
        return powers

    @property
    def reach(self) -> int | None:
        """From how many edges away a node hears; None where a model does not say."""
        return None

    @property
    def has_branch(self) -> bool:
        """Whether a branch stands beside the graph layers."""
        return self.degree_features or self.label_input


@dataclass(frozen=True)
class ComputeConfig(StageConfig):
    """How to compute: never part of a key."""

    stage: ClassVar[str] = "compute"

    device: str = option("auto", "auto, cpu, cuda or cuda:0.")
    threads: int | None = option(
        None,
        "Threads or processes; 0: all cores that the job may use. Default: 1 for a training, all for commute times.",
        minimum=0,
    )
    jobs: int = option(
        1, "Splits that are trained at the same time, each in a process of its own; 0: as many as cores.", minimum=0
    )
    cluster: str | None = option(
        None,
        "Train on the workers of a dask cluster instead: tcp://HOST:PORT, local:N, or a file like slurm.toml.",
        metavar="CLUSTER",
    )
    memory_limit: str = option(
        "auto", "Memory that may be used, like 12G. auto: what the machine, its control group, ulimit and Slurm allow."
    )
    deterministic: bool = option(False, "Only deterministic kernels, also on CUDA; the CPU's always are.")
    snapshot_seconds: float = option(
        30.0, "Seconds between saved states of unfinished work; 0: after every epoch, block or probe.", minimum=0
    )
    tensorboard: bool = option(
        False, "Write loss and validation of each epoch for TensorBoard too, into STORE/runs; needs its package."
    )
    track: Literal["none", "tensorboard", "mlflow", "wandb"] = option(
        "none", "Log options, metrics of each epoch and scores to MLflow or W&B too; tensorboard: as --tensorboard."
    )

    @property
    def for_tensorboard(self) -> bool:
        """Whether each epoch is written for TensorBoard while it is trained."""
        return self.tensorboard or self.track == "tensorboard"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", self.device):
            raise UsageError(f"--device {self.device} is not a device", "use auto, cpu, cuda or cuda:0")
        if self.memory_limit != "auto":
            parse_bytes(self.memory_limit)
        if self.cluster is not None and not CLUSTER.fullmatch(self.cluster):
            raise UsageError(
                f"--cluster {self.cluster} is not a cluster",
                "write tcp://HOST:PORT for a scheduler that runs, local:2 for two workers here, or name a .toml file",
            )


CONFIGS: dict[str, type[StageConfig]] = {
    config.stage: config for config in (RewireConfig, DilapConfig, CommuteConfig, TrainConfig)
}
SECTIONS: dict[str, type[StageConfig]] = {
    "source": SourceConfig,
    "graph": GraphConfig,
    **CONFIGS,
    "compute": ComputeConfig,
}
