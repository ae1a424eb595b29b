"""What an engine says of the columns of a frame, beside what the facts of relations say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from cedilla.compiler.operators import Operator
from cedilla.runtime.engines.columns import Columns, struct_of
from cedilla.runtime.operators.epoch import Epoch
from cedilla.runtime.state.segments import StateStore

UNCHECKED = tuple(
    (owner, name, getattr(owner, name))
    for owner, name in ((Epoch, "read"), (Epoch, "_result"), (StateStore, "_write"))
)
"""The methods that `columns_checked` replaces, with what they are without it."""


def columns_in(frame: DataFrame) -> dict[str, DataType]:
    """The columns of a frame, as its engine says."""
    return {field.name: field.dataType for field in frame.schema.fields}


@contextmanager
def columns_checked() -> Iterator[None]:
    """Compares the columns of each relation, and of all rows that state takes, with those of the facts."""
    read, result, write = (method for _, _, method in UNCHECKED)

    def checked(epoch: Epoch, name: str, frame: DataFrame) -> DataFrame:
        _compare(name, frame, epoch.columns(name))
        return frame

    def _read(epoch: Epoch, name: str) -> DataFrame:
        return checked(epoch, name, read(epoch, name))

    def _result(epoch: Epoch, operator: Operator, frame: DataFrame) -> DataFrame:
        return result(epoch, operator, checked(epoch, operator.name, frame))

    def _write(store: StateStore, name: str, rows: DataFrame, columns: Columns) -> Any:
        _compare(name, rows, columns)
        return write(store, name, rows, columns)

    with pytest.MonkeyPatch.context() as patch:
        for (owner, name, _), method in zip(UNCHECKED, (_read, _result, _write), strict=True):
            patch.setattr(owner, name, method)
        yield


def _compare(name: str, frame: DataFrame, columns: Columns) -> None:
    found = {name: kind.simpleString() for name, kind in columns_in(frame).items()}
    assert found == {field.name: field.dataType.simpleString() for field in struct_of(columns)}, name
