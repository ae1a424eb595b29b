"""The outline of a query, and the units that an editor shows between its words."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen
from lark import Token, Tree

from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.names import alias_of

_TITLES = {
    "stream": "source",
    "definition": "relation",
    "let": "constant",
    "operator": "operator",
    "emit": "output",
}


@frozen
class Symbol:
    """A statement, or an attribute that it declares: its place, and that of its name."""

    name: str
    kind: str
    start: int
    end: int
    name_start: int
    name_end: int
    children: tuple[Symbol, ...] = ()


@frozen
class Inlay:
    """A unit after a place of the text."""

    offset: int
    text: str


def symbols(document: Document) -> Iterator[Symbol]:
    """Yields the statements of a query that have a name, each with the attributes that it declares."""
    _, tree = document.parsed
    for statement in () if tree is None else tree.children:
        if not isinstance(statement, Tree) or statement.data not in _TITLES:
            continue
        tokens = [*statement.scan_values(lambda child: isinstance(child, Token))]
        names = [token for token in tokens if token.type == "NAME"]
        if names:
            attributes = (_declared(node) for node in statement.find_data("attribute_declaration"))
            children = tuple(attributes) if statement.data == "stream" else ()
            yield _symbol(statement, names[0], _TITLES[statement.data], children)


def _declared(tree: Tree[Token]) -> Symbol:
    name = tree.children[0]
    assert isinstance(name, Token)
    return _symbol(tree, name, "attribute")


def _symbol(tree: Tree[Token], name: Token, kind: str, children: tuple[Symbol, ...] = ()) -> Symbol:
    start = name.start_pos or 0
    return Symbol(str(name), kind, tree.meta.start_pos, tree.meta.end_pos, start, start + len(name), children)


def inlays(document: Document) -> Iterator[Inlay]:
    """Yields the unit of each computed attribute after its name, and of each number that one is compared with."""
    _, tree = document.parsed
    if tree is None or document.plan is None:
        return
    for rule in ("call", "item"):
        for node in tree.find_data(rule):
            if (alias := alias_of(node)) is not None:
                yield from _unit_after(document, alias, str(alias))
    for node in tree.find_data("comparison"):
        match node.children:
            case [
                Tree(data="attribute", children=[*_, Token() as name] | [Token() as name, None]),
                Token(),
                Tree(data="constant", children=[Token(type="NUMBER") as number]),
            ]:
                yield from _unit_after(document, number, str(name))


def _unit_after(document: Document, token: Token, attribute: str) -> Iterator[Inlay]:
    plan, start = document.plan, token.start_pos or 0
    if plan is None:
        return
    unit = next(
        (
            unit
            for node in document.nodes_at(start)
            for relation in (node.name, *getattr(node, "inputs", ()))
            if (unit := plan.units_of(relation).get(attribute)) is not None
        ),
        None,
    )
    if unit is not None:
        yield Inlay(start + len(token), unit)
