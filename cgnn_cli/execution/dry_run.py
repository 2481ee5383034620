"""What a plan would find and what it would compute, and why."""

from typing import Any

from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import FitConfig, Step
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.lineage import differences


def forecast(runner: Runner, *steps: Step) -> list[dict[str, Any]]:
    """The artifacts of plans in order, each once, with whether they are there, and if not, why."""
    rows: dict[str, dict[str, Any]] = {}
    for step in (needed for target in steps for needed in target.lineage):
        if step.config is None and step.make is None and step.stage.name != "graph":
            continue  # upstream of a named file, and not needed
        name = step.stage.name
        found = step.file is not None or runner.find(step) is not None
        row: dict[str, Any] = {"stage": name, "key": step.key, "cache": "hit" if found else "miss"}
        if isinstance(step.config, FitConfig):
            row["split"] = step.config.split
        if not found:
            row["reason"] = "--force" if name in runner.forced else _reason(runner, step)
        rows[step.key] = row
    return list(rows.values())


def _reason(runner: Runner, step: Step) -> str:
    """Why there is no hit: what differs from the nearest artifact that is there."""
    keys = {role: needed.key for role, needed in step.inputs.items()}
    wanted = Header(step.stage.name, step.key, step.stage.algorithm, step.config.to_dict(), keys, summary={})
    candidates = [differences(header, wanted) for header in runner.store.headers(step.stage.name)]
    if not candidates:
        return "never made in this store"
    nearest = min(candidates, key=len)
    return "differs from the nearest cached one in " + ", ".join(sorted(nearest)) if nearest else "damaged"
