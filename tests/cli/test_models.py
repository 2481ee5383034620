"""`models`: the table of models."""

from cgnn_cli.configs import option_name
from cgnn_cli.models.model_table import MODELS
from tests.front_door import FrontDoor


def test_models_lists_the_table(cgnn: FrontDoor) -> None:
    names = [row["name"] for row in cgnn.ok("models", "--json").json["summary"]["models"]]
    assert names == list(MODELS) and len(names) == 18
    words = cgnn.ok("models").out.split()
    assert {option_name(option) for model in MODELS.values() for option in model.own_options()} <= set(words)
    assert {word for model in MODELS.values() for word in model.paper.split()} <= set(words)
