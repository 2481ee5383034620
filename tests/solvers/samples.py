"""The walks that the solvers are tried on."""

import pytest

from cgnn_cli.configs import DilapConfig, RewireConfig
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire

INCIDENCE, RANDOM_WALK = DilapConfig(form="incidence"), DilapConfig(form="random-walk")
BOTH_FORMS = pytest.mark.parametrize("form", [INCIDENCE, RANDOM_WALK], ids=["incidence", "random-walk"])


def walk_on(graph: Graph, form: DilapConfig = INCIDENCE) -> Dilap:
    return dilap(rewire(graph, RewireConfig()), form)
