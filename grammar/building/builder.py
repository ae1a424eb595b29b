"""From lark's tree to syntax nodes: statements and relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve
from lark import Token
from lark.tree import Meta

from cedilla.grammar import syntax
from cedilla.grammar.building.clauses import ClauseBuilder
from cedilla.grammar.hints import synonyms
from cedilla.grammar.parsing.lalr import per_rule
from cedilla.grammar.syntax import accent_forms
from cedilla.grammar.syntax.operator_forms import FORMS
from cedilla.grammar.syntax.settings import COMPOSED, SETTINGS, as_stored, grouping_fault, value_fault

if TYPE_CHECKING:
    from cedilla.grammar.syntax import Expression, Relation


_JOIN_SIGNS = {"⟕": "left", "⋉": "semi", "▷": "anti"}
_NODES: dict[str, Callable[..., syntax.Node]] = {
    "definition": syntax.Definition,
    "own_unit": syntax.UnitDefinition,
    "stated": syntax.StatedAccent,
    "use": syntax.Use,
    "table_column": syntax.TableColumn,
    "heartbeat": syntax.Heartbeat,
    "partitioned": syntax.PartitionedBy,
    "reference": syntax.Reference,
    "union": syntax.Union,
    "item": syntax.ProjectItem,
    "renamed": syntax.Renamed,
    "fixed_unit": syntax.FixedUnit,
    "branch": syntax.Branch,
    "condition": syntax.Condition,
    "compared": syntax.Comparison,
    "wildcard": syntax.Wildcard,
    "rows": syntax.Rows,
    "ties": syntax.Ties,
    "latest": syntax.Latest,
    "add": syntax.AddAttribute,
    "mapping": syntax.Inverse,
    "unit_mapping": syntax.Inverse,
}
"""Rules whose parts are the fields of a node, in this order."""
_LISTS = {
    *("attributes", "names", "metric", "fixed_units", "items", "renamings", "keys", "bounds", "calls"),
    *("pairs", "arguments", "point", "code", "codes"),
}
"""Rules that are the tuple of their parts."""
_SAME = {"unit", "punctuated", "measured_as", "field", "default"}
"""Rules that are their one part."""
_PROFILE = {"foundation", "merge", "accumulate", "returns"}
"""Clauses of an operator, by their names."""


@per_rule
class Builder(ClauseBuilder):
    """One method per rule of `rq.lark` that is not in the tables above. Adds errors to `problems` and continues."""

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        """Returns the result of a rule in the tables, or what the parts of a form make: an operator, or changes."""
        parts = [self._part(child) for child in children]
        if data in _LISTS:
            return tuple(parts)
        if data in _PROFILE:
            return data, parts[0] or ()
        if data in _SAME:
            return parts[0]
        span = self._span(meta)
        if data in _NODES:
            return _NODES[data](*parts, span=span)
        if data in accent_forms.FORMS:
            return accent_forms.FORMS[data].nodes(parts, span)
        *filled, input = parts
        return FORMS[data].node(**{**FORMS[data].values(filled), "input": input, "span": span})

    # --- statements ---

    def query(self, meta: Meta, *statements: syntax.Statement) -> syntax.Query:
        return syntax.Query(statements, span=self._span(meta))

    def stream(
        self,
        meta: Meta,
        kind: Token,
        name: Token,
        attributes: tuple[syntax.AttributeDeclaration, ...],
        format: Token,
        path: Token,
        *clauses: tuple[str, ...] | syntax.Node,
    ) -> syntax.StreamDeclaration:
        heartbeats = [clause for clause in clauses if isinstance(clause, syntax.Heartbeat)]
        folders = [clause for clause in clauses if isinstance(clause, syntax.MarkerFolder)]
        keys = [clause for clause in clauses if isinstance(clause, syntax.PartitionedBy)]
        registries = [clause for clause in clauses if isinstance(clause, syntax.Registry)]
        changes = [clause for clause in clauses if isinstance(clause, syntax.Changes)]
        orders = [clause for clause in clauses if isinstance(clause, syntax.OrderedBy)]
        words = [clause for clause in clauses if isinstance(clause, syntax.NoneWords)]
        once: dict[str, Sequence[syntax.Node]] = {
            "markers": folders,
            "heartbeat": heartbeats,
            "partitioned by": keys,
            "registry": registries,
            "format": changes,
            "ordered by": orders,
            "none": words,
        }
        for word, spans in once.items():
            for again in spans[1:]:
                self._report("RQ001", f"unexpected second `{word}`", again.span, "a source has at most one")
        return syntax.StreamDeclaration(
            "stream" if kind == "stream" else "table",
            str(name),
            attributes,
            str(format),
            self._string(path),
            tuple(clause for clause in clauses if isinstance(clause, tuple)),
            heartbeats[0] if heartbeats else None,
            self._span(format),
            folders[0].path if folders else None,
            tuple(name for clause in clauses if isinstance(clause, syntax.Metrics) for name in clause.names),
            keys[0].attribute if keys else None,
            bool(orders),
            bool(folders) and folders[0].only,
            words[0].words if words else (),
            tuple(pair for clause in clauses if isinstance(clause, syntax.Metrics) for pair in clause.over),
            registries[0].address if registries else None,
            changes[0] if changes else None,
            tuple(clause for clause in clauses if isinstance(clause, syntax.Unfold)),
            span=self._span(meta),
        )

    def attribute_declaration(
        self,
        meta: Meta,
        name: Token,
        optional: Token | None,
        type: syntax.TypeName,
        decimal: str | None,
        zone: str | None,
        origin: syntax.Origin | None,
        unit: str | syntax.UnitFrom | None,
        domain: syntax.SetPattern | syntax.RangePattern | syntax.TableColumn | None,
        default: syntax.Literal | None,
    ) -> syntax.AttributeDeclaration:
        may_miss, span = optional is not None, self._span(meta)
        return syntax.AttributeDeclaration(
            str(name), type, may_miss, domain, unit, origin, decimal, zone, default, span=span
        )

    def zone(self, _meta: Meta, name: Token) -> str:
        return self._string(name)

    def decimal_comma(self, meta: Meta, signs: str) -> str:
        if signs == ".":
            message = "only a comma may be declared in place of a decimal point, or both"
            self._report("RQ164", message, meta, '`decimal ","`, `decimal "," or "."`')
        return signs

    def type(self, meta: Meta, name: Token, *parameters: Token | None) -> syntax.TypeName:
        numbers = [number for number in parameters if number is not None]
        if self._check_known("RQ005", "type", name, syntax.TYPES, synonyms.TYPES):
            self._check_parameters(meta, name, numbers)
        values = tuple(int(number) for number in numbers if number.isdecimal())
        return syntax.TypeName(str(name), values, span=self._span(meta))

    def list_type(self, meta: Meta, element: syntax.TypeName) -> syntax.TypeName:
        return syntax.TypeName("array", element=element, span=self._span(meta))

    def array(self, meta: Meta, name: Token, element: syntax.TypeName) -> syntax.TypeName:
        self._check_known("RQ005", "type", name, ("array",))
        return syntax.TypeName(str(name), element=element, span=self._span(meta))

    def _check_parameters(self, meta: Meta, name: Token, numbers: list[Token]) -> None:
        if name != "decimal":
            if numbers:
                self._report("RQ005", f"`{name}` has no parameters", meta, f"`{name}` alone")
        elif len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
            self._report(
                "RQ005", "`decimal` requires a precision and a scale", meta, "as in `decimal(10, 2)`"
            )
        elif int(numbers[0]) == 0 or int(numbers[1]) > int(numbers[0]):
            help = "all digits come first, then those after the point: `decimal(10, 2)`"
            self._report("RQ005", "the scale of a `decimal` must not exceed its precision", meta, help)

    def operator(
        self,
        meta: Meta,
        name: Token,
        inputs: tuple[str, ...],
        *parts: tuple[str, Any] | Token,
    ) -> syntax.OperatorDeclaration:
        *clauses, function = parts
        values: dict[str, Any] = {}
        for clause, value in cast("list[tuple[str, Any]]", clauses):
            if clause in values:
                self._report("RQ001", f"unexpected second `{clause}`", meta, "an operator has at most one")
            values[clause] = value
        text = self._string(cast("Token", function))
        module, _, attribute = text.partition(":")
        if not (module and attribute):
            self._report(
                "RQ006", f"`{text}` is not a function", cast("Token", function), 'as in "module:function"'
            )
        return syntax.OperatorDeclaration(str(name), inputs, text, **values, span=self._span(meta))

    def setting(
        self, meta: Meta, name: Token, value: Token, *parts: Token | tuple[str, ...] | None
    ) -> syntax.Setting:
        *unit, by = parts
        text = " ".join(str(part) for part in (value, *unit) if part is not None)
        if self._check_known("RQ004", "setting", name, SETTINGS):
            if name in COMPOSED:
                text = self._composed(name, text, value)
            else:
                at = Token.new_borrow_pos(value.type, text, value)
                self._check_known("RQ004", f"value of setting `{name}`:", at, SETTINGS[name])
        if by is not None:
            text = f"{text} by {', '.join(by)}"
            if (fault := grouping_fault(name, text)) is not None:
                self._report("RQ004", fault[0], meta, fault[1])
        return syntax.Setting(str(name), str(text), span=self._span(meta))

    def policy(self, meta: Meta, name: Token, word: Token, *kinds: str | None) -> syntax.Setting:
        text = f"{word} {{{', '.join(filter(None, kinds))}}}"
        if self._check_known("RQ004", "setting", name, SETTINGS):
            text = self._composed(name, text, word)
        return syntax.Setting(str(name), text, span=self._span(meta))

    def _composed(self, name: str, text: str, at: Token) -> str:
        """Returns a value of several parts as plans contain it; reports a wrong one."""
        if (fault := value_fault(name, text)) is None:
            return as_stored(name, text)
        self._report("RQ004", fault[0], at, fault[1])
        return text

    def allowed(self, meta: Meta, kind: Token, names: tuple[str, ...] | None) -> str:
        return str(kind) if names is None else f"{kind}({', '.join(names)})"

    def let(self, meta: Meta, name: Token, value: syntax.Literal) -> syntax.Let:
        measure = self._length(value)
        self.constants[str(name)] = self.given.get(name, measure)
        return syntax.Let(str(name), measure, span=self._span(meta))

    def stated_file(self, meta: Meta, source: Token, kind: Token, path: Token) -> syntax.StatedFile:
        if kind != "file":
            hint = f'as in `accent {source} from file "changes.rqm";`'
            self._report("RQ001", f"unexpected `{kind}`", kind, hint)
        return syntax.StatedFile(str(source), self._string(path), span=self._span(meta))

    def emit(
        self,
        meta: Meta,
        relation: Relation,
        latest: syntax.Latest | None,
        format: Token,
        path: Token,
        original: bool | None,
        units: tuple[syntax.FixedUnit, ...] | None,
    ) -> syntax.Emit:
        return syntax.Emit(
            relation,
            str(format),
            self._string(path),
            original is not None,
            units or (),
            () if latest is None else latest.key,
            self._span(format),
            None if latest is None else latest.span,
            span=self._span(meta),
        )

    def original_units(self, _meta: Meta) -> bool:
        return True

    def text(self, _meta: Meta, text: Token) -> str:
        return self._string(text)

    def period(self, meta: Meta, number: Token, unit: Token | None) -> syntax.Measure:
        return self.measure(meta, number, unit, syntax.CALENDAR_UNITS)

    def measure(
        self, meta: Meta, number: Token, unit: Token | None, more_units: Sequence[str] = ()
    ) -> syntax.Measure:
        singular = None if unit is None else self._unit(unit, more_units)
        if number.type == "NAME":
            return self._named_measure(meta, number, singular)
        return syntax.Measure(Fraction(number), singular, span=self._span(meta))

    def _named_measure(self, meta: Meta, name: Token, unit: str | None) -> syntax.Measure:
        """`len`, a length of time or a number, or `len minutes`, which has to be a number."""
        constant, span = self.constants.get(name), self._span(meta)
        shown = str(name) if self.keep_names else None
        match constant:
            case syntax.Measure(value, None) | syntax.Literal(int() | Fraction() as value, unit=None):
                return syntax.Measure(Fraction(value), unit, shown, span=span)
            case syntax.Measure() if unit is None:
                return evolve(constant, unit=None if shown else constant.unit, name=shown, span=span)
            case syntax.Measure():
                self._report("RQ010", f"`{name}` has a unit already", span, f"`{name}` alone")
            case None:
                help = f"a length of time is `5 minutes`, or a constant that is named above: `let {name} = 5 minutes;`"
                self._report("RQ010", f"unknown constant `{name}`", name, help)
            case _:
                self._report("RQ010", f"`{name}` is not a length", name, "as in `let length = 5 minutes;`")
        return syntax.Measure(Fraction(1), unit, shown, span=span)

    # --- relations ---

    def project(
        self, meta: Meta, items: tuple[syntax.ProjectItem | str, ...], input: Relation
    ) -> syntax.Project:
        named = tuple(item for item in items if not isinstance(item, str))
        return syntax.Project(named, input, len(named) < len(items), span=self._span(meta))

    def extend(
        self, meta: Meta, items: tuple[syntax.ProjectItem | str, ...], input: Relation
    ) -> syntax.Project:
        return evolve(self.project(meta, items, input), rest=True)

    def project_2(self, meta: Meta, excepts: tuple[str, ...], input: Relation) -> syntax.Project:
        return syntax.Project((), input, True, excepts, span=self._span(meta))

    def intersect(self, meta: Meta, left: Relation, all: Token | None, right: Relation) -> syntax.Intersect:
        return syntax.Intersect(left, right, all is not None, span=self._span(meta))

    def minus(self, meta: Meta, left: Relation, *rest: Any) -> syntax.Minus:
        *_, all, right = rest
        return syntax.Minus(left, right, all is not None, span=self._span(meta))

    def join(
        self,
        meta: Meta,
        left: Relation,
        kind: Token | None,
        right: Relation,
        on: tuple[syntax.JoinPair, ...],
    ) -> syntax.Join:
        kind_name = cast("syntax.JoinKind", "inner" if kind is None else _JOIN_SIGNS.get(kind, str(kind)))
        return syntax.Join(left, right, on, kind_name, span=self._span(meta))

    join_by_sign = join

    def applied(self, meta: Meta, name: Token, *inputs: Relation) -> syntax.Applied:
        return syntax.Applied(str(name), inputs, span=self._span(meta))

    def key(self, meta: Meta, name: Token, direction: Token | None) -> syntax.SortKey:
        return syntax.SortKey(str(name), direction == "desc", span=self._span(meta))

    def pair(
        self, meta: Meta, left: Token | syntax.Attribute, right: syntax.Attribute | None = None
    ) -> syntax.JoinPair:
        span = self._span(meta)
        if isinstance(left, Token):
            left = syntax.Attribute(str(left), span=span)
        return syntax.JoinPair(left, right or left, span=span)

    def weight(self, meta: Meta, by: Token) -> syntax.Attribute:
        return syntax.Attribute(str(by), span=self._span(meta))

    def call(
        self,
        meta: Meta,
        value: Expression,
        weight: syntax.Attribute | None,
        carried: Token | None,
        alias: Token,
    ) -> syntax.AggregateCall | syntax.ProjectItem:
        span = self._span(meta)
        if weight is not None:
            value = self._weighted(value, weight)
        if carried is not None:
            value = self._carried(value, carried)
        if isinstance(value, syntax.Scalar):
            return syntax.AggregateCall.of(value, str(alias), span)
        return syntax.ProjectItem(value, str(alias), span=span)

    def _carried(self, value: Expression, word: Token) -> Expression:
        """Returns the call of `last(x) carried`, a function of its own. Reports RQ595 for what is computed."""
        if not isinstance(value, syntax.Scalar):
            hint = "`carried` after a call, `last(x) carried as x`; then `extend` computes with it"
            self._report("RQ595", "only a call of a function is carried", word, hint)
            return value
        return evolve(value, name=value.name + syntax.CARRIED)

    def _weighted(self, value: Expression, weight: syntax.Attribute) -> Expression:
        """Returns the call of `avg(x) weighted by duration`, a function of its own. Reports RQ158 for others."""
        if not isinstance(value, syntax.Scalar) or value.name != "avg" or weight.name != "duration":
            hint = "`avg(x) weighted by duration`; by an attribute it is `sum(x * w) / sum(w)`"
            message = "only the average is weighted, and only by duration"
            self._report("RQ158", message, weight.span, hint)
            return value
        return evolve(value, name=f"{value.name} {syntax.WEIGHTED}")
