"""The engine's plan of an epoch has the operators of the query."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.compile import compile_query
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect.engine_plan import engine_plans, plans_in
from tests.kit import ROOT
from tests.kit.errors import error_of


@pytest.mark.either_engine
def test_the_plan_of_an_epoch_joins_and_aggregates(spark: SparkSession, tmp_path: Path) -> None:
    text = (ROOT / "queries" / "sensors.rq").read_text(encoding="utf-8")
    plans = plans_in(spark, *load(compile_query(text)), tmp_path)
    assert plans.keys() == {"average"}
    assert "HashJoin" in plans["average"]
    assert "Aggregate" in plans["average"]


def test_a_function_of_a_user_runs_only_if_it_is_allowed() -> None:
    query = (
        'stream r(k: long) from json "r"; operator f(R) foundation {k} merge {} accumulate {} from "m:f"; '
    )
    compiled = compile_query(f'{query}emit f(r) to json "out";')
    assert error_of(lambda: engine_plans(compiled, Options())).code == "RQ483"
