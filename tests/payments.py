"""Fraud rings among payments: from a table of payments to a page of suspects, as a user does it.

    python -m tests.payments

Makes a graph of 20,000 accounts and 120,000 payments, imports it, chooses a model on the validation nodes, ranks the
accounts without a label and writes the page to review, by the command line alone. Fails where the ranking has less
than 0.80 average precision, where logistic regression on degrees and amounts has more than 0.50, where a command
trains that should not, or where a time exceeds 1e9 steps.

**The graph.** People buy from 300 merchants, a few of which have most of the customers; merchants pay wages and give
money back; people pay people: in their circle those above them (rent, a shared bill), who sometimes pay back, and
others at random. 800 accounts are in rings of four to nine, and their money goes round two or three times, each time in
another order. An account in a ring buys, works, pays and is paid about as often as others, its amounts are drawn like
those of others between people, and ids and the order of the rows are random. What tells it is that money comes back
along a directed way of a few payments, which happens to few others.

**How hard it is.** A quarter of the accounts have a label, 4 % of these are fraud: a ring of six has one or two known
members. The rings can be found in principle: logistic regression on the logarithms of the chances that a walk is back
after two, three and four steps has an average precision of 0.70 to 0.77 on the three graphs, and on degrees and
amounts of 0.07 to 0.08. Sizes and rounds of the rings are the first that were tried.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.resources import allowed_cores

LEAST, MOST_BY_DEGREES, LONGEST_TIME = 0.80, 0.50, 1e9
FRAUD = "fraud"


@dataclass(frozen=True)
class Size:
    """How many accounts, payments, merchants and accounts in rings there are; and the search."""

    accounts: int = 20_000
    payments: int = 120_000
    merchants: int = 300
    in_rings: int = 800
    labelled: int = 5_000
    trials: int = 12
    epochs: int = 80
    top: int = 100


@dataclass(frozen=True)
class Payments:
    """Payments in a random order between numbered accounts, their ids, and who is in a ring and who has a label."""

    ids: np.ndarray
    source: np.ndarray
    target: np.ndarray
    amount: np.ndarray
    in_ring: np.ndarray
    labelled: np.ndarray


def make_payments(size: Size, seed: int) -> Payments:
    """A graph as described above."""
    rng = np.random.default_rng(seed)
    accounts = rng.permutation(size.accounts)
    merchants, people = accounts[: size.merchants], accounts[size.merchants :]
    rings = _groups(people[: size.in_rings], 4, 9, rng)
    rounds = [np.array(_rounds(ring, rng)) for ring in rings]
    in_rings = np.concatenate(rounds)
    between = size.payments // 3 - len(in_rings)
    share = len(in_rings) / (size.payments // 3) * len(people) / size.in_rings  # of what people in rings pay people
    activity = np.ones(len(people))
    activity[: size.in_rings] = max(0.0, 1 - share)
    friendly = _between_people(people, activity / activity.sum(), between, rng)
    wages = size.payments // 10
    bought = size.payments - size.payments // 3 - wages
    popularity = 1 / np.arange(1, size.merchants + 1)
    shops = rng.choice(merchants, bought, p=popularity / popularity.sum())
    shops[: size.merchants] = merchants  # and everybody sells something
    buyers = np.concatenate([people, rng.choice(people, bought - len(people))])  # everybody buys something
    employers = rng.choice(merchants, len(people), p=popularity / popularity.sum())
    paid = rng.integers(len(people), size=wages)
    pairs = [
        in_rings,
        friendly,
        np.column_stack([buyers, shops]),
        np.column_stack([employers[paid], people[paid]]),
    ]
    amounts = [
        rng.lognormal(4.5, 1.0, len(in_rings)),
        rng.lognormal(4.5, 1.0, len(friendly)),
        rng.lognormal(3.5, 0.8, bought),
        rng.lognormal(7.0, 0.4, wages),
    ]
    order = rng.permutation(size.payments)
    source, target = np.concatenate(pairs)[order].T
    in_ring = np.zeros(size.accounts, dtype=bool)
    in_ring[people[: size.in_rings]] = True
    labelled = np.zeros(size.accounts, dtype=bool)
    labelled[rng.choice(size.accounts, size.labelled, replace=False)] = True
    ids = np.array([f"{rng.choice(['DE', 'FR', 'PL'])}{number:09d}" for number in _numbers(size.accounts, rng)])
    return Payments(ids, source, target, np.concatenate(amounts)[order].round(2), in_ring, labelled)


def _numbers(count: int, rng: np.random.Generator) -> np.ndarray:
    found = np.unique(rng.integers(10**9, size=2 * count))
    return rng.permutation(found)[:count]


def _groups(members: np.ndarray, least: int, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Groups of least to most members; the last one takes what is left."""
    ends = np.cumsum(rng.integers(least, most + 1, size=len(members) // least))
    return np.split(members, ends[ends <= len(members) - least])


def _rounds(ring: np.ndarray, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Money goes round, each time in another order."""
    pairs = []
    for _ in range(int(rng.integers(2, 4))):
        order = rng.permutation(ring)
        pairs += list(zip(order, np.roll(order, -1), strict=True))
    return pairs


def _between_people(people: np.ndarray, share: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Payments of people to those above them in their circle, some of them paid back, and to anybody."""
    shuffled = rng.permutation(len(people))
    circles = _groups(shuffled, 3, 9, rng)
    place, circle = np.empty(len(people), dtype=int), np.empty(len(people), dtype=int)
    for number, members in enumerate(circles):
        place[members], circle[members] = np.arange(len(members)), number
    back = count // 6
    payer = rng.choice(len(people), count - back, p=share)
    above = (rng.random(len(payer)) * place[payer]).astype(int)
    payee = np.array([circles[circle[one]][up] for one, up in zip(payer, above, strict=True)])
    anybody = (place[payer] == 0) | (rng.random(len(payer)) < 0.4)
    payee[anybody] = rng.choice(len(people), int(anybody.sum()), p=share)
    payer[payer == payee] = rng.integers(len(people), size=int((payer == payee).sum()))
    returned = rng.integers(len(payer), size=back)
    payer, payee = np.concatenate([payer, payee[returned]]), np.concatenate([payee, payer[returned]])
    return np.column_stack([people[payer], people[payee]])


def write_files(made: Payments, folder: Path, rng: np.random.Generator) -> None:
    """Tables as a bank has them; what is known of the accounts without a label stays here."""
    days = [f"2025-{1 + day // 28:02d}-{1 + day % 28:02d}" for day in rng.integers(336, size=len(made.source))]
    payee, payer = made.ids[made.target], made.ids[made.source]
    rows = zip(days, payee, made.amount, ["EUR"] * len(days), payer, strict=True)
    with open(folder / "ledger.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["bookingDate", "beneficiaryAccount", "amt", "currency", "originatorAccount"])
        writer.writerows(rows)
    known = rng.permutation(np.flatnonzero(made.labelled))
    with open(folder / "reviewed.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["status", "reviewed_on", "account_no"])
        writer.writerows([FRAUD if made.in_ring[one] else "ok", "2026-01-15", made.ids[one]] for one in known)


def degrees_and_amounts(made: Payments) -> np.ndarray:
    """Payments, counterparties, and sum, mean and largest of the amounts, in and out; all in logarithms."""
    count, columns = len(made.ids), []
    for own, other in ((made.source, made.target), (made.target, made.source)):
        degree, total, largest = np.bincount(own, minlength=count), np.zeros(count), np.zeros(count)
        np.add.at(total, own, made.amount)
        np.maximum.at(largest, own, made.amount)
        partners = np.bincount(np.unique(own * count + other) // count, minlength=count)
        columns += [degree, partners, total, total / np.maximum(degree, 1), largest]
    return np.log1p(np.column_stack(columns))


def average_precision_by_degrees(made: Payments, columns: np.ndarray | None = None) -> float:
    """Of logistic regression from the same labels, on the accounts without one; the better of two class weights."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    columns = degrees_and_amounts(made) if columns is None else columns
    found = []
    for weights in (None, "balanced"):
        model = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights, max_iter=1000))
        model.fit(columns[made.labelled], made.in_ring[made.labelled])
        chances = model.predict_proba(columns[~made.labelled])[:, 1]
        found.append(average_precision_score(made.in_ring[~made.labelled], chances))
    return float(max(found))


@dataclass
class Steps:
    """Commands in a folder, each a process of its own, with the seconds that it took."""

    folder: Path
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def cgnn(self, *arguments: object) -> dict[str, Any]:
        """What a command says as JSON; it must succeed."""
        command = [sys.executable, "-m", "cgnn_cli", *map(str, arguments), "--json"]
        begin, used = time.perf_counter(), _cpu_seconds()
        done = subprocess.run(
            command, cwd=self.folder, env=_surroundings(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command[2:])} ended with code {done.returncode}: {done.stderr.strip()}")
        name = " ".join(str(word) for word in arguments[:2] if not str(word).startswith("-"))
        name += " (ranks)" if "--top" in arguments and name == "predict" else ""
        self.seconds[name] = (time.perf_counter() - begin, _cpu_seconds() - used)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def trained(self) -> set[str]:
        """The trainings and checkpoints that the store has."""
        return {path.name for stage in ("fit", "train") for path in (self.folder / ".cgnn" / stage).glob("*.h5")}

    def without_training(self, *arguments: object) -> dict[str, Any]:
        """The same of a command that must train nothing."""
        before = self.trained()
        found = self.cgnn(*arguments)
        if self.trained() != before:
            raise SystemExit(f"cgnn {arguments[0]} has trained a model, and does not say so")
        return found


def _surroundings() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("CGNN_")}
    return {**own, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}


def _cpu_seconds() -> float:
    return sum(os.times()[2:4])


def measured(size: Size, seed: int, folder: Path) -> dict[str, Any]:
    """From tables to a page, by the command line; what came out, and the seconds of each command."""
    from sklearn.metrics import average_precision_score

    made = make_payments(size, seed)
    write_files(made, folder, np.random.default_rng([seed, 1]))
    run = Steps(folder)
    tables = ("--edges", "ledger.csv", "--labels", "reviewed.csv", "--split-count", 1, "--split-seed", seed)
    imported = run.cgnn("data", "import", "payments", *tables)
    check_import(imported, size)
    aim = ("--metric", "average-precision", "--metric-class", FRAUD, "--trials", size.trials)
    bound = ("--set", f"train.epochs={size.epochs}", "--jobs", 0)
    tuned = run.cgnn("tune", "--dataset", "payments", *aim, *bound)
    run.without_training("predict", "--class", FRAUD, "--output", "ranked.csv")
    best = run.without_training("predict", "--class", FRAUD, "--top", size.top)["summary"]["ranked"]
    run.without_training("review", "--class", FRAUD, "--top", 50, "--output", "review.html")
    times = run.cgnn("commute", "--dataset", "payments", "--solver", "series")
    truth = dict(zip(made.ids.tolist(), made.in_ring.tolist(), strict=True))
    with open(folder / "ranked.csv", newline="") as file:
        ranked = [(truth[row["id"]], float(row[f"p_{FRAUD}"])) for row in csv.DictReader(file)]
    if len(ranked) != size.accounts - size.labelled:
        raise SystemExit(f"{len(ranked)} accounts are ranked, and {size.accounts - size.labelled} have no label")
    return {
        "seed": seed,
        "average precision": float(average_precision_score(*zip(*ranked, strict=True))),
        "by degrees and amounts": average_precision_by_degrees(made),
        f"fraud among the first {size.top}": sum(truth[row["id"]] for row in best),
        "longest time": longest_time(folder / ".cgnn"),
        "choice": _choice(tuned["summary"]["best"]),
        "edges beyond 1e9": times["summary"]["edges_beyond_1e9"],
        "seconds": run.seconds,
    }


def check_import(found: dict[str, Any], size: Size) -> None:
    """The tables were read as they are meant."""
    told, notes = found["summary"], " / ".join(found["warnings"])
    counts = (told["nodes"], told["edge_lines"], told["unlabelled"], told["classes"])
    if counts != (size.accounts, size.payments, size.accounts - size.labelled, 2):
        raise SystemExit(f"the import has other counts than the tables: {counts}")
    for said in ("edges: originatorAccount -> beneficiaryAccount", "labels: account_no, status"):
        if said not in notes:
            raise SystemExit(f"the import does not say {said!r}: {notes}")


def longest_time(store: Path) -> float:
    """Over all commute artifacts, each with its scores along the walk."""
    from cgnn_cli.store.store import Store

    opened = Store(store)
    keys = [path.stem for path in (store / "commute").glob("*.h5")]
    return max(float(np.nanmax(opened.load("commute", key).elements["commute"])) for key in keys)


def _choice(best: dict[str, Any]) -> str:
    settings = best["settings"]
    names = ("train.encoding", "train.direction", "commute.proximity", "train.hidden", "train.lr")
    told = [f"{name.partition('.')[2]} {settings[name]}" for name in names if name in settings]
    return ", ".join([best["model"], *told])


def problems(found: dict[str, Any]) -> list[str]:
    """What does not keep its bound."""
    reached, plain, longest = (found[name] for name in ("average precision", "by degrees and amounts", "longest time"))
    said = [
        (reached < LEAST, f"average precision {reached:.3f} is below {LEAST}"),
        (
            plain > MOST_BY_DEGREES,
            f"degrees and amounts reach {plain:.3f}, above {MOST_BY_DEGREES}",
        ),
        (not longest <= LONGEST_TIME, f"a time of {longest:.3g} steps is above {LONGEST_TIME:g}"),
    ]
    return [f"seed {found['seed']}: {text}" for wrong, text in said if wrong]


def _measured_apart(seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return measured(Size(), seed, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    wrong = []
    with ProcessPoolExecutor(allowed_cores()) as apart:
        results = apart.map(_measured_apart, parser.parse_args().seeds)
    for found in results:
        wrong += problems(found)
        for name, value in found.items():
            if name == "seconds":
                for command, (passed, used) in value.items():
                    print(f"  {command:25} {passed:7.1f} s, {used:7.1f} s of CPU", flush=True)
            else:
                print(f"  {name:25} {value:.3g}" if isinstance(value, float) else f"  {name:25} {value}", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
