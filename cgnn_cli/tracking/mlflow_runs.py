"""MLflow: each result a run of the experiment, in its local database or on the server of MLFLOW_TRACKING_URI."""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from cgnn_cli.tracking.tracked import Tracked

EXPERIMENT = "cgnn"
MOST_METRICS, MOST_OPTIONS = 1000, 100  # of one call
# A server that does not answer costs seconds, not minutes; what the user sets holds.
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MlflowRuns:
    """The client of MLflow, which adds neither user nor host nor command to a run."""

    def __init__(self) -> None:
        for name, value in PATIENCE.items():
            os.environ.setdefault(name, value)
        from mlflow.tracking import MlflowClient

        for name in ("mlflow", "alembic"):  # they tell of every table that they create
            logging.getLogger(name).setLevel(logging.WARNING)
        self.client = MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        found = self.client.get_experiment_by_name(name)
        self.experiment = found.experiment_id if found else self.client.create_experiment(name)

    def has(self, key: str) -> bool:
        """Whether a result was logged to its end."""
        asked = f"tags.`cgnn.key` = '{key}' and attributes.status = 'FINISHED'"
        return bool(self.client.search_runs([self.experiment], asked, max_results=1))

    def log(self, result: Tracked) -> None:
        from mlflow.entities import Metric, Param

        now = int(1000 * time.time())
        tags = {f"cgnn.{name}": value for name, value in result.tags.items()}
        run = self.client.create_run(self.experiment, start_time=now, tags=tags, run_name=result.name).info.run_id
        status = "FAILED"
        try:
            options = [Param(name, str(value)) for name, value in result.options.items()]
            for part in _parts(options, MOST_OPTIONS):
                self.client.log_batch(run, params=part)
            curves = (
                Metric(f"split{split}/{name}", value, now, epoch)
                for split, metrics in result.curves.items()
                for name, values in metrics.items()
                for epoch, value in enumerate(values)
            )
            scores = (Metric(name, value, now, 0) for name, value in result.scores.items())
            for part in _parts([*curves, *scores], MOST_METRICS):
                self.client.log_batch(run, metrics=part)
            status = "FINISHED"
        finally:
            self.client.set_terminated(run, status)


def _parts(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (values[start : start + most] for start in range(0, len(values), most))
