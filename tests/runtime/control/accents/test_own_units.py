"""Units that a query defines, in markers, outputs and edits of the query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from tests.kit.command import cedilla
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

QUERY = """
unit EUR;
unit ct = EUR / 100;
unit sec = s;
unit "mol of glucose" = 180.156 g;
stream r(ts: long, src: string, u: string, p: double unit "EUR/kWh", d: double unit from u in {s, sec},
         g: double unit "mg/dL of glucose")
  from json "in/r"
  punctuated on ts;
accent r [[src = "x", unit(p, "ct/kWh")]];
emit r to json "out/r";
cost := project[ts, p * 2 kWh as cost, g](select[g > 6 "mmol/L"](r));
emit cost to json "out/cost" with cost in ct;
"""


def price_row(ts: int, src: str, p: float, u: str = "s", g: float = 110.0) -> Item:
    return {"ts": ts, "src": src, "u": u, "p": p, "d": 30.0, "g": g}


ITEMS: Sequence[Item] = (
    price_row(1, "a", 0.25, "sec"),
    price_row(1, "x", 26.0),
    {"$accent": '[[src = "a", unit(p, "ct/kWh")]]'},
    {"$accent": '[[src = "a", unit(g, "mmol/L")]]'},
    price_row(2, "a", 27.0, g=5.0),
    price_row(2, "b", 0.28, "min"),
    {"$punctuation": "[ts < 10]"},
    price_row(11, "a", 29.0, g=6.105819400963609),
    {"$punctuation": "[]"},
)


@pytest.mark.either_engine
@pytest.mark.parametrize("files", [1, rest(len(ITEMS))], ids=["one file", "a file a line"])
def test_markers_and_tuples_name_own_units(spark: SparkSession, tmp_path: Path, files: int) -> None:
    run = Query(spark, tmp_path, QUERY)
    for item in [ITEMS] if files == 1 else [[item] for item in ITEMS]:
        run.write("r", item)
    run.process(1)
    assert [row["p"] for row in run.canonical("r")] == [0.25, 0.26, 0.27, 0.29]
    assert [rejected["code"] for rejected in run.quarantine("r")] == ["RQ311"]
    assert [item for item in run.output("cost") if "ts" in item] == [
        {"ts": 1, "cost": 50.0, "g": 110.0},
        {"ts": 1, "cost": 52.0, "g": 110.0},
        {"ts": 11, "cost": 58.0, "g": 110.0},
    ]
    simulated = run.simulate()
    assert [row["p"] for row in simulated.canonical("r")] == [row["p"] for row in run.canonical("r")]
    assert simulated.codes == ["RQ311"]


def test_readers_of_an_output_need_no_definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its accents contain those of the units that they name."""
    monkeypatch.chdir(tmp_path)
    run = Query.without_engine(tmp_path, QUERY)
    run.write("r", ITEMS)
    simulated = run.simulate()
    accents = [item["$accent"] for item in simulated.output("r") if "$accent" in item]
    assert any('unit "[ct=EUR/100]/kWh"' in accent for accent in accents)
    reader = 'unit EUR; stream r(ts: long, src: string, p: double unit "EUR/kWh") from json "in/r"; '
    again = Query.without_engine(tmp_path / "again", f'{reader}emit r to json "out/r";')
    again.write("r", simulated.output("r"))
    assert [row["p"] for row in again.simulate().canonical("r")] == [
        row["p"] for row in simulated.canonical("r")
    ]


def test_a_marker_of_another_kind_ends_the_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    for unit, code in (("ct", "RQ142"), ("cent", "RQ143"), ("[ct=EUR/1000]/kWh", "alter(p, y -> y * 1000")):
        traced = cedilla("trace", "q.rq", "--on", "r", f'[[src = "a", unit(p, "{unit}")]]')
        assert code in traced.output
    assert "unit from u in {s, sec}" in cedilla("explain", "q.rq", "--full").output


STREAM: Any = [
    ("r", price_row(1, "a", 0.25)),
    ("r", {"$accent": '[[src = "a", unit(p, "ct/kWh")]]'}),
    ("r", price_row(2, "a", 25.0)),
]


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("unit ct = EUR / 100;", "unit ct = EUR / 1000;", "new checkpoint"),
        ("unit ct = EUR / 100;", "unit ct = 0.01 EUR;", "at once"),
        ("= 180.156 g;", "= 180.2 g;", "new checkpoint"),
        ("unit EUR;", "unit EUR; unit kEUR = 1000 EUR;", "at once"),
        ('accent r [[src = "x", unit(p, "ct/kWh")]];', "", "continues"),
    ],
)
def test_what_an_edit_of_a_definition_does(old: str, new: str, effect: str) -> None:
    reference = ran(compile_query(QUERY).plan, STREAM)
    assert old in QUERY
    changes, _ = edited(reference, QUERY.replace(old, new))
    assert changes.effect == effect, changes
