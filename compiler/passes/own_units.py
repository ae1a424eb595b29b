"""The pass that replaces names of own units: `unit EUR; unit ct = EUR / 100; unit "mol of glucose" = 180.156 g;`."""

from __future__ import annotations

from fractions import Fraction

from attrs import define, evolve, field

from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.conversions import known_unit
from cedilla.compiler.expressions.units.own import OF, OwnUnits
from cedilla.compiler.expressions.units.registry import flattened
from cedilla.compiler.passes.report import Report
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure

_MOL = f"mol{OF}"
_CHECKED = "checked"
_FORM = "as in `unit ct = EUR / 100;`"
_Powers = dict[str, int]


def own_units(query: syntax.Query, report: Report) -> syntax.Query:
    """Gives units that the query defines their full names, which contain the definitions.

    Errors: RQ104 for a second definition of a name, RQ143 for an unknown unit, RQ151 for a definition that is not one.
    """
    definitions = _Definitions()
    for statement in query.statements:
        if isinstance(statement, syntax.UnitDefinition):
            with report.collecting():
                definitions.add(statement)
    report.own_units = definitions.own
    rest = (kept for kept in query.statements if not isinstance(kept, syntax.UnitDefinition))
    return evolve(query, statements=tuple(map(report.own_units.named_in, rest)))


@define
class _Definitions:
    own: OwnUnits = field(factory=OwnUnits)

    def add(self, node: syntax.UnitDefinition) -> None:
        name = node.name
        if name in self.own.units or name.removeprefix(_MOL) in self.own.substances:
            hint = "leave one of the two out, or give it another name"
            raise failure("RQ104", f"the unit `{name}` is defined twice", node.span, hint=hint)
        if name.startswith(_MOL):
            self._add_substance(name.removeprefix(_MOL), node)
            return
        if set(name) & set("[]{}=") or not name.strip() or len(name) > _MAX_LENGTH:
            raise failure("RQ151", f"`{name}` cannot be the name of a unit", node.span, hint=_NAME)
        if _is_taken(name):
            self._check_same(name, node)
            return
        definition = name if node.value is None else self._text(node.value)
        if node.value is None and not name.isidentifier():
            raise failure("RQ151", f"`{name}` is not one word, and defines a unit", node.span, hint=_NAME)
        self.own = evolve(self.own, units={**self.own.units, name: f"[{name}={definition}]"})

    def _check_same(self, name: str, node: syntax.UnitDefinition) -> None:
        """Accepts a definition that repeats what a name means already: `unit "Seconds" = s;`."""
        if node.value is None or not units.is_same(name, f"[{_CHECKED}={self._text(node.value)}]"):
            hint = "choose another name; the definitions of pint and UCUM cannot change"
            raise failure("RQ151", f"`{name}` is a unit already", node.span, hint=hint)

    def _add_substance(self, name: str, node: syntax.UnitDefinition) -> None:
        """Adds `unit "mol of glucose" = 180.156 g;`: a substance with its molar mass in g/mol."""
        hint = f'`unit "{node.name}" = 180.156 g;`'
        if node.value is None or not name.isidentifier():
            raise failure("RQ151", f"`{node.name}` requires a molar mass", node.span, hint=hint)
        try:
            function = units.conversion(f"[{_CHECKED}={self._text(node.value)}]", "gram")
        except units.Mismatch as problem:
            raise failure(
                "RQ151", f"the mass of a mole is in grams: {problem}", node.span, hint=hint
            ) from None
        mass = Fraction(function.slope)
        full = f"[{name}={mass.numerator}/{mass.denominator}]"
        self.own = evolve(self.own, substances={**self.own.substances, name: full})

    def _text(self, value: syntax.Expression) -> str:
        """Returns a definition in base units of the query and of pint: `EUR/100`."""
        factor, powers = self._product(value)
        if factor <= 0 or any(map(units.is_scale, powers)):
            what = "is not above zero" if factor <= 0 else "is of points of a scale"
            raise failure("RQ151", f"the unit {what}", value.span, hint=_FORM)
        more, unit = flattened(powers)
        factor *= more
        over, under = ("" if n == 1 else str(n) for n in (factor.numerator, factor.denominator))
        text = f"{f'{over}*' if over else ''}{unit}{f'/{under}' if under else ''}"
        try:
            units.check(f"[{_CHECKED}={text}]")
        except units.UnknownUnit:
            message = f"`{text}` is not a product of numbers and units"
            raise failure("RQ151", message, value.span, hint=_FORM) from None
        return text

    def _product(self, value: syntax.Expression) -> tuple[Fraction, _Powers]:
        match value:
            case syntax.Literal(bool()):
                pass
            case syntax.Literal(int() | Fraction() as number, unit=None):
                return Fraction(number), {}
            case syntax.Literal(int() | Fraction() as number, unit=str() as unit):
                return Fraction(number), {self._checked_unit(unit, value.span): 1}
            case syntax.Literal(str() as unit):
                return Fraction(1), {self._checked_unit(unit, value.span): 1}
            case syntax.Attribute(unit, None):
                return Fraction(1), {self._checked_unit(unit, value.span): 1}
            case syntax.Binary("*" | "/" as operator, left, right):
                (one, powers), (other, more) = self._product(left), self._product(right)
                sign = 1 if operator == "*" else -1
                if other <= 0:
                    raise failure("RQ151", "the unit is not above zero", right.span, hint=_FORM)
                names = dict.fromkeys((*powers, *more))
                sums = {name: powers.get(name, 0) + sign * more.get(name, 0) for name in names}
                return one * other**sign, sums
            case _:
                pass
        raise failure("RQ151", "a unit is a product of numbers and units", value.span, hint=_FORM)

    def _checked_unit(self, unit: str, span: Span) -> str:
        return known_unit(self.own.full(unit), span, "or a unit that is defined above, `unit EUR;`")


_MAX_LENGTH = 40
_NAME = 'a word; a definition may also have a name in quotes, `unit "Price (EUR)" = EUR;`'


def _is_taken(name: str) -> bool:
    """Returns True for the name of a unit; names with several meanings are free."""
    try:
        units.check(name)
    except units.UnknownUnit:
        return False
    return True
