"""The map of the tool: the stages in order, what each takes and makes, and how they are chained into a plan.

    dataset -> graph -> rewire -> dilap -> commute      -> operators -> train      -> eval
               Graph    Rewired   Dilap    CommuteTimes    Operators    Checkpoint    Scores

A stage is a pure function from its inputs and a frozen configuration to its result; runner.py finds, computes and
publishes around it. Nothing here imports scipy or torch until something has to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli import estimates
from cgnn_cli.configs import (
    CommuteConfig,
    ComputeConfig,
    DilapConfig,
    EvalConfig,
    RewireConfig,
    StageConfig,
    TrainConfig,
)
from cgnn_cli.errors import UpstreamError
from cgnn_cli.models.table import check_options, options_read
from cgnn_cli.operators.table import OPERATORS, operators_of, uses_weights
from cgnn_cli.store.keys import artifact_key
from cgnn_cli.watch import Watch

if TYPE_CHECKING:
    from cgnn_cli.graph import Operators, StageData

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """One stage: the type it makes, the version of its algorithm, the modules it needs, and its function.

    Raise `algorithm` whenever the numbers change; tests/stages/test_golden.py fails if they do without it.
    The modules are imported before the clock starts, so that recorded seconds are those of the computation.
    A stage that is resumable, with some configurations or with all, saves its state when it is asked to stop, and goes
    on from there; others are just ended. `memory` and `disk` estimate
    what it needs, in bytes; `relief` says what to do where that is too much.
    """

    name: str
    makes: str
    algorithm: int
    modules: tuple[str, ...]
    compute: Callable[[Inputs, Any, ComputeConfig, Watch], StageData]
    resumable: Callable[[Any], bool] = lambda config: False
    memory: Callable[[Inputs, Any], int] | None = None
    disk: Callable[[Inputs, Any], int] | None = None
    relief: str = "use a machine with more memory"

    def relief_for(self, config: Any) -> str:
        """What to do where memory is too little, which for operators depends on their kind."""
        return OPERATORS[config.kind].relief if isinstance(config, OperatorOf) else self.relief


@dataclass(frozen=True)
class OperatorOf:
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
        return {**options_read(self.train), "split": self.split}


@dataclass(frozen=True)
class TrainingOf:
    """The training of several splits."""

    train: TrainConfig
    splits: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**options_read(self.train), "splits": list(self.splits)}


@dataclass(frozen=True)
class EvaluationOf:
    """The evaluation of one checkpoint; its training configuration is known from there and adds nothing to the key."""

    train: TrainConfig

    def to_dict(self) -> dict[str, Any]:
        return EvalConfig().to_dict()


def _rewire(inputs: Inputs, config: RewireConfig, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.rewire import rewire

    return rewire(inputs["graph"], config)


def _dilap(inputs: Inputs, config: DilapConfig, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.dilap import dilap

    return dilap(inputs["rewire"], config)


def _commute(inputs: Inputs, config: CommuteConfig, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.resources import memory_limit, thread_count
    from cgnn_cli.stages.commute import commute
    from cgnn_cli.stages.solvers import Allowance

    memory = memory_limit(compute.memory_limit) // 2  # the other half is for the arrays over all edges
    return commute(inputs["graph"], inputs["dilap"], config, Allowance(memory, thread_count(compute.threads, 0), watch))


def _operators(inputs: Inputs, config: OperatorOf, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.operators import make_operator

    return make_operator(config.kind, inputs["graph"], inputs.get("commute"), config.train)


def operators_in(inputs: Inputs) -> Operators:
    """The operators among the inputs of a step, as one."""
    from cgnn_cli.stages.operators import merged

    return merged(data for role, data in inputs.items() if role.startswith(OPERATOR_ROLE))


def _fit(inputs: Inputs, config: FitConfig, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.train import fit

    return fit(inputs["graph"], operators_in(inputs), config.train, config.split, compute, watch)


def _train(inputs: Inputs, config: TrainConfig, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.train import collect

    return collect({int(role.removeprefix("fit-")): fit for role, fit in inputs.items() if role.startswith("fit-")})


def _evaluate(inputs: Inputs, config: EvaluationOf, compute: ComputeConfig, watch: Watch) -> StageData:
    from cgnn_cli.stages.evaluate import evaluate

    return evaluate(inputs["graph"], operators_in(inputs), inputs["train"], config.train, compute)


def _graph(inputs: Inputs, config: Any, compute: ComputeConfig, watch: Watch) -> StageData:
    raise AssertionError("graphs are made by datasets, not computed from other artifacts")


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("graph", "Graph", 1, (), _graph),
        Stage(
            "rewire",
            "Rewired",
            1,
            ("cgnn_cli.stages.rewire",),
            _rewire,
            memory=estimates.rewire_memory,
            disk=estimates.rewire_disk,
        ),
        Stage(
            "dilap",
            "Dilap",
            2,
            ("cgnn_cli.stages.dilap",),
            _dilap,
            memory=estimates.dilap_memory,
            disk=estimates.dilap_disk,
        ),
        Stage(
            "commute",
            "CommuteTimes",
            2,
            ("cgnn_cli.stages.commute",),
            _commute,
            resumable=lambda config: config.solver in ("series", "sketch"),
            memory=estimates.commute_memory,
            disk=estimates.commute_disk,
            relief="--solver pi-only needs least, series and svd little, and exact is dense",
        ),
        Stage(
            "operators",
            "Operators",
            2,
            ("cgnn_cli.stages.operators",),
            _operators,
            memory=estimates.operators_memory,
        ),
        Stage(
            "fit",
            "Fit",
            5,
            ("cgnn_cli.stages.train",),
            _fit,
            resumable=lambda config: True,
            memory=estimates.fit_memory,
            relief="use fewer --layers, a smaller --hidden, or --batch-nodes where the model has it",
        ),
        Stage("train", "Checkpoint", 1, ("cgnn_cli.stages.train",), _train),
        Stage("eval", "Scores", 1, ("cgnn_cli.stages.evaluate",), _evaluate),
    )
}
OPERATOR_ROLE = "operators-"
COMMANDS = ("rewire", "dilap", "commute", "train", "eval")


@dataclass(frozen=True)
class Step:
    """One artifact of a plan: computed from `inputs`, or given as a file, or made by a dataset."""

    stage: Stage
    config: Any
    inputs: dict[str, Step]
    key: str
    file: Path | None = None
    make: Callable[[], StageData] | None = field(default=None, compare=False)

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

    def upstream(self) -> Iterator[Step]:
        """This step and all it needs, in the order of computing, each once."""
        seen: set[str] = set()
        for step in self._walk():
            if step.key not in seen:
                seen.add(step.key)
                yield step

    def _walk(self) -> Iterator[Step]:
        for step in self.inputs.values():
            yield from step._walk()
        yield self

    def find(self, stage: str) -> Step | None:
        """The step of a stage among this one and what it needs."""
        return next((step for step in self.upstream() if step.stage.name == stage), None)


def plan(target: str, start: Step, configs: dict[str, StageConfig], splits: Iterable[int]) -> Step:
    """The steps from what is given (a graph, or a later artifact) to the target stage."""
    order = list(STAGES)
    if order.index(start.stage.name) >= order.index(target):
        raise UpstreamError(
            f"{target} needs an artifact of an earlier stage, but {start.stage.name} {start.key[:12]} was given",
            f"{_maker(target)} makes what it takes",
        )
    step = start
    graph = step.find("graph")
    if graph is None:
        raise UpstreamError(
            f"cannot tell which graph {start.stage.name} {start.key[:12]} was made from",
            "name the store that has its inputs with --store, or their files with more --input",
        )
    for name in ("rewire", "dilap", "commute"):
        if _skips(target, configs, start) or order.index(name) <= order.index(step.stage.name):
            continue
        inputs = {step.stage.name: step} if name != "commute" else {"graph": graph, "dilap": step}
        step = Step.of(name, configs[name], inputs)
        if name == target:
            return step
    if step.stage.name != "train":
        step = _training(configs["train"], graph, step, splits)
    if target == "train":
        return step
    config: TrainingOf = step.config
    inputs = {role: value for role, value in step.inputs.items() if not role.startswith("fit-")}
    operators = operator_steps(config.train, inputs)
    return Step.of("eval", EvaluationOf(config.train), {**inputs, **operators, "train": step})


def _skips(target: str, configs: dict[str, StageConfig], start: Step) -> bool:
    """Whether a model without commute weights is trained straight from the graph."""
    train = configs["train"]
    assert isinstance(train, TrainConfig)
    return target in ("train", "eval") and start.stage.name != "train" and not uses_weights(train.model)


def _training(config: StageConfig, graph: Step, commute: Step, splits: Iterable[int]) -> Step:
    """Train on each split apart, so that no split is ever trained twice, then collect."""
    assert isinstance(config, TrainConfig)
    check_options(config)
    inputs = {"graph": graph}
    if uses_weights(config.model):
        inputs["commute"] = commute
    chosen = tuple(splits)
    needed = {"graph": graph, **operator_steps(config, inputs)}
    fits = {f"fit-{split}": Step.of("fit", FitConfig(config, split), needed) for split in chosen}
    return Step.of("train", TrainingOf(config, chosen), {**inputs, **fits})


def operator_steps(config: TrainConfig, inputs: dict[str, Step]) -> dict[str, Step]:
    """The operators of a training by role, from its graph and, where they read weights, its commute times."""
    steps = {}
    for kind in operators_of(config):
        roles = ("graph", "commute") if OPERATORS[kind].uses_weights else ("graph",)
        needed = {role: inputs[role] for role in roles}
        steps[OPERATOR_ROLE + kind] = Step.of("operators", OperatorOf(kind, config), needed)
    return steps


def _maker(target: str) -> str:
    return "`cgnn data import`" if target == "rewire" else f"`cgnn {COMMANDS[COMMANDS.index(target) - 1]}`"
