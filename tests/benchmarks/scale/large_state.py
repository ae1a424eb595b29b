"""What the processes of the competitors of `large state` call: a first file fills the state, then epochs are small."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from tests.benchmarks import engines
from tests.benchmarks.evolution import inputs

SCATTERED = "distinct, keys in no order"
_FACTS = 'stream facts(k: long, t: double) from json "facts" punctuated on k;'
_BOTH = f'{_FACTS}\nstream probes(k: long, u: double) from json "probes" punctuated on k;'
_EMIT = 'emit result to json "result";'
_DISTINCT = f"{_FACTS}\nresult := distinct(facts);\n{_EMIT}"
QUERIES = {
    "distinct": _DISTINCT,
    SCATTERED: _DISTINCT,
    "join": f"{_BOTH}\nresult := facts join probes on k;\n{_EMIT}",
    "semi join": f"{_BOTH}\nresult := facts semi join probes on k;\n{_EMIT}",
    "minus": f"{_BOTH}\nresult := project[k](facts) minus project[k](probes);\n{_EMIT}",
}
"""All keys of `facts` are new ones; `probes` has keys of the first file. Where nothing else is said keys ascend."""

NATIVE = ("distinct", SCATTERED, "join")
"""Of the others Structured Streaming asks for bounds of time, and keeps what it needs for these."""

COLUMNS = {
    "distinct": "k BIGINT, t DOUBLE",
    SCATTERED: "k BIGINT, t DOUBLE",
    "join": "k BIGINT, t DOUBLE, u DOUBLE",
    "semi join": "k BIGINT, t DOUBLE",
    "minus": "k BIGINT",
}
_SCHEMAS = {"facts": "k BIGINT, t DOUBLE", "probes": "k BIGINT, u DOUBLE"}


def write(spark: SparkSession, kind: str, state: int) -> None:
    if kind == SCATTERED:
        inputs.write_scattered(spark, state)
    else:
        inputs.write_arrival(spark, "join", state)


def _streams(kind: str, state: int) -> dict[str, str]:
    names = ("facts", "probes") if "probes" in QUERIES[kind] else ("facts",)
    folder = inputs.SCATTERED if kind == SCATTERED else "join"
    return {name: str(inputs.arrival_folder(folder, state, name, False)) for name in names}


def run_cedilla(session: SparkSession, folder: str, kind: str, state: int) -> dict[str, Any]:
    return engines.run_cedilla(session, folder, QUERIES[kind], _streams(kind, state), "result", 1)


def run_native(session: SparkSession, folder: str, kind: str, state: int) -> dict[str, Any]:
    frames = {
        name: engines.read_native(session, path, _SCHEMAS[name], "json")
        for name, path in _streams(kind, state).items()
    }
    facts = frames["facts"]
    result = facts.dropDuplicates(["k", "t"]) if "distinct" in kind else facts.join(frames["probes"], "k")
    return engines.run_native(session, folder, result)
