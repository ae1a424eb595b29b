"""All that is true of an operator: its checks, facts, reactions, promises and memory.

In: parameters and the facts of inputs. Out: the facts of the output. Imports `facts`, `expressions`, `regions`.

Each operator has the file of its name (`Operator.method`) here, in `runtime/epochs/operators/` where it has
state, and among the pages of `docs/operators/`. `shared` has what operators have in common. One function of an
aggregate is in `compiler/expressions/aggregate_calls.py`, its groups without tuples are in `completion`.
"""

import re
from importlib import import_module

from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.operators.aggregate import Aggregate
from cedilla.compiler.operators.anti_join import AntiJoin
from cedilla.compiler.operators.count_window import CountWindow
from cedilla.compiler.operators.distinct import Distinct
from cedilla.compiler.operators.intersect import Intersect
from cedilla.compiler.operators.join import Join
from cedilla.compiler.operators.left_join import LeftJoin
from cedilla.compiler.operators.limit import Limit
from cedilla.compiler.operators.minus import Minus
from cedilla.compiler.operators.project import Project
from cedilla.compiler.operators.rename import Rename
from cedilla.compiler.operators.sample import Sample
from cedilla.compiler.operators.select import Select
from cedilla.compiler.operators.semi_join import SemiJoin
from cedilla.compiler.operators.session import Session
from cedilla.compiler.operators.shared.base import Invariants, Operator
from cedilla.compiler.operators.shared.reactions import Reaction, Signature
from cedilla.compiler.operators.sort import Sort
from cedilla.compiler.operators.top import Top
from cedilla.compiler.operators.union import Union
from cedilla.compiler.operators.user import User
from cedilla.compiler.operators.window import Window
from cedilla.grammar.syntax import relation_nodes


def _by_name(name: str) -> type[Operator]:
    """Returns the operator of a node's name, from the module of its name."""
    if name not in globals():
        module = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return globals()[name]


OPERATORS: tuple[type[Operator], ...] = (
    *(Union, Join, LeftJoin, SemiJoin, AntiJoin, Intersect, Minus),
    *(_by_name(node.__name__) for node in relation_nodes.OPERATORS),
    User,
)
"""Every operator of the algebra; tests walk it for documentation and golden files."""

__all__ = [
    "OPERATORS",
    "Aggregate",
    "AntiJoin",
    "Call",
    "CountWindow",
    "Distinct",
    "Intersect",
    "Invariants",
    "Join",
    "LeftJoin",
    "Limit",
    "Minus",
    "Operator",
    "Project",
    "Reaction",
    "Rename",
    "Sample",
    "Select",
    "SemiJoin",
    "Session",
    "Signature",
    "Sort",
    "Top",
    "Union",
    "User",
    "Window",
]
