"""The configuration of every stage: small frozen dataclasses, each field with its help text.

The command line is generated from these fields, and exactly these fields go into an artifact's key, so an option
is declared once. Nothing here imports more than the standard library.
"""

import dataclasses
import functools
import math
import re
import typing
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from cgnn_cli.errors import UsageError
from cgnn_cli.resources import parse_bytes

LARGEST_SEED = 2**32 - 1


def option(default: Any, help: str, **limits: Any) -> Any:
    """Declare a field with its default, its help text, its limits (`minimum`, `maximum`, `above`) and its `metavar`."""
    return dataclasses.field(default=default, metadata={"help": help, **limits})


@dataclass(frozen=True)
class StageConfig:
    """Base of the stage configurations: checks the limits of its fields."""

    stage: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            flag, limits = option_name(field.name), field.metadata
            if not math.isfinite(value):
                raise UsageError(f"{flag} must be a finite number, got {value}")
            if "minimum" in limits and value < limits["minimum"]:
                raise UsageError(f"{flag} must be at least {limits['minimum']}, got {value}")
            if "above" in limits and value <= limits["above"]:
                raise UsageError(f"{flag} must be greater than {limits['above']}, got {value}")
            if "maximum" in limits and value > limits["maximum"]:
                raise UsageError(f"{flag} must be at most {limits['maximum']}, got {value}")

    def to_dict(self) -> dict[str, Any]:
        """What goes into the key and the provenance."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described; what it left out was not read."""
        return cls(**{field.name: values[field.name] for field in dataclasses.fields(cls) if field.name in values})


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
        "Splits. published: those stored upstream. per-class: 20 a class, 500 to validate, seeds 0 to 9. "
        "per-class-1020: the same, seed 1020 only. random: ten of 48/32/20. default: the dataset's own.",
    )


@dataclass(frozen=True)
class RewireConfig(StageConfig):
    stage: ClassVar[str] = "rewire"

    method: Literal["path", "none", "teleport"] = option(
        "path",
        "path: join the nodes in the order of their similarity to the mean node, and add a self-loop to each. "
        "none: the walk on the largest strongly connected component as it is. "
        "teleport: no new edges; some steps jump to any node (the paper's PPR variant).",
    )
    walk: Literal["directed", "symmetric"] = option(
        "directed", "directed: walk along A. symmetric: walk along A + A^T (the paper's CGNN_sym)."
    )
    gamma: float = option(
        0.9, "teleport: the share of steps along edges; the rest jumps to any node.", above=0, maximum=0.999999
    )

    def to_dict(self) -> dict[str, Any]:
        """`--gamma` is read by `--method teleport` only."""
        values = super().to_dict()
        if self.method != "teleport":
            del values["gamma"]
        return values


@dataclass(frozen=True)
class DilapConfig(StageConfig):
    stage: ClassVar[str] = "dilap"

    form: Literal["incidence", "random-walk"] = option(
        "incidence", "incidence: T = B diag(P) B^T (the paper's Eq. 5). random-walk: T = I - P (the form of its proof)."
    )


SERIES_STEPS, SKETCH_STEPS = 2, 3


@dataclass(frozen=True)
class CommuteConfig(StageConfig):
    stage: ClassVar[str] = "commute"

    solver: Literal["svd", "exact", "series", "sketch", "pi-only"] = option(
        "svd",
        "svd: the paper's rank-truncated scores. True expected steps: exact (dense, small graphs), series (fast, any "
        "size), sketch (series and random probes, with an error bar). pi-only: the control c = 1/pi_i + 1/pi_j.",
    )
    rank: int = option(5, "Rank of the truncated SVD (svd only).", minimum=1)
    steps: int | None = option(
        None,
        f"Steps of the walk that are summed (series and sketch). Default: {SERIES_STEPS} for series, "
        f"{SKETCH_STEPS} for sketch.",
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
    verify: int = option(0, "Measure the error on so many random edges by exact solves.", minimum=0)
    proximity: Literal["exp", "inverse", "ratio", "none"] = option(
        "exp",
        "exp: exp(-(c - row minimum)/scale). inverse: (row minimum/c)^(1/scale). "
        "ratio: exp on c/(1/pi_i + 1/pi_j). none: every weight 1.",
    )
    scale: str = option("1", "Scale of the proximity: a number, `row-mean` or `median` (exp and ratio only).")
    solver_seed: int = option(0, "Seed of start vectors, probes and sampled edges.", minimum=0, maximum=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver == "pi-only" and self.proximity == "ratio":
            raise UsageError(
                "--solver pi-only with --proximity ratio gives every neighbour the same weight",
                "use --proximity inverse or exp as the control, or --proximity none for equal weights",
            )
        if self.tolerance is not None and self.steps is not None:
            raise UsageError("--tolerance chooses --steps by itself", "give one of them")
        if self.tolerance is not None and self.solver != "series":
            raise UsageError("--tolerance is for --solver series", "--verify measures the error of any solver")
        self.scale_value()

    @property
    def step_count(self) -> int:
        """The steps to sum where they are not chosen by a tolerance."""
        default = SKETCH_STEPS if self.solver == "sketch" else SERIES_STEPS
        return default if self.steps is None else self.steps

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
        read = {
            "svd": {"rank", "solver_seed"},
            "series": {"tail", "tolerance", "solver_seed"} if self.tolerance is not None else {"tail", "steps"},
            "sketch": {"steps", "probes", "solver_seed"},
        }.get(self.solver, set())
        if self.verify:
            read |= {"verify", "solver_seed"}
        for name in {"rank", "steps", "tolerance", "tail", "probes", "verify", "solver_seed"} - read:
            del values[name]
        if "steps" in values:
            values["steps"] = self.step_count
        if self.proximity == "none":
            del values["scale"]
        else:
            values["scale"] = self.scale_value()
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return super().from_dict({**values, "scale": str(values.get("scale", 1))})


@dataclass(frozen=True)
class TrainConfig(StageConfig):
    """Options of all models. Which of them a model reads is in models/table.py, and only those go into a key."""

    stage: ClassVar[str] = "train"

    model: Literal[
        "cgnn",
        "dirgnn",
        "gcn",
        "gat",
        "sage",
        "appnp",
        "mixhop",
        "gprgnn",
        "gcnii",
        "dgcn",
        "digcn",
        "digcn-ib",
        "magnet",
        "digcl",
        "duplex",
        "mlp",
        "linear",
    ] = option("cgnn", "Model to train; `cgnn models` lists and describes them.", metavar="NAME")
    direction: Literal["auto", "out", "in", "both", "undirected"] = option(
        "auto", "Neighbours whose messages a node takes; `cgnn models` says what each model can do. auto: its own."
    )
    layers: int = option(2, "Number of graph layers; of linear layers in models that propagate afterwards.", minimum=1)
    hidden: int = option(64, "Width of the hidden layers.", minimum=1)
    head_layers: int = option(
        1, "Linear layers after the graph layers; 0: the last graph layer gives the classes.", minimum=0
    )
    aggregation: Literal["mean", "weighted-mean", "sym", "sym-out"] = option(
        "mean", "cgnn: how messages are normalised. mean is the paper's: divided by the number of neighbours."
    )
    combine: Literal["mean", "sum"] = option("mean", "cgnn: mean: s*self + (1-s)*messages. sum: self + messages.")
    self_share: float = option(1 / 3, "cgnn: the share s of the node itself in `--combine mean`.", minimum=0, maximum=1)
    variant: Literal["sage", "gcn", "gat"] = option("sage", "dirgnn: which layer is made directional.")
    alpha: float = option(0.5, "Share of the out-neighbours among the messages.", minimum=0, maximum=1)
    propagation: Literal["layers", "ppr"] = option(
        "layers",
        "cgnn: layers: the paper's. ppr: an MLP, then steps of personalised PageRank over the weighted edges.",
    )
    propagation_steps: int = option(10, "Steps of propagation after the MLP (ppr, appnp, gprgnn).", minimum=1)
    teleport: float = option(
        0.1, "Share of each step that returns to its start (ppr, appnp, gprgnn, digcn).", minimum=0, maximum=1
    )
    propagation_dropout: float = option(
        0.0, "Dropout of what is propagated (ppr, appnp, gprgnn).", minimum=0, maximum=0.99
    )
    gpr_start: Literal["ppr", "one-hot", "nppr", "random"] = option(
        "ppr", "gprgnn: coefficients of the steps at the start; ppr and nppr: from --teleport; one-hot: the last step."
    )
    heads: int = option(1, "Attention heads (gat, dirgnn with --variant gat, duplex).", minimum=1)
    attention_dropout: float = option(
        0.0, "Dropout of the attention weights (gat, dirgnn with --variant gat).", minimum=0, maximum=0.99
    )
    hops: int = option(2, "mixhop: the highest power of the adjacency in a layer.", minimum=1)
    initial_share: float = option(0.1, "gcnii: share of the first layer in every other.", minimum=0, maximum=1)
    identity_decay: float = option(
        0.5, "gcnii: lambda; layer l maps by (1 - b) I + b W, b = ln(lambda/l + 1).", above=0
    )
    dgcn_degree: Literal["paper", "swapped"] = option(
        "paper", "dgcn: which degrees divide the second-order edges; swapped: as in a published code."
    )
    dgcn_max_degree: int = option(
        0, "dgcn: nodes with more neighbours than this join none of them with each other; 0: no limit.", minimum=0
    )
    charge: float = option(0.25, "magnet: q, how far a one-way edge turns the phase.", minimum=0, maximum=0.5)
    order: int = option(1, "magnet: order of the Chebyshev polynomials.", minimum=1)
    pretrain_epochs: int = option(300, "digcl: epochs of contrastive training before the classifier's.", minimum=1)
    pacing: Literal["linear", "exp", "log"] = option("linear", "digcl: how the second view moves towards the first.")
    temperature: float = option(0.4, "digcl: temperature of the contrastive loss.", above=0)
    mask_first: float = option(0.3, "digcl: share of features hidden in the first view.", minimum=0, maximum=0.99)
    mask_second: float = option(0.4, "digcl: share of features hidden in the second view.", minimum=0, maximum=0.99)
    projection: int = option(64, "digcl: width of the projection that the loss sees.", minimum=1)
    anchors: int = option(
        0, "digcl: random nodes that are compared in a step; 0: all, which takes time of N x N.", minimum=0
    )
    fusion_layer: int = option(
        2, "duplex: the layer, from 1, in which amplitude and phase meet; beyond --layers: none.", minimum=1
    )
    knn: int = option(0, "Mix in the most similar nodes by features, so many a node; 0: none.", minimum=0)
    knn_share: float = option(0.3, "Share of the similar nodes in the messages.", minimum=0, maximum=1)
    degree_features: bool = option(False, "A branch beside the graph layers that sees degrees of nodes and neighbours.")
    label_input: bool = option(
        False,
        "A branch that sees the training labels of other nodes with similar out-neighbours, never the node's own.",
    )
    label_powers: str = option("60,12,4", "label-input: powers of the similarity, each an input of its own.")
    graph_share: float = option(1.0, "Weight of the graph layers' class scores beside the branch.", minimum=0)
    branch_hidden: int = option(128, "Width of the branch.", minimum=1)
    branch_dropout: float = option(0.5, "Dropout in the branch.", minimum=0, maximum=0.99)
    activation: Literal["relu", "elu", "gelu", "tanh"] = option("relu", "Activation between layers.")
    dropout: float = option(0.5, "Dropout after each hidden layer.", minimum=0, maximum=0.99)
    input_dropout: float = option(0.0, "Dropout of the features.", minimum=0, maximum=0.99)
    jumping_knowledge: Literal["none", "max", "cat"] = option("none", "Combine the outputs of all graph layers.")
    l2_norm: bool = option(False, "Scale the rows of each hidden layer to length 1.")
    batch_norm: bool = option(False, "Batch normalisation of each hidden layer.")
    feature_scaling: Literal["none", "row", "l2", "standard"] = option(
        "none", "Scale features: row: absolute sum 1; l2: length 1; standard: columns to mean 0, variance 1."
    )
    lr: float = option(0.01, "Learning rate (Adam).", above=0, maximum=1e12)
    weight_decay: float = option(5e-4, "Weight decay.", minimum=0)
    epochs: int = option(1000, "Most epochs.", minimum=1)
    patience: int = option(
        100, "Stop after so many epochs without a better one (validation accuracy, then loss).", minimum=1
    )
    batch_nodes: int = option(
        0, "Train on so many nodes at a time, with sampled neighbours; 0: all at once.", minimum=0
    )
    fanout: int = option(10, "batch-nodes: neighbours that are sampled of each node in each layer.", minimum=1)
    precision: Literal["float32", "bfloat16"] = option(
        "float32", "bfloat16: dense products in 16 bits where the device has them; weights stay in 32."
    )
    seed: int = option(0, "Base seed; split r trains with seed + r.", minimum=0, maximum=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_layers == 0 and self.jumping_knowledge != "none":
            raise UsageError("--jumping-knowledge needs a head", "use --head-layers 1")
        self.powers()

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
    def has_branch(self) -> bool:
        """Whether a branch stands beside the graph layers."""
        return self.degree_features or self.label_input


@dataclass(frozen=True)
class EvalConfig(StageConfig):
    stage: ClassVar[str] = "eval"


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
    memory_limit: str = option(
        "auto", "Memory that may be used, like 12G. auto: what the machine, its control group and Slurm allow."
    )
    deterministic: bool = option(False, "Only deterministic kernels, also on CUDA; the CPU's always are.")
    snapshot_seconds: float = option(
        30.0, "Seconds between saved states of unfinished work; 0: after every epoch, block or probe.", minimum=0
    )
    tensorboard: bool = option(
        False, "Write loss and validation of each epoch for TensorBoard too, into STORE/runs; needs its package."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", self.device):
            raise UsageError(f"--device {self.device} is not a device", "use auto, cpu, cuda or cuda:0")
        if self.memory_limit != "auto":
            parse_bytes(self.memory_limit)


CONFIGS: dict[str, type[StageConfig]] = {
    config.stage: config for config in (RewireConfig, DilapConfig, CommuteConfig, TrainConfig, EvalConfig)
}
SECTIONS: dict[str, type[StageConfig]] = {
    "source": SourceConfig,
    "graph": GraphConfig,
    **CONFIGS,
    "compute": ComputeConfig,
}


@functools.cache
def type_hints(section: str) -> dict[str, Any]:
    """The types of a section's fields; asked for by every option of every command."""
    return typing.get_type_hints(SECTIONS[section])
