"""Trees with many points on a session: by tables and by a CASE."""

import random
import struct
from fractions import Fraction
from functools import partial
from typing import Any

from immutables import Map
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import POSITION, Level, Tree, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.double_arithmetic import sql_over
from cedilla.runtime.engines.spark.lookups import Lookups, Tables

PLACE = {POSITION: f"`{POSITION}`"}


KEYS = {
    "int": [*range(-5, 400), 2**31 - 1],
    "long": [*range(390), 2**40, -(2**63)],
    "double": [0, Fraction(1, 3), *(Fraction(k, 8) for k in range(1, 400)), 10**300],
    "string": ["", "a'b", "\\{}`$", "ç", *(f"key {k}" for k in range(390))],
    "timestamp": [k * 1_000_000 for k in range(-5, 390)],
    "date": list(range(-5, 390)),
    "decimal": [Fraction(k, 4) for k in range(390)],
}


TYPES = {
    "decimal": Type("decimal", (10, 2)),
    **{name: Type(name) for name in KEYS if name != "decimal"},
}


def function(rng: random.Random) -> Affine:
    if rng.random() < 0.2:
        return IDENTITY
    shift = rng.choice([0, 0, 1, -160, Fraction(1, 3), Fraction(-5, 7)])
    return Affine(Fraction(rng.randint(1, 9), rng.randint(1, 9)), Fraction(shift))


def below(rng: random.Random) -> Tree:
    """Returns the leaf of a point: a function, or several by another attribute or by place."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            return function(rng)
        case 3 | 4 | 5:
            cuts = [(position, 1) for position in sorted(rng.sample(range(20), rng.choice([1, 1, 2, 3])))]
            return regions.make_level(POSITION, IDENTITY, cuts, [function(rng) for _ in range(len(cuts) + 1)])
        case 6:
            points: Map[Value, Tree] = Map({Fraction(k, 2): function(rng) for k in rng.sample(range(6), 3)})
            return regions.make_level(
                "u", function(rng), [(Fraction(3, 2), rng.randint(0, 1))], [IDENTITY, function(rng)], points
            )
        case _:  # too large for a shape
            return regions.make_level(
                "u", IDENTITY, (), [IDENTITY], Map({k: function(rng) for k in range(9)})
            )


def level(rng: random.Random, name: str, members: list[Value]) -> Tree:
    points = Map({value: below(rng) for value in members})
    if name in ("string", "decimal"):
        return regions.make_level("k", below(rng), (), [IDENTITY], points)
    return regions.make_level(
        "k", below(rng), [(5, 0), (7, 0)], [below(rng), IDENTITY, function(rng)], points
    )


def rows(spark: SparkSession, name: str, rng: random.Random) -> DataFrame:
    type_ = TYPES[name]
    literals = [f"({type_.sql(v)})" for v in KEYS[name]] + ["(NULL)"]
    if name == "double":
        literals += ["(double('NaN'))", "(-0.0D)", "(double('Infinity'))"]
    keys = spark.sql(f"SELECT CAST(col1 AS {type_.spark}) AS k FROM VALUES {', '.join(literals)}")
    values = [0.0, -0.0, 0.1, 1e308, -7.3, float("nan"), None]
    others = [
        (rng.choice(values), rng.choice([0.0, 0.5, 1.5, 2.0, 7.0, None]), position) for position in range(7)
    ]
    made = spark.createDataFrame(others, f"x DOUBLE, u DOUBLE, `{POSITION}` BIGINT")
    return keys.crossJoin(made).coalesce(1)


def bits(value: Any) -> Any:
    return struct.pack(">d", value) if isinstance(value, float) else value


def check(frame: DataFrame, types: dict[str, Type], tree: Tree) -> int:
    """Both ways give the same; the number of joins."""

    def leaf(f: Affine) -> str:
        return f.sql("x")

    lookups = Lookups(Tables.of(frame.sparkSession), types, PLACE)
    expression = lookups.expression(("test",), tree, leaf, partial(sql_over, "x"))
    region = regions.map_leaves(tree, lambda f: f != IDENTITY)
    inside = lookups.predicate(("test region",), region)
    columns = ("k", "x", "u", f"`{POSITION}`")
    joined = lookups.joined(frame)
    by_table = joined.selectExpr(*columns, f"{expression} AS found", f"{inside} AS inside").collect()
    assert f"{POSITION}" in joined.columns
    plain = sql.expression(tree, types, leaf, PLACE)
    within = sql.predicate(region, types, PLACE)
    by_case = frame.selectExpr(*columns, f"{plain} AS found", f"{within} AS inside").collect()
    both = [sorted(repr([*map(bits, row)]) for row in rows_) for rows_ in (by_table, by_case)]
    assert both[0] == both[1]
    return len(joined.columns) - len(frame.columns)


def check_tables(session: SparkSession, name: str) -> None:
    rng = random.Random(name)
    types = {"k": TYPES[name], "u": Type("double"), "x": Type("double")}
    joins = check(rows(session, name, rng), types, level(rng, name, KEYS[name][:40]))
    assert (joins > 0) == (name != "decimal")


def by_table(session: SparkSession, frame: DataFrame, factor: int) -> DataFrame:
    """Rows with `x` through a function at each of many points; the table replaces the last one."""
    types = {"k": Type("long"), "x": Type("double")}
    points: Map[Value, Tree] = Map({k: Affine(Fraction(factor), Fraction(k)) for k in range(5_000)})
    lookups = Lookups(Tables.of(session), types, PLACE)
    text = lookups.expression(
        ("anew",), Level("k", IDENTITY, (), (IDENTITY,), points), lambda f: f.sql("x"), partial(sql_over, "x")
    )
    return lookups.joined(frame).selectExpr(f"{text} AS y")
