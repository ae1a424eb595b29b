"""Finds what each name of a query's text stands for: relations, attributes through operators, constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import field, mutable
from lark import Token, Tree

from cedilla.grammar.syntax.operator_forms import FORMS
from cedilla.runtime.hosts.language_server.symbols import Kind, Names, Occurrence, Symbols
from cedilla.runtime.hosts.language_server.valid_text import parsed

Scope = dict[str, int]
"""Attribute -> what it stands for."""
Part = Tree[Token] | Token | None
_MERGED = ("union", "intersect", "minus")


def names_of(tree: Tree[Token], source: str, read: Callable[[str], str | None]) -> Names:
    """Returns the names of a parsed text. `read` returns the text of a file that it uses, else `None`."""
    reader = _Reader(source, read)
    for statement in tree.children:
        reader.statement(statement)
    root = reader.symbols.root
    occurrences = (
        Occurrence(use.name, use.kind, root(use.symbol), *_rest(use)) for use in reader.occurrences
    )
    return Names(
        tuple(occurrences),
        *(
            tuple(map(str, table))
            for table in (reader.relations, reader.constants, reader.operators, reader.own_units)
        ),
    )


def _rest(occurrence: Occurrence) -> tuple[int, int, str, bool, bool]:
    return occurrence.start, occurrence.end, occurrence.source, occurrence.defines, occurrence.declares


@mutable
class _Reader:
    source: str
    read: Callable[[str], str | None]
    symbols: Symbols = field(factory=Symbols)
    occurrences: list[Occurrence] = field(factory=list[Occurrence])
    relations: dict[str, tuple[int, Scope]] = field(factory=dict[str, tuple[int, Scope]])
    constants: dict[str, int] = field(factory=dict[str, int])
    operators: dict[str, int] = field(factory=dict[str, int])
    units: dict[str, int] = field(factory=dict[str, int])
    own_units: list[str] = field(factory=list[str])
    used: list[str] = field(factory=list[str])

    # --- statements ---

    def statement(self, node: Part) -> None:
        if not isinstance(node, Tree):
            return
        match node.data, node.children:
            case "stream", [_, Token() as name, Tree() as attributes, *rest]:
                self._source(name, attributes, rest)
            case "operator", [Token() as name, *rest]:
                self.operators[name] = self._add(name, "operator", self.symbols.new(), defines=True)
                for part in rest:
                    self._attributes(part, {})
            case "let", [Token() as name, _]:
                self.constants[name] = self._add(name, "constant", self.symbols.new(), defines=True)
            case "definition", [Token() as name, relation]:
                scope = self._relation(relation)
                symbol = self._add(name, "relation", self.symbols.new(), defines=True)
                self.relations[name] = symbol, scope
            case "emit", [relation, *rest]:
                scope = self._relation(relation)
                for part in rest:
                    for latest in _trees(part, "latest"):
                        for token in _tokens(latest, "NAME"):
                            self._attribute(token, scope)
                    for fixed in _trees(part, "fixed_unit"):
                        self._attribute(_token(fixed.children[0]), scope)
                        self._units(fixed)
            case (("stated" | "stated_file"), [Token() as name, *rest]):
                scope = self._refer(name)
                if rest and isinstance(rest[0], Tree):
                    self.accent(rest[0], scope)
            case "own_unit", [Tree() as unit, *rest]:
                self._units(unit, defines=True)
                for part in rest:
                    for name in _tokens(part, "NAME"):
                        self._unit(name)
            case "use", [Token() as path]:
                self._use(str(path)[1:-1])

    def _source(self, name: Token, attributes: Tree[Token], rest: Sequence[Part]) -> None:
        scope: Scope = {}
        for declared in _trees(attributes, "attribute_declaration"):
            token = _token(declared.children[0])
            scope[token] = self._add(token, "attribute", self.symbols.new(), defines=True, declares=True)
        self._units(attributes)
        for part in (*attributes.children, *rest):
            for column in _trees(part, "table_column"):
                table, attribute = map(_token, column.children)
                self._attribute(attribute, self._refer(table))
            for chosen in _trees(part, "unit_from"):
                self._attribute(next(_tokens(chosen, "NAME")), scope)
            if isinstance(part, Tree) and part.data in ("punctuated", "heartbeat", "partitioned"):
                of = part if part.data != "punctuated" else part.children[0]
                for token in [*_tokens(of, "NAME")][: None if part.data == "punctuated" else 1]:
                    self._attribute(token, scope)
            self._literals(part)
        symbol = self._add(name, "relation", self.symbols.new(), defines=True)
        self.relations[name] = symbol, scope

    def _use(self, path: str) -> None:
        text = None if path in self.used or len(self.used) > 20 else self.read(path)
        if text is None:
            return
        self.used.append(path)
        _, tree = parsed(text)
        outer, self.source = self.source, path
        for statement in () if tree is None else tree.children:
            self.statement(statement)
        self.source = outer

    # --- relations ---

    def _relation(self, node: Part) -> Scope:
        """Reads a relation; returns its attributes."""
        if not isinstance(node, Tree):
            return {}
        if node.data == "reference":
            return dict(self._refer(_token(node.children[0])))
        if node.data in _MERGED:
            left, *_, right = [self._relation(child) for child in node.children if isinstance(child, Tree)]
            return self._merged(left, right)
        if node.data in ("join", "join_by_sign"):
            return self._join(node)
        if node.data == "applied":
            name, *inputs = node.children
            symbol = self.operators.get(_token(name)) or self.symbols.new()
            self._add(_token(name), "operator", symbol)
            scope: Scope = {}
            for child in inputs:
                scope = {**self._relation(child), **scope}
            return scope
        return self._operator(node)

    def _merged(self, left: Scope, right: Scope) -> Scope:
        for name in left.keys() & right.keys():
            self.symbols.unite(left[name], right[name])
        return {**right, **left}

    def _join(self, node: Tree[Token]) -> Scope:
        left_node, *_, right_node, pairs = node.children
        left, right = self._relation(left_node), self._relation(right_node)
        kinds = [str(child) for child in node.children if isinstance(child, Token)]
        for pair in pairs.children if isinstance(pairs, Tree) else ():
            match pair.children if isinstance(pair, Tree) else ():
                case [Token() as name]:
                    if name in left and name in right:
                        self.symbols.unite(left[name], right[name])
                    self._attribute(name, left if name in left else right)
                case [Tree() as one, Tree() as other]:
                    self._joined(one, left)
                    self._joined(other, right)
        return left if {"semi", "anti", "⋉", "▷"} & set(kinds) else {**right, **left}

    def _joined(self, node: Tree[Token], scope: Scope) -> None:
        *qualifier, name = _tokens(node)
        if qualifier:
            of = self._refer(qualifier[0])
            scope = scope if name in scope or not of else of
        self._attribute(name, scope)

    def _operator(self, node: Tree[Token]) -> Scope:
        """Reads an operator with one input: its parts by the holes of its form."""
        form = FORMS.get(node.data)
        if form is None or not node.children:
            return {}
        *parts, input_node = node.children
        scope = self._relation(input_node)
        made: Scope = {}
        by: list[Token] = []
        left_out: set[str] = set()
        for hole, part in zip(form.holes, parts, strict=False):
            if hole.field == "function" or part is None:
                continue
            if hole.field == "alias":
                for name in _tokens(part):
                    made[name] = self._add(name, "attribute", self.symbols.new(), defines=True)
            elif hole.is_calls or hole.rule in ("items", "renamings"):
                made |= self._new_names(part, scope)
            else:
                self._attributes(part, scope)
            if hole.field == "by":
                by = [*_tokens(part)]
            if hole.field in ("excepts", "without"):
                left_out = set(map(str, _tokens(part)))
        output = _output(node, form.rule, scope, made, by)
        return {name: symbol for name, symbol in output.items() if name not in left_out}

    def _new_names(self, part: Part, scope: Scope) -> Scope:
        """Reads new names with what they are computed from; an item without a new name keeps its own."""
        made: Scope = {}
        for node in part.children if isinstance(part, Tree) else ():
            if not isinstance(node, Tree):
                continue
            if node.data == "renamed":
                old, new = map(_token, node.children)
                self._attribute(old, scope)
            else:
                expression, *others = node.children
                new = alias_of(node)
                for part in (expression, *others):
                    if isinstance(part, Tree):
                        self._attributes(part, scope)
                if new is None and isinstance(expression, Tree) and expression.data == "attribute":
                    name = [*_tokens(expression)][-1]
                    made[name] = scope.setdefault(name, self.symbols.new())
            if new is not None:
                made[new] = self._add(new, "attribute", self.symbols.new(), defines=True)
        return made

    # --- expressions and markers ---

    def _attributes(self, part: Part, scope: Scope) -> None:
        """Reads the names of an expression, of a list of names or keys, and of constants."""
        if isinstance(part, Token):
            if part.type == "NAME":
                self._attribute(part, scope)
            return
        if part is None:
            return
        match part.data, part.children:
            case "attribute", [Token() as name, None] if name in self.constants:
                self._add(name, "constant", self.constants[name])
            case "attribute", [Token() as name, None]:
                self._attribute(name, scope)
            case "attribute", [Token() as qualifier, Token() as name]:
                self._refer(qualifier)
                self._attribute(name, scope)
            case (("scalar" | "resetting" | "since"), [Token() as name, *rest]):
                self._add(name, "function", self.symbols.new())
                for child in rest:
                    self._attributes(child, scope)
            case (("literal" | "measure" | "with_unit" | "measured_as" | "type"), _):
                self._literals(part)
                self._units(part)
            case "key", [Token() as name, *_]:
                self._attribute(name, scope)
            case _:
                for child in part.children:
                    self._attributes(child, scope)

    def _literals(self, part: Part) -> None:
        """Reads constants that are used as values or lengths of time."""
        for node in (*_trees(part, "literal"), *_trees(part, "measure")):
            for name in [*_tokens(node, "NAME")][:1]:
                if name in self.constants:
                    self._add(name, "constant", self.constants[name])

    def _units(self, part: Part, *, defines: bool = False) -> None:
        """Reads the units of a part; each is the same thing everywhere."""
        for node in _trees(part, "unit"):
            for name in _tokens(node):
                self._unit(name, defines=defines)

    def _unit(self, name: Token, *, defines: bool = False) -> None:
        unit = str(name).strip("\"'")
        if unit not in self.units:
            self.units[unit] = self.symbols.new()
        if defines:
            self.own_units.append(unit)
        self._add(name, "unit", self.units[unit], defines=defines)

    def accent(self, node: Tree[Token], scope: Scope) -> None:
        """Reads the names of an accent on the tuples of a source."""
        self._units(node)
        for condition in _trees(node, "condition"):
            self._attribute(_token(condition.children[0]), scope)
        for change in node.children:
            if not isinstance(change, Tree) or change.data == "condition":
                continue
            for part in change.children[: None if change.data == "drop" else 2]:
                for token in part.children if isinstance(part, Tree) and part.data == "several" else [part]:
                    if isinstance(token, Token) and token.type == "NAME":
                        self._attribute(token, scope)

    # --- names ---

    def _refer(self, name: Token) -> Scope:
        relation = self.relations.get(name)
        symbol, scope = relation if relation is not None else (self.symbols.new(), {})
        self._add(name, "relation", symbol)
        return scope

    def _attribute(self, name: Token, scope: Scope) -> None:
        # An accent may add what no statement names: it is one thing in this relation.
        self._add(name, "attribute", scope.setdefault(name, self.symbols.new()))

    def _add(
        self, name: Token, kind: Kind, symbol: int, *, defines: bool = False, declares: bool = False
    ) -> int:
        start = name.start_pos or 0
        self.occurrences.append(
            Occurrence(str(name), kind, symbol, start, start + len(name), self.source, defines, declares)
        )
        return symbol


def alias_of(node: Tree[Token]) -> Token | None:
    """Returns the new name of an item or a call; `None` if it has none."""
    return next((part for part in reversed(node.children[1:]) if isinstance(part, Token)), None)


def _output(node: Tree[Token], rule: str, scope: Scope, new_names: Scope, by: list[Token]) -> Scope:
    """Returns the attributes of an operator's output."""
    if rule == "project":
        items = node.children[0]
        keeps_rest = isinstance(items, Tree) and any(isinstance(child, Token) for child in items.children)
        return {**scope, **new_names} if keeps_rest else new_names
    if rule == "rename":
        old = {str(child.children[0]) for child in _trees(node.children[0], "renamed")}
        return {**{name: symbol for name, symbol in scope.items() if name not in old}, **new_names}
    if rule == "aggregate":
        return {**{str(name): scope[name] for name in by if name in scope}, **new_names}
    return {**scope, **new_names}


def _token(part: Part) -> Token:
    assert isinstance(part, Token)
    return part


def _tokens(part: Part, kind: str | None = None) -> Iterator[Token]:
    """Yields the tokens of a part, or those of one kind, in their order."""
    if isinstance(part, Token):
        if kind is None or part.type == kind:
            yield part
    elif part is not None:
        for child in part.children:
            yield from _tokens(child, kind)


def _trees(part: Part, rule: str) -> Iterator[Tree[Token]]:
    if isinstance(part, Tree):
        if part.data == rule:
            yield part
        for child in part.children:
            yield from _trees(child, rule)
