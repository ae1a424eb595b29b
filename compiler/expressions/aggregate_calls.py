"""One call of an aggregate function: `avg(t)`, `count(distinct s where t > 9)`."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregates.aggregate_function import CONSTANTS, Function
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS
from cedilla.compiler.expressions.aggregates.aggregate_kinds import WITHOUT_BOUND
from cedilla.compiler.expressions.types import Type
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.formatting.expression_formatter import called
from cedilla.grammar.parser import parse_query
from cedilla.grammar.syntax import AggregateCall, Expression, Literal


@frozen
class Call:
    """A call such as `avg(t)`, `quantile(t, 0.9)`, `count(distinct s where t > 9)`.

    It consists of a function, its arguments, and a restriction of tuples and values. `count()` has no
    argument and counts tuples.
    """

    function: str
    arguments: tuple[Expression, ...] = field(default=(), converter=tuple)
    distinct: bool = False
    where: Expression | None = None
    span: Span | None = field(default=None, eq=False, repr=False)
    """The position of the function's name."""

    @classmethod
    def parse(cls, text: str) -> Call:
        """Parses a call from its own `str()`."""
        match parse_query(f"r := aggregate[{text} as r](r);").statements:
            case (syntax.Definition(relation=syntax.Aggregate(calls=(AggregateCall() as call,))),):
                return cls.of(call)
            case _:
                raise ValueError(f"{text} is not a call")

    @classmethod
    def parsed(cls, calls: Mapping[str, Call | str]) -> dict[str, Call]:
        """Parses calls that are texts, by the names of their results."""
        return {name: cls.parse(call) if isinstance(call, str) else call for name, call in calls.items()}

    @classmethod
    def of(cls, node: AggregateCall) -> Call:
        start, length = node.span, len(node.function)
        span = evolve(start, end=start.start + length, end_line=start.line, end_column=start.column + length)
        return cls(node.function, node.arguments, node.distinct, node.where, span)

    def __str__(self) -> str:
        return called(self.function, self.arguments, self.distinct, self.where)

    @property
    def how(self) -> Function:
        """The function, over distinct values if the call says so. Only for calls that were checked."""
        function = FUNCTIONS[self.function].with_arguments(len(self.arguments))
        return function.distinct or function if self.distinct else function

    def over(self, types: Mapping[str, Type]) -> Function:
        """Returns the function for arguments of the input's types."""
        return self.how.over(expressions.type_of(self.columns[0], types)) if self.columns else self.how

    @property
    def columns(self) -> tuple[Expression, ...]:
        """The arguments that are computed tuple by tuple."""
        return tuple(
            a for a, kind in zip(self.arguments, self.how.takes, strict=False) if kind not in CONSTANTS
        )

    @property
    def constant(self) -> Literal | None:
        """The argument that is a constant."""
        constants = (a for a, k in zip(self.arguments, self.how.takes, strict=False) if k in CONSTANTS)
        return next((a for a in constants if isinstance(a, Literal)), None)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The arguments and the condition."""
        return self.arguments if self.where is None else (*self.arguments, self.where)

    @property
    def computed_from(self) -> frozenset[str]:
        """The attributes that the arguments read."""
        return frozenset[str]().union(*(expressions.attributes(a) for a in self.arguments))

    @property
    def chosen_by(self) -> frozenset[str]:
        """The attributes that the condition reads."""
        return frozenset() if self.where is None else expressions.attributes(self.where)

    @property
    def keeps_values(self) -> bool:
        """True if its state contains the values of a group, and not only a summary of them (theory 3.4)."""
        return not WITHOUT_BOUND.isdisjoint(self.how.partials)

    @property
    def reads(self) -> frozenset[str]:
        return self.computed_from | self.chosen_by
