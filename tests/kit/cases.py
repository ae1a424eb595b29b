"""Cases as pages: sections of blocks that are read from top to bottom.

`rq` is the query from there on. ``json pumps/1.jsonl`` writes a file of the source `pumps`. ``json flow`` is what the
query has written for `flow` by then, and ``json quarantine`` the lines that it has set aside. `error` is the code that
ends the query there. Blocks before the first section are at the start of each.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from cedilla.runtime.tools.query_tests.pages import Block, Case, cases
from tests.kit.errors import code_of
from tests.kit.query import Query
from tests.kit.stream import Item, decode, with_moments


def give(query: Query, block: Block) -> bool:
    """Takes a query, or writes a file; returns True for a file."""
    if block.is_input:
        source, _, name = block.name.partition("/")
        query.write(source, block.text.splitlines(), name)
    elif block.kind == "rq":
        query.query = block.text
    return block.is_input


__all__ = ["Block", "Case", "End", "all_at_once", "cases", "give"]


@frozen
class End:
    """The expectation of a case at its end: the last block of each name."""

    expected: dict[str, list[Item]]

    def check(self, output: Callable[[str], list[Item]], codes: list[str]) -> None:
        """Compares canonical tuples, and the codes of what is set aside."""
        for name, items in self.expected.items():
            if name == "quarantine":
                assert sorted(codes) == sorted(line["code"] for line in items)
            else:
                ours, theirs = (decode(stream, with_moments) for stream in (items, output(name)))
                assert sorted(theirs, key=str) == sorted(ours, key=str), name


def all_at_once(query: Query, case: Case, act: Callable[[], object]) -> End:
    """Acts on all files of a case at once. It ends as the case says."""
    expected, code = dict[str, list[Item]](), None
    for block in case.blocks():
        if block.kind == "error":
            code = block.text.strip()
        elif block.is_expected:
            expected[block.name] = block.items()
        else:
            give(query, block)
    assert code_of(act) == code
    return End(expected)
