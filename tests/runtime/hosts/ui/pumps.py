"""A run with all that the page shows: units that some pumps have changed, a jump, rejected lines, a bad marker."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.query import Query
from tests.kit.stream import Item

QUERY = """
set suspect = warn;
stream pumps(ts: timestamp, pump: int in {1, 2, 3, 4}, litres: double unit L, celsius?: double unit degC)
  from json "pumps" punctuated on ts;
minutes := window[1 minute on ts as [minute, minute_end]](pumps);
flow := aggregate[avg by minute except ts, pump, minute_end](minutes);
emit flow to json "flow";
emit pumps to json "copy";
"""


def at(second: int) -> str:
    return f"2026-11-26T08:{second // 60:02}:{second % 60:02}Z"


def pump(second: int, number: int, litres: float, **more: object) -> Item:
    return {"ts": at(second), "pump": number, "litres": litres, **more}


def closed(second: int) -> Item:
    return {"$punctuation": f'[ts < "{at(second)}"]'}


def first_files() -> list[list[Item | str]]:
    """Three hundred tuples, of which pump 3 has none; pump 1 goes to m3 and sends celsius, pump 4 jumps."""
    seconds = ((s, n) for s in range(120) for n in (1, 2, 4) if s % 2 == 0 or n == 4)
    litres = [[pump(s, n, 100.0 + n + s % 7) for s, n in seconds], closed(120)]
    pump_1 = [{"$accent": "[[pump = 1, unit(litres, m3)]]"}, {"$accent": "[[pump = 1, +(celsius: double)]]"}]
    later = [pump(s, 1, 0.1 + s % 7 / 1000, celsius=40.0) for s in range(120, 240, 2)]
    odd = [pump(121, 2, 0.0) | {"litres": "26.4 gal"}, pump(122, 2, 0.0) | {"litres": "<b>x</b>"}]
    jump = [pump(s, 4, 0.104 + s % 7 / 1000) for s in range(240, 360, 2)]
    twice = {"$accent": "[[pump = 1, alter(litres, y -> y / 1000)]]"}
    return [[*litres[0], litres[1]], [*pump_1, *later, *odd, closed(240)], [*jump, twice]]


BAD = {"$accent": "[[pump = 1, alter(litres, y -> y * y)]]"}


def run(spark: SparkSession, root: Path) -> Query:
    """Runs the query until its bad marker ends it, as the command would. Returns its harness."""
    query = Query(spark, root, QUERY)
    for lines in first_files():
        query.write("pumps", lines)
    query.write("pumps", [pump(360, 2, 101.0), BAD])
    return until_stopped(query, 1)


def until_stopped(query: Query, files_per_epoch: int) -> Query:
    """Runs a query until a marker ends it, and notes the failure as the command does."""
    executor = query.executor(files_per_epoch)
    try:
        executor.process(0, query.files(executor))
    except DiagnosticError as error:
        executor.checkpoint.note_failure(error.diagnostics, executor.last.epoch)
    finally:
        executor.close()
    return query
