"""The table of models, and the keys that its configurations give."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import Facts, TrainConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.keys import canonical_json
from cgnn_cli.models.gat import GatConfig
from cgnn_cli.models.gcn import GcnConfig
from cgnn_cli.models.model_table import MODELS, config_class, learners, register, train_config
from cgnn_cli.operators.operator_table import OPERATORS

OF_0_1_0 = json.loads(Path(__file__).with_name("keys_of_0_1_0.json").read_text())


@pytest.mark.parametrize("model", learners())
def test_what_goes_into_a_key_is_what_0_1_0_put_there(model: str) -> None:
    """Digests of the options that a training and its operators read, of configurations drawn at random."""
    rows = [(options, digest) for options, digest in OF_0_1_0 if options["model"] == model]
    assert len(rows) == 24
    for options, digest in rows:
        config = train_config(**options).resolved(Facts())
        config.check()
        kinds = {kind: OPERATORS[kind].options_read(config) for kind in config.operator_kinds()}
        found = canonical_json({"fit": config.to_dict(), **kinds})
        assert hashlib.sha256(found.encode()).hexdigest()[:16] == digest, options


def test_a_configuration_has_the_options_of_its_model() -> None:
    config = train_config("gcn", hidden=8, order=3, fusion_layer=1)
    assert config == GcnConfig(hidden=8) and not hasattr(config, "order")
    assert type(train_config()) is config_class("cgnn")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "gnc"}, "unknown model gnc"),
        ({"model": "gcn", "hiden": 8}, "no option hiden"),
        ({"model": "gcn", "order": 0}, "--order must be at least 1"),
        ({"model": "gat", "knn": 3}, "--model gat has no --knn"),
        ({"model": "mlp", "batch_nodes": 3}, "--model mlp has no --batch-nodes"),
    ],
)
def test_what_no_configuration_has_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        train_config(**options)


def test_a_configuration_is_of_one_model() -> None:
    for make in (lambda: GcnConfig(model="gat"), lambda: TrainConfig(model="gcn")):
        with pytest.raises(UsageError, match="is not for --model"):
            make()
    assert GatConfig().model == "gat"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(UsageError, match="there is a model gcn already"):
        register(GcnConfig)


def test_options_are_those_beyond_what_every_model_reads() -> None:
    assert MODELS["linear"].own_options() == () and MODELS["mlp"].own_options() == (
        "layers",
        "hidden",
        "activation",
        "dropout",
    )
