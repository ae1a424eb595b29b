"""The pass that gives every relation a name."""

from __future__ import annotations

from attrs import evolve, field, mutable

from cedilla.compiler.passes.defaults import filled
from cedilla.compiler.passes.report import Report, fresh, relation_names
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.hints import synonyms

_ONE = "leave one of the two out"
_UNDECLARED = '`operator smooth(R) foundation {a} from "module:function";` above it declares one'


def resolve(query: syntax.Query, report: Report) -> syntax.Query:
    """Names every relation: each definition then applies one operator to sources and definitions above it.

    A source with defaults is followed by the projection that fills them, and is read by the name of that.

    Errors: those of `defaults.filled`, RQ101 for an unknown relation, RQ104 for a second statement of a name, RQ112 for
    a join pair of other relations, RQ118 for a user operator that is not declared so, RQ236 for an accent of a computed
    relation.

    >>> from cedilla.grammar.formatting.formatter import format_query
    >>> from cedilla.grammar.parser import parse_query
    >>> query = parse_query('''
    ...   stream r(s: int, t: double) from json "r";
    ...   hot := project[s](select[t > 90](r));
    ...   emit distinct(hot) to json "hot";
    ... ''')
    >>> print(format_query(resolve(query, Report(query, "query", "", {}))), end="")
    stream r(s: int, t: double) from json "r";
    select := select[t > 90](r);
    hot := project[s](select);
    distinct := distinct(hot);
    emit distinct to json "hot";
    """
    resolver = _Resolver(report, relation_names(query))
    for statement in query.statements:
        with report.collecting():
            resolver.add(statement)
    return evolve(query, statements=tuple(resolver.statements))


@mutable
class _Resolver:
    report: Report
    taken: set[str]
    relations: dict[str, str] = field(factory=dict[str, str])
    """A name in the query -> its relation; two names may be of one."""
    broken: set[str] = field(factory=set[str])
    """Relations whose definition has an error, which is reported once."""
    streams: dict[str, str] = field(factory=dict[str, str])
    """A relation -> the source whose tuples it has, filled with defaults."""
    constants: set[str] = field(factory=set[str])
    settings: dict[str, str] = field(factory=dict[str, str])
    operators: dict[str, syntax.OperatorDeclaration] = field(factory=dict[str, syntax.OperatorDeclaration])
    statements: list[syntax.Statement] = field(factory=list[syntax.Statement])
    current: str | None = None
    """The relation whose definition is read."""

    def add(self, statement: syntax.Statement) -> None:
        self.current = None
        match statement:
            case syntax.StreamDeclaration(name=name):
                self._declare(name, statement.span)
                for domain in (declared.domain for declared in statement.attributes):
                    if isinstance(domain, syntax.TableColumn) and domain.table != name:
                        self._relation_of(domain.table, domain.span)
                if (projection := filled(statement)) is None:
                    self._define(name, name)
                    self.streams[name] = name
                else:
                    relation = fresh(f"{name}_filled", self.taken)
                    definition = syntax.Definition(relation, projection, span=statement.span)
                    self.statements += [statement, definition]
                    self._define(name, relation)
                    self.streams[relation] = name
                    return
            case syntax.OperatorDeclaration(name):
                if self.operators.setdefault(name, statement) is not statement:
                    raise failure("RQ104", f"`{name}` is declared twice", statement.span, hint=_ONE)
            case syntax.Setting(name, value):
                if self.settings.setdefault(name, value) != value:
                    raise failure("RQ104", f"`{name}` is set twice", statement.span, hint=_ONE)
            case syntax.Let(name):
                self._declare(name, statement.span)
                self.broken.discard(name)
                self.constants.add(name)
            case syntax.StatedAccent(source):
                statement = evolve(statement, source=self._stream(source, statement.span))
            case syntax.Definition(name, relation):
                self._declare(name, statement.span)
                self.current = name
                self._define(name, self._name(relation, name))
                return  # `_name` has added the operators
            case syntax.UnitDefinition():
                pass
            case syntax.Use() | syntax.StatedFile():
                return  # only a text that a hint proposes has one here
            case syntax.Emit(relation):
                statement = evolve(statement, relation=self._reference(relation))
        self.statements.append(statement)

    def _declare(self, name: str, span: Span) -> None:
        if name in self.relations or name in self.broken or name in self.constants:
            raise failure("RQ104", f"`{name}` is defined twice", span, hint=f"another name, as `{name}_2`")
        self.broken.add(name)

    def _define(self, name: str, relation: str) -> None:
        self.relations[name] = relation
        self.broken.discard(name)

    def _name(self, node: syntax.Relation, name: str | None) -> str:
        """Adds the definitions of a relation and its inputs. Returns its name: `name`, if that is not `None`."""
        match node:
            case syntax.Reference(referred):
                return self._relation_of(referred, node.span)
            case syntax.Applied(operator, inputs):
                self._check_applied(node)
                node, kind = evolve(node, inputs=tuple(map(self._reference, inputs))), operator
            case syntax.Union() | syntax.Intersect() | syntax.Minus() | syntax.Join():
                left, right = self._reference(node.left), self._reference(node.right)
                node, kind = evolve(node, left=left, right=right), type(node).__name__.lower()
                if isinstance(node, syntax.Join):
                    node = evolve(
                        node, on=tuple(self._pair(pair, (left.name, right.name)) for pair in node.on)
                    )
            case _:
                node, kind = evolve(node, input=self._reference(node.input)), type(node).__name__.lower()
        name = name or fresh(kind, self.taken)
        self.statements.append(syntax.Definition(name, node, span=node.span))
        return name

    def _reference(self, node: syntax.Relation) -> syntax.Reference:
        return syntax.Reference(self._name(node, None), span=node.span)

    def _relation_of(self, name: str, span: Span) -> str:
        if name == self.current:
            hint = "a relation is computed from those above it"
            raise failure("RQ101", f"`{name}` is used in its own definition", span, hint=hint)
        if name in self.broken:
            raise DiagnosticError([])  # reported at its definition
        if name not in self.relations:
            raise failure("RQ101", f"unknown relation `{name}`", span, hint=self._hint(name))
        return self.relations[name]

    def _stream(self, name: str, span: Span) -> str:
        relation = self._relation_of(name, span)
        if relation not in self.streams:
            hint = f"an accent describes the tuples of a stream or table: {', '.join(self.streams.values())}"
            raise failure("RQ236", f"`{name}` is computed", span, hint=hint)
        return self.streams[relation]

    def _hint(self, name: str) -> str | None:
        guess = did_you_mean(name, self.relations, "relations") if self.relations else None
        below = [
            statement
            for statement in self.report.query.statements
            if getattr(statement, "name", None) == name
        ]
        if not below or (guess or "").startswith("did you mean"):
            return guess
        where = f"line {below[0].span.line} defines it: definitions come before their use"
        return where if guess is None else f"{where}; {guess}"

    def _check_applied(self, node: syntax.Applied) -> None:
        declared = self.operators.get(node.operator)
        if declared is None:
            hint = f"declared operators: {', '.join(self.operators)}" if self.operators else _UNDECLARED
            hint = synonyms.OPERATORS.get(node.operator.lower(), hint)
            raise failure("RQ118", f"unknown operator `{node.operator}`", node.span, hint=hint)
        if len(node.inputs) != len(declared.inputs):
            inputs = f"input{'s' if len(declared.inputs) > 1 else ''} ({', '.join(declared.inputs)})"
            message = f"`{node.operator}` requires {len(declared.inputs)} {inputs}, found {len(node.inputs)}"
            hint = f"line {declared.span.line} declares the operator"
            raise failure("RQ118", message, node.span, hint=hint)

    def _pair(self, pair: syntax.JoinPair, inputs: tuple[str, str]) -> syntax.JoinPair:
        left, right = (self._qualified(attribute, inputs) for attribute in (pair.left, pair.right))
        return evolve(pair, left=left, right=right)

    def _qualified(self, attribute: syntax.Attribute, inputs: tuple[str, str]) -> syntax.Attribute:
        """Returns an attribute whose qualifier is the name of an input."""
        if attribute.qualifier is None:
            return attribute
        relation = self._relation_of(attribute.qualifier, attribute.span)
        if relation not in inputs:
            hint = f"its inputs are {' and '.join(inputs)}"
            raise failure("RQ112", f"`{relation}` is not an input of the join", attribute.span, hint=hint)
        return evolve(attribute, qualifier=relation)
