"""Cases of lines in and lines out (`cases/*.md`), on an engine and by the reference.

A block of what is expected runs the query on the files before it, from its checkpoint on, each file of a source an
epoch. All files in one epoch, and the reference item by item, give the tuples of the last blocks.
`REGENERATE=1` writes what an engine gives into the pages, to be reviewed as a diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.cases import Block, Case, all_at_once, cases, give
from tests.kit.errors import code_of
from tests.kit.query import Query
from tests.kit.stream import Item, in_parts
from tests.kit.tiers import tiered

PAGES = [cases(page) for page in sorted((Path(__file__).parent / "cases").glob("*.md"))]
FIRST = [page[-1] for page in PAGES]
CASES = [*FIRST, *(case for page in PAGES for case in page[:-1])]
"""The last one of each page comes first, because `make test` has these on an engine; all are run by the reference."""


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("files_per_epoch", "case"),
    tiered([(n, case) for n in (1, None) for case in CASES], len(FIRST), len(CASES)),
    ids=str,
)
def test_an_engine_gives_what_the_case_says(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None, case: Case
) -> None:
    query = Query(spark, tmp_path, "")
    if files_per_epoch is None:
        end = all_at_once(query, case, query.process)
        aside = [line for source in query.sources() for line in query.quarantine(source)]
        end.check(query.output, [line["code"] for line in aside])
        return
    batch, code, is_new = 0, None, False
    for block in case.blocks():
        if block.is_expected:
            if is_new:
                code = code_of(lambda batch=batch: query.go_on(query.executor(1), batch))
                batch, is_new = batch + 1, False
            expect(case, block, query, code)
        else:
            is_new = give(query, block)
    assert batch


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_gives_the_same_tuples(tmp_path: Path, case: Case) -> None:
    query = Query.without_engine(tmp_path, "")
    end = all_at_once(query, case, query.simulate)
    end.check(query.simulated.output, query.simulated.codes)


def expect(case: Case, block: Block, query: Query, code: str | None) -> None:
    """Compares an expected block after a run that has ended by a code, or by none."""
    assert code in {block.text.strip() for block in case.blocks() if block.kind == "error"} | {None}
    if block.kind == "error":
        assert code == block.text.strip()
        return
    if block.name == "quarantine":
        lines = [line for source in query.sources() for line in query.quarantine(source)]
        items = [{"code": line["code"], "raw": line["raw"]} for line in lines]
    else:
        items = query.output(block.name)
    if os.environ.get("REGENERATE"):
        rewrite(case, block, items)
    else:
        assert in_parts(items) == in_parts(block.items())


def rewrite(case: Case, block: Block, items: list[Item]) -> None:
    """Writes an output into the page of a case."""
    text, old = case.page.read_text("utf-8"), f"```json {block.name}\n{block.text}```"
    start = text.index(old, text.index(f"## {case.title}\n"))
    new = f"```json {block.name}\n" + "".join(f"{json.dumps(item)}\n" for item in items) + "```"
    case.page.write_text(text[:start] + new + text[start + len(old) :], "utf-8")
