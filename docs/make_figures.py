"""Make the figures of the README and the docs from runs of the tool itself.

    python docs/make_figures.py [--store FOLDER]

Writes docs/images/pipeline.svg (the stages) and docs/images/demo-weights.svg (what each kind of weight
reaches on the demo graph, and how the weights of mutual ties and one-way links differ).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

IMAGES = Path(__file__).parent / "images"
INK, MUTED, BLUE, ORANGE, GREY = "#1b2733", "#5b6b7a", "#2166ac", "#d9822b", "#9aa7b3"
STAGES = [
    ("dataset", "graph", "edges, features,\nlabels, splits"),
    ("cgnn rewire", "A~", "one strongly\nconnected graph"),
    ("cgnn dilap", "P, pi, T", "walk, Perron\nvector, DiLap"),
    ("cgnn commute", "h, c, C", "times and weights\non the edges"),
    ("cgnn train", "weights", "best epoch of\nevery split"),
    ("cgnn eval", "scores", "accuracy, F1,\nconfusion"),
]
RATIO = ("--aggregation", "weighted-mean", "--solver", "exact", "--proximity", "ratio", "--scale", "0.1")


def cgnn(store: str, *arguments: str) -> dict[str, Any]:
    """Run a command of the tool and return its JSON object."""
    command = [sys.executable, "-m", "cgnn_cli", *arguments, "--store", store, "--json", "--quiet"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(output)
    return result


def save(figure: Any, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def draw_pipeline() -> None:
    """The stages as boxes with what they make, and where the work is done."""
    figure, axes = plt.subplots(figsize=(12, 2.6))
    for place, (title, makes, what) in enumerate(STAGES):
        left = 2.05 * place
        learning = place >= 4
        colour = ORANGE if learning else (BLUE if place else GREY)
        box = FancyBboxPatch((left, 0), 1.62, 1.5, boxstyle="round,pad=0.04", facecolor="white", edgecolor=colour, lw=2)
        axes.add_patch(box)
        axes.text(left + 0.81, 1.24, title, ha="center", va="center", weight="bold", color=INK, fontsize=11)
        axes.text(left + 0.81, 0.86, makes, ha="center", va="center", color=colour, fontsize=10, family="monospace")
        axes.text(left + 0.81, 0.34, what, ha="center", va="center", color=MUTED, fontsize=9)
        if place:
            axes.annotate(
                "", (left - 0.06, 0.75), (left - 0.37, 0.75), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4}
            )
    axes.text(5.0, -0.34, "CPU stages, cached once per graph", ha="center", color=BLUE, fontsize=10)
    axes.text(10.05, -0.34, "CPU or GPU, cached per split", ha="center", color=ORANGE, fontsize=10)
    axes.set(xlim=(-0.15, 12.05), ylim=(-0.55, 1.65))
    axes.axis("off")
    save(figure, "pipeline")


def draw_scores(axes: Any, store: str) -> None:
    """Test accuracy with each kind of weight, one dot a split."""
    paper = cgnn(store, "run")["summary"]["comparison"]
    pair = cgnn(store, "run", *RATIO)["summary"]["comparison"]
    rows = [(row["weights"], row, BLUE) for row in paper]
    rows.append(("exact, ratio 0.1\n(weighted mean)", pair[-1], ORANGE))
    for place, (_, row, colour) in enumerate(rows):
        values = 100 * np.array(row["test_accuracy_per_split"])
        axes.axhline(-place, color=GREY, alpha=0.35, lw=0.8, zorder=0)
        axes.plot(values, np.full(len(values), -place), "o", color=colour, alpha=0.55, markersize=6)
        axes.plot([values.mean()] * 2, [-place - 0.28, -place + 0.28], color=colour, lw=2.5)
        axes.text(values.max() + 1.0, -place, f"{values.mean():.1f}", va="center", color=INK, fontsize=10)
    axes.set_yticks([-place for place in range(len(rows))], [name for name, _, _ in rows])
    axes.set(xlim=(50, 92), xlabel="test accuracy on the demo graph, % (a dot a split, a bar the mean)")
    axes.set_title("What each kind of weight reaches", loc="left", fontsize=11, weight="bold")


def draw_times(axes: Any, store: str) -> None:
    """c against 1/pi_i + 1/pi_j, as the ratio r of the two, for mutual ties and one-way links."""
    with tempfile.TemporaryDirectory() as folder:
        tables = {}
        for solver in ("exact", "pi-only"):
            key = cgnn(store, "commute", "--dataset", "demo", "--solver", solver)["key"]
            cgnn(store, "export", key, "--to", "npz", "--output", f"{folder}/{solver}.npz")
            with np.load(f"{folder}/{solver}.npz") as saved:
                tables[solver] = {name: saved[name] for name in ("source", "target", "commute")}
    source, target = tables["exact"]["source"], tables["exact"]["target"]
    edges = set(zip(source.tolist(), target.tolist(), strict=True))
    mutual = np.array([(j, i) in edges for i, j in zip(source.tolist(), target.tolist(), strict=True)])
    ratio = tables["exact"]["commute"] / tables["pi-only"]["commute"]
    bins = np.linspace(0.8, 1.4, 49)
    for chosen, colour, name in ((~mutual, GREY, "one-way links"), (mutual, ORANGE, "mutual ties")):
        axes.hist(ratio[chosen].clip(*bins[[0, -1]]), bins, density=True, color=colour, alpha=0.7, label=name)
    axes.legend(frameon=False)
    axes.set(xlabel="r = c / (1/pi_i + 1/pi_j)", yticks=[])
    axes.set_title("What is left of commute time without pi", loc="left", fontsize=11, weight="bold")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="keep the runs in this folder instead of a temporary one")
    chosen = parser.parse_args().store
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "cgnn", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    draw_pipeline()
    with tempfile.TemporaryDirectory() as folder:
        figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.4), width_ratios=(1.25, 1), layout="constrained")
        draw_scores(left, chosen or folder)
        draw_times(right, chosen or folder)
        save(figure, "demo-weights")


if __name__ == "__main__":
    main()
