"""Holds a contest: a process per competitor, a warm-up each, alternating rounds, results compared, medians."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from attrs import define, field
from pyspark.sql import SparkSession

from tests.benchmarks import compare
from tests.benchmarks.contest import UNITS, Competitor, Contest
from tests.benchmarks.workers import CallFailed, Worker

Starter = Callable[[Path], Worker]


@define(eq=False)
class Harness:
    """`judge`: gives the session that writes inputs and compares outputs, idle while others are measured.

    `starters`: kind of worker -> what starts one; `limit`: seconds that one call may take; `warm_ups`: how often
    each competitor runs before the first round.
    """

    judge: Callable[[], SparkSession]
    scratch: Path
    starters: Mapping[str, Starter]
    cores: int
    memory: str
    limit: float
    say: Callable[[str], None]
    only: frozenset[str] = field(default=frozenset())
    rounds: int | None = None
    warm_ups: int = 1

    def hold(self, contest: Contest) -> dict[str, Any]:
        """The result of a contest as JSON values; competitors that fail are told with their error."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        if contest.prepare is not None:
            contest.prepare(self.judge())
        runs: dict[str, list[dict[str, Any]]] = {}
        failed: dict[str, str] = {}
        mismatch: list[str] = []
        with ExitStack() as stack:
            workers: dict[str, Worker] = {}
            entered = [c for c in contest.competitors if not self.only or c.name in self.only]
            for competitor in entered:
                try:
                    workers[competitor.name] = self._ready(competitor, stack)
                    runs[competitor.name] = []
                except CallFailed as problem:
                    self._failed(competitor, problem, failed)
            for round_ in range(self.rounds or contest.rounds):
                for competitor in entered:
                    if competitor.name in failed:
                        continue
                    try:
                        answer = self._call(
                            workers[competitor.name],
                            competitor,
                            competitor.arguments,
                            f"{competitor.name}-{round_}",
                        )
                    except CallFailed as problem:
                        self._failed(competitor, problem, failed)
                        continue
                    runs[competitor.name].append(answer)
                    main = answer["figures"][contest.main]
                    self.say(f"  round {round_ + 1} {competitor.name}: {main:,.3g} {UNITS[contest.main][0]}")
                mismatch += self._judge(contest, {n: r[-1] for n, r in runs.items() if len(r) == round_ + 1})
                shutil.rmtree(self.scratch, ignore_errors=True)
                if mismatch:
                    break
        return {
            "suite": contest.suite,
            "contest": contest.name,
            "main": contest.main,
            "baseline": contest.baseline,
            "facts": dict(contest.facts),
            "equal": None if contest.compared is None else not mismatch,
            "mismatch": mismatch,
            "competitors": {} if mismatch else {n: summary(r) for n, r in runs.items() if r},
            "ratios": {} if mismatch else ratios(contest, runs),
            "failed": failed,
        }

    def _ready(self, competitor: Competitor, stack: ExitStack) -> Worker:
        worker = self.starters[competitor.worker](
            self.scratch.parent / "logs" / f"{_file_name(competitor.name)}.log"
        )
        stack.callback(worker.close)
        conf = {"memory": self.memory, **competitor.conf}
        worker.ask({"session": {"cores": self.cores, "conf": conf}}, self.limit)
        for number in range(self.warm_ups if competitor.warm is not None else 0):
            assert competitor.warm is not None
            self._call(worker, competitor, competitor.warm, f"{competitor.name}-warm-{number}")
            shutil.rmtree(self.scratch, ignore_errors=True)
        return worker

    def _call(
        self, worker: Worker, competitor: Competitor, arguments: Mapping[str, Any], name: str
    ) -> dict[str, Any]:
        folder = self.scratch / _file_name(name)
        folder.mkdir(parents=True)
        request = {"call": competitor.call, "folder": str(folder), "arguments": dict(arguments)}
        answer = worker.ask(request, self.limit)
        answer["figures"] |= {name: answer.pop(name) for name in ("rss_mb", "cpu_s")}
        return answer

    def _failed(self, competitor: Competitor, problem: CallFailed, failed: dict[str, str]) -> None:
        failed[competitor.name] = str(problem)
        self.say(f"  {competitor.name} FAILED: {str(problem).strip().splitlines()[-1]}")

    def _judge(self, contest: Contest, answers: Mapping[str, dict[str, Any]]) -> list[str]:
        """What differs between the outputs of one round."""
        if contest.compared is None or not answers:
            return []
        if contest.reference is not None:
            answers = {"reference": {"output": str(contest.reference), "format": "parquet"}, **answers}
        sums: dict[str, compare.Checksum] = {}
        for name, answer in answers.items():
            sums[name] = compare.checksum(self.judge(), answer["output"], answer["format"], contest.compared)
            answer["rows_compared"] = sums[name].rows
        first = next((n for n in ("reference", contest.baseline) if n in sums), next(iter(sums)))
        result: list[str] = []
        if not sums[first].rows:
            result.append(f"{first} has no rows to compare")
        for name, sum_ in sums.items():
            if sum_ != sums[first]:
                result.append(
                    f"{name} has {sum_.rows} rows, {first} {sums[first].rows}; they differ (- {first}):"
                )
                one, other = ((answers[n]["output"], answers[n]["format"]) for n in (first, name))
                result += compare.difference(self.judge(), contest.compared, one, other)
        for line in result:
            self.say(f"  NOT EQUAL: {line}")
        return result


def _file_name(text: str) -> str:
    return re.sub(r"\W+", "-", text)


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Median, least and most of every figure; the last run's other facts."""
    figures = {
        name: {"median": median(values), "min": min(values), "max": max(values)}
        for name in runs[0]["figures"]
        for values in [[run["figures"][name] for run in runs]]
    }
    rest = {k: v for k, v in runs[-1].items() if k not in ("figures", "output", "format")}
    return {"figures": figures, "runs": len(runs), **rest}


def ratios(contest: Contest, runs: Mapping[str, list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Baseline against each other competitor, per figure: 2 says that the baseline is twice as good."""
    mine = runs.get(contest.baseline)
    if not mine:
        return {}
    result: dict[str, dict[str, float]] = {}
    for name, theirs in runs.items():
        if name == contest.baseline or not theirs:
            continue
        result[name] = {}
        for figure in mine[0]["figures"].keys() & theirs[0]["figures"].keys():
            a, b = (median(run["figures"][figure] for run in side_runs) for side_runs in (mine, theirs))
            if a and b:
                result[name][figure] = a / b if UNITS[figure][1] else b / a
    return result
