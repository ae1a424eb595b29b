"""How long the commands take to answer, and a run to its first epoch."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Competitor, Contest
from tests.benchmarks.options import Wanted

_RUNS = "tests.benchmarks.startup.runs"
_CLI = ["-m", "cedilla.runtime.hosts.cli.main"]
_QUERY = "queries/sensors.rq"
_RUN = [*_CLI, "run", _QUERY, "--once", "--files-per-epoch", "1"]


def contests(wanted: Wanted) -> Iterator[Contest]:
    commands = {
        "cedilla check": [*_CLI, "check", _QUERY],
        "cedilla explain": [*_CLI, "explain", _QUERY],
        "cedilla explain --evolution": [*_CLI, "explain", _QUERY, "--evolution"],
        "cedilla compile": [*_CLI, "compile", _QUERY, "-o", "{folder}/sensors.py"],
        "python alone": ["-c", "pass"],
    }
    yield Contest(
        suite="startup",
        name="commands",
        competitors=tuple(
            Competitor(name, f"{_RUNS}:command", {"arguments": arguments}, worker="plain")
            for name, arguments in commands.items()
        ),
        baseline="python alone",
        main="seconds",
        rounds=5 if wanted.short else 15,
    )
    run = [*_RUN, "--checkpoint", "{folder}/checkpoint", "--sink", "average={folder}/out"]
    commands = {
        "cedilla": [*run, "--engine", "spark"],
        "cedilla-sail": [*run, "--engine", "sail"],
        "spark": ["-m", "tests.benchmarks.startup.native", "{folder}"],
    }
    yield Contest(
        suite="startup",
        name="first epoch",
        competitors=tuple(
            Competitor(name, f"{_RUNS}:first_epoch", {"arguments": arguments}, worker="plain")
            for name, arguments in commands.items()
        ),
        baseline="cedilla",
        main="first_epoch_s",
        rounds=2 if wanted.short else 5,
    )
