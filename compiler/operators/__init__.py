"""The operators, one file each."""

from cedilla.compiler.operators.aggregate import Aggregate, Call
from cedilla.compiler.operators.base import Invariants, Operator, Reaction, Signature
from cedilla.compiler.operators.join import Join
from cedilla.compiler.operators.project import Project
from cedilla.compiler.operators.select import Select
from cedilla.compiler.operators.union import Union
from cedilla.compiler.operators.window import Window

OPERATORS: tuple[type[Operator], ...] = (Select, Project, Union, Join, Window, Aggregate)
"""Every operator of the algebra; tests walk it for documentation and golden files."""

__all__ = [
    "OPERATORS",
    "Aggregate",
    "Call",
    "Invariants",
    "Join",
    "Operator",
    "Project",
    "Reaction",
    "Select",
    "Signature",
    "Union",
    "Window",
]
