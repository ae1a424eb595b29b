"""`python -m tests.benchmarks`: run suites of contests (tests/benchmarks/README.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import click

from tests.benchmarks import machine, report
from tests.benchmarks.contest import BUILD, Contest
from tests.benchmarks.options import Wanted

SUITES = ("core", "evolution", "nexmark", "startup", "scale", "kafka", "otlp")
SHORT_SUITES = ("startup", "core", "evolution")


@click.command()
@click.option("--suite", "suites", multiple=True, type=click.Choice(SUITES), help="May be repeated.")
@click.option(
    "--only", multiple=True, help="Contests whose name holds this text; may be repeated: any of them."
)
@click.option("--rows", multiple=True, type=int, help="Rows of an epoch, instead of the suite's own sizes.")
@click.option("--epochs", type=int, help="Epochs of a run, instead of the suite's own.")
@click.option("--format", "formats", multiple=True, type=click.Choice(["json", "parquet"]))
@click.option("--competitor", "competitors", multiple=True, help="Only these, by name.")
@click.option("--no-flink", is_flag=True, help="Leave Flink out.")
@click.option("--rounds", type=int, help="Rounds of a contest, instead of its own number.")
@click.option("--warm-ups", type=int, default=1, show_default=True, help="Runs before the first round.")
@click.option("--short", is_flag=True, help="The form for `make bench`: few contests, small sizes.")
@click.option(
    "--cores", type=int, default=os.cpu_count(), show_default=True, help="Cores of each competitor."
)
@click.option("--memory", default="3g", show_default=True, help="Heap of each competitor.")
@click.option("--limit", type=float, default=1800, show_default=True, help="Seconds that one run may take.")
@click.option("--run", "name", help="Name of the run; one that is there goes on where it ended.")
@click.option("--again", is_flag=True, help="Hold contests again that the run has.")
@click.option("--list", "listing", is_flag=True, help="Only name the contests.")
def main(
    suites: tuple[str, ...],
    only: tuple[str, ...],
    formats: tuple[str, ...],
    rows: tuple[int, ...],
    epochs: int | None,
    competitors: tuple[str, ...],
    no_flink: bool,
    rounds: int | None,
    warm_ups: int,
    short: bool,
    cores: int,
    memory: str,
    limit: float,
    name: str | None,
    again: bool,
    listing: bool,
) -> None:
    """Contests are held one after the other; each is one line of build/bench/RUN/results.jsonl when it is done."""
    flink = not (no_flink or short) and (not competitors or "flink" in competitors)
    default_formats = ("json",) if short else ("json", "parquet")
    wanted = Wanted(
        short=short,
        cores=cores,
        rows=rows,
        epochs=epochs,
        formats=formats or default_formats,
        flink=flink,
    )
    chosen = [c for c in _contests(suites, wanted) if not only or any(part in c.key for part in only)]
    if listing:
        for contest in chosen:
            click.echo(contest.key)
        return
    if not chosen:
        raise click.UsageError("no contest has such a name; --list shows them")
    folder = BUILD / (name or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S"))
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "results.jsonl"
    done = {} if again else {_key(r): r["competitors"] for r in _read(lines)}
    about = machine.describe(cores, memory)

    from cedilla.runtime.engines.spark.session import local_session
    from tests.benchmarks.flink.install import start_worker
    from tests.benchmarks.harness import Harness
    from tests.benchmarks.workers import Worker

    harness = Harness(
        judge=lambda: local_session("judge", f"local[{cores}]", {"spark.driver.memory": "2g"}),
        scratch=folder / "scratch",
        starters={
            "spark": Worker.of_spark,
            "sail": Worker.of_sail,
            "plain": Worker.plain,
            "flink": start_worker,
        },
        cores=cores,
        memory=memory,
        limit=limit,
        say=lambda text: click.echo(text, err=True),
        only=frozenset(competitors),
        rounds=rounds,
        warm_ups=warm_ups,
    )
    for number, contest in enumerate(chosen, 1):
        entered = {c.name for c in contest.competitors if not competitors or c.name in competitors}
        if entered <= done.get(contest.key, {}).keys():
            continue
        click.echo(f"{number}/{len(chosen)} {contest.key}", err=True)
        began = datetime.now(UTC)
        result = harness.hold(contest)
        result["began"], result["ended"] = began.isoformat(), datetime.now(UTC).isoformat()
        result["machine"] = about
        result["warm_ups"] = warm_ups
        with lines.open("a") as file:
            file.write(json.dumps(result) + "\n")
    results = list({_key(r): r for r in _read(lines)}.values())
    report.write(folder, about, results)
    _show(results)
    click.echo(f"{folder}: results.json, table.md, charts", err=True)
    if any(result["mismatch"] for result in results):
        raise SystemExit("results differ: see above")


def _contests(suites: tuple[str, ...], wanted: Wanted) -> Iterator[Contest]:
    for suite in suites or (SHORT_SUITES if wanted.short else SUITES):
        yield from import_module(f"tests.benchmarks.suites.{suite}").contests(wanted)


def _key(result: dict[str, Any]) -> str:
    return f"{result['suite']}/{result['contest']}"


def _read(lines: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []


def _show(results: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*report.HEAD)
    for result in results:
        for cells in report.cells(result):
            table.add_row(*cells)
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()
