"""Operators in plain Python, tuple by tuple; the Spark code must agree with them (theory 1.3).

This module maps operators to nodes, whose classes are in other modules. They are slow and follow the theory
literally; they take regions from `Facts`.
"""

from __future__ import annotations

from cedilla.compiler import operators
from cedilla.compiler.operators import Operator
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.reference.grouping import Aggregate
from cedilla.runtime.reference.joins import AntiJoin, Join, LeftJoin, SemiJoin
from cedilla.runtime.reference.node import Node
from cedilla.runtime.reference.ordering import Limit, Sort, Top
from cedilla.runtime.reference.sets import Distinct, Intersect, Minus
from cedilla.runtime.reference.tuples import Project, Rename, Sample, Select, Union
from cedilla.runtime.reference.windows import CountWindow, Session, Window

NODES: dict[type[Operator], type[Node]] = {
    operators.Select: Select,
    operators.Project: Project,
    operators.Rename: Rename,
    operators.Sample: Sample,
    operators.Union: Union,
    operators.Window: Window,
    operators.Distinct: Distinct,
    operators.Intersect: Intersect,
    operators.Minus: Minus,
    operators.Join: Join,
    operators.LeftJoin: LeftJoin,
    operators.SemiJoin: SemiJoin,
    operators.AntiJoin: AntiJoin,
    operators.Sort: Sort,
    operators.Top: Top,
    operators.Limit: Limit,
    operators.Session: Session,
    operators.CountWindow: CountWindow,
    operators.Aggregate: Aggregate,
}


def node_of(operator: Operator, purge: bool = True) -> Node:
    """Returns the node of an operator; `DiagnosticError` RQ406 for a user's operator, whose function needs
    Spark.
    """
    if type(operator) not in NODES:
        raise failure(
            "RQ406",
            f"`{operator.name}` cannot be simulated: its function needs Spark",
            operator.span,
            hint="`cedilla run` runs it",
        )
    return NODES[type(operator)](operator, purge)
