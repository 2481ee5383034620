"""The map of the tool: the one table of stages, what each takes and makes, and how they are chained into a plan.

    dataset -> graph -> rewire -> dilap -> commute      -> operators -> fit -> train      -> eval
               Graph    Rewired   Dilap    CommuteTimes    Operators    Fit    Checkpoint    Scores

A stage is a pure function from its inputs and a frozen configuration to its result; execution/ finds, computes and
publishes around it. All that is particular to a stage stands in STAGES: every list of stage names, file types, columns,
help texts, shared arrays, estimates and clean-up rules is derived from there. Nothing here imports scipy or torch until
something has to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli import estimates
from cgnn_cli.configs import CommuteConfig, ComputeConfig, DilapConfig, Facts, RewireConfig, StageConfig, TrainConfig
from cgnn_cli.errors import UpstreamError
from cgnn_cli.keys import artifact_key
from cgnn_cli.operators.operator_table import OPERATORS, uses_weights
from cgnn_cli.resources import memory_limit, thread_count
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.watch import Watch

if TYPE_CHECKING:
    from cgnn_cli.graph import Operators, StageData

Inputs = dict[str, Any]


@dataclass(frozen=True)
class OperatorConfig:
    """The operator of one kind that a training reads."""

    kind: str
    train: TrainConfig

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **OPERATORS[self.kind].options_read(self.train)}


@dataclass(frozen=True)
class FitConfig:
    """The training of one split."""

    train: TrainConfig
    split: int

    def to_dict(self) -> dict[str, Any]:
        return {**self.train.fit_options(), "split": self.split}


@dataclass(frozen=True)
class CheckpointConfig:
    """The training of several splits."""

    train: TrainConfig
    splits: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**self.train.to_dict(), "splits": list(self.splits)}


@dataclass(frozen=True)
class ScoresConfig:
    """The evaluation of one checkpoint; its training configuration is known from there and adds nothing to the key."""

    train: TrainConfig

    def to_dict(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Stage:
    """All that is particular to a stage.

    makes, file_type: its type in graph.py, and that of its file. Raise `algorithm` whenever the numbers change;
    tests/stages/test_golden.py fails if they do without it.
    compute: calls the stage's function in its `module`; graphs have none, as datasets make them. The module is imported
    before the clock starts, so that recorded seconds are those of the computation.
    settings: the section of the configuration with its options; after: the stage that its command goes on from.
    help, example: those of its command, if it has one; common: the options that its help shows first;
    compute_options: those it reads of how to compute.
    columns: the function of artifact_tables.py that makes its table.
    resumable: whether it saves its state when it is asked to stop, and goes on from there; others are just ended.
    over_ranks: whether the ranks of torchrun share the work of it, or what is short enough for one of them.
    memory, disk: estimates of what it needs, in bytes; relief: what to do where that is too much.
    in_workers: whether several are obtained at the same time; sent: the configuration that a worker is told.
    shared: whether workers share its arrays. cold: whether its seconds count among those of a run from nothing.
    is_result: whether clean-up keeps the newest of each graph. no_start: why no command goes on from it, and a hint.
    """

    name: str
    makes: str
    file_type: str
    algorithm: int
    columns: str
    compute: Callable[[Any, Inputs, Any, ComputeConfig, Watch], StageData] | None = None
    module: str = ""
    settings: type[StageConfig] | None = None
    after: str = ""
    help: str = ""
    example: str = ""
    common: str = ""
    compute_options: tuple[str, ...] = ("compute",)
    resumable: Callable[[Any], bool] = lambda config: False
    over_ranks: Callable[[Any], bool] = lambda config: True
    memory: Callable[[Inputs, Any, ComputeConfig], int] | None = None
    disk: Callable[[Inputs, Any], int] | None = None
    relief: str = "use a machine with more memory"
    in_workers: bool = False
    sent: type[FitConfig] | type[CheckpointConfig] | type[ScoresConfig] | None = None
    shared: bool = False
    cold: bool = False
    is_result: bool = False
    no_start: tuple[str, str] | None = None


def _commute(module: Any, inputs: Inputs, config: Any, compute: ComputeConfig, watch: Watch) -> Any:
    from cgnn_cli.solvers.solution import Allowance

    memory = memory_limit(compute.memory_limit) // 2  # the other half is for the arrays over all edges
    allowance = Allowance(memory, thread_count(compute.threads, 0), watch)
    return module.commute(inputs["graph"], inputs["dilap"], config, allowance)


def _fit(module: Any, inputs: Inputs, config: Any, compute: ComputeConfig, watch: Watch) -> Any:
    return module.fit(inputs["graph"], merge_operators(inputs), config.train, config.split, compute, watch)


def _collect(module: Any, inputs: Inputs, config: Any, compute: ComputeConfig, watch: Watch) -> Any:
    fits = {int(split): fit for split, fit in parts_in(inputs, "fit").items()}
    if config.train.decides_later:
        fits = module.decide(inputs["graph"], merge_operators(inputs), fits, config.train, compute, watch)
    return module.collect(fits)


def _evaluate(module: Any, inputs: Inputs, config: Any, compute: ComputeConfig, watch: Watch) -> Any:
    return module.evaluate(inputs["graph"], merge_operators(inputs), inputs["train"], config.train, compute, watch)


def merge_operators(inputs: Inputs) -> Operators:
    """The operators among the inputs of a step, as one."""
    from cgnn_cli.stages.operators import merged

    return merged(parts_in(inputs, "operators").values())


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("graph", "Graph", "cgnn-graph", 1, "edge_columns", shared=True),
        Stage(
            "rewire",
            "Rewired",
            "cgnn-rewired",
            1,
            "edge_columns",
            lambda module, inputs, config, *_: module.rewire(inputs["graph"], config),
            module="cgnn_cli.stages.rewire",
            settings=RewireConfig,
            after="graph",
            help="Rewire a digraph so that its random walk is irreducible.",
            example="cgnn rewire --dataset demo",
            common="--dataset --undirected --method --walk --dry-run --json",
            compute_options=("compute.memory_limit",),
            memory=estimates.rewire_memory,
            disk=estimates.rewire_disk,
            cold=True,
        ),
        Stage(
            "dilap",
            "Dilap",
            "cgnn-dilap",
            2,
            "state_columns",
            lambda module, inputs, config, *_: module.dilap(inputs["rewire"], config),
            module="cgnn_cli.stages.dilap",
            settings=DilapConfig,
            after="rewire",
            help="Transition matrix, Perron vector and digraph Laplacian of the rewired graph.",
            example="cgnn dilap --dataset demo --form incidence",
            common="--dataset --input --method --form --kemeny --dry-run --json",
            compute_options=("compute.memory_limit",),
            memory=estimates.dilap_memory,
            disk=estimates.dilap_disk,
            cold=True,
        ),
        Stage(
            "commute",
            "CommuteTimes",
            "cgnn-commute",
            2,
            "time_columns",
            _commute,
            module="cgnn_cli.stages.commute",
            settings=CommuteConfig,
            after="dilap",
            help="Hitting times, commute times and weights on the edges of the graph.",
            example="cgnn commute --dataset demo --rank 5",
            common="--dataset --input --solver --rank --steps --proximity --scale --verify --top --pairs --dry-run",
            compute_options=("compute.snapshot_seconds", "compute.threads", "compute.memory_limit"),
            resumable=lambda config: SOLVERS[config.solver].resumable,
            over_ranks=lambda config: SOLVERS[config.solver].over_ranks,
            memory=estimates.commute_memory,
            disk=estimates.commute_disk,
            relief="--solver pi-only needs least, series and svd little, and exact is dense",
            shared=True,
            cold=True,
            is_result=True,
        ),
        Stage(
            "operators",
            "Operators",
            "cgnn-operators",
            2,
            "operator_columns",
            lambda module, inputs, config, *_: module.make_operator(
                config.kind, inputs["graph"], inputs.get("commute"), config.train
            ),
            module="cgnn_cli.stages.operators",
            memory=estimates.operators_memory,
            shared=True,
            cold=True,
            no_start=("the operators of a model", "name the artifact that `cgnn commute` or `cgnn rewire` prints"),
        ),
        Stage(
            "fit",
            "Fit",
            "cgnn-fit",
            5,
            "history_columns",
            _fit,
            module="cgnn_cli.stages.train",
            resumable=lambda config: bool(config.train.learns),
            over_ranks=lambda config: not config.train.learns or bool(getattr(config.train, "batch_nodes", 0)),
            memory=estimates.fit_memory,
            relief="use fewer --layers, a smaller --hidden, or --batch-nodes where the model has it",
            in_workers=True,
            sent=FitConfig,
            no_start=("the training of a single split", "name the artifact that `cgnn train` prints"),
        ),
        Stage(
            "train",
            "Checkpoint",
            "cgnn-checkpoint",
            1,
            "train_columns",
            _collect,
            module="cgnn_cli.stages.train",
            settings=TrainConfig,
            after="commute",
            help="Train a model on every split; takes the newest commute artifact if no dataset is named.",
            example="cgnn train --layers 2 --hidden 64",
            common="--dataset --input --preset --split --model --layers --hidden --dropout --lr --epochs --patience "
            "--metric --class-weights --jobs --device --dry-run",
            memory=estimates.train_memory,
            sent=CheckpointConfig,
            is_result=True,
        ),
        Stage(
            "eval",
            "Scores",
            "cgnn-scores",
            1,
            "score_columns",
            _evaluate,
            module="cgnn_cli.stages.evaluate",
            memory=estimates.eval_memory,
            after="train",
            help="Score a trained model on the test nodes of its splits.",
            example="cgnn eval --dataset demo --json",
            common="--dataset --input --preset --split --model --layers --hidden --dropout --lr --epochs --metric "
            "--calibrate --jobs --device --dry-run --json",
            in_workers=True,
            sent=ScoresConfig,
            is_result=True,
        ),
    )
}
COMMANDS = tuple(stage.name for stage in STAGES.values() if stage.help)
CONFIGURED = tuple(stage.name for stage in STAGES.values() if stage.settings)
BEFORE_TRAINING = CONFIGURED[: CONFIGURED.index("train")]


def is_after(stage: str, other: str) -> bool:
    """Whether a stage comes after another."""
    order = list(STAGES)
    return order.index(stage) > order.index(other)


def up_to(stage: str) -> tuple[str, ...]:
    """The commands before that of a stage, and itself."""
    return COMMANDS[: COMMANDS.index(stage) + 1]


def role_name(stage: str, part: object) -> str:
    """The role of one of several inputs of a stage: `fit-3` is the training of split 3."""
    return f"{stage}-{part}"


def stage_in_role(role: str) -> str:
    """The stage whose artifact has a role."""
    return role.partition("-")[0]


def parts_in(inputs: dict[str, Any], stage: str) -> dict[str, Any]:
    """Of inputs by role, those of one stage that has several, by part: the splits of fits, the kinds of operators."""
    start = role_name(stage, "")
    return {role.removeprefix(start): value for role, value in inputs.items() if role.startswith(start)}


@dataclass(frozen=True)
class Step:
    """One artifact of a plan: computed from `inputs`, or given as a file, or made by a dataset.

    features: of a graph, where its features come from. titles: those of their columns as the dataset that was named has
    them, none if it has none; None where no dataset was named.
    """

    stage: Stage
    config: Any
    inputs: dict[str, Step]
    key: str
    file: Path | None = None
    make: Callable[[], StageData] | None = field(default=None, compare=False)
    features: str = field(default="own", compare=False)
    titles: tuple[str, ...] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, stage: str, config: Any, inputs: dict[str, Step]) -> Step:
        entry = STAGES[stage]
        keys = {role: step.key for role, step in inputs.items()}
        return cls(entry, config, inputs, artifact_key(stage, entry.algorithm, config.to_dict(), keys))

    def can_be_made(self) -> bool:
        """Whether the artifact can be computed: all that went into its key is known here."""
        if self.make is not None:
            return True
        keys = {role: step.key for role, step in self.inputs.items()}
        known = self.config is not None and bool(self.inputs)
        return known and self.key == artifact_key(self.stage.name, self.stage.algorithm, self.config.to_dict(), keys)

    @property
    def split(self) -> int | None:
        """The split that it is of, if it is of one."""
        return getattr(self.config, "split", None)

    @property
    def title(self) -> str:
        """What it is called where it is told of: its stage, and its split if it is of one."""
        return self.stage.name if self.split is None else f"{self.stage.name} split {self.split}"

    @cached_property
    def lineage(self) -> tuple[Step, ...]:
        """All that this step needs and itself, in the order of computing, each once."""
        found = {step.key: step for needed in self.inputs.values() for step in needed.lineage}
        return (*found.values(), self)

    def find(self, stage: str) -> Step | None:
        """The step of a stage among this one and what it needs."""
        return next((step for step in self.lineage if step.stage.name == stage), None)


def plan(target: str, start: Step, configs: dict[str, StageConfig], splits: Iterable[int]) -> Step:
    """The steps from what is given (a graph, or a later artifact) to the target stage."""
    if not is_after(target, start.stage.name):
        maker = "data import" if STAGES[target].after == "graph" else STAGES[target].after
        raise UpstreamError(
            f"{target} needs an artifact of an earlier stage, but {start.stage.name} {start.key[:12]} was given",
            f"`cgnn {maker}` makes what it takes",
        )
    step, graph = start, start.find("graph")
    if graph is None:
        raise UpstreamError(
            f"cannot tell which graph {start.stage.name} {start.key[:12]} was made from",
            "name the store that has its inputs with --store, or their files with more --input",
        )
    train = configs["train"]
    assert isinstance(train, TrainConfig)
    # A model without commute weights is trained straight from the graph.
    facts = Facts(graph.features)
    straight = is_after(target, "commute") and start.stage.name != "train" and not uses_weights(train.model)
    for name in () if straight else BEFORE_TRAINING:
        if not is_after(name, step.stage.name):
            continue
        inputs = {step.stage.name: step} if name != "commute" else {"graph": graph, "dilap": step}
        step = Step.of(name, configs[name].resolved(facts), inputs)
        if name == target:
            return step
    if step.stage.name != "train":
        if uses_weights(train.model) and (commute := step.find("commute")):
            facts = replace(facts, proximity=commute.config.proximity)
        step = _training(train.resolved(facts), graph, step, splits)
    if target == "train":
        return step
    train, inputs = step.config.train, {role: made for role, made in step.inputs.items() if made.stage.name != "fit"}
    return Step.of("eval", ScoresConfig(train), {**inputs, **operator_steps(train, inputs), "train": step})


def _training(config: TrainConfig, graph: Step, commute: Step, splits: Iterable[int]) -> Step:
    """Train on each split apart, so that no split is ever trained twice, then collect."""
    config.check()
    inputs = {"graph": graph, **({"commute": commute} if uses_weights(config.model) else {})}
    chosen = tuple(splits)
    needed = {"graph": graph, **operator_steps(config, inputs)}
    fits = {role_name("fit", split): Step.of("fit", FitConfig(config, split), needed) for split in chosen}
    read = operator_steps(config, inputs) if config.decides_later else {}
    return Step.of("train", CheckpointConfig(config, chosen), {**inputs, **read, **fits})


def moved_to(trained: Step, graph: Step) -> Step:
    """The trained models of a step over another graph, whose walk and weights are made there by the same settings."""
    inputs, train = {"graph": graph}, trained.config.train
    if "commute" in trained.inputs:
        configs = {step.stage.name: step.config for step in trained.lineage if step.stage.name in BEFORE_TRAINING}
        if any(configs.get(name) is None for name in BEFORE_TRAINING):
            raise UpstreamError(
                f"the walk and weights that train {trained.key[:12]} was made with are not in the store, "
                "so their settings are not known",
                "name the store that has them with --store, or their files with more --input",
            )
        inputs["commute"] = plan("commute", graph, {**configs, "train": train}, ())
    return replace(trained, inputs=inputs)


def operator_steps(config: TrainConfig, inputs: dict[str, Step]) -> dict[str, Step]:
    """The operators of a training by role, from its graph and, where they read weights, its commute times."""
    steps = {}
    for kind in config.operator_kinds():
        roles = ("graph", "commute") if OPERATORS[kind].uses_weights else ("graph",)
        needed = {role: inputs[role] for role in roles}
        steps[role_name("operators", kind)] = Step.of("operators", OperatorConfig(kind, config), needed)
    return steps


def fits_by_split(trained: Step) -> dict[int, Step]:
    """The trainings behind a checkpoint, by split."""
    return dict(sorted((int(split), step) for split, step in parts_in(trained.inputs, "fit").items()))
