"""Completes a word: words of the grammar, names of the query, values of a domain, units, functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from attrs import frozen

from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.scalars.usages import USAGES
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.kinds import described
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.change_events import FORMS as FORMS_OF_CHANGES
from cedilla.compiler.plan.formats import SINKS, SOURCES
from cedilla.grammar.hints.forms import CHANGES, CLAUSES, STATEMENTS
from cedilla.grammar.parsing import lalr
from cedilla.grammar.syntax import TYPES, UNITS
from cedilla.grammar.syntax.change_policy import KINDS
from cedilla.grammar.syntax.operator_forms import FORMS, Form, Hole
from cedilla.grammar.syntax.settings import SETTING_MEANINGS, SETTINGS
from cedilla.runtime.hosts.language_server.cursor import Cursor, cursor, input_text
from cedilla.runtime.hosts.language_server.document import Document

Kind = Literal["keyword", "relation", "attribute", "function", "operator", "unit", "type", "value", "setting"]

COMMON_UNITS = """\
degC degF K Pa hPa kPa bar mbar psi atm mm cm m km in ft mile m/s km/h mph knot g kg t lb oz N J kJ kWh MWh W kW
    MW hp V mV kV A mA Ah ohm Hz kHz MHz s ms us minute hour day L mL m3 gallon m**3/h L/minute percent ppm bit byte kB
    MB GB KiB MiB GiB bit/s Mbit/s byte/s MB/s rpm deg rad lx lm mol degC/hour {request} {request}/s {packet}/s {cent}
    {euro}"""
"""Units that are offered; every name of pint and every code of UCUM is a unit."""


@frozen
class Item:
    """A word that may be typed. `insert`: a snippet in place of the label; `text`: what it is for."""

    label: str
    kind: Kind
    detail: str = ""
    insert: str | None = None
    text: str = ""


def complete(document: Document, offset: int) -> tuple[int, list[Item]]:
    """Returns what may be typed at a place of a query, and where the word there begins."""
    at = cursor(document.text, offset, "query")
    if at is None:
        return offset, []
    return at.start, _unique((*_Query(document, at).items(), *_keywords(at)))


def complete_accent(plan: Plan, source: str, text: str, offset: int) -> tuple[int, list[Item]]:
    """Returns the same for an accent on the tuples of a source."""
    at = cursor(text, offset, "accent")
    if at is None:
        return offset, []
    attributes = Attributes(plan.start[source], plan.units_of(source), _domains(plan, source))
    return at.start, _unique((*_in_accent(at, attributes), *_keywords(at)))


@frozen
class Attributes:
    """The attributes of a relation, their units, and the values of those with a listed domain."""

    facts: Facts
    units: Mapping[str, str]
    domains: Mapping[str, tuple[str, ...]]

    def items(self) -> Iterator[Item]:
        """Yields each attribute with its type and unit."""
        for name, type_ in self.facts.types.items():
            unit = self.units.get(name)
            yield Item(name, "attribute", f"{type_} {unit}" if unit else str(type_))

    def values(self, name: str) -> Iterator[Item]:
        """Yields the values of an attribute's domain."""
        return (Item(value, "value", f"of {name}") for value in self.domains.get(name, ()))

    def units_of(self, name: str) -> Iterator[Item]:
        """Yields the units that an attribute can have."""
        return unit_items(self.units.get(name))


@frozen
class _Query:
    document: Document
    cursor: Cursor

    def items(self) -> Iterator[Item]:
        """Yields the names that may be typed."""
        at = self.cursor
        if not at.before:
            yield from _statements()
            return
        if "NAME" not in at.accepted and "STRING" not in at.accepted:
            return
        match str(at.before[0]):
            case "set" if at.open:
                yield from self._allowed()
            case "set":
                yield from _settings(at)
            case "stream" | "table" if at.type(1) != "DEFINE":
                yield from self._declaration()
            case "accent" if at.type() == "ACCENT":
                yield from self._relations(sources=True)
            case "accent":
                if (attributes := self._of_relation(at.word(len(at.before) - 1))) is not None:
                    yield from _in_accent(at, attributes)
            case "operator" | "let" | "use":
                return
            case _:
                yield from self._relational()

    def _declaration(self) -> Iterator[Item]:
        at = self.cursor
        own = _declared(at)
        match at.type():
            case "COLON":
                yield from (Item(name, "type") for name in TYPES)
            case "UNIT":
                yield from self._own_units()
                yield from unit_items(None)
            case "FROM" if not at.open:
                yield from (Item(name, "keyword", "format") for name in SOURCES)
            case "FORMAT":
                yield from (Item(name, "keyword", "format") for name in FORMS_OF_CHANGES)
            case "IN":
                yield from self._relations(sources=True)
            case "DOT":
                if (attributes := self._of_relation(at.word(2))) is not None:
                    yield from attributes.items()
            case _ if not at.open and at.type() in ("ON", "BY", "HEARTBEAT", "COMMA"):
                yield from (Item(name, "attribute") for name in own)

    def _allowed(self) -> Iterator[Item]:
        """Yields the kinds of changes of `set changes = allow {`, or the attributes of one."""
        at, plan = self.cursor, self.document.plan
        if at.before[at.open[-1]] == "{":
            yield from (Item(kind, "keyword") for kind in KINDS if at.type() != "NAME")
        elif plan is not None:
            for source in plan.sources:
                yield from _attributes(plan, source.name).items()

    def _relational(self) -> Iterator[Item]:
        at = self.cursor
        if "SELECT" in at.accepted:
            yield from self._relations()
            yield from (Item(form.word, "operator", form.example, snippet(form)) for form in FORMS.values())
        elif at.type() == "TO":
            yield from (Item(name, "keyword", "format") for name in SINKS)
        elif at.operator is not None:
            yield from self._parameters(at.operator)
        elif "WITH" in [token.type for token in at.before]:
            attributes = self._of_text(self._emitted())
            if at.type() == "IN" and attributes is not None:
                yield from attributes.units_of(at.word(2))
            elif attributes is not None:
                yield from attributes.items()
        elif "LATEST" in [token.type for token in at.before]:
            if (
                at.type() in ("BY", "COMMA")
                and (attributes := self._of_text(self._emitted("AS"))) is not None
            ):
                yield from attributes.items()
        elif at.type() in ("ON", "COMMA", "EQUAL", "AND", "DOT"):
            yield from self._pair()

    def _own_units(self) -> Iterator[Item]:
        return (Item(name, "unit", "of this query") for name in self.document.names.units)

    def _emitted(self, after: str = "TO") -> str:
        """Returns the text of the relation that is emitted. `after`: the type of the word after it."""
        at = self.cursor
        end = [token.start_pos or 0 for token in at.before if token.type == after][-1]
        return self.document.text[at.begin + (at.before[0].end_pos or 0) : at.begin + end]

    def _parameters(self, bracket: int) -> Iterator[Item]:
        at = self.cursor
        if at.type() in ("AS", "FUNCTION"):
            return
        if at.type() == "NUMBER" and not at.is_in_expression and "ON" in at.accepted:
            yield from (Item(name, "unit") for name in (*UNITS, *(f"{name}s" for name in UNITS)))
            return
        if at.type() in ("UNIT", "NUMBER"):
            yield from self._own_units()
            yield from unit_items(None)
            return
        inputs = self._known_inputs()
        name = _compared(at)
        for attributes in inputs:
            if name is not None:
                yield from attributes.values(name)
            yield from attributes.items()
        if at.is_in_expression and at.type() != "LBRACE":
            is_grouping = str(at.before[bracket - 1]) in ("aggregate", "γ", "running")
            yield from function_items(aggregates=is_grouping)
            yield from (Item(constant, "value", "constant") for constant in self.document.names.constants)

    def _known_inputs(self) -> list[Attributes]:
        text = input_text(self.document.text, self.cursor.start)
        attributes = None if text is None or not text.strip() else self._of_text(text)
        if attributes is not None:
            return [attributes]
        plan = self.document.plan
        return [] if plan is None else [_attributes(plan, name) for name in plan.start]

    def _pair(self) -> Iterator[Item]:
        at = self.cursor
        if at.type() == "DOT":
            if (attributes := self._of_relation(at.word(2))) is not None:
                yield from attributes.items()
            return
        joined = [str(t) for t in at.before if t.type == "NAME" and t in self.document.names.relations]
        sides = [attributes for name in joined[-2:] if (attributes := self._of_relation(name)) is not None]
        shared = set[str].intersection(*(set(side.facts.types) for side in sides)) if sides else set[str]()
        for item in (item for side in sides[:1] for item in side.items()):
            if item.label in shared:
                yield item
        yield from self._relations()

    def _relations(self, sources: bool = False) -> Iterator[Item]:
        plan = self.document.plan
        for name in self.document.names.relations:
            if sources and (plan is None or name not in plan.source_of):
                continue
            facts = self.document.facts(name)
            yield Item(name, "relation", ", ".join(facts.types) if facts is not None else "")
        if not sources:
            yield from (Item(name, "operator") for name in self.document.names.operators)

    def _of_relation(self, name: str) -> Attributes | None:
        plan = self.document.plan
        return None if plan is None or name not in plan.start else _attributes(plan, name)

    def _of_text(self, relation: str) -> Attributes | None:
        if (attributes := self._of_relation(relation.strip())) is not None:
            return attributes
        facts = self.document.facts_of(relation, self.cursor.start)
        if facts is None or self.document.plan is None:
            return None
        return Attributes(*facts, _all_domains(self.document.plan))


def _in_accent(at: Cursor, attributes: Attributes) -> Iterator[Item]:
    """Yields what an accent on a relation may name."""
    opened = at.open
    change = at.before[opened[-1] - 1].type if opened and at.before[opened[-1]] == "(" else ""
    if change == "UNIT" and at.type() == "COMMA":
        name = next((str(t) for t in at.before[opened[-1] :] if t.type == "NAME"), "")
        yield from attributes.units_of(name)
    elif at.type() == "COLON":
        yield from (Item(name, "type") for name in TYPES)
    elif (name := _compared(at)) is not None:
        yield from attributes.values(name)
    elif "NAME" in at.accepted and not (change == "RENAME" and at.type() == "LPAR"):
        yield from attributes.items()
        if "ALTER" in at.accepted:
            yield from (Item(text.partition("(")[0], "keyword", text, text) for text in CHANGES.values())


def _compared(at: Cursor) -> str | None:
    """Returns the attribute whose values a place compares: after `s =`, or in `s in {1, `."""
    end = len(at.before)
    if at.open and at.before[at.open[-1]] == "{":
        end = at.open[-1]
        if end < 2 or at.before[end - 1].type != "IN":
            return None
    elif at.type() not in ("EQUAL", "COMPARATOR"):
        return None
    name = at.before[end - 3] if at.before[end - 2].type == "NOT" else at.before[end - 2]
    return str(name) if name.type == "NAME" else None


def _attributes(plan: Plan, relation: str) -> Attributes:
    return Attributes(plan.start[relation], plan.units_of(relation), _all_domains(plan))


def _domains(plan: Plan, source: str) -> dict[str, tuple[str, ...]]:
    return {
        attribute.name: tuple(value.strip() for value in attribute.domain[1:-1].split(","))
        for attribute in plan.source_of[source].attributes
        if attribute.has_list and attribute.domain is not None
    }


def _all_domains(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {name: values for source in plan.source_of for name, values in _domains(plan, source).items()}


def _declared(at: Cursor) -> list[str]:
    return [
        str(token)
        for token, after in zip(at.before, at.before[1:], strict=False)
        if token.type == "NAME" and after.type in ("COLON", "OPTIONAL")
    ]


def _settings(at: Cursor) -> Iterator[Item]:
    if at.type() == "SET":
        yield from (Item(name, "setting", text=SETTING_MEANINGS[name]) for name in SETTINGS)
    elif at.type() == "EQUAL":
        yield from (Item(value, "value") for value in SETTINGS.get(at.word(2), ()))


def _statements() -> Iterator[Item]:
    for word, form in STATEMENTS.items():
        yield Item(word, "keyword", form)


def _keywords(at: Cursor) -> Iterator[Item]:
    """Yields the words of the grammar that may follow."""
    for token_type in sorted(at.accepted):
        word = lalr.spelling(token_type)
        if word is not None and word.isalpha() and word.isascii():
            yield Item(word, "keyword", CLAUSES.get(word, ""))


def unit_items(like: str | None) -> Iterator[Item]:
    """Yields common units; those that a unit converts to, if one is given."""
    for name in COMMON_UNITS.split():
        if like is not None:
            try:
                units.conversion(like, name)
            except ValueError:
                continue
        quoted = name if name.isidentifier() else f'"{name}"'
        yield Item(quoted, "unit", described(name))


def function_items(*, aggregates: bool) -> Iterator[Item]:
    """Yields functions, each with a call that names its arguments."""
    if aggregates:
        for name, function in AGGREGATES.items():
            yield Item(name, "function", function.usage, f"{name}($1)")
    for name, function in FUNCTIONS.items():
        usage, note = USAGES[function.name]
        yield Item(name, "function", usage, f"{name}($1)", note)


def snippet(form: Form) -> str:
    """Returns an operator's required parts with places to fill."""
    numbers = iter(range(1, 100))

    def text(part: str | Hole) -> str:
        if isinstance(part, str):
            return part
        return f"${{{next(numbers)}:{part.example.replace('}', chr(92) + '}')}}}"

    groups = [" ".join(map(text, group)) for group, is_optional in form.groups if not is_optional]
    return f"{form.word}[{' '.join(groups)}](${next(numbers)})"


def _unique(items: Iterable[Item]) -> list[Item]:
    by_label: dict[str, Item] = {}
    for item in items:
        by_label.setdefault(item.label, item)
    return list(by_label.values())
