"""Weights & Biases: each result a run of the project, on its server or with WANDB_MODE=offline in the folder wandb."""

import os
from pathlib import Path
from typing import Any

from cgnn_cli.redaction import HIDDEN
from cgnn_cli.tracking.tracked import Tracked

PROJECT = "cgnn"
ID_LETTERS = 32
# Nothing of the machine, of the program and its files, and nothing on the terminal.
QUIET: dict[str, Any] = {
    "console": "off",
    "silent": True,
    "host": HIDDEN,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "disable_git": True,
    "disable_code": True,
    "disable_job_creation": True,
    "init_timeout": 30,
}


class WandbRuns:
    """The id of a run is the beginning of its key, so that the server never has it twice."""

    def __init__(self) -> None:
        import wandb

        self.settings = wandb.Settings(**QUIET)
        if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.login(prompt=False):
            raise RuntimeError("there is no key to log in with; set WANDB_API_KEY, or WANDB_MODE=offline")

    def has(self, key: str) -> bool:
        """Whether a result was logged from here."""
        folder = Path(os.environ.get("WANDB_DIR", ".")) / "wandb"
        return any(folder.glob(f"*run-*-{key[:ID_LETTERS]}/*.wandb"))

    def log(self, result: Tracked) -> None:
        import wandb

        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=result.key[:ID_LETTERS],
            resume="allow",
            name=result.name,
            group=result.tags["dataset"],
            config={**result.options, "cgnn": dict(result.tags)},
            settings=self.settings,
        )
        try:
            epochs = max((len(values) for metrics in result.curves.values() for values in metrics.values()), default=0)
            for epoch in range(epochs):
                run.log(_line(result, epoch), step=epoch)
            run.summary.update(dict(result.scores))
        except BaseException:
            run.finish(exit_code=1)
            raise
        run.finish()


def _line(result: Tracked, epoch: int) -> dict[str, float]:
    """The metrics of an epoch of all splits that had it."""
    return {
        f"split{split}/{name}": values[epoch]
        for split, metrics in result.curves.items()
        for name, values in metrics.items()
        if epoch < len(values)
    }
