"""A query's text as an editor has it, with what is known of it; each is computed once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from attrs import frozen
from lark import Token, Tree

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.safety import Safety, safety
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.included import utf8_text
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.parsing import statements
from cedilla.runtime.hosts.language_server.names import names_of
from cedilla.runtime.hosts.language_server.symbols import Names
from cedilla.runtime.hosts.language_server.valid_text import parsed, planned, without_statement
from cedilla.runtime.tools.inspect.check import all_diagnostics

_PROBE = "probe__"


@frozen(slots=False)
class Document:
    """The text of a query. `source`: the path of its file, also in messages. Offsets count characters from 0."""

    text: str
    source: str

    def with_text(self, text: str) -> Document:
        return Document(text, self.source)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, as `cedilla check` has them."""
        return all_diagnostics(self.text, self.source)

    @cached_property
    def names(self) -> Names:
        """The names of the statements that can be parsed."""
        _, tree = self.parsed
        return Names(()) if tree is None else names_of(tree, self.source, self.used_text)

    @cached_property
    def parsed(self) -> tuple[str, Tree[Token] | None]:
        """The text without statements that cannot be parsed, and its tree."""
        return parsed(self.text)

    def used_text(self, path: str) -> str | None:
        """Returns the text of a file that the query uses, `None` if it cannot be read."""
        try:
            return utf8_text((Path(self.source).parent / path).read_bytes)
        except ValueError:
            return None

    @cached_property
    def _planned(self) -> tuple[str, Plan | None]:
        return planned(self.parsed[0], self.source, self.names.relations)

    @property
    def plan(self) -> Plan | None:
        """The plan of the statements without errors; else `None`."""
        return self._planned[1]

    @cached_property
    def safety(self) -> Safety | None:
        """The bounds of the state of that plan."""
        return None if self.plan is None else safety(self.plan)

    def nodes_at(self, offset: int) -> list[Source | Operator]:
        """Returns the sources and operators around a place, the innermost first."""
        nodes = () if self.plan is None else (*self.plan.sources, *self.plan.operators)
        around = [
            (span.end - span.start, node)
            for node in nodes
            if (span := node.span) is not None
            and span.source == self.source
            and span.start <= offset <= span.end
        ]
        return [node for _, node in sorted(around, key=lambda measured: measured[0])]

    def node_at(self, offset: int) -> Source | Operator | None:
        """Returns the innermost source or operator around a place."""
        return next(iter(self.nodes_at(offset)), None)

    def facts(self, relation: str) -> Facts | None:
        """Returns what is known of a relation, a source or a definition, when the query starts."""
        return None if self.plan is None else self.plan.start.get(relation)

    def facts_of(self, relation: str, offset: int) -> tuple[Facts, dict[str, str]] | None:
        """Returns the same of a relation's text in the statement at a place, with its units."""
        start, _ = statements.bounds(self.text, offset)
        text = without_statement(self._planned[0], offset)[:start]
        try:
            plan = compile_query(
                f'{text}\n{_PROBE} := {relation};\nemit {_PROBE} to json "_";', self.source
            ).plan
        except DiagnosticError:
            return None
        name = plan.emits[-1].relation
        return plan.start[name], dict(plan.units_of(name))
