"""Make the figures of the demo graph from runs of the tool itself, and that of the stages.

    python docs/make_figures.py [--store FOLDER]

Writes three pictures into docs/images: pipeline.svg (the stages), demo-weights.svg (what each kind of weight reaches
on the demo graph), and demo-ties.svg (how commute times tell mutual ties from one-way links there).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.report.style import GRID, MUTED, PALETTE, head, save_for_both, styled_drawing

IMAGES = Path(__file__).parent / "images"
STAGES = [  # what a box says, and the colour of its edge: given, once for a graph, or for each split
    ("your graph", ("edges; labels", "and features if", "there are any"), "given"),
    ("cgnn rewire", ("makes sure that a", "random walk gets", "everywhere"), "once"),
    ("cgnn dilap", ("how often the", "walk comes to", "each node"), "once"),
    ("cgnn commute", ("steps there and", "back on an edge,", "made into weights"), "once"),
    ("cgnn train", ("a network that", "uses the weights,", "for each split"), "split"),
    ("cgnn eval", ("accuracy and", "other scores on", "the test nodes"), "split"),
]
KEYS = {"once": "once for a graph, on a CPU", "split": "for each split, on a CPU or GPU"}
PIPELINE = """<svg xmlns="http://www.w3.org/2000/svg" width="750" height="435" viewBox="0 0 500 290" role="img" \
aria-label="The stages of cgnn, from your graph to scores, and what each makes">
<style>
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #3c4a57 }
.name { font-size: 16px; font-weight: 700; fill: #1b2733 }
.page { fill: #fdfefe }
.box { fill: none; stroke-width: 2.5; stroke: #7f8b96 }
.once { stroke: #0072b2 } .split { stroke: #d55e00 }
.arrow { fill: none; stroke: #5b6b7a; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #c3ccd5 } .name { fill: #e6ebf0 } .page { fill: #12171c }
.once { stroke: #56b4e9 } .split { stroke: #f0883e } .arrow { stroke: #9fadba }
}
</style>
<rect class="page" width="100%" height="100%"/>
PARTS
</svg>
"""
AFFINITY = ("--solver", "exact", "--proximity", "affinity")
BEYOND = "commute times\nbeyond popularity"
NAMES = ("no weights", "the paper's\nweights", "true commute\ntimes", "popularity\nalone", BEYOND)


def cgnn(store: str, *arguments: str) -> dict[str, Any]:
    """Run a command of the tool and return its JSON object."""
    command = [sys.executable, "-m", "cgnn_cli", *arguments, "--store", store, "--json", "--quiet"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(output)
    return result


def draw_pipeline() -> str:
    """The stages as boxes in two rows, which a phone can show: what each does, and how often."""
    parts = []
    for number, (name, lines, kind) in enumerate(STAGES):
        row, column = divmod(number, 3)
        left, top = 6 + 170 * column, 6 + 136 * row
        parts.append(f'<rect class="box {kind}" x="{left}" y="{top}" width="148" height="98" rx="8"/>')
        words = [f'<tspan class="name" x="{left + 74}" dy="0">{name}</tspan>']
        words += [f'<tspan x="{left + 74}" dy="{20 if line else 22}">{text}</tspan>' for line, text in enumerate(lines)]
        parts.append(f'<text y="{top + 26}" text-anchor="middle">{"".join(words)}</text>')
        if column:
            parts.append(f'<path class="arrow" d="M{left - 20} {top + 49}h16m-6 -5l6 5l-6 5"/>')
    parts.append('<path class="arrow" d="M420 106v17H80v16m-5 -6l5 6l5 -6"/>')
    for left, (kind, text) in zip((6, 236), KEYS.items(), strict=True):
        parts.append(f'<path class="box {kind}" d="M{left} 270h22"/><text x="{left + 30}" y="275">{text}</text>')
    return PIPELINE.replace("PARTS", "\n".join(parts))


def draw_scores(axes: Any, store: str) -> None:
    """Test accuracy with each kind of weight, one dot a split, under the gain of what is beyond popularity."""
    rows = cgnn(store, "run")["summary"]["comparison"]
    rows.append(cgnn(store, "run", *AFFINITY)["summary"]["comparison"][-1])
    scores = {name: 100 * np.array(row["test_accuracy_per_split"]) for name, row in zip(NAMES, rows, strict=True)}
    for place, (name, values) in enumerate(scores.items()):
        colour = PALETTE[4] if name == BEYOND else PALETTE[0]
        axes.axhline(-place, color=GRID, lw=0.8, zorder=0)
        axes.plot(values, np.full(len(values), -place), "o", color=colour, alpha=0.8, markersize=7)
        axes.plot([values.mean()] * 2, [-place - 0.28, -place + 0.28], color=colour, lw=3)
        axes.text(values.max() + 1.0, -place, f"{values.mean():.1f}", va="center")
    axes.set_yticks([-place for place in range(len(rows))], NAMES)
    axes.set(xlim=(50, 96), xlabel="test accuracy in % (dot: a split, bar: the mean)")
    gain = scores[BEYOND].mean() - scores[NAMES[0]].mean()
    head(axes.figure, f"Commute times beyond popularity: {gain:+.1f} points of accuracy on the demo graph")


def draw_times(axes: Any, store: str) -> None:
    """c over 1/pi_i + 1/pi_j, for mutual ties and one-way links."""
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
    bins = np.linspace(0.98, 1.25, 55)
    for chosen, colour, name in ((~mutual, MUTED, "one-way links"), (mutual, PALETTE[4], "mutual ties")):
        weights = np.full(chosen.sum(), 100 / chosen.sum())
        axes.hist(ratio[chosen].clip(*bins[[0, -1]]), bins, weights=weights, color=colour, alpha=0.75, label=name)
    axes.legend(fontsize=12)
    axes.set(xlabel="commute time of an edge over what its ends'\npopularity gives alone (last bar: 1.25 or more)")
    axes.set_ylabel("% of the edges")
    head(axes.figure, "What is beyond popularity tells mutual ties from one-way links")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="keep the runs in this folder instead of a temporary one")
    chosen = parser.parse_args().store
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "pipeline.svg").write_text(draw_pipeline(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name, height, draw in (("demo-weights", 4, draw_scores), ("demo-ties", 3.4, draw_times)):
            with styled_drawing(5.6, height) as drawing:
                axes = drawing.subplots()
                draw(axes, chosen or folder)
                axes.tick_params(labelsize=12)
                for label in (axes.xaxis.label, axes.yaxis.label, *axes.texts):
                    label.set_fontsize(12)
                (IMAGES / f"{name}.svg").write_bytes(save_for_both(drawing))


if __name__ == "__main__":
    main()
