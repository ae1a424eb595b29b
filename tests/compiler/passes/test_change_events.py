"""Declarations of sources of change events: the clause, its key, and fields of the event."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.explain.explanation import source_facts
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from tests.kit.errors import error_of

EMIT = 'emit r to json "out";\n'


@pytest.mark.parametrize(
    ("declaration", "code", "words"),
    [
        ('stream r(id: long) from json "r" format debezum by id', "RQ542", "did you mean `debezium`"),
        ('stream r(id: long) from kafka "h:9092/t" format avro', "RQ542", "`registry` of schemas also Avro"),
        ('stream r(id: long) from json "r" format debezium', "RQ542", "`format debezium by id`"),
        ('stream r(id: long) from parquet "r" format debezium by id', "RQ542", "`json` and `kafka`"),
        ('stream r(id: long) from json "r" format debezium by di', "RQ102", "did you mean `id`"),
        ('stream r(id: int from change "op") from json "r" format debezium by id', "RQ543", "`string`"),
        ('stream r(id: long) from json "r" format debezium by id as latest by id', "RQ544", "a `table` has"),
        (
            'table r(id: long, k: int) from json "r" format debezium by id as latest by k',
            "RQ544",
            "latest by id`",
        ),
        ('stream r(id: long from record "key") from json "r" format debezium by id', "RQ503", "kafka"),
    ],
)
def test_what_is_wrong_with_a_declaration_has_a_code_and_a_hint(
    declaration: str, code: str, words: str
) -> None:
    error = error_of(lambda: compile_query(f"{declaration};\n{EMIT}"))
    assert (error.code, words in str(error.help)) == (code, True), error


@pytest.mark.parametrize("latest", ["", " as latest by id, shop"])
def test_a_declaration_is_shown_as_it_is_written(latest: str) -> None:
    clause = f"format debezium by id, shop{latest}"
    attributes = 'id: long, shop: string, lsn: long from change "source.lsn", op: string from change "op"'
    text = f'table r({attributes})\n  from json "r" {clause};\n{EMIT}'
    assert format_query(parse_query(text)) == text
    (source,) = compile_query(text).plan.sources
    assert clause in source_facts(source)
    assert [str(attribute) for attribute in source.attributes] == attributes.split(", ")
    assert (source.changes, source.latest) == (("id", "shop"), bool(latest))


def test_a_path_is_one_in_other_sources() -> None:
    (source,) = compile_query(f'stream r(op: string from change "op") from json "r";\n{EMIT}').plan.sources
    assert source.paths == {"op": ("change", "op")}
