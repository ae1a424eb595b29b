"""Compares the columns of frames, as an engine reports them, with those of the facts of relations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from cedilla.compiler.operators import Operator
from cedilla.runtime.engines.spark.columns import Columns, struct_of
from cedilla.runtime.epochs.operators.epoch import Epoch
from cedilla.runtime.epochs.state.state_store import StateStore

UNCHECKED = tuple(
    (owner, name, getattr(owner, name))
    for owner, name in ((Epoch, "read"), (Epoch, "_result"), (StateStore, "_write"))
)
"""The methods that `columns_checked` replaces, with what they are without it."""

WHERE = (
    "tests/docs/",
    "tests/laws/",
    "tests/runtime/epochs/operators/",
    "tests/runtime/engines/plain/",
    "tests/runtime/test_",
)
"""Tests that compare columns: every operator is in them. An engine takes as long for the columns as for the rows."""


def columns_in(frame: DataFrame) -> dict[str, DataType]:
    """The columns of a frame, as its engine says."""
    return {field.name: field.dataType for field in frame.schema.fields}


@contextmanager
def columns_checked() -> Iterator[None]:
    """Compares the columns of each relation, and of all rows that state takes, with those of the facts.

    Tests in `WHERE` do, for each relation twice while its columns are the same: in an epoch without state and in one
    with it.
    """
    read, result, write = (method for _, _, method in UNCHECKED)
    times = Counter[tuple[str, str, str]]()

    def compare(name: str, frame: DataFrame, columns: Columns) -> None:
        expected = {field.name: field.dataType.simpleString() for field in struct_of(columns)}
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        times[key := (test, name, str(expected))] += 1
        if test.startswith(WHERE) and times[key] <= 2:
            actual = {name: kind.simpleString() for name, kind in columns_in(frame).items()}
            assert actual == expected, name

    def checked(epoch: Epoch, name: str, frame: DataFrame) -> DataFrame:
        compare(name, frame, epoch.columns(name))
        return frame

    def _read(epoch: Epoch, name: str) -> DataFrame:
        return checked(epoch, name, read(epoch, name))

    def _result(epoch: Epoch, operator: Operator, frame: DataFrame) -> DataFrame:
        return result(epoch, operator, checked(epoch, operator.name, frame))

    def _write(store: StateStore, name: str, rows: DataFrame, columns: Columns) -> Any:
        compare(name, rows, columns)
        return write(store, name, rows, columns)

    with pytest.MonkeyPatch.context() as patch:
        for (owner, name, _), method in zip(UNCHECKED, (_read, _result, _write), strict=True):
            patch.setattr(owner, name, method)
        yield
