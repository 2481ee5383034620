"""A workspace: a store, the datasets that can be named, and how to compute. What commands do is done here.

    space = Workspace(Path("store"))
    walk = space.step("dilap", "demo")
    space.pair_times(walk, ["0", "1"], ["2", "3"])

A step says what is wanted, from a dataset and settings by their paths (`train.layers`); the methods obtain what it
takes, from the store or by computing. Nothing here prints; numpy, scipy and torch are imported where they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli import mapped
from cgnn_cli.configs import CONFIGS, FEATURE_NAMES, CommuteConfig, ComputeConfig, GraphConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import DataError, NumericalError, ResourceError, UpstreamError, UsageError
from cgnn_cli.execution.given import newest_run
from cgnn_cli.execution.results import Run, Runs, search_of
from cgnn_cli.execution.runner import Reporter, Runner, Silence
from cgnn_cli.execution.scheduler import Deadline, Scheduler
from cgnn_cli.pipeline import Step, moved_to, plan
from cgnn_cli.presets.chosen import chosen_row
from cgnn_cli.resources import (
    ASKED_LIMIT,
    LEAST_TORCH_SPACE,
    check_address_space,
    check_memory,
    memory_limit,
    thread_count,
)
from cgnn_cli.settings import Settings
from cgnn_cli.signals import Stopper
from cgnn_cli.solver_table import missing_parts
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.choices import Choice, write_choice
from cgnn_cli.store.store import Store
from cgnn_cli.tuning.budget import Budget
from cgnn_cli.watch import Watch

if TYPE_CHECKING:
    from cgnn_cli.analysis.diagnosis import Diagnosis
    from cgnn_cli.analysis.explanation import Neighbourhood
    from cgnn_cli.analysis.network_file import NetworkKind
    from cgnn_cli.analysis.node_sets import SetSteps
    from cgnn_cli.analysis.prediction import Predictions
    from cgnn_cli.analysis.reasons import Reasoning, Reasons, Review
    from cgnn_cli.datasets.upstream.locating import Listener
    from cgnn_cli.graph import CommuteTimes, Dilap, Graph
    from cgnn_cli.numerics.fundamental import Fundamental
    from cgnn_cli.numerics.pair_times import PairTimes
    from cgnn_cli.report.content import Report
    from cgnn_cli.tracking.tracker import Tracker
    from cgnn_cli.tuning.search import Tuned

MOST_LEFT_OUT = 50  # neighbours of a node that are left out in turn


@dataclass(frozen=True)
class _Telling(Watch):
    """Progress of a computation that is no stage."""

    reporter: Reporter

    def progress(self, done: int, total: int, message: str) -> None:
        self.reporter.progress(done, total, message)


@dataclass(frozen=True)
class Explanation:
    """A node with its neighbours, why the models of a training say what they say of it, and notes."""

    neighbourhood: Neighbourhood
    reasons: Reasons | None
    train_key: str | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Workspace:
    """What all commands have at hand: one runner and one scheduler over a store."""

    store: Store
    source: SourceConfig = SourceConfig()  # noqa: RUF009 - frozen
    compute: ComputeConfig = ComputeConfig()  # noqa: RUF009 - frozen
    reporter: Reporter = Silence()  # noqa: RUF009 - has no state
    stopper: Stopper | None = None
    listener: Listener | None = None

    def __post_init__(self) -> None:
        if isinstance(self.store, str | Path):
            self.store = Store(Path(self.store).absolute())
        ASKED_LIMIT.set(self.compute.memory_limit)
        if self.compute.deterministic:  # CUDA reads this when torch is first used
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        mapped.FOLDER.set(self.store.root)

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.store, self.reporter, self.compute, stopper=self.stopper or Stopper())

    @cached_property
    def scheduler(self) -> Scheduler:
        return Scheduler(self.runner, self.datasets(), tell=lambda run: self.track({run: run.name}))

    @cached_property
    def tracker(self) -> Tracker | None:
        """Who is told of what is done, if `--track` names somebody."""
        from cgnn_cli.tracking.tracker import Tracker

        return Tracker.of(self.compute, self.store)

    def track(self, runs: Mapping[Run, object]) -> None:
        """Tell the tracker, if there is one, of runs by their names."""
        if tracker := self.tracker:
            for run, name in runs.items():
                tracker.log(run, str(name))

    def close(self) -> None:
        """End what outlives a call: the connection to a cluster, and a cluster that was started for it."""
        if "scheduler" in self.__dict__:
            self.scheduler.engine.close()

    def note(self, message: str) -> None:
        """Tell something that belongs with a result."""
        if self.listener is not None:
            self.listener.note(message)

    def datasets(self, *, dry_run: bool = False) -> Datasets:
        """The datasets that can be named here; a dry run reads what is on disk and writes nothing."""
        return Datasets(self.store, self.source, self.listener, None if dry_run else self.runner.data)

    def step(
        self, stage: str, dataset: str, settings: Mapping[str, Any] | None = None, splits: Sequence[int] = ()
    ) -> Step:
        """The step of a stage for a dataset and settings; all splits of the dataset, if none are named."""
        return self.scheduler.step(stage, Run(dataset, dataset, dict(settings or {}), tuple(splits)))

    def obtain(self, *steps: Step) -> list[tuple[Header, bool]]:
        """The headers of artifacts, and whether each was a cache hit; what is missing is computed."""
        self.scheduler.obtain(*steps)
        return [self.runner.obtain(step) for step in steps]

    def carry_out(self, runs: Sequence[Run], *, test: bool = True, max_minutes: float | None = None) -> Sequence[Run]:
        """Train runs, and score them if test accuracies may be seen; a failure of one leaves the others alone."""
        self.scheduler.carry_out(runs, test=test, deadline=Deadline(max_minutes))
        return runs

    def sweep(
        self,
        dataset: str,
        space: Mapping[str, Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
        *,
        splits: Sequence[int] = (),
        max_minutes: float | None = None,
    ) -> list[Run]:
        """All combinations of some values, the best by mean validation score first; test labels are not seen."""
        from cgnn_cli.sweeps import points_of

        points = points_of({path: list(values) for path, values in space.items()}, None, 0)
        named = [("  ".join(f"{path}={value}" for path, value in point.items()), point) for point in points]
        runs = [Run(name, dataset, {**(settings or {}), **point}, tuple(splits)) for name, point in named]
        self.carry_out(runs, test=False, max_minutes=max_minutes)
        return best_first(runs)

    def tune(
        self,
        dataset: str,
        settings: Mapping[str, Any] | None = None,
        *,
        budget: Budget | None = None,
        seed: int = 0,
        splits: Sequence[int] = (),
        finished: Callable[[Run], None] = lambda run: None,
    ) -> Tuned:
        """Search for the best model and settings for a dataset on validation alone, and keep the choice in the store.

        settings: what is the same in every configuration. What was trained before is found in the store.
        """
        from cgnn_cli.tuning.search import Search, command_of

        fixed, within = dict(settings or {}), budget or Budget()
        tuned = Search(self.scheduler, dataset, fixed, within, seed, splits, finished).carry_out()
        trained, _ = self.runner.obtain(self.scheduler.step("train", tuned.best, tuned.best.splits))
        tuned.search = search_of(tuned.best, len(tuned.runs), command_of(dataset, fixed, within, seed, splits))
        self.store.remember_latest("train", trained.key)
        write_choice(self.store, Choice(tuned.graph.key, tuned.model, tuned.row, tuned.search, trained.key))
        return tuned

    def choice(self, dataset: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings that `tune` chose for a dataset; those given say which form of its graph."""
        form = Settings.of(settings or {}, dataset).config("graph")
        assert isinstance(form, GraphConfig)
        return chosen_row(self.store, dataset, form, self.source).settings

    def pair_times(self, walk: Step, source: Sequence[str], target: Sequence[str]) -> PairTimes:
        """Exact hitting and commute times of pairs of nodes, named by their ids, on the walk of a dilap step."""
        from cgnn_cli.analysis.node_pairs import exact_times

        graph = self.runner.data(self._graph(walk))
        number = {node: place for place, node in enumerate(graph.ids().tolist())}
        if unknown := [node for node in (*source, *target) if node not in number]:
            raise DataError(f"{unknown[0]!r} is no node of the graph", "write ids exactly as in your files")
        first, second = ([number[node] for node in nodes] for nodes in (source, target))
        return exact_times(
            graph,
            self.runner.data(walk),
            first,
            second,
            jobs=thread_count(self.compute.threads, 0),
            progress=lambda done, total: self.reporter.progress(done, total, "nodes solved"),
        )

    def read_pairs(self, walk: Step, file: Path) -> tuple[list[str], list[str], list[str]]:
        """The ids of pairs in a file of edges, and notes on how it was read."""
        from cgnn_cli.datasets.files.edges import read_pairs
        from cgnn_cli.datasets.files.tables import Reading

        reading = Reading()
        source, target = read_pairs(file, set(self.runner.data(self._graph(walk)).ids().tolist()), reading)
        return source, target, reading.notes

    def node_sets(
        self, walk: Step, words: Sequence[str], file: Path | None = None
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Ids of the nodes of sets by name, from words (NODE, A,B or NAME=A,B) or a file with the columns node,set.

        With notes on how the file was read; nothing but the graph is needed for it.
        """
        from cgnn_cli.analysis.node_sets import members_in, numbered_sets
        from cgnn_cli.datasets.files.node_sets import read_members
        from cgnn_cli.datasets.files.tables import Reading

        graph, reading = self.runner.data(self._graph(walk)), Reading()
        known = graph.ids().tolist()
        members = members_in(words, set(known)) + ([] if file is None else read_members(file, set(known), reading))
        numbered = numbered_sets(graph, members)
        return {name: [known[node] for node in nodes] for name, nodes in numbered.items()}, reading.notes

    def steps_to(self, walk: Step, sets: Mapping[str, Sequence[str]]) -> SetSteps:
        """Expected steps from every node to each of some sets of nodes, named by ids, on the walk of a dilap step.

        Of several sets also the probability that each is met before the others.
        """
        from cgnn_cli.analysis.node_sets import named_sets, steps_to
        from cgnn_cli.estimates import set_times_memory

        graph, dilap, jobs = (
            self.runner.data(self._graph(walk)),
            self.runner.data(walk),
            thread_count(self.compute.threads, 0),
        )
        numbered, limit = named_sets(graph, sets), memory_limit(self.compute.memory_limit)
        check_memory(
            "solving for these sets", set_times_memory(dilap, len(sets), jobs), limit, "use fewer --threads or sets"
        )
        return steps_to(
            graph,
            dilap,
            numbered,
            jobs=jobs,
            progress=lambda done, total: self.reporter.progress(done, total, "sets of nodes solved for"),
        )

    def steps_from(
        self, walk: Step, sets: Mapping[str, Sequence[str]], probes: int | None = None, seed: int = 0
    ) -> SetSteps:
        """Expected steps to every node from a node of each set; from probes, with standard errors, on a large walk."""
        from cgnn_cli.analysis.node_sets import named_sets, steps_from

        graph = self.runner.data(self._graph(walk))
        numbered = named_sets(graph, sets)
        return steps_from(graph, self.runner.data(walk), numbered, self.fundamental(walk, probes, seed))

    def fundamental(self, walk: Step, probes: int | None = None, seed: int = 0) -> Fundamental:
        """The diagonal of the fundamental matrix of the walk of a dilap step, and Kemeny's constant."""
        from cgnn_cli.numerics.fundamental import fundamental

        dilap, memory = self.runner.data(walk), memory_limit(self.compute.memory_limit)
        jobs, watch = thread_count(self.compute.threads, 0), _Telling(self.reporter)
        return fundamental(dilap.walk(), dilap.perron, probes, seed=seed, memory=memory, jobs=jobs, watch=watch)

    def closest_edges(self, times: Step, count: int) -> list[dict[str, Any]]:
        """The edges with the shortest commute times of a commute step, with their ids."""
        import numpy as np

        from cgnn_cli.analysis.node_pairs import closest_edges
        from cgnn_cli.artifact_tables import time_columns

        data = self.runner.data(times)
        columns = time_columns(data.to_elements(), self.runner.data(self._graph(times)))
        names = [name for name in columns if not name.startswith("weight")]
        chosen = [np.asarray(columns[name])[closest_edges(data, count)].tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*chosen, strict=True)]

    def diagnose(self, times: Step, count: int = 256, splits: Sequence[int] = ()) -> Diagnosis:
        """Should weights help? Figures and a verdict, from a commute step, exact times of some edges, and the labels of
        the training nodes of some splits, or of all."""
        from cgnn_cli.analysis.diagnosis import Weighed, diagnose_graph

        config: CommuteConfig = times.config
        graph, dilap = self.runner.data(self._graph(times)), self.runner.data(times.inputs["dilap"])
        paper = None if graph.splits is None else self._paper_times(times)
        return diagnose_graph(
            graph,
            Weighed(dilap, self.runner.data(times), config, paper),
            splits=splits,
            count=count,
            seed=config.solver_seed,
            jobs=thread_count(self.compute.threads, 0),
            progress=lambda done, total: self.reporter.progress(done, total, "nodes of sampled edges solved"),
        )

    def _paper_times(self, times: Step) -> CommuteTimes | None:
        """The paper's scores and weights for the same graph; None where its walk is too slow to be solved for."""
        from cgnn_cli.analysis.weight_kinds import PAPER, WEIGHTS

        settings = Settings.of(WEIGHTS[PAPER], "the paper's weights")
        step = plan("commute", self._graph(times), {name: settings.config(name) for name in CONFIGS}, ())
        reporter, self.runner.reporter = self.runner.reporter, Silence()  # nobody asked for its warnings
        try:
            found: CommuteTimes = self.runner.data(step)
        except (NumericalError, ResourceError):
            return None
        finally:
            self.runner.reporter = reporter
        return found

    def predict(self, trained: Step, splits: Iterable[int] | None = None, on: Step | None = None) -> Predictions:
        """Mean class probabilities of the models of some splits of a train step, or of all, for every node.

        on: the step of another graph with the same kind of features, instead of the one that they were trained on.
        """
        known, config = list(trained.config.splits), trained.config.train
        chosen = sorted(set(splits or known))
        if missing := [split for split in chosen if split not in known]:
            message = f"--split {missing[0]}: the given checkpoint has only the splits {known}"
            raise UsageError(message, f"`cgnn run --split {missing[0]}` with the same settings trains it")
        check_address_space(LEAST_TORCH_SPACE, "the libraries of models")
        self.runner.load_torch()
        from cgnn_cli.analysis.prediction import predict_classes
        from cgnn_cli.stages.task import choose_device

        choose_device(self.compute.device)
        self.obtain(trained)
        own, checkpoint = self._titled(trained.inputs["graph"]), self.runner.data(trained)
        self.reporter.begins("predicting classes", passing=True)
        if on is None or on.key == trained.inputs["graph"].key:
            return predict_classes(own, self.runner.operators(trained), checkpoint, config, chosen, self.compute)
        from cgnn_cli.analysis.transfer import as_seen, check_carries_over, met_before, with_walks

        other = self._titled(on)
        check_carries_over(config, own, other)
        operators = self.runner.operators(moved_to(trained, on))
        seen, config = as_seen(config, own, other)
        models = with_walks(config, checkpoint, seen, chosen)
        found = predict_classes(seen, operators, models, config, chosen, self.compute, other)
        return replace(found, met=met_before(own, other, chosen))

    def network_file(self, trained: Step, kind: NetworkKind, split: int | None = None) -> bytes:
        """The content of a file with the network of a split of a train step, the first if none is named.

        kind: `state-dict`, weights with a plan, or `torch-export`, a program; both are read with torch alone.
        """
        known, config = list(trained.config.splits), trained.config.train
        chosen = known[0] if split is None else split
        if chosen not in known:
            raise UsageError(f"--split {chosen}: the given checkpoint has only the splits {known}", "name one of them")
        check_address_space(LEAST_TORCH_SPACE, "the libraries of models")
        self.runner.load_torch()
        from cgnn_cli.analysis.network_file import network_file

        self.obtain(trained)
        graph, checkpoint = self.runner.data(trained.inputs["graph"]), self.runner.data(trained)
        operators = self.runner.operators(trained)
        return network_file(graph, operators, checkpoint, config, chosen, kind, trained.key)

    def _titled(self, step: Step) -> Graph:
        """A graph with the titles of its features as the dataset that was named has them.

        The same numbers may come under several titles. Where no dataset was named, those that stand for the graph are
        asked, if they are of one mind, and else the file of the graph, which has those that came first.
        """
        graph: Graph = self.runner.data(step)
        if step.titles is not None:
            return replace(graph, summary={**graph.summary, FEATURE_NAMES: step.titles})
        records = (self.store.dataset(name).get("summary", {}) for name in self.store.names_of(step.key))
        titles = [record.get(FEATURE_NAMES) for record in records]
        agreed = bool(titles) and all(each == titles[0] for each in titles)
        return replace(graph, summary={**graph.summary, FEATURE_NAMES: titles[0]}) if agreed else graph

    def explain(self, start: Step, node: str, about: str | None = None, most: int = MOST_LEFT_OUT) -> Explanation:
        """One node: its neighbours, and why the models say what they say of it, about a class or the predicted one.

        The models are those of a train step, or the newest that were trained with the weights of a commute step. Of
        the neighbours the `most` heaviest are left out in turn. Nothing is trained.
        """
        from cgnn_cli.analysis.explanation import explain_node, find_node

        graph = self.runner.data(self._graph(start))
        number, times = find_node(graph, node), start.find("commute")
        notes, found, dilap = self._times(times)
        around = explain_node(graph, found, dilap, number)
        trained = start if start.stage.name == "train" else self.newest_training(start)
        if trained is None:
            return Explanation(around, None, None, tuple(notes))
        reasoning = self._reasoning(trained, found, dilap)
        self.reporter.begins("leaving neighbours out in turn", passing=True)
        reasons = reasoning.of(number, about, most, around)
        return Explanation(around, reasons, trained.key, tuple(notes))

    def review(self, trained: Step, about: str, top: int = 50, most: int = MOST_LEFT_OUT) -> Review:
        """The nodes that are likeliest of a class, those without a label first, with the reasons for each."""
        from cgnn_cli.analysis.reasons import Review

        self.runner.data(self._graph(trained)).class_number(about)  # refused before anything is predicted
        _, found, dilap = self._times(trained.find("commute"))
        reasoning = self._reasoning(trained, found, dilap)
        made: list[Reasons] = []
        nodes = reasoning.predictions.unlabelled_first(about, top).tolist()
        for node in nodes:
            self.reporter.progress(len(made), len(nodes), "nodes explained")
            made.append(reasoning.of(node, about, most))
        return Review(trained.key, about, reasoning.graph.class_labels(), made)

    def newest_training(self, times: Step) -> Step | None:
        """The training that was made or asked for last of those with the weights of a commute step."""
        files = {part.key: part.file for part in times.lineage if part.file is not None}
        return newest_run(self.store, times.key, files=files)

    def _times(self, times: Step | None) -> tuple[list[str], CommuteTimes | None, Dilap | None]:
        """The times of a commute step with its walk, as far as they are there, and notes on what is not."""
        if times is None:
            return [], None, None
        notes, dilap = [], None
        header, _ = self.runner.obtain(times)
        found = self.runner.data(times)
        try:
            dilap = self.runner.data(times.inputs["dilap"])
        except (UpstreamError, KeyError):
            notes.append(
                f"no ratio: it needs the dilap artifact {header.inputs['dilap'][:12]}, which is not in the store; "
                "name its file with another --input"
            )
        if note := missing_parts(header.config["solver"], header.summary, found.to_elements()):
            notes.append(note)
        return notes, found, dilap

    def _reasoning(self, trained: Step, times: CommuteTimes | None, dilap: Dilap | None) -> Reasoning:
        predictions, config = self.predict(trained), trained.config
        from cgnn_cli.analysis.influence import TrainedModels
        from cgnn_cli.analysis.reasons import Reasoning

        graph, checkpoint = self.runner.data(trained.inputs["graph"]), self.runner.data(trained)
        operators = self.runner.operators(trained)
        models = TrainedModels(graph, operators, checkpoint, config.train, config.splits, self.compute)
        return Reasoning(models, predictions, times, dilap)

    def report(self, names: Sequence[str] = (), *, with_origin: bool = False, metric: str | None = None) -> Report:
        """The evaluations of the store, or those named by files or beginnings of keys, beside the paper's figures.

        metric: what they are compared by; by default what all of them were trained by, else accuracy.
        """
        from cgnn_cli.paper.matching import beside_paper
        from cgnn_cli.report.content import Report

        source = Runs(self.store)
        chosen = source.named(names) if names else source.all()
        if not chosen:
            raise UpstreamError(
                f"the store {self.store.root} has no evaluations to report",
                "run `cgnn run` first, or name another --store",
            )
        return Report(source, chosen, beside_paper, with_origin, metric)

    @staticmethod
    def _graph(step: Step) -> Step:
        graph = step.find("graph")
        if graph is None:
            raise UpstreamError(
                f"cannot tell which graph {step.stage.name} {step.key[:12]} was made from",
                "name the store that has its inputs with --store, or their files with more --input",
            )
        return graph


def best_first(runs: Iterable[Run]) -> list[Run]:
    """The finished ones by validation score, the first of equals first; then those that failed, then the rest."""
    order = {"done": 0, "failed": 1, "not run": 2}
    return sorted(runs, key=lambda run: (order[run.status], -run.validation))
