"""where: on which graphs do weights from walks, encodings and labels by walks help, beside the same model without?

One model with one setting for all graphs, nothing chosen: CGNN without weights, and one thing added at a time. A gain
is a difference that the paired t test shows, corrected for overlapping splits and for all comparisons of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from cgnn_cli.analysis.weight_kinds import NO_WEIGHTS
from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.datasets.generated import MADE
from cgnn_cli.paper.additions import ADDITIONS, DEFAULT_ENCODING, FIXED, groups
from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.experiment_table import WHERE
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.gain_map import Gain, draw_gains
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.paired_cells import Compared, Pair, compare_cells
from cgnn_cli.printable import signed_text
from cgnn_cli.report.comparisons import LEVEL, Comparison
from cgnn_cli.report.paired import difference_text
from cgnn_cli.report.table import DASH, Entry, Table, counted, formatted

At = tuple[str, str]  # the name of a place, and what was added there
NONE = "none"
FEATURELESS = ", no features"
TOO_EARLY = (
    "have fewer splits than their graph. On a few splits the test shows next to nothing, so for these the figures are "
    "first measurements, and neither gains nor their absence are findings yet."
)
OPENING = (
    "CGNN with 2 layers of width 64, at most 300 epochs and a patience of 60, without weights; then one thing is added "
    "at a time, with the same splits and seeds. Nothing was chosen or tuned. A graph without features has the encoding "
    f"{DEFAULT_ENCODING} in every cell, and other encodings take its place."
)
READING = (
    "Differences of test accuracy in points to the same model with nothing added, over the splits that both have, ± "
    "standard error; bold where the t test, corrected for overlapping splits and by Holm over all comparisons of the "
    "page, shows a difference."
)


@dataclass(frozen=True)
class Place:
    """A graph with its own features or without."""

    dataset: str
    name: str
    settings: dict[str, Any]
    featureless: bool

    def cell(self, title: str, settings: dict[str, Any]) -> Cell:
        return Cell(title, self.name, self.dataset, {**FIXED, **NO_WEIGHTS, **self.settings, **settings}, "one for all")


@dataclass(frozen=True)
class Beside:
    """Something added on a graph, the same without it, and the comparison of the two, if they can be compared."""

    added: Cell
    without: Cell
    comparison: Comparison | None

    @property
    def gain(self) -> Gain | None:
        """The difference in points, whether the test shows it, and whether splits are missing."""
        if self.comparison is None:
            return None
        corrected = self.comparison.corrected
        partial = "partial" in (self.added.status, self.without.status)
        return Gain(100 * self.comparison.paired.mean, corrected is not None and corrected < LEVEL, partial)


def run(lab: Lab) -> Findings:
    """Train with each addition on every graph, and compare."""
    places = [place for dataset in lab.datasets(WHERE) for place in places_of(lab, dataset)]
    cells = {(place.name, title): cell for place in places for title, cell in plans(lab, place).items()}
    measured = dict(zip(cells, lab.measure(list(cells.values())), strict=True))
    pairs = {at: (each, measured[at[0], NONE]) for at, each in measured.items() if at[1] != NONE}
    beside, compared = beside_of(lab, pairs)
    gains = {at: gain for at, each in beside.items() if (gain := each.gain)}

    findings, places = Findings(), sorted(places, key=lambda place: (place.featureless, place.dataset in MADE))
    picture = draw_gains("where", gains, blocks_of(lab, places))
    findings.add("Where it helps", [OPENING, picture, *sentences(gains), summary_table(gains)])
    bases = {place.name: measured[place.name, NONE] for place in places}
    tables = [gain_table(group, titles, bases, beside) for group, titles in groups().items()]
    findings.add("Graph by graph", [READING, *tables])
    findings.add("Time", [time_table(list(measured.values()))])
    record_all(findings, list(measured.values()))
    names = {each.run.key: place for (place, _), each in measured.items()}
    findings.records += [{**record, "place": names[record["keys"][1]]} for record in compared.records()]
    return findings


def beside_of(lab: Lab, pairs: dict[At, Pair]) -> tuple[dict[At, Beside], Compared]:
    """The pairs with their comparisons, whose p values are corrected for all of them."""
    compared = compare_cells(lab, list(pairs.values()))
    known = {(each.first.key, each.second.key): each for each in compared.comparisons}
    return {at: Beside(*pair, known.get((pair[0].run.key, pair[1].run.key))) for at, pair in pairs.items()}, compared


def places_of(lab: Lab, dataset: str) -> list[Place]:
    """A graph with its features, and without. Where splits are drawn there are ten of 48/32/20, as published ones are.

    Those of 20 nodes a class test so many nodes for each that trains that the corrected test could show nothing.
    """
    drawn = dataset in BENCHMARKS and BENCHMARKS[dataset].protocols[0] == "per-class"
    form: dict[str, Any] = {"graph.protocol": "random"} if drawn else {}
    own = lab.graph_summary(dataset, form).get("features", 1) > 0
    shown = lab.shown(dataset)
    without = Place(dataset, shown + FEATURELESS, {**form, "graph.featureless": True}, featureless=True)
    return (
        [Place(dataset, shown, form, featureless=False), without] if own else [Place(dataset, without.name, form, True)]
    )


def blocks_of(lab: Lab, places: Sequence[Place]) -> dict[str, dict[str, str]]:
    """The rows of the figure, those with features and those without, each with the name of its graph."""
    blocks: dict[str, dict[str, str]] = {}
    for place in places:
        title = "without features" if place.featureless else "with their features"
        blocks.setdefault(title, {})[place.name] = lab.shown(place.dataset)
    return blocks


def plans(lab: Lab, place: Place) -> dict[str, Cell]:
    """The model as it is, and with each addition."""
    times = lab.true_times(place.dataset, quickly=False)
    found = {NONE: place.cell(NONE, {})}
    for name, each in ADDITIONS.items():
        if not (place.featureless and name == DEFAULT_ENCODING):
            found[name] = place.cell(name, each.settings | (times if each.of_times else {}))
    return found


def sentences(gains: dict[At, Gain]) -> list[str]:
    """What the comparisons show, group by group, and whether too much is missing to call it a finding."""
    missing = sum(gain.partial for gain in gains.values())
    found = [f"{missing} of {counted(len(gains), 'comparison')} {TOO_EARLY}"] if missing else []
    for group, titles in groups().items():
        there = {at: gain for at, gain in gains.items() if at[1] in titles}
        if there:
            found.append(f"{group.capitalize()}: of {counted(len(there), 'comparison')}, {_told(there)}.")
    return found


def _told(gains: dict[At, Gain]) -> str:
    """How many gains and losses are shown, and the largest gain."""
    up = {at: gain for at, gain in gains.items() if gain.shown and gain.points > 0}
    down = sum(gain.shown and gain.points < 0 for gain in gains.values())
    said = f"{counted(len(up), 'gain')} and {down} loss{'' if down == 1 else 'es'} shown"
    if not up:
        return said
    (place, title), best = max(up.items(), key=lambda item: item[1].points)
    return f"{said}; the largest gain is {signed_text(best.points, 1)} points, of {title} on {place}"


def summary_table(gains: dict[At, Gain]) -> Table:
    """One row for each addition: on how many graphs it helps and harms, and by how much."""
    rows = []
    for title, each in ADDITIONS.items():
        there = {place: gain for (place, name), gain in gains.items() if name == title}
        shown = [gain.points for gain in there.values() if gain.shown]
        middle = median(gain.points for gain in there.values()) if there else None
        counts = (len(there), sum(points > 0 for points in shown), sum(points < 0 for points in shown))
        rows.append([title, each.meaning, *map(str, counts), DASH if middle is None else signed_text(middle, 1)])
    columns = ("added", "what it is", "graphs", "gain shown", "loss shown", "median difference")
    return Table(
        "Each addition on all graphs; differences in points of test accuracy", columns, rows, prose=frozenset({1})
    )


def gain_table(group: str, titles: Sequence[str], bases: dict[str, Cell], beside: dict[At, Beside]) -> Table:
    """Graphs by additions of a group: the accuracy without, and what each adds."""
    rows: list[list[Entry | str]] = []
    for place, base in bases.items():
        rows.append([place, base.entry(), *(_entry(beside.get((place, title))) for title in titles)])
    return Table(f"{group.capitalize()}, beside {NONE}", ["graph", NONE, *titles], rows)


def _entry(each: Beside | None) -> Entry:
    """A difference, with the number of splits where some are missing."""
    if each is None:
        return Entry(DASH, "missing")
    if (gain := each.gain) is None or each.comparison is None:
        return Entry(DASH if each.added.status == "done" else each.added.status, "missing")
    paired = each.comparison.paired
    note = f"{paired.runs} of {each.added.expected}" if gain.partial else ""
    return Entry(difference_text(paired), "best" if gain.shown else "", note)


def time_table(cells: Sequence[Cell]) -> Table:
    """What one training takes on each graph, what all have taken, and about what is left."""
    rows = []
    for place in dict.fromkeys(each.column for each in cells):
        there = [each for each in cells if each.column == place]
        seconds = [taken for each in there for taken in each.run.fit_seconds]
        one = fmean(seconds) if seconds else None
        left = None if one is None else one * (sum(each.expected or 0 for each in there) - len(seconds)) / 60
        notes = next((each.run.graph_notes for each in there if each.run.graph_notes), {})
        size = [formatted(notes.get(name), ",") for name in ("nodes", "edges")]
        rows.append([place, *size, formatted(one, ".2f"), f"{sum(seconds) / 60:.1f}", formatted(left, ".1f")])
    columns = ("graph", "nodes", "edges", "seconds of a training", "minutes of all", "minutes left")
    return Table("Trainings, as their artifacts recorded them: seconds of one thread, beside other work", columns, rows)
