"""What to call a run: model, weights and preset, and as few other settings as tell it from the runs at hand.

    cgnn (svd, exp, hidden 16)    gcn (tuned)    cgnn (no weights)    mlp

Everything that names runs asks here; all settings of a run stand where a page or a file has room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cgnn_cli.configs import CONFIGS, CommuteConfig, Facts, GraphConfig, TrainConfig, feature_source
from cgnn_cli.execution.results import NOT_A_SETTING, Run
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.pipeline import CONFIGURED
from cgnn_cli.presets.lookup import PRESETS, rows_of
from cgnn_cli.report.table import Entry
from cgnn_cli.settings import KEYS, Settings
from cgnn_cli.store.artifact import Header

LONGEST = 40  # letters of a name; more only where fewer would name two runs alike
SHORT = ("solver", "proximity")  # whose values speak for themselves
FIRST = (*SHORT, "scale")
# What goes without saying; `auto` is settled in what was run, and the paper's choice is the usual one.
DEFAULTS = {key.name: key.default for key in KEYS.values() if key.section in CONFIGS}
DEFAULTS |= {"method": "path", "aggregation": "mean"}
Told = Callable[[Run], Hashable]


@dataclass(frozen=True)
class Label:
    """A row of a table of scores: runs of one model with the same settings, on any dataset."""

    model: str
    setting: str

    def __str__(self) -> str:
        return f"{self.model} ({self.setting})" if self.setting else self.model


def row_name(label: Label) -> Entry:
    """A model, and its setting in small print."""
    return Entry(label.model, note=label.setting)


def label_runs(runs: Iterable[Run]) -> dict[str, Label]:
    """A label for each run, by the key of its scores."""
    return {run.key: label for run, label in name_runs(runs).items()}


def name_runs(runs: Iterable[Run]) -> dict[Run, Label]:
    """A label for each run; those of different settings on one graph are told apart.

    Weights and preset are said where all runs of a model have the same, or those of one graph differ in them; another
    option where runs would else be named alike, the shortest first. What differs only from dataset to dataset, as
    tuned settings do, does not part a row. Defaults go without saying, unless labels would then be the same.
    """
    runs, labels = list(runs), dict[Run, Label]()
    for members in _by(runs, lambda run: run.model).values():
        found = _named(members, [weights_words, preset_of])
        if _longest(found) > LONGEST:
            found = min(found, _named(members, [weights_words]), key=_longest)
        labels |= found
    return {run: labels[run] for run in runs}


def name_settings(points: Iterable[Mapping[str, Any]]) -> list[str]:
    """Such names of runs on one graph that are still to be made, by their settings."""
    return [str(label) for label in name_runs(map(_planned, points)).values()]


def _planned(point: Mapping[str, Any]) -> Run:
    """A run with what the headers of its stages will say of its settings."""
    chosen = Settings.of(point, "a search")
    stages = CONFIGURED if uses_weights(chosen.value("train.model")) else [TrainConfig.stage]
    configs = {stage: chosen.config(stage).to_dict() for stage in stages}
    return Run("", "", headers={stage: Header(stage, "", 0, config, {}, {}, {}) for stage, config in configs.items()})


def _longest(labels: dict[Run, Label]) -> int:
    return max(len(str(label)) for label in labels.values())


def weights_words(run: Run) -> str:
    """The weights of a run: solver, proximity and an unusual scale; empty where it has none."""
    options = run.options
    if "proximity" not in options:
        return ""
    return "no weights" if options["proximity"] == "none" else f"{options['solver']}, {proximity_words(options)}"


def proximity_words(options: dict[str, Any]) -> str:
    """A proximity with its scale, where that is unusual."""
    scale = options.get("scale", 1.0)
    return str(options["proximity"]) + (f" {scale}" if scale != 1.0 else "")


def preset_of(run: Run) -> str:
    """The preset of cgnn's own that has exactly the settings of a run; empty where there is none."""
    dataset = str(run.graph_notes.get("dataset"))
    is_known = run.model in MODELS and (not uses_weights(run.model) or set(CONFIGURED) <= run.headers.keys())
    for name in PRESETS if is_known else ():
        row = rows_of(name, [run.model]).get((dataset, run.model))
        if row and _options_of({**row.settings, "train.model": run.model}, run) == run.options:
            return name
    return ""


def _options_of(settings: dict[str, Any], run: Run) -> dict[str, Any] | None:
    """The options that the stages of a run would read of some settings; None if these ask for another form of graph."""
    chosen, notes = Settings.of(settings, "a preset"), run.graph_notes
    form, weights, train = chosen.config("graph"), chosen.config("commute"), chosen.config("train")
    assert isinstance(form, GraphConfig) and isinstance(weights, CommuteConfig) and isinstance(train, TrainConfig)
    if any(value != notes.get(name, False) for name, value in form.to_dict().items() if name != "protocol"):
        return None
    facts = Facts(feature_source(notes), weights.proximity if "commute" in run.headers else "none")
    parts = [chosen.config(stage).resolved(facts).to_dict() for stage in CONFIGURED if stage in run.headers]
    return {name: value for part in parts for name, value in part.items() if name not in NOT_A_SETTING}


def _named(members: Sequence[Run], words: Sequence[Told]) -> dict[Run, Label]:
    """Labels of runs of one model, which begin with some words of each run."""
    groups = list(_by(members, lambda run: run.graph_key).values())
    told = [{run: word(run) for run in members} for word in words]
    said = [word for word in told if len(set(word.values())) == 1 or any(_kinds(each, word.get) > 1 for each in groups)]
    differing = _differing(groups)
    named = _needed(groups, differing, said)
    starts = {run: [text for word in said if (text := str(word[run]))] for run in members}
    for briefly in (True, False):
        ends = {run: _described_all(run.options, named, briefly=briefly) for run in members}
        whole = {run: Label(run.model, ", ".join(starts[run] + ends[run])) for run in members}
        if not _lost(groups, differing, whole.get):
            break
    taken, shorter = set(whole.values()), dict[Label, Label]()
    for run, label in whole.items():
        if label not in shorter:
            shorter[label] = _shortened(label, starts[run], ends[run], taken)
    return {run: shorter[label] for run, label in whole.items()}


def _shortened(label: Label, start: list[str], end: list[str], taken: set[Label]) -> Label:
    """A label that is too long without what it can spare among those that are taken; the new one is taken then."""
    kept = label
    for part in sorted(end, key=len, reverse=True):
        spared = Label(label.model, ", ".join([*start, *(other for other in end if other != part)]))
        if len(str(kept)) > LONGEST and spared not in taken:
            kept, end = spared, [other for other in end if other != part]
    taken.add(kept)
    return kept


def _by(runs: Iterable[Run], what: Callable[[Run], str]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(what(run), []).append(run)
    return groups


def _kinds(runs: Iterable[Run], what: Callable[[Run], Any]) -> int:
    return len({what(run) for run in runs})


def _values(run: Run, names: Sequence[str]) -> str:
    return repr([run.options.get(name) for name in names])


def _lost(groups: Sequence[Sequence[Run]], differing: Sequence[str], what: Callable[[Run], Any]) -> int:
    """How many runs of one graph, with settings of their own, are taken for another by this."""
    return sum(_kinds(each, lambda run: _values(run, differing)) - _kinds(each, what) for each in groups)


def _needed(
    groups: Sequence[Sequence[Run]], differing: Sequence[str], said: Sequence[dict[Run, Hashable]]
) -> list[str]:
    """The options that tell runs apart which are alike in what is said: few, and the shortest."""
    named: list[str] = []

    def lost(names: Sequence[str]) -> int:
        return _lost(groups, differing, lambda run: (*(word[run] for word in said), _values(run, names)))

    def cost(name: str) -> tuple[bool, int]:
        """What some runs do not read follows from other options, and says less; then its letters count."""
        options = [run.options for each in groups for run in each]
        words = [describe(each, [name], briefly=False) for each in options]
        return any(each.get(name) is None for each in options), max(map(len, words))

    while lost(named):
        rest = [name for name in differing if name not in named]
        named.append(min(rest, key=lambda name: (lost([*named, name]), *cost(name))))
    return sorted(named, key=differing.index)


def _differing(groups: Sequence[Sequence[Run]]) -> list[str]:
    """The options in which runs on one graph differ: weights first, the rest in the order of the stages."""
    present = {name for each in groups for run in each for name in run.options}
    order = [*FIRST, *(name for name in DEFAULTS if name not in FIRST), *sorted(present - DEFAULTS.keys())]
    return [name for name in order if any(_kinds(each, partial(_values, names=[name])) > 1 for each in groups)]


def describe(options: dict[str, Any], named: Sequence[str], *, briefly: bool = True) -> str:
    """The named options with their values, in words; briefly, without defaults."""
    return ", ".join(_described_all(options, named, briefly=briefly))


def _described_all(options: dict[str, Any], named: Sequence[str], *, briefly: bool) -> list[str]:
    present = [name for name in named if options.get(name) is not None]
    usual = {name: (str(value), f"{value}.0") for name, value in DEFAULTS.items()} if briefly else {}
    said = [name for name in present if name in SHORT or str(options[name]) not in usual.get(name, ())]
    return [_described(name, options[name]) for name in said]


def _described(name: str, value: Any) -> str:
    if name in SHORT:
        return str(value)
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    return f"{words} {value:.6g}" if isinstance(value, float) else f"{words} {value}"
