"""The same tiny training on every device of the machine: do they agree?

Nothing is drawn in it but the weights to start from, on the CPU: two devices differ in the order of their sums and the
last digits of their functions, and one that computes something else differs by far more.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from cgnn_cli.configs import CommuteConfig, TrainConfig
from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.graph import TEST, Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.printable import signed_text
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.task import prepare, torch_threads
from cgnn_cli.stages.train import State, run_epoch

# Of the largest class score. One thread and two of one CPU differ by 2e-7; products in 16 bits make 0.02, a learning
# rate that is 1 % larger 0.03, and a dropout of 0.01 makes 0.13.
SCORE_TOLERANCE = 0.01
ACCURACY_TOLERANCE = 0.01  # a share of the test nodes
EPOCHS, HIDDEN, SPLIT = 20, 16, 0
CPU = "cpu"


@dataclass(frozen=True)
class Problem:
    """What every device trains."""

    graph: Graph
    operators: Operators
    config: TrainConfig


@dataclass(frozen=True)
class Trained:
    """What one device made of it: class scores of all nodes, and accuracy on the test nodes."""

    device: str
    scores: np.ndarray
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Agreement:
    """How far a device is from the first one, or why it could not train.

    scores: the largest difference of a class score, as a share of the largest score; accuracy: that of the accuracy on
    the test nodes.
    """

    device: str
    scores: float = 0.0
    accuracy: float = 0.0
    seconds: float = 0.0
    fault: str = ""
    is_first: bool = False

    @property
    def differs(self) -> bool:
        return not self.fault and (self.scores > SCORE_TOLERANCE or abs(self.accuracy) > ACCURACY_TOLERANCE)

    @property
    def told(self) -> str:
        """In words, with what is allowed."""
        if self.fault:
            return f"cannot train: {self.fault}"
        if self.is_first:
            return f"trains; {self.seconds:.1f} s"
        return (
            f"class scores differ by {self.scores:.1e} (up to {SCORE_TOLERANCE} is well), accuracy by "
            f"{signed_text(100 * self.accuracy, 1)} points (up to {100 * ACCURACY_TOLERANCE:.0f}); {self.seconds:.1f} s"
        )


def tiny_problem() -> Problem:
    """CGNN with the paper's weights on the demo graph, without dropout."""
    graph = demo_graph()
    config = train_config(hidden=HIDDEN, epochs=EPOCHS, dropout=0.0)
    times = commute(graph, dilap(rewire(graph)), CommuteConfig())
    return Problem(graph, make_operators(graph, times, config), config)


def devices_here() -> list[str]:
    """The devices that this torch finds, the CPU first."""
    found = [CPU, *(f"cuda:{number}" for number in range(torch.cuda.device_count() * torch.cuda.is_available()))]
    return [*found, *(["mps"] if torch.backends.mps.is_available() else [])]


def train_on(problem: Problem, device: str, threads: int = 1) -> Trained:
    """Train on a device; the number of threads is that of the CPU, and as it was before in the end."""
    began = time.perf_counter()
    with torch_threads(threads):
        task = prepare(problem.graph, problem.operators, problem.config, SPLIT, torch.device(device))
        optimiser = Adam(task.network.parameters(), problem.config.lr, problem.config.weight_decay)
        state = State()
        while state.goes_on(task):
            run_epoch(task, optimiser, state)
        task.network.eval()
        with torch.no_grad():
            scores = task.output().logits.cpu().numpy()
    labels, splits = problem.graph.labels, problem.graph.splits
    assert labels is not None and splits is not None
    tested = splits[SPLIT] == TEST
    right = float((scores[tested].argmax(axis=1) == labels[tested]).mean())
    return Trained(device, scores, right, time.perf_counter() - began)


def compare(first: Trained, other: Trained) -> Agreement:
    """How far another training is from the first; where one has no numbers, without end."""
    largest = float(np.abs(first.scores).max())
    difference = float(np.abs(other.scores - first.scores).max())
    share = difference / largest if np.isfinite(difference) and 0 < largest < np.inf else np.inf
    return Agreement(other.device, share, other.accuracy - first.accuracy, other.seconds)


def compare_devices(cores: int) -> Iterator[Agreement]:
    """Every device beside one thread of the CPU: its own other threads first, which tell what rounding alone does."""
    problem = tiny_problem()
    first = train_on(problem, CPU)
    yield replace(compare(first, first), is_first=True)
    if cores > 1:
        yield replace(compare(first, train_on(problem, CPU, cores)), device=f"{CPU}, {cores} threads")
    for device in devices_here()[1:]:
        yield _beside(first, problem, device)


def _beside(first: Trained, problem: Problem, device: str) -> Agreement:
    """A device beside the first one, or why it cannot train: it may lack an operation of sparse matrices."""
    try:
        found = compare(first, train_on(problem, device))
    except (
        RuntimeError,
        AssertionError,
        NotImplementedError,
    ) as error:  # of a driver, a build or an operation
        return Agreement(device, fault=one_line(error))
    return replace(found, device=f"{device} ({torch.cuda.get_device_name(device)})") if "cuda" in device else found
