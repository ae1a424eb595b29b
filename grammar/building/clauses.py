"""From lark's tree to syntax nodes: the clauses of a source and its attributes."""

from __future__ import annotations

from itertools import chain, pairwise

from lark import Token
from lark.tree import Meta

from cedilla.grammar import syntax
from cedilla.grammar.building.marker_terms import MarkerBuilder
from cedilla.grammar.parsing.lalr import per_rule


@per_rule
class ClauseBuilder(MarkerBuilder):
    """One method per rule of `rq.lark`. Adds errors to `problems` and continues."""

    def ordered(self, meta: Meta, by: Token) -> syntax.OrderedBy:
        if by != "name":
            self._report(
                "RQ001", f"unexpected `{by}`", meta, "`ordered by name`: files are read by their names"
            )
        return syntax.OrderedBy(span=self._span(meta))

    def markers(self, meta: Meta, path: Token) -> syntax.MarkerFolder:
        return syntax.MarkerFolder(self._string(path), span=self._span(meta))

    def markers_only(self, meta: Meta, path: Token) -> syntax.MarkerFolder:
        return syntax.MarkerFolder(self._string(path), True, span=self._span(meta))

    def origin(self, meta: Meta, root: Token | None, path: Token, *others: Token) -> syntax.Origin:
        named = None if root is None else str(root)
        return syntax.Origin(
            self._string(path), named, tuple(map(self._string, others)), span=self._span(meta)
        )

    def registry(self, meta: Meta, address: Token) -> syntax.Registry:
        return syntax.Registry(self._string(address), span=self._span(meta))

    def changes(
        self, meta: Meta, format: Token, keys: tuple[str, ...] | None, latest: syntax.Latest | None
    ) -> syntax.Changes:
        return syntax.Changes(
            str(format), keys or (), None if latest is None else latest.key, span=self._span(meta)
        )

    def none(self, meta: Meta, *words: Token) -> syntax.NoneWords:
        return syntax.NoneWords(tuple(map(self._string, words)), span=self._span(meta))

    def each(self, meta: Meta, path: Token) -> syntax.Unfold:
        return syntax.Unfold("element", self._string(path), span=self._span(meta))

    def each_entry(self, meta: Meta, path: Token) -> syntax.Unfold:
        return syntax.Unfold("entry", self._string(path), span=self._span(meta))

    def parsed(self, meta: Meta, path: Token) -> syntax.Unfold:
        return syntax.Unfold("text", self._string(path), span=self._span(meta))

    def metrics(self, meta: Meta, *chains: tuple[str, ...]) -> syntax.Metrics:
        pairs = chain.from_iterable(map(pairwise, chains))
        return syntax.Metrics(tuple(chain.from_iterable(chains)), tuple(pairs), span=self._span(meta))
