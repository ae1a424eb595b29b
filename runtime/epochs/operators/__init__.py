"""The stateful operators with Spark, one file each, and the epoch that generated programs call.

In: the DataFrames and facts of an epoch, stored rows. Out: the DataFrames that pass, the rows to store. The semantics
of operators is in `cedilla.compiler.operators`. Imports `records`, `spark` and `state`.
"""

from importlib import import_module

from cedilla.compiler.operators import OPERATORS, Operator
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow


def _dataflow(operator: type[Operator]) -> Dataflow:
    module = import_module(f"cedilla.runtime.epochs.operators.{operator.method}")
    return getattr(module, f"{operator.__name__}Dataflow")()


DATAFLOWS = {operator: _dataflow(operator) for operator in OPERATORS if operator.state is not None}
"""Stateful operator -> its dataflow: the class of its name, in the module of its method."""

__all__ = ["DATAFLOWS", "AttributeState", "Dataflow"]
