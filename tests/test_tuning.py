"""The search for presets and the tables of results: candidates that are valid, an order that is fair, honest cells."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.table import MODELS, check_options
from cgnn_cli.operators.table import operators_of
from cgnn_cli.presets.recording import full_row
from cgnn_cli.presets.table import FOUND, rows_of
from cgnn_cli.settings import Settings
from cgnn_cli.trials import Trial, TrialResult

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("tune")


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("results")


def test_every_model_has_as_many_candidates_as_others_and_all_are_valid(tune: ModuleType) -> None:
    for dataset in tune.DATASETS:
        cells = tune.cells(dataset, list(MODELS))
        assert {model for _, model, preset in cells if preset == "tuned"} == set(MODELS)
        for cell in cells:
            trials = tune.trials_of(cell, 2)
            distinct = {repr(sorted(full_row(Settings.of(trial.settings, dataset)).items())) for trial in trials}
            assert len(distinct) == len(trials) == (8 if dataset == "citeseer" else 4)
            for trial in trials:
                settings = Settings.of(trial.settings, dataset)
                train = settings.config("train")
                assert isinstance(train, TrainConfig) and train.model == cell[1]
                check_options(train)
                settings.config("commute")
                assert operators_of(train) or train.model in ("mlp", "linear")


def test_every_preset_is_one_of_its_candidates_and_its_search_tried_them_all(tune: ModuleType) -> None:
    presets = {name: rows_of(name) for name in FOUND}
    for dataset in tune.DATASETS:
        for cell in tune.cells(dataset, list(MODELS)):
            trials = tune.trials_of(cell, 2)
            row = presets[cell[2]][dataset, cell[1]]
            assert row.settings in [full_row(Settings.of(trial.settings, dataset)) for trial in trials], cell
            assert row.search["configurations"] == len(trials) and row.search["splits"] == [0, 1], cell


def result_of(name: str, validation: list[float], test: list[float] | None = None) -> TrialResult:
    found = TrialResult(Trial(name, "chameleon"), "done", splits=list(range(len(validation))))
    found.validation_accuracy, found.test_accuracy = validation, test or []
    found.seconds = [1.0] * len(validation)
    return found


def test_the_winner_has_the_highest_validation_accuracy(tune: ModuleType) -> None:
    tried = [result_of(str(number), [figure, figure]) for number, figure in enumerate((0.2, 0.9, 0.5, 0.7))]
    best = tune.winner(tried)
    assert best is not None and best.trial.name == "1"
    tried[1].status = "failed"
    assert tune.winner(tried).trial.name == "3" and tune.winner([]) is None


def test_all_cells_get_three_splits_before_any_gets_ten(results: ModuleType) -> None:
    first, *later = results.rounds()
    assert first[0] == 3 and {cell.dataset for cell in first[1]} == set(results.DATASETS)
    assert {"cgnn", "cgnn-extended", *MODELS} <= {cell.row for cell in first[1]}
    assert all(splits == 10 for splits, _ in later)
    assert {cell for _, cells in later for cell in cells} >= set(first[1])


def test_tables_show_what_there_is_and_mark_what_is_missing(results: ModuleType) -> None:
    full, short = [0.8] * 10, [0.7, 0.72, 0.71]
    found = {
        results.Cell("cgnn", "chameleon"): result_of("cgnn", full, full),
        results.Cell("cgnn-none", "chameleon"): result_of("none", short, short),
        results.Cell("gat", "chameleon"): TrialResult(Trial("gat", "chameleon"), "failed", "too large"),
        results.Cell("mlp", "chameleon"): TrialResult(Trial("mlp", "chameleon")),
    }
    text = results.scores(found, "chameleon")
    assert "80.00 ± 0.00 | 80.00 ± 0.00 | 10 | 1.0 | 79.62 ± 2.33 | +0.38" in text
    assert "71.00 ± 0.82 †" in text and "failed: too large" in text and "not run" in text
    pairs = results.paired(found).splitlines()
    assert len(pairs) == 3 and "+9.00 ± 0.58 †" in pairs[2] and "| 3 | 0.250 | 0.250 |" in pairs[2]
