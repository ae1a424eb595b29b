"""Trees with many points, found by tables: the same to the last bit as by a `CASE`."""

import gc
import random
import weakref
from typing import Any

import pytest
from immutables import Map
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from cedilla.compiler import regions
from cedilla.compiler.codegen.tables import Table
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Level, Tree, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.engines.spark.lookups import Tables
from tests.kit.tiers import tiered
from tests.runtime.engines.spark.lookup_tables import KEYS, by_table, check, check_tables, function, rows

pytestmark = pytest.mark.either_engine


@pytest.mark.parametrize("name", tiered(KEYS))
def test_tables_decode_as_cases_do(spark: SparkSession, name: str) -> None:
    check_tables(spark, name)


@pytest.mark.parametrize("name", tiered(KEYS))
def test_tables_decode_as_cases_do_on_sail(sail: SparkSession, name: str) -> None:
    check_tables(sail, name)


@pytest.mark.rest
def test_a_table_is_kept_while_its_tree_changes_at_few_points(spark: SparkSession) -> None:
    rng = random.Random(7)
    types = {"k": Type("long"), "u": Type("double"), "x": Type("double")}
    frame = rows(spark, "long", rng)
    tables = Tables.of(spark)
    points: Map[Value, Tree] = Map({value: function(rng) for value in KEYS["long"]})
    tree = regions.make_level("k", IDENTITY, [(5, 0)], [IDENTITY, function(rng)], points)
    check(frame, types, tree)
    whole = tables.whole["test", 0]
    few = regions.update(tree, regions.values("k", [3, 11, 2**40]), lambda f: f.after(Affine(2, 1)))
    check(frame, types, few)
    assert isinstance(few, Level)  # 40 and 41 are points no more
    gone = Level("k", few.undefined, few.cuts, few.pieces, few.points.delete(40).delete(41))
    check(frame, types, gone)
    some = regions.update(gone, regions.values("k", range(100, 130)), lambda f: f.after(Affine(2, 1)))
    check(frame, types, some)
    assert tables.whole["test", 0] is whole
    changed = tables.changed["test", 0].table
    assert isinstance(changed, Table)
    assert len(changed.rows) > 16
    many = regions.update(some, regions.values("k", range(100, 200)), lambda f: f.after(Affine(2, 1)))
    check(frame, types, many)
    assert tables.whole["test", 0] is not whole


def test_neighbours_with_one_function_need_no_table(spark: SparkSession) -> None:
    types = {"k": Type("long"), "u": Type("double"), "x": Type("double")}
    frame = rows(spark, "long", random.Random(7))
    near = regions.choose(regions.values("k", range(400)), Affine(2, 1), IDENTITY)
    tree = regions.choose(regions.values("k", [*range(-20, 0), 17]), Affine(3, 0), near)
    check(frame, types, tree)
    built = Tables.of(spark).whole["test", 0]
    assert built.frame is None
    check(frame, types, regions.update(tree, regions.values("k", [3, 11]), lambda f: f.after(Affine(2, 1))))
    assert Tables.of(spark).whole["test", 0] is built
    apart = regions.choose(regions.values("k", range(-400, 400, 2)), Affine(2, 1), IDENTITY)
    check(frame, types, apart)
    assert Tables.of(spark).whole["test", 0].frame is not None


def test_tables_go_with_their_session() -> None:
    """They and their frames hold it; nothing else that stays holds either."""

    class Session:
        pass

    session: Any = Session()
    tables = Tables.of(session)
    assert Tables.of(session) is tables
    gone = [weakref.ref(session), weakref.ref(tables)]
    del session, tables
    gc.collect()
    assert [name() for name in gone] == [None, None]


@pytest.mark.rest
def test_a_server_has_points_once_and_those_of_late_as_long_as_epochs_may_ask_for_them(
    sail: SparkSession,
) -> None:
    """A plan names the table and does not bring it along. Of the tables before, the last three are there still."""
    frame = sail.sql("SELECT 7L AS k, 1D AS x")
    made = [by_table(sail, frame, factor) for factor in range(1, 7)]
    plan: Any = made[-1]
    assert plan._plan.to_proto(sail.client).ByteSize() < 5_000
    assert [frame.collect()[0][0] for frame in made[2:]] == [10.0, 11.0, 12.0, 13.0]
    for gone in made[:2]:
        with pytest.raises(AnalysisException):
            gone.collect()
