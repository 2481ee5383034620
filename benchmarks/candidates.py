"""The configurations that tuning tries: as many for every model as for both forms of CGNN, four on each graph and
eight on citeseer.

Two families of graphs have candidates of their own: web graphs (chameleon, squirrel) and graphs whose neighbours are
alike (cora-ml, citeseer, am-photo). Starting points are the settings that the models' own papers and codes use. The
second four on citeseer are variations of the first, mostly of the best of them by validation accuracy.
"""

from __future__ import annotations

from cgnn_cli.tuning.starting_points import DECAYED, DEEP, DROPPED, SHALLOW, Values, commute, train

WEB, ALIKE = ("chameleon", "squirrel"), ("cora-ml", "citeseer", "am-photo")
PLAIN = {**SHALLOW, **train(hidden=128, weight_decay=0.0, dropout=0.5, feature_scaling="row", epochs=400, patience=80)}
NO_HEAD = {**SHALLOW, **train(head_layers=0)}
NEAR = train(teleport=0.1, propagation_steps=2, feature_scaling="none", dropout=0.0)

CONTRAST = train(
    layers=2, hidden=128, pretrain_epochs=100, anchors=1000, feature_scaling="l2", lr=0.001, weight_decay=1e-5,
    epochs=500, patience=100,
)  # fmt: skip

SVD = commute(solver="svd", proximity="exp")
INVERSE = commute(solver="series", steps=4, proximity="inverse", scale="4")
RATIO = commute(solver="series", steps=4, proximity="ratio", scale="0.5")


def varied(base: Values, *changes: Values) -> list[Values]:
    """One configuration with each of the changes."""
    return [{**base, **change} for change in changes]


BOTH_FAMILIES: dict[str, tuple[list[Values], list[Values]]] = {
    "cgnn": (
        [
            {**DEEP, **SVD},
            {**DEEP, **SVD, **train(direction="out", aggregation="sym-out", self_share=0.0)},
            {**DEEP, **INVERSE, **train(direction="out", aggregation="sym-out", self_share=0.0)},
            {**DEEP, **RATIO, **train(direction="out", aggregation="sym-out", self_share=0.0)},
        ],
        [
            {**SHALLOW, **SVD},
            {**DROPPED, **INVERSE, **train(aggregation="sym")},
            {**DROPPED, **INVERSE, **train(direction="undirected", aggregation="weighted-mean")},
            {**DROPPED, **RATIO, **train(direction="undirected", aggregation="weighted-mean")},
        ],
    ),
    "dirgnn": (
        [
            {**DEEP, **train(variant="gcn", alpha=0.5)},
            {**DEEP, **train(variant="gcn", direction="out")},
            {**DEEP, **train(variant="sage", direction="out")},
            {**DEEP, **train(variant="gcn", direction="out", layers=4, lr=0.01)},
        ],
        [
            {**SHALLOW, **train(variant="sage")},
            {**DROPPED, **train(variant="gcn")},
            {**DROPPED, **train(variant="sage")},
            {**DROPPED, **train(variant="sage", direction="undirected")},
        ],
    ),
    "gcn": (
        [
            *varied(DEEP, train(direction="out"), train(direction="undirected")),
            {**DEEP, **train(layers=4, lr=0.01)},
            {**PLAIN, **train(direction="out")},
        ],
        [
            {**SHALLOW, **train(direction="undirected")},
            {**NO_HEAD, **train(direction="undirected", input_dropout=0.5)},
            {**DECAYED, **train(direction="undirected", head_layers=0)},
            {**SHALLOW, **train(direction="out")},
        ],
    ),
    "gat": (
        [
            {**DEEP, **train(direction="out")},
            {**DEEP, **train(direction="undirected")},
            {**PLAIN, **train(direction="out", heads=4, hidden=32)},
            {**DEEP, **train(direction="out", layers=3, lr=0.01)},
        ],
        [
            {**SHALLOW, **train(direction="undirected", heads=8, hidden=8, dropout=0.6, lr=0.005)},
            {**DROPPED, **train(direction="undirected", heads=8, hidden=8, dropout=0.6, head_layers=0)},
            {**DROPPED, **train(direction="undirected", heads=4, hidden=32)},
            {**SHALLOW, **train(direction="out", heads=8, hidden=8, dropout=0.6)},
        ],
    ),
    "sage": (
        [
            *varied(DEEP, train(direction="out"), train(direction="undirected")),
            {**DEEP, **train(layers=3, lr=0.01)},
            {**PLAIN, **train(direction="out")},
        ],
        [
            {**SHALLOW, **train(direction="undirected")},
            {**DROPPED, **train(direction="undirected", head_layers=0)},
            {**DECAYED, **train(direction="undirected", head_layers=0)},
            {**SHALLOW, **train(direction="out")},
        ],
    ),
    "appnp": (
        [
            {**PLAIN, **train(direction="undirected", teleport=0.2)},
            {**PLAIN, **train(direction="out", teleport=0.2)},
            {**PLAIN, **NEAR, **train(direction="out")},
            {**PLAIN, **NEAR, **train(direction="undirected")},
        ],
        [
            {**DROPPED, **train(teleport=0.1)},
            {**DECAYED, **train(teleport=0.1)},
            {**SHALLOW, **train(teleport=0.2, propagation_steps=4)},
            {**DROPPED, **train(teleport=0.1, direction="out")},
        ],
    ),
    "mixhop": (
        [
            *varied(DEEP, train(direction="out"), train(direction="undirected")),
            {**PLAIN, **train(direction="out", batch_norm=True)},
            {**DEEP, **train(layers=2)},
        ],
        [
            {**SHALLOW, **train(direction="undirected")},
            {**DROPPED, **train(direction="undirected", batch_norm=True)},
            {**DECAYED, **train(direction="undirected")},
            {**SHALLOW, **train(direction="out")},
        ],
    ),
    "gprgnn": (
        [
            {**PLAIN, **train(lr=0.05, teleport=0.9, propagation_dropout=0.7, direction="undirected")},
            {**PLAIN, **train(lr=0.05, teleport=0.1, direction="out")},
            {**PLAIN, **train(lr=0.01, teleport=0.1, direction="out", dropout=0.0)},
            {**PLAIN, **train(lr=0.01, teleport=0.5, direction="undirected")},
        ],
        [
            {**DROPPED, **train(teleport=0.1)},
            {**DECAYED, **train(teleport=0.1)},
            {**SHALLOW, **train(teleport=0.5, propagation_dropout=0.5, weight_decay=0.0)},
            {**DROPPED, **train(teleport=0.1, direction="out")},
        ],
    ),
    "gcnii": (
        [
            {**PLAIN, **train(layers=8, identity_decay=1.5, initial_share=0.2, weight_decay=5e-4, hidden=64)},
            {**PLAIN, **train(layers=8, identity_decay=1.5, initial_share=0.2, direction="out", hidden=64)},
            {**PLAIN, **train(layers=4, initial_share=0.1, direction="out", dropout=0.0, hidden=64)},
            {**PLAIN, **train(layers=8, initial_share=0.5, hidden=64)},
        ],
        [
            {**DROPPED, **train(layers=16, identity_decay=0.6, dropout=0.6)},
            {**DECAYED, **train(layers=16, identity_decay=0.6, dropout=0.6)},
            {**DROPPED, **train(layers=8, initial_share=0.2)},
            {**DROPPED, **train(layers=8, direction="out")},
        ],
    ),
    "dgcn": (
        [
            {**DEEP, **train(layers=2, hidden=32)},
            {**PLAIN, **train(hidden=32)},
            {**PLAIN, **train(hidden=32, lr=0.005)},
            {**PLAIN, **train(hidden=64, feature_scaling="none", dropout=0.0)},
        ],
        [SHALLOW, DROPPED, DECAYED, {**SHALLOW, **train(feature_scaling="row")}],
    ),
    "digcn": (
        [DEEP, PLAIN, {**DEEP, **train(layers=3)}, {**DEEP, **train(direction="undirected")}],
        [SHALLOW, DROPPED, {**NO_HEAD, **train(lr=0.05, weight_decay=1e-4)}, {**DROPPED, **train(head_layers=0)}],
    ),
    "digcn-ib": (
        [
            {**PLAIN, **train(layers=3, hidden=32)},
            {**PLAIN, **train(layers=2, dropout=0.2)},
            {**PLAIN, **train(layers=3, direction="undirected", hidden=32)},
            {**PLAIN, **train(layers=2, direction="undirected", dropout=0.2)},
        ],
        [
            {**SHALLOW, **train(layers=3, hidden=32, dropout=0.6)},
            {**DROPPED, **train(layers=2)},
            {**SHALLOW, **train(layers=2, dropout=0.6, feature_scaling="row")},
            {**DECAYED, **train(layers=2)},
        ],
    ),
    "magnet": (
        [
            {**PLAIN, **train(charge=0.25)},
            {**PLAIN, **train(charge=0.1, hidden=64, dropout=0.2)},
            {**PLAIN, **train(charge=0.25, feature_scaling="none", lr=0.005)},
            {**PLAIN, **train(charge=0.0, hidden=64)},
        ],
        [
            {**SHALLOW, **train(charge=0.1)},
            {**DROPPED, **train(charge=0.0)},
            {**DROPPED, **train(charge=0.1)},
            {**DECAYED, **train(charge=0.0)},
        ],
    ),
    "digcl": (
        [
            CONTRAST,
            {**CONTRAST, **train(direction="undirected", pretrain_epochs=200)},
            {**CONTRAST, **train(direction="undirected", feature_scaling="row")},
            {**CONTRAST, **train(direction="undirected", temperature=0.9, mask_first=0.2, mask_second=0.1)},
        ],
        [
            CONTRAST,
            {**CONTRAST, **train(temperature=0.9, mask_first=0.2, mask_second=0.1)},
            {**CONTRAST, **train(direction="undirected")},
            {**CONTRAST, **train(hidden=256)},
        ],
    ),
    "duplex": (
        [
            {**PLAIN, **train(lr=0.005, weight_decay=1e-3)},
            {**PLAIN, **train(dropout=0.2)},
            {**PLAIN, **train(hidden=64, layers=3)},
            {**PLAIN, **train(lr=0.005, dropout=0.0)},
        ],
        [
            {**SHALLOW, **train(lr=0.005, weight_decay=1e-2)},
            {**DROPPED, **train(hidden=64)},
            {**DECAYED, **train(hidden=128)},
            {**SHALLOW, **train(hidden=128, dropout=0.2, weight_decay=5e-3)},
        ],
    ),
    "mlp": (
        [
            PLAIN,
            {**PLAIN, **train(weight_decay=5e-4)},
            {**PLAIN, **train(feature_scaling="none")},
            {**PLAIN, **train(feature_scaling="l2", input_dropout=0.5)},
        ],
        [SHALLOW, DROPPED, DECAYED, {**DROPPED, **train(hidden=128)}],
    ),
    "linear": (
        [
            PLAIN,
            {**PLAIN, **train(weight_decay=5e-4)},
            {**PLAIN, **train(feature_scaling="none")},
            {**PLAIN, **train(feature_scaling="l2", input_dropout=0.5)},
        ],
        [SHALLOW, DROPPED, DECAYED, {**SHALLOW, **train(feature_scaling="row")}],
    ),
}

STRONG = train(weight_decay=5e-3)
WIDE, TANH = train(hidden=128), train(activation="tanh")
CITESEER: dict[str, list[Values]] = {
    "cgnn": varied(
        {**DECAYED, **INVERSE},
        train(aggregation="sym"),
        train(aggregation="sym", hidden=128),
        train(aggregation="sym", direction="undirected"),
        train(aggregation="weighted-mean", direction="undirected", head_layers=0),
    ),
    "dirgnn": varied(
        DECAYED,
        train(variant="sage"),
        train(variant="gcn"),
        train(variant="sage", direction="undirected", head_layers=0),
        train(variant="gcn", direction="undirected", head_layers=0),
    ),
    "gcn": varied(
        {**DECAYED, **train(direction="undirected", head_layers=0)}, WIDE, TANH, train(dropout=0.7), train(hidden=256)
    ),
    "gat": varied(
        {**DROPPED, **train(direction="undirected", heads=8, hidden=8, dropout=0.6, head_layers=0)},
        STRONG,
        {**STRONG, **train(hidden=16)},
        {**STRONG, **TANH},
        {**STRONG, **train(attention_dropout=0.6)},
    ),
    "sage": varied(
        {**DECAYED, **train(direction="undirected", head_layers=0)}, WIDE, TANH, train(dropout=0.7), train(hidden=256)
    ),
    "appnp": varied({**DECAYED, **train(teleport=0.1)}, WIDE, TANH, train(teleport=0.05), train(propagation_steps=20)),
    "mixhop": varied(
        {**SHALLOW, **train(direction="undirected")},
        STRONG,
        TANH,
        {**STRONG, **train(input_dropout=0.5, head_layers=0)},
        {**STRONG, **WIDE},
    ),
    "gprgnn": varied(
        {**DECAYED, **train(teleport=0.1)}, WIDE, TANH, train(teleport=0.2), train(propagation_dropout=0.5)
    ),
    "gcnii": varied(
        {**DECAYED, **train(layers=16, identity_decay=0.6, dropout=0.6)},
        WIDE,
        TANH,
        train(layers=32),
        train(initial_share=0.2),
    ),
    "dgcn": varied(
        SHALLOW,
        STRONG,
        WIDE,
        {**STRONG, **train(input_dropout=0.5, head_layers=0)},
        {**STRONG, **train(input_dropout=0.5, head_layers=0, direction="undirected")},
    ),
    "digcn": varied(
        {**DROPPED, **train(head_layers=0)},
        STRONG,
        {**STRONG, **WIDE},
        {**STRONG, **TANH},
        {**STRONG, **train(direction="undirected")},
    ),
    "digcn-ib": varied(
        {**SHALLOW, **train(layers=2, dropout=0.6, feature_scaling="row")},
        STRONG,
        WIDE,
        train(input_dropout=0.5),
        train(direction="undirected"),
    ),
    "magnet": varied(
        {**SHALLOW, **train(charge=0.1)}, STRONG, WIDE, train(charge=0.0), {**STRONG, **train(input_dropout=0.5)}
    ),
    "digcl": varied(
        CONTRAST,
        train(direction="undirected", hidden=256),
        train(pretrain_epochs=200),
        train(feature_scaling="row"),
        train(weight_decay=1e-3),
    ),
    "duplex": varied(
        {**DROPPED, **train(hidden=64)}, STRONG, train(dropout=0.2), train(layers=3), train(heads=4, hidden=32)
    ),
    "mlp": varied(SHALLOW, WIDE, TANH, train(feature_scaling="row"), train(weight_decay=1e-3)),
    "linear": varied(
        DECAYED, train(weight_decay=1e-2), train(weight_decay=1e-3), train(input_dropout=0.7), train(lr=0.05)
    ),
}

BRANCHED = {
    **DEEP,
    **train(layers=3, hidden=64, lr=0.01, patience=80, epochs=400, direction="out", aggregation="sym-out"),
    **train(self_share=0.0, degree_features=True, label_input=True),
}
SPREAD = {**DROPPED, **train(propagation="ppr", direction="undirected")}
SIMILAR = {**SPREAD, **train(knn=20, weight_decay=5e-3)}
EXTENDED: dict[str, list[Values]] = {
    "chameleon": [
        {**BRANCHED, **weights, **train(graph_share=share)} for share in (0.2, 0.05) for weights in (INVERSE, SVD)
    ],
    "squirrel": [
        {
            **BRANCHED,
            **weights,
            **train(graph_share=0.05, label_powers="60,6", branch_hidden=64, branch_dropout=dropout),
        }
        for dropout in (0.3, 0.5)
        for weights in (INVERSE, SVD)
    ],
    "cora-ml": [
        {**SPREAD, **INVERSE},
        {**SPREAD, **RATIO},
        {**SPREAD, **INVERSE, **train(hidden=128)},
        {**SPREAD, **SVD},
    ],
    "citeseer": [
        {**SIMILAR, **INVERSE},
        {**SIMILAR, **INVERSE, **train(knn_share=0.5)},
        {**SIMILAR, **INVERSE, **train(knn=40, knn_share=0.4)},
        {**SIMILAR, **INVERSE, **train(knn_share=0.4, hidden=128, propagation_steps=20)},
        {**SIMILAR, **INVERSE, **train(knn_share=0.3, hidden=128, teleport=0.05)},
        {**SIMILAR, **RATIO},
        {**SIMILAR, **INVERSE, **train(activation="tanh")},
        {**SIMILAR, **INVERSE, **train(activation="tanh", knn_share=0.2)},
    ],
    "am-photo": [
        {**SHALLOW, **weights, **train(propagation="ppr", direction="undirected", propagation_steps=4, teleport=0.2)}
        for weights in (INVERSE, RATIO, SVD)
    ]
    + [{**SPREAD, **INVERSE}],
}


def candidates(model: str, dataset: str, preset: str) -> list[Values]:
    """What is tried for a model on a dataset, each with the model's name."""
    if preset == "extended":
        rows = EXTENDED[dataset]
    else:
        rows = BOTH_FAMILIES[model][0 if dataset in WEB else 1] + (CITESEER[model] if dataset == "citeseer" else [])
    return [{"rewire.method": "path", **row, **train(model=model)} for row in rows]
