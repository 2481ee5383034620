"""The search of `cgnn tune`: starting points, then variations of the best, by successive halving over a store's runs.

Test labels are never read: nothing but trainings is obtained, and these are judged on their validation nodes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.configs import metric_words
from cgnn_cli.errors import StoppedEarly, UsageError
from cgnn_cli.execution.results import Run, raise_if_all_failed
from cgnn_cli.execution.scheduler import Deadline, Scheduler
from cgnn_cli.graph import VALIDATION
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.pipeline import BEFORE_TRAINING, Step
from cgnn_cli.redaction import redacted_command
from cgnn_cli.report.comparisons import LEVEL, split_ratios
from cgnn_cli.report.paired import Paired, difference_text, paired_difference
from cgnn_cli.report.run_names import describe, name_settings
from cgnn_cli.report.table import counted
from cgnn_cli.sweeps import set_words
from cgnn_cli.tuning.budget import Budget
from cgnn_cli.tuning.halving import MIDDLE, Halving
from cgnn_cli.tuning.judging import judge_of
from cgnn_cli.tuning.starting_points import SHORT, starting_points
from cgnn_cli.tuning.variation import MODEL, Space, identity, is_weighted, unweighted_twin

WAVE = 6  # variations between two decisions
PARENTS = (3, 2, 1)  # how many of a wave vary the best, and the best of the next kinds of models
SHARE_OF_STARTS = 2 / 3  # of a number of trials
EXPLORING, FINISHING = 0.5, 0.85  # the parts of the time after which no such training is begun
TRIES = 200
SAME = ("train.metric", "train.metric_class")  # in all configurations
UNSAID = (MODEL, *SHORT, *SAME, "commute.steps", "commute.tail", "commute.solver_seed", "commute.rank")


@dataclass(frozen=True)
class Gain:
    """What commute times added: the best weighted run against the same with every weight 1, on validation.

    is_chosen: whether that run is the choice itself.
    """

    weighted: Run
    twin: Run
    paired: Paired
    is_chosen: bool


@dataclass
class Tuned:
    """What a search found. `runs`: ranked; `counts`: splits of each rung, and how many runs reached it.

    ended_by: what ended the trying, `minutes`, `trials`, or `search` where nothing was left to try.
    stopped: whether the time was too short for what every search does: each starting point, the best few on all splits,
    and with and without weights. search: how the best run was found, as a preset tells it.
    scores: what each run settles at by its metric (judging.py), by which they are ranked.
    """

    dataset: str
    graph: Step
    budget: Budget
    runs: list[Run] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    gain: Gain | None = None
    ended_by: str = "search"
    stopped: bool = False
    search: dict[str, Any] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)

    @property
    def best(self) -> Run:
        return self.runs[0]

    @property
    def model(self) -> str:
        return str(self.best.settings[MODEL])

    @property
    def row(self) -> dict[str, Any]:
        """The settings of the choice as a preset has them."""
        return {path: value for path, value in self.best.settings.items() if path != MODEL}

    def story(self) -> str:
        """What was compared, and what ended it."""
        reached = ", ".join(f"{count} on {counted(splits, 'split')}" for splits, count in self.counts)
        told = f"{counted(len(self.runs), 'configuration')}: {reached}"
        if self.stopped:
            return (
                f"stopped after {self.budget}, too early for a whole search; {told}; the same command goes on from here"
            )
        more = f"; the search took its {self.budget}, and with more it tries more" if self.ended_by == "minutes" else ""
        return told + ("; nothing is left to try" if self.ended_by == "search" else more)


def propose(
    space: Space, ranked: Sequence[Run], count: int, generator: random.Random
) -> list[tuple[Run, dict[str, Any]]]:
    """Variations of the best run of each of the best kinds of models, each with its parent; none was tried before."""
    seen = {identity(run.settings) for run in ranked}
    turns = [parent for parent, share in zip(_parents(ranked), PARENTS, strict=False) for _ in range(share)]
    found: list[tuple[Run, dict[str, Any]]] = []
    for turn in range(TRIES if turns else 0):
        parent = turns[turn % len(turns)]
        child = space.variation(parent.settings, generator)
        if child is not None and identity(child) not in seen:
            seen.add(identity(child))
            found.append((parent, child))
        if len(found) == count:
            break
    return found


def _parents(ranked: Sequence[Run]) -> list[Run]:
    """The best run of each kind of model, the best kinds first; what has nothing to vary is left out."""
    kinds: dict[tuple[Any, ...], Run] = {}
    for run in ranked:
        if run.status == "done" and "train.lr" in run.settings:
            kinds.setdefault((run.settings[MODEL], run.settings.get("train.propagation")), run)
    return list(kinds.values())


class Search:
    """One search: it proposes configurations, and has the scheduler train them."""

    def __init__(
        self,
        scheduler: Scheduler,
        dataset: str,
        fixed: Mapping[str, Any],
        budget: Budget,
        seed: int,
        splits: Sequence[int],
        finished: Callable[[Run], None],
    ) -> None:
        self.scheduler, self.dataset, self.budget, self.seed, self.finished = scheduler, dataset, budget, seed, finished
        graph = scheduler.step("graph", Run(dataset, dataset, dict(fixed)))
        runner = scheduler.runner
        count = runner.graph_figure(graph, "splits")
        if not count:
            raise UsageError(f"{dataset} has no labels, so there is nothing to choose by", "import it with --labels")
        if wrong := [split for split in splits if not 0 <= split < count]:
            raise UsageError(f"--split {wrong[0]}: this dataset has the splits 0 to {count - 1}")
        self.space = Space(runner.graph_figure(graph, "nodes"), graph.features == "own", fixed)
        self.graph = graph
        self.halving = Halving(splits or range(count), self._measure, judge_of(runner.store))
        self.deadline = Deadline(budget.minutes if budget.trials is None else None)
        self.share = EXPLORING
        self.late = False  # whether the time ended before what was to be trained

    def carry_out(self) -> Tuned:
        """Explore until the budget is used, let the best few compete on all splits, and see what weights added."""
        ended_by = self._explore()
        self.share = FINISHING
        self.halving.finish()
        ranked = self.halving.ranked()
        raise_if_all_failed(ranked)
        if not self.halving.level(ranked[0]):
            raise StoppedEarly(f"no configuration was done within {self.budget}")
        tuned = Tuned(self.dataset, self.graph, self.budget, ranked, self.halving.counts(), ended_by=ended_by)
        tuned.scores = [self.halving.score(run, self.halving.level(run) - 1) for run in ranked]
        self.share = 1.0
        tuned.gain = self._gain(ranked)
        tuned.stopped = self.late
        return tuned

    def _explore(self) -> str:
        """Measure the starting points, then variations of the best; what ended it."""
        starts = list(self.space.starts())
        if not starts:
            names = ", ".join(sorted({row[MODEL] for row in starting_points(self.space.nodes, has_features=True)}))
            raise UsageError("nothing can be tried with these settings", f"leave some out; the models are {names}")
        told = name_settings(starts)
        most = math.inf if self.budget.trials is None else self.budget.trials
        if self.budget.trials is not None:
            starts = starts[: math.ceil(SHARE_OF_STARTS * self.budget.trials)]
        self.halving.explore(self._runs(zip(told, starts, strict=False)))
        late = any(run.status == "not run" for run in self.halving.runs)
        wave, ended_by = 0, "trials"
        while (left := most - len(self.halving.runs)) > 0:
            wave += 1
            generator = random.Random(f"{self.seed} {wave}")
            points = propose(self.space, self.halving.ranked(), int(min(WAVE, left)), generator)
            if not points or self.deadline.is_past(EXPLORING):
                ended_by = "minutes" if points else "search"
                break
            self.halving.explore(self._runs((_name(parent, point), point) for parent, point in points))
        self.late = late  # a wave that the time cuts short leaves nothing out that every search does
        return ended_by

    def _runs(self, named: Iterable[tuple[str, dict[str, Any]]]) -> list[Run]:
        """Runs with numbers before their names."""
        numbered = enumerate(named, len(self.halving.runs) + 1)
        return [Run(f"{number}  {name}", self.dataset, point) for number, (name, point) in numbered]

    def _measure(self, runs: Sequence[Run]) -> None:
        self.scheduler.carry_out(runs, deadline=self.deadline, share=self.share, finished=self.finished)
        self.late |= any(run.status == "not run" for run in runs)

    def _gain(self, ranked: Sequence[Run]) -> Gain | None:
        """The best weighted run and its unweighted twin: on all splits if it is the choice, else on as many as it has.

        None where no weighted run could be trained, or the time is over.
        """
        weighted = next((run for run in ranked if self.halving.level(run) and is_weighted(run.settings)), None)
        if weighted is None:
            return None
        settings = unweighted_twin(self.space, weighted.settings)
        twin = Run(f"{weighted.name}, every weight 1", self.dataset, settings)
        rungs = self.halving.rungs
        splits = rungs[max(self.halving.level(weighted), min(2, len(rungs))) - 1]
        before = weighted.status
        for run in (weighted, twin):
            run.wanted = splits
        self.scheduler.carry_out([weighted, twin], deadline=self.deadline, rounds=(MIDDLE,), finished=self.finished)
        self.late |= "not run" in (weighted.status, twin.status)
        if weighted.status == "not run":
            weighted.status = before
        common = sorted(weighted.fits.keys() & twin.fits.keys())
        if not common or "failed" in (weighted.status, twin.status):
            return None
        ratio = split_ratios(self.scheduler.runner.store, VALIDATION)(self.graph.key, common)
        scores = [[self.halving.judge(run.fits[split]) for split in common] for run in (weighted, twin)]
        paired = paired_difference(scores[0], scores[1], ratio)
        return Gain(weighted, twin, paired, weighted is ranked[0])


def command_of(
    dataset: str, fixed: Mapping[str, Any], budget: Budget, seed: int, splits: Sequence[int], more: Sequence[str] = ()
) -> str:
    """The command that makes a search again, wherever its settings came from."""
    words = ["cgnn", "tune", "--dataset", dataset, *budget.words(), *(["--seed", str(seed)] if seed else [])]
    words += [word for split in splits for word in ("--split", str(split))]
    return redacted_command([*words, *set_words(fixed), *more])


def describe_point(point: Mapping[str, Any], *, without: Mapping[str, Any] | None = None) -> str:
    """A model with what is not as usual, in words; or what is otherwise than in another point."""
    hidden = BEFORE_TRAINING[: -1 if is_weighted(point) else None]
    said = [path for path in point if path.partition(".")[0] not in hidden and path not in UNSAID]
    if without is not None:
        said = [path for path in said if point[path] != without.get(path)]
    options = {path.rpartition(".")[2]: point[path] for path in said}
    setting = describe(options, list(options), briefly=without is None)
    kind = point[MODEL] if is_weighted(point) or not uses_weights(point[MODEL]) else f"{point[MODEL]} without weights"
    is_told = without is None or (point[MODEL], is_weighted(point)) != (without[MODEL], is_weighted(without))
    return ", ".join(filter(None, (kind if is_told else "", setting)))


def _name(parent: Run, point: Mapping[str, Any]) -> str:
    """A variation is told by what it changes."""
    return f"as {parent.name.split()[0]}: {describe_point(point, without=parent.settings)}"


def gain_line(tuned: Tuned) -> str:
    """What commute times added, in a line."""
    gain = tuned.gain
    if gain is None and is_weighted(tuned.best.settings):
        return "commute times: used by the choice; the time was too short to compare it with every weight 1"
    if gain is None:
        return "commute times: not used by the choice, and no weighted model was compared"
    paired = gain.paired
    p = "" if paired.t_test is None else f", p = {paired.t_test:.2g}"
    of_metric = (
        "" if (run := gain.weighted).metric == "accuracy" else f" of {metric_words(run.metric, run.metric_class)}"
    )
    over = f"{difference_text(paired)} points{of_metric} on validation over {counted(paired.runs, 'split')}{p}"
    clear = paired.t_test is not None and paired.t_test < LEVEL
    verdict = ("they help" if paired.mean > 0 else "they harm") if clear else "not clear of chance"
    if gain.is_chosen:
        return f"commute times: the choice with them against every weight 1: {over}; {verdict}"
    best = f"the best model with them ({describe_point(gain.weighted.settings)}) against every weight 1"
    return f"commute times: not used by the choice; {best}: {over}; {verdict}{' there' if clear else ''}"
