"""Rows: settings from presets, fallbacks that are said, and controls that differ in the weights alone."""

from typing import Any

import pytest

from cgnn_cli.configs import CONFIGS
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import learners
from cgnn_cli.paper import rows as module
from cgnn_cli.paper.remarks import SYMMETRISED
from cgnn_cli.paper.rows import NO_WEIGHTS, ROWS, SHORTER, chosen_rows, joined_title
from cgnn_cli.presets.lookup import Row as PresetRow
from cgnn_cli.settings import Settings

DATASETS = ("squirrel", "chameleon", "citeseer", "cora-ml", "am-photo", "snap-patents", "roman-empire", "arxiv-year")


@pytest.fixture
def presets(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[tuple[str, str], PresetRow]]:
    """Presets of our own instead of those of the package."""
    found: dict[str, dict[tuple[str, str], PresetRow]] = {"tuned": {}, "extended": {}, "paper": {}}
    monkeypatch.setattr(module, "rows_of", lambda name: found[name])
    return found


def weights_of(settings: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in settings.items() if path.startswith("commute.")}


def test_every_model_that_learns_has_a_row_and_every_form_of_cgnn_two_controls() -> None:
    assert {row.model for row in ROWS.values()} == set(learners())
    for form in ("cgnn", "cgnn-paper", "cgnn-extended"):
        assert [ROWS[f"{form}{control}"].control for control in ("", "-none", "-pi")] == ["", "none", "pi-only"]
    assert len({row.title for row in ROWS.values()}) == len(ROWS)


@pytest.mark.parametrize("dataset", [*DATASETS, "demo", "chameleon-filtered"])
def test_all_settings_are_valid(dataset: str) -> None:
    for name, row in ROWS.items():
        chosen = row.on(dataset)
        settings = Settings.of(chosen.settings, name)
        assert settings.value("train.model") == row.model and chosen.origin
        for section in CONFIGS:
            settings.config(section)


def test_the_paper_row_has_the_papers_settings_and_its_public_options() -> None:
    chosen = ROWS["cgnn-paper"].on("squirrel")
    expected: dict[str, Any] = {"train.layers": 5, "train.hidden": 128, "train.lr": 0.005, "train.weight_decay": 0.0}
    expected |= {**SHORTER, "train.dropout": 0.0, "train.jumping_knowledge": "max", "train.l2_norm": True}
    assert chosen.settings.items() >= {**expected, "commute.solver": "svd", "commute.rank": 5}.items()
    assert chosen.origin == "paper preset"


def test_tuned_comes_before_paper_before_defaults(presets: dict[str, Any]) -> None:
    presets["paper"]["chameleon", "gcn"] = PresetRow({"train.layers": 4})
    presets["tuned"]["chameleon", "gcn"] = PresetRow({"train.layers": 3})
    presets["paper"]["citeseer", "gcn"] = PresetRow({"train.layers": 5})
    assert ROWS["gcn"].on("chameleon").settings == {"train.layers": 3, "train.model": "gcn"}
    assert ROWS["gcn"].on("chameleon-filtered").settings["train.layers"] == 3
    fallback = ROWS["gcn"].on("citeseer")
    assert fallback.settings["train.layers"] == 5
    assert fallback.origin == "paper preset (no tuned row for citeseer)"
    assert ROWS["gcn"].on("demo").origin == "defaults (no tuned row for demo)"
    assert ROWS["cgnn-extended"].on("squirrel").settings["train.propagation"] == "ppr"


def test_controls_differ_in_the_weights_alone(presets: dict[str, Any]) -> None:
    settings = {"train.hidden": 16, "commute.solver": "series", "commute.tolerance": 0.01, "commute.proximity": "exp"}
    presets["tuned"]["demo", "cgnn"] = PresetRow(settings)
    whole, none, popular = (ROWS[name].on("demo").settings for name in ("cgnn", "cgnn-none", "cgnn-pi"))
    for control in (none, popular):
        rest = {path: value for path, value in control.items() if not path.startswith("commute.")}
        assert rest == {path: value for path, value in whole.items() if not path.startswith("commute.")}
    assert weights_of(none) == NO_WEIGHTS
    assert weights_of(popular) == {"commute.solver": "pi-only", "commute.proximity": "exp"}


@pytest.mark.parametrize("proximity", ["ratio", "affinity", "neighbours"])
def test_pi_only_without_weights_of_its_own_is_no_weights_and_says_so(presets: dict[str, Any], proximity: str) -> None:
    presets["tuned"]["demo", "cgnn"] = PresetRow({"commute.solver": "exact", "commute.proximity": proximity})
    chosen = ROWS["cgnn-pi"].on("demo")
    assert weights_of(chosen.settings) == NO_WEIGHTS
    assert proximity in chosen.notes[0] and "the run without weights" in chosen.notes[0]


def test_pi_only_beside_scores_has_a_scale_without_a_unit_and_says_so(presets: dict[str, Any]) -> None:
    presets["tuned"]["demo", "cgnn"] = PresetRow({"commute.solver": "svd", "commute.proximity": "exp"})
    chosen = ROWS["cgnn-pi"].on("demo")
    expected = {"commute.solver": "pi-only", "commute.proximity": "exp", "commute.scale": "row-mean"}
    assert weights_of(chosen.settings) == expected
    assert "row-mean" in chosen.notes[0]


@pytest.mark.parametrize(
    ("name", "settings", "directed"),
    [
        ("gcn", {}, True),
        ("gcn", {"train.direction": "undirected"}, False),
        ("gcn", {"graph.undirected": True}, False),
        ("appnp", {}, False),
        ("appnp", {"train.direction": "out"}, True),
    ],
)
def test_a_row_that_ignores_directions_is_not_said_to_have_them(
    name: str, settings: dict[str, Any], directed: bool
) -> None:
    row = ROWS[name]
    cell = row.on("am-photo", {"train.model": row.model, **settings}, origin="a test")
    assert (SYMMETRISED in cell.notes) is directed and cell.notes[0] == cell.origin == "a test"


def test_rows_are_chosen_by_model_or_by_name() -> None:
    assert list(chosen_rows(["gcn", "cgnn"])) == ["gcn", "cgnn"]
    assert list(chosen_rows(["gcn", "cgnn", "cgnn-none"], ["cgnn"])) == ["cgnn", "cgnn-none"]
    assert list(chosen_rows(["gcn", "cgnn"], ["gcn", "cgnn-extended"])) == ["gcn", "cgnn-extended"]
    with pytest.raises(UsageError, match="unknown model 'gnc'"):
        chosen_rows(["gcn"], ["gnc"])
    with pytest.raises(UsageError, match="'mlp' is no row of this experiment") as raised:
        chosen_rows(["gcn", "cgnn-paper"], ["gcn", "mlp"])
    assert "gcn, cgnn-paper" in str(raised.value.hint)
    assert list(chosen_rows(["gcn", "cgnn-paper"], ["cgnn"])) == ["cgnn-paper"]


def test_titles_of_one_run() -> None:
    controls = [ROWS[name].title for name in ("cgnn-extended-none", "cgnn-extended-pi")]
    assert joined_title(controls) == "CGNN (extended), no weights (= pi-only)"
    assert joined_title(["CGNN", "CGNN (paper's settings)"]) == "CGNN (= CGNN (paper's settings))"
    assert joined_title(["GCN"]) == "GCN"
