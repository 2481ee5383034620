"""The page of `cgnn review`: a card for each node, with its picture, its reasons, and a decision to tick."""

from __future__ import annotations

import base64
import hashlib
import math
from importlib.resources import files
from typing import Any

from cgnn_cli.analysis.reasons import Reason, Reasons, Review, percent
from cgnn_cli.printable import printable
from cgnn_cli.report.neighbour_figure import to_svg
from cgnn_cli.report.neighbourhood import class_colours, classes_shown, lay_out, points, said_of_drawing
from cgnn_cli.report.page import slug, template
from cgnn_cli.report.style import short
from cgnn_cli.report.table import counted

MOST_ROWS, LONGEST = 8, 200
EDGES = {"to": "to it", "from": "from it", "both": "both ways", "none": "no edge"}


def to_page(review: Review, dataset: str, model: str, updated: str | None = None) -> str:
    """One file that needs no other; every word of the user's is escaped, and only its own script may run.

    updated: the dataset that takes the decisions as labels, where there is one.
    """
    from markupsafe import Markup

    script = files("cgnn_cli.report").joinpath("review.js").read_text(encoding="utf-8")
    cards = [_card(number, reasons) for number, reasons in enumerate(review.nodes)]
    for card in cards:
        card["svg"] = Markup(card["svg"])
    others = [name for name in review.classes if name != review.about]
    data = {
        "run": review.train_key,
        "about": review.about,
        "others": others,
        "ids": [reasons.id for reasons in review.nodes],
        "search": [_search(reasons) for reasons in review.nodes],
        "file": f"decisions-{slug(dataset)}-{slug(review.about)}.csv",
    }
    nodes, unlabelled = counted(len(cards), "node"), sum(reasons.label is None for reasons in review.nodes)
    first = {0: "All of them have a label", len(cards): "None of them has a label"}
    some = "The first has no label" if unlabelled == 1 else f"The first {unlabelled:,} have no label"
    known = first.get(unlabelled, some)
    shown = {name for reasons in review.nodes for name in classes_shown(reasons)}
    colours = class_colours(review.about, review.classes)
    return str(
        template("review.html", {}).render(
            title=f"{printable(dataset)}: which are {printable(review.about)}?",
            lead=f"The {nodes} that {model} finds likeliest to be {printable(review.about)}. {known}.",
            legend=[(printable(name), colour) for name, colour in colours.items() if name in shown],
            about=printable(review.about),
            others=list(map(printable, others)) if len(others) > 1 else [],
            cards=cards,
            notes=_notes(review, model, updated),
            data=data,
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _card(number: int, reasons: Reasons) -> dict[str, Any]:
    """What the template shows of a node."""
    shown = reasons.neighbours[:MOST_ROWS]
    amounts = any(reason.amount not in (1, 2) and reason.edge != "none" for reason in shown)
    timed = any(not math.isnan(reason.commute) for reason in shown)
    columns = ["class", "edge", *["adds"] * reasons.hear, *["amount"] * amounts, *["weight", "commute"] * timed]
    known = f", its label is {reasons.label}" if reasons.label else ""
    rest = len(reasons.neighbours) - len(shown)
    return {
        "number": number,
        "shown": printable(reasons.id),
        "percent": percent(reasons.probability),
        "width": f"{100 * reasons.probability:.1f}",
        "said": printable(reasons.of_neighbours + known),
        "words": ""
        if reasons.hear or not shown
        else "This model takes no messages of neighbours that could be left out in turn.",
        "columns": columns,
        "rows": [_row(reason, reasons.hear, amounts, timed) for reason in shown],
        "rest": f"and {counted(rest, 'further neighbour')}" if rest else "",
        "svg": to_svg(lay_out(reasons, with_title=False), alone=False),
    }


def _row(reason: Reason, hear: bool, amounts: bool, timed: bool) -> list[str]:
    shown = reason.label or f"{reason.predicted}? {percent(reason.probability)}"
    numbers = [*[points(reason.adds)] * hear, *[_number(reason.amount)] * amounts]
    numbers += [_number(reason.weight), _number(reason.commute)] * timed
    return [printable(short(reason.id, LONGEST)), printable(shown), EDGES[reason.edge], *numbers]


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    if 100 <= abs(value) < 1e7:
        return f"{value:z,.0f}"
    return f"{value:.3g}"


def _search(reasons: Reasons) -> str:
    """What the search looks in: the id, its classes, and its neighbours."""
    around = [reason.id for reason in reasons.neighbours[:MOST_ROWS]]
    return " ".join([reasons.id, reasons.label or "", reasons.predicted, *around]).lower()


def _notes(review: Review, model: str, updated: str | None) -> list[str]:
    """The words below the cards."""
    hear = any(reasons.hear for reasons in review.nodes)
    taken = f", which `cgnn data update {printable(updated)} --labels FILE` takes as labels" if updated else ""
    lines = [
        f"Probabilities are the mean of {counted(review.nodes[0].models if review.nodes else 0, 'trained model')} "
        f"({model}, run {review.train_key[:12]}).",
        *(said_of_drawing(review.nodes[0], alone=False) if review.nodes else []),
    ]
    if hear:
        lines.append(
            "adds: points of a hundred by which the probability falls when this neighbour alone is not heard. Numbers "
            "do not sum to the whole, because neighbours may say the same."
        )
    lines += [
        "A class with a question mark is predicted, the others are known.",
        f"Decisions stay in this browser, for this run. Unsure is left out of the exported CSV{taken}.",
    ]
    return lines
