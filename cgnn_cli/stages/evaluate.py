"""eval: what the trained models reach on the test nodes, split by split and together."""

from dataclasses import replace
from typing import Any

import numpy as np

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import DataError
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Checkpoint, Graph, Operators, Scores
from cgnn_cli.numerics.classification import confusion_matrix, macro_f1, precision_recall_f1, spread
from cgnn_cli.stages import ranking
from cgnn_cli.stages.task import untrained_warnings
from cgnn_cli.stages.train import scores_of, twin_figures, twin_notes
from cgnn_cli.watch import Watch


def evaluate(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    compute: ComputeConfig | None = None,
    watch: Watch | None = None,
) -> Scores:
    """Score every model of the checkpoint on its own split."""
    assert graph.labels is not None and graph.splits is not None
    numbers = sorted(int(name) for name in checkpoint.fits)
    for split in numbers:
        if not (graph.splits[split] == TEST).any():
            raise DataError(f"split {split} has no test nodes, so there is nothing to score")
    predictions, ranked = [], []
    for split in numbers:
        logits = scores_of(graph, operators, checkpoint, config, split, compute or ComputeConfig(), watch).logits
        fit, classes = checkpoint.fit(split), logits.argmax(dim=1).cpu().numpy()
        given = ranking.from_threshold(graph, config, fit, logits.cpu().numpy())
        predictions.append(classes if given is None else given)
        ranked.append(ranking.figures(graph, split, logits.cpu().numpy(), fit))
    scores = score(graph, np.array(numbers), np.stack(predictions))
    together: dict[str, Any] = {name: np.stack([each[name] for each in ranked]) for name in ranked[0]}
    scores = replace(scores, **together)
    scores.summary.update(config.told())
    scores.summary.update(ranking.summary(graph, scores, config, checkpoint.summary))
    told = [*untrained_warnings(graph, numbers).get("warnings", []), *ranking.doubts(graph, scores, config)]
    scores.summary.update({"warnings": told} if told else {})
    for name, share in twin_figures(graph, config, numbers).items():
        scores.summary.update({name: share, "notes": twin_notes(share)})
    return scores


def score(graph: Graph, splits: np.ndarray, predictions: np.ndarray) -> Scores:
    """Metrics from one row of predictions a split."""
    assert graph.labels is not None and graph.splits is not None

    def accuracy(part: int) -> np.ndarray:
        masks = graph.splits[splits] == part  # type: ignore[index]
        hits = (predictions == graph.labels) & masks
        return hits.sum(axis=1) / masks.sum(axis=1)

    tests = graph.splits[splits] == TEST
    confusions = np.stack(
        [
            confusion_matrix(graph.labels[mask], row[mask], graph.class_count)
            for mask, row in zip(tests, predictions, strict=True)
        ]
    )
    precision, recall, f1 = (np.stack(parts) for parts in zip(*map(precision_recall_f1, confusions), strict=True))
    macro = np.array([macro_f1(confusion, row) for confusion, row in zip(confusions, f1, strict=True)])
    scores = Scores(
        splits=splits,
        predictions=predictions.astype(np.int32),
        confusion=confusions,
        accuracy=accuracy(TEST),
        validation_accuracy=accuracy(VALIDATION),
        train_accuracy=accuracy(TRAIN),
        macro_f1=macro,
        precision=precision,
        recall=recall,
        f1=f1,
    )
    scores.summary.update(_summary(scores, graph))
    return scores


def _summary(scores: Scores, graph: Graph) -> dict[str, Any]:
    per_class = {
        name: {
            "precision": spread(scores.precision[:, k]),
            "recall": spread(scores.recall[:, k]),
            "f1": spread(scores.f1[:, k]),
            "support": spread(scores.confusion[:, k].sum(axis=1)),
        }
        for k, name in enumerate(graph.class_labels())
    }
    return {
        "splits": [int(split) for split in scores.splits],
        "test_accuracy": spread(scores.accuracy),
        "validation_accuracy": spread(scores.validation_accuracy),
        "train_accuracy": spread(scores.train_accuracy),
        "macro_f1": spread(scores.macro_f1),
        "test_accuracy_per_split": [float(value) for value in scores.accuracy],
        "per_class": per_class,
    }
