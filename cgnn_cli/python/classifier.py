"""`NodeClassifier`: classes of nodes from edges, labels and features, after the conventions of scikit-learn.

It does what `cgnn tune`, `cgnn run` and `cgnn predict` do, with the same store and the same numbers. scikit-learn is
not needed for it: its methods are written out, and its tags are made when scikit-learn asks for them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.execution.given import given_step
from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.pipeline import Step
from cgnn_cli.presets.lookup import AUTO
from cgnn_cli.python.calling import call
from cgnn_cli.python.graphs import texts_of
from cgnn_cli.python.named import named_graph
from cgnn_cli.python.options import check_names, option_names, settings_of
from cgnn_cli.python.tables import make_table
from cgnn_cli.settings import KEYS, Settings
from cgnn_cli.store.choices import read_choice
from cgnn_cli.store.outputs import write_output
from cgnn_cli.sweeps import SWEPT
from cgnn_cli.tuning.budget import MINUTES, Budget
from cgnn_cli.workspace import Workspace

if TYPE_CHECKING:
    from cgnn_cli.analysis.network_file import NetworkKind
    from cgnn_cli.analysis.prediction import Predictions

KINDS: dict[str, NetworkKind] = {".pt": "state-dict", ".pt2": "torch-export"}


class NodeClassifier:
    """Classes of nodes, learnt from the edges of a graph and the labels of some of its nodes.

    Parameters
    ----------
    model
        A model of `cgnn models`, with the settings of the command line. `"auto"` takes what `cgnn tune` chose for the
        graph, and searches where there is no choice for these options yet.
    preset
        Settings of a preset: paper, tuned, extended or a .toml file.
    minutes, trials
        How much the search of `model="auto"` may try: a time, by default five minutes, or a number of configurations,
        which makes the same choice anywhere.
    splits
        Numbers of the splits to train on; by default all that the graph has.
    store
        The folder of the cache; by default that of the command line, `.cgnn` in the working folder.
    verbose
        Whether to show progress; by default in a notebook and on a terminal.
    options
        Any option of the command line by its name: `hidden=64`, `metric="average-precision"`, `jobs=2`,
        `class_weights="balanced"`.

    Attributes
    ----------
    classes_, nodes_
        The classes, in the order of the columns of `predict_proba`, and the ids of all nodes, as they were given.
    n_features_in_
        How many features the graph has.
    scores_
        Test and validation scores over the splits, as `cgnn eval --json` tells them.
    graph_, run_
        The `Graph`; and the `Run`, with the headers of all artifacts, and its settings.

    Examples
    --------
    >>> from cgnn_cli import NodeClassifier
    >>> found = NodeClassifier("sage", epochs=20, splits=[0], verbose=False).fit("demo")
    >>> found.predict_proba([0, 1]).shape
    (2, 5)
    """

    def __init__(
        self,
        model: str = "auto",
        *,
        preset: str | None = None,
        minutes: float | None = None,
        trials: int | None = None,
        splits: Sequence[int] | None = None,
        store: Any = None,
        verbose: bool | None = None,
        **options: Any,
    ) -> None:
        check_names(options, _options(), type(self).__name__)
        self.model = model
        self.preset = preset
        self.minutes = minutes
        self.trials = trials
        self.splits = splits
        self.store = store
        self.verbose = verbose
        vars(self).update(options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and those options that are set; `deep` is for other estimators, of which there are none."""
        known = {*_own(), *_options()}
        return {name: value for name, value in vars(self).items() if name in known}

    def set_params(self, **params: Any) -> Self:
        """Set parameters and options."""
        check_names(params, [*_own(), *_options()], type(self).__name__)
        vars(self).update(params)
        return self

    def __repr__(self) -> str:
        default = {name: value.default for name, value in inspect.signature(type(self)).parameters.items()}
        shown = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not default.get(name)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator; nothing else here needs it."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        tags = Tags(estimator_type="classifier", target_tags=TargetTags(required=True), input_tags=InputTags())
        tags.classifier_tags, tags.non_deterministic = ClassifierTags(), self.minutes is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "run_" in vars(self)

    def fit(
        self, edges: Any, labels: Any = None, features: Any = None, *, splits: Any = None, name: str | None = None,
        **columns: Any,
    ) -> Self:  # fmt: skip
        """Learn from a graph whose nodes have labels in part.

        Parameters
        ----------
        edges
            A table of pandas, polars or pyarrow, a graph of networkx or torch-geometric, a scipy matrix, an M x 2
            array, a `Path` of a file, or the name of a dataset, which has all the rest.
        labels
            A table of ids and labels, a series with the ids as index, a dictionary, an array with an entry a node, or
            the name of an attribute of networkx. Missing, empty or, in an array of numbers, -1: no label.
        features
            A table with a row a node, an array, a scipy matrix, a dictionary, or a list of attributes of networkx.
        splits
            Which nodes train, validate and test: a table of ids and a column a split, or masks by the names train, val
            and test. By default ten splits of 48/32/20 are drawn from the labels.
        name
            The name of the dataset in the store; by default one that is made from the graph's key.
        columns
            Options of `cgnn data import`: `source="payer"`, `weight="amount"`, `split_count=3`.
        """
        for known in [each for each in vars(self) if each.endswith("_") or each.startswith("_")]:
            delattr(self, known)
        settings = self._settings()

        def work(space: Workspace) -> None:
            dataset, given = named_graph(
                space, settings, edges, labels, features, splits, name=name, options=columns
            )  # fmt: skip
            if given.graph.labels is None:
                raise DataError("the graph has no labels, so there is nothing to learn", "give labels=")
            found = self._chosen(space, settings, dataset) if self.model == AUTO else self._settings(dataset)
            for note in found.notes:
                space.note(note)
            trained = self._trained(space, dataset, found)
            graph = space.runner.data(space.step("graph", dataset, found.changed(("graph",))))  # in the form of it
            self.graph_, self.nodes_, self.classes_ = graph, given.ids, given.classes
            self.n_features_in_ = 0 if graph.features is None else int(graph.features.shape[1])
            self.run_, self._library = trained, given.library
            self.scores_ = trained.header.summary

        call(settings, self.verbose, work)
        return self

    def predict_proba(self, nodes: Any = None) -> np.ndarray:
        """The probability of each class for nodes by their ids, or for all: the mean over the splits' models."""
        return np.asarray(self._predictions().probabilities[self._places(nodes)])

    def predict(self, nodes: Any = None) -> np.ndarray:
        """The class of nodes by their ids, or of all."""
        places = self._places(nodes)
        return np.asarray(self.classes_[self._predictions().classes[places]])

    def predict_table(self, nodes: Any = None) -> Any:
        """A table of nodes: what is predicted, what was known, the part in the splits, and every probability."""
        return self._table(self._places(nodes))

    def ranked(self, label: Any, top: int | None = None, *, labelled: bool = False) -> Any:
        """The table of the nodes without a label, the likeliest of a class first; of all nodes with `labelled`."""
        return self._table(self._predictions().ranked(str(label), top, labelled=labelled))

    def score(self, nodes: Any, labels: Any) -> float:
        """The share of nodes whose predicted class is their label. Honest scores of the test nodes are `scores_`."""
        return float(np.mean(self.predict(nodes) == np.asarray(labels)))

    def save(self, path: Any, *, split: int | None = None) -> None:
        """Write the network of a split, by default the first: weights as .pt, a program of torch.export as .pt2.

        Both need torch alone to be read; see docs/export.md.
        """
        kind = KINDS.get(Path(path).suffix)
        if kind is None:
            raise UsageError(f"{path} is neither .pt nor .pt2", "name a file of one of these kinds")
        content = self._ask(lambda space: space.network_file(self._step(space), kind, split))
        write_output(Path(path), content)

    def _settings(self, dataset: str | None = None, preset: str | None = None) -> Settings:
        """The settings in force; of a dataset with its preset, where one is asked for."""
        known = set(_options()) - set(_own())
        options = {name: value for name, value in vars(self).items() if name in known}
        if self.model != AUTO and self.model not in MODELS:
            raise UsageError(f"unknown model {self.model}", f"known: auto, {', '.join(MODELS)}")
        if self.model == AUTO and self.preset is not None:
            raise UsageError(
                'model="auto" chooses settings, and a preset has them', "name a model, or leave preset out"
            )
        if self.model != AUTO and (self.minutes, self.trials) != (None, None):
            raise UsageError('minutes and trials are for model="auto"', "leave them out")
        if self.minutes is not None and self.trials is not None:
            raise UsageError("minutes and trials are two budgets", "give one of them")
        if self.model != AUTO:
            options["model"] = self.model
        own = preset or (self.preset if dataset is not None else None)
        return settings_of({**options, "store": self.store}, dataset, own)

    def _chosen(self, space: Workspace, settings: Settings, dataset: str) -> Settings:
        """What was chosen for a graph, by the same search or, without a budget, by any with the same options."""
        from cgnn_cli.tuning.search import command_of, gain_line

        fixed, splits = settings.changed(SWEPT), self._splits()
        budget = Budget(MINUTES if self.minutes is None else self.minutes, self.trials)
        graph = space.step("graph", dataset, settings.changed(("graph",)))
        choice = read_choice(space.store, graph.key)
        if choice is not None and self.minutes is None and self.trials is None:
            has = choice.values
            suits = all(has.get(path, KEYS[path].default) == value for path, value in fixed.items())
        else:
            command = command_of(dataset, fixed, budget, 0, splits)
            suits = choice is not None and choice.search.get("command") == command
        if not suits:
            tuned = space.tune(dataset, fixed, budget=budget, splits=splits)
            space.note(tuned.story())
            space.note(gain_line(tuned))
        return self._settings(dataset, AUTO)

    def _trained(self, space: Workspace, dataset: str, settings: Settings) -> Run:
        """The scored run of some settings, as `cgnn run` makes it."""
        step = space.step("eval", dataset, settings.changed(SWEPT), self._splits())
        ((header, _),) = space.obtain(step)
        for used in step.lineage:
            space.store.remember_latest(used.stage.name, used.key)
        return Runs(space.store).of(header, space.store.path(step.stage.name, step.key))

    def _splits(self) -> tuple[int, ...]:
        return tuple(sorted({int(split) for split in self.splits or ()}))

    def _ask(self, work: Any) -> Any:
        self._check_fitted()
        return call(self._settings(), self.verbose, work, tells_results=False)

    def _check_fitted(self) -> None:
        """Where scikit-learn is in use, the error is also the one that it knows."""
        if not self.__sklearn_is_fitted__():
            known = sys.modules.get("sklearn.exceptions")
            kind = UsageError if known is None else type("NotFitted", (UsageError, known.NotFittedError), {})
            raise kind("this NodeClassifier has learnt nothing yet", "call fit first")

    def _step(self, space: Workspace) -> Step:
        return given_step(space.store, self.run_.headers["train"], {})

    def _predictions(self) -> Predictions:
        """What the models say of all nodes; asked for once."""
        if "_found" not in vars(self):
            self._found: Predictions = self._ask(lambda space: space.predict(self._step(space)))
        return self._found

    def _places(self, nodes: Any) -> np.ndarray:
        """The numbers of nodes by their ids."""
        self._check_fitted()
        if nodes is None:
            return np.arange(len(self.nodes_))
        place = {text: number for number, text in enumerate(self.graph_.ids().tolist())}
        asked = texts_of(nodes)
        if unknown := [node for node in asked if node not in place]:
            raise DataError(f"{unknown[0]!r} is no node of the graph", "give ids as they are in the edges")
        return np.array([place[node] for node in asked], dtype=np.int64)

    def _table(self, places: np.ndarray) -> Any:
        columns: Mapping[str, Any] = self._predictions().columns(places)
        own = {"id": self.nodes_[places], "predicted": self.classes_[self._predictions().classes[places]]}
        return make_table({**columns, **own}, self._library)


def _own() -> list[str]:
    """The parameters that are no options of the command line, or mean more here."""
    known = inspect.signature(NodeClassifier).parameters.values()
    return [each.name for each in known if each.kind is not inspect.Parameter.VAR_KEYWORD]


def _options() -> list[str]:
    return [name for name in option_names() if name != "model"]
