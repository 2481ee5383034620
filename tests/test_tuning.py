"""The search for presets: candidates that are valid, and a winner by validation accuracy."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from cgnn_cli.configs import TrainConfig
from cgnn_cli.execution.results import Run
from cgnn_cli.models.model_table import learners
from cgnn_cli.presets.lookup import FOUND, read_rows, rows_of
from cgnn_cli.settings import Settings
from tests.runs import fit_headers

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("tune")


def test_every_model_has_as_many_candidates_as_others_and_all_are_valid(tune: ModuleType) -> None:
    for dataset in tune.DATASETS:
        cells = tune.cells(dataset, list(learners()))
        assert {model for _, model, preset in cells if preset == "tuned"} == set(learners())
        for cell in cells:
            runs = tune.runs_of(cell, 2)
            distinct = {repr(sorted(Settings.of(run.settings, dataset).full_row().items())) for run in runs}
            assert len(distinct) == len(runs) == (8 if dataset == "citeseer" else 4)
            for run in runs:
                settings = Settings.of(run.settings, dataset)
                train = settings.config("train")
                assert isinstance(train, TrainConfig) and train.model == cell[1]
                train.check()
                settings.config("commute")
                assert train.operator_kinds() or train.model in ("mlp", "linear")


def test_every_preset_is_one_of_its_candidates_and_its_search_tried_them_all(tune: ModuleType) -> None:
    presets = {name: rows_of(name) for name in FOUND}
    for dataset in tune.DATASETS:
        for cell in tune.cells(dataset, list(learners())):
            runs = tune.runs_of(cell, 2)
            row = presets[cell[2]][dataset, cell[1]]
            assert row.settings in [Settings.of(run.settings, dataset).full_row() for run in runs], cell
            assert row.search["configurations"] == len(runs) and row.search["splits"] == [0, 1], cell


def test_the_winner_has_the_highest_validation_accuracy(tune: ModuleType) -> None:
    accuracies = enumerate((0.2, 0.9, 0.5, 0.7))
    tried = [Run(str(name), "demo", status="done", headers=fit_headers([each] * 2)) for name, each in accuracies]
    best = tune.winner(tried)
    assert best is not None and best.name == "1"
    tried[1].status = "failed"
    assert tune.winner(tried).name == "3" and tune.winner([]) is None


def test_a_search_is_recorded_when_all_its_candidates_are_done(
    tune: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real trainings on the demo graph: what was cut short is not recorded, and goes on."""
    small = {"train.model": "linear", "train.epochs": 1}
    monkeypatch.setattr(tune, "candidates", lambda *cell: [{**small, "train.lr": rate} for rate in (0.1, 0.2)])
    monkeypatch.setattr("cgnn_cli.presets.recording.packaged_file", lambda model: Path(f"{model}.toml"))
    command = ["tune.py", "--data", ".", "--datasets", "demo", "--models", "linear", "--jobs", "1"]
    monkeypatch.setattr("sys.argv", [*command, "--max-minutes", "0"])
    tune.main()
    assert not Path("linear.toml").exists() and capsys.readouterr().err == ""
    monkeypatch.setattr("sys.argv", command)
    tune.main()
    ((heading, row),) = read_rows(Path("linear.toml")).items()
    assert heading == ("tuned", "demo")
    assert row.search["configurations"] == 2 and row.search["splits"] == [0, 1]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:4] for line in lines] == [["tuned", "demo", "linear", str(number)] for number in (0, 1)]
    assert not Path(".cgnn/eval").exists()
