"""Precision and recall of `cedilla suspect`: `python -m tests.benchmarks.suspect [--repeats N] [--seed N]`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from time import process_time

from attrs import define, field

from tests.benchmarks.suspect.changes import HOUR, Trial, trials
from tests.benchmarks.suspect.competitors import COMPETITORS, Found

_NEAR = 12
"""A report so many values from the change is of it."""


@define
class Score:
    """`found`: reported at its place; `right`: with its function, too. `wrong`: all other reports."""

    changes: int = 0
    found: int = 0
    right: int = 0
    wrong: int = 0
    seconds: float = 0.0
    by: dict[str, Counter[str]] = field(factory=dict[str, Counter[str]])

    def add(self, trial: Trial, reports: list[Found]) -> str:
        """Counts the reports about a series; returns what became of it."""
        places = [r for r in reports if trial.at is not None and abs(r.at - trial.at) <= _NEAR]
        attributes = ("ts",) if trial.change == HOUR else ("x", "y")
        places = [r for r in places if r.attribute in attributes]
        right = [r for r in places if r.function == trial.function]
        outcome = "right" if right else "found" if places else "missed"
        if trial.at is None:
            outcome = "wrong" if reports else "quiet"
        self.changes += trial.at is not None
        self.found += bool(places)
        self.right += bool(right)
        self.wrong += len([r for r in reports if r not in (right or places)[:2]])
        self.by.setdefault(trial.change, Counter())[outcome] += 1
        return outcome

    def row(self, name: str) -> str:
        detected, right = self.found / self.changes, self.right / self.changes
        precision = self.right / max(1, self.right + self.wrong + self.found - self.right)
        located = self.found / max(1, self.found + self.wrong)
        return (
            f"{name:20} {detected:6.0%} {located:9.0%} {right:9.0%} {precision:9.0%} {self.wrong:7} "
            f"{self.seconds:7.1f}"
        )


def main(arguments: Iterable[str] | None = None) -> dict[str, Score]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=4, help="series of each kind and change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a competitor")
    parser.add_argument("--verbose", action="store_true", help="each series that is not right")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    scores: dict[str, Score] = {}
    everything = list(trials(chosen.seed, chosen.repeats))
    for name, find in COMPETITORS.items():
        if chosen.only not in name:
            continue
        score = scores[name] = Score()
        began = process_time()
        for trial in everything:
            reports = find(trial)
            outcome = score.add(trial, reports)
            if chosen.verbose and outcome not in ("right", "quiet"):
                descriptions = [(r.attribute, r.at, r.function and r.function.text("y")) for r in reports]
                print(
                    f"{outcome:7}{trial.change:15}{trial.kind.name:22}{trial.declared!s:6}{trial.at} {descriptions}"
                )
        score.seconds = process_time() - began
    report(scores)
    return scores


def report(scores: dict[str, Score]) -> None:
    print(
        f"{'':20} {'found':>6} {'precision':>9} {'and named':>9} {'precision':>9} {'wrong':>7} {'seconds':>7}"
    )
    for name, score in scores.items():
        print(score.row(name))
    for name, score in scores.items():
        print(f"\n{name}")
        for change, outcomes in score.by.items():
            print(f"  {change:16} {', '.join(f'{n} {what}' for what, n in sorted(outcomes.items()))}")


if __name__ == "__main__":
    main()
