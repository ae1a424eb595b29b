"""Every spelling of a value as every type in every format of text: an engine and the reference take the same ones, as
the same values, and no number is rounded but to a double."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import rest
from tests.runtime.connectors.records.value_lines import FORMATS, NUMBERS, TYPES, is_value

pytestmark = pytest.mark.either_engine

OTHERS = (
    *(
        "+5",
        "05",
        "5.",
        ".5",
        "0x10",
        "1_000",
        "1,5",
        "5 ",
        " 5",
        "5d",
        "NaN",
        "nan",
        "Infinity",
        "-INF",
        "inf",
    ),
    *("٣", "５", "5\u00a0", "\u30005", "true", "True", "1.5.0", "--5", "", "abc"),
    *("2020-01-02", "2020-01-02T03:04:05.123456789Z", "2020-01-02 03:04:05.9999999", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59.999999999Z", "2020-01-02T03:04:05.1234567890Z", "0001-01-01T00:00:00+00:01"),
    *("9999-12-31T23:59:59-00:01", "2020-02-30", "0000-01-01", "２０２０-01-02", "12020-01-01T00:00:00Z"),
)
"""Moments in texts only."""


def query_of(kind: str) -> str:
    attributes = (
        f'{name}?: {type_} from attribute "{name}"' if kind == "otlp" else f"{name}?: {type_}"
        for name, type_ in TYPES.items()
    )
    first = 'n: long from "value"' if kind == "otlp" else "n: long"
    return f'stream r({first}, {", ".join(attributes)}) from {kind} "r"; emit r to json "out";'


def normalized(items: Iterable[Item]) -> list[str]:
    """Tuples in an order, their numbers without zeros at the end and without the sign of zero."""
    return sorted(
        str(
            sorted(
                (n, v.normalize() if isinstance(v, Decimal) and v else abs(v) if v == 0 else v)
                for n, v in item.items()
            )
        )
        for item in items
        if is_tuple(item)
    )


def judged(spark: SparkSession, root: Path, kind: str, rows: Sequence[str], files: int) -> list[str | None]:
    """Why an engine rejects each row, which is why `simulate` does; what they pass on is the same, too."""
    run = Query(spark, root, query_of(kind))
    header = [",".join(["n", *TYPES])] if kind == "csv" else []
    size = -(-len(rows) // files)
    parts = [rows[n : n + size] for n in range(0, len(rows), size)]
    for number, part in enumerate(parts):
        run.write("r", [*header, *part], f"{number:03}.{kind}")
    run.process(files_per_epoch=1 if files > 1 else None)
    number_of: Mapping[str, int] = {
        f"{file:03}.{kind}:{line + len(header)}": file * size + line - 1
        for file, part in enumerate(parts)
        for line in range(1, len(part) + 1)
    }
    result: list[str | None] = [None] * len(rows)
    for rejection in run.rejections():
        result[number_of[rejection.place]] = rejection.text
    if kind != "xml":  # which `simulate` does not read
        assert run.simulate().rejections == run.rejections()
        outputs = (read_output(root / folder / "r", Decimal) for folder in ("out", "simulated"))
        assert len({tuple(normalized(output)) for output in outputs}) == 1
    assert all(reason is None or reason.startswith("RQ301 `") for reason in result)
    return result


@pytest.mark.parametrize("files", [1, rest(5)])
@pytest.mark.parametrize("kind", FORMATS)
def test_engine_and_reference_take_the_same_spellings(
    spark: SparkSession, tmp_path: Path, kind: str, files: int
) -> None:
    texts = [(name, text) for name in TYPES for text in (*NUMBERS, *OTHERS)]
    rows = [row for n, (name, text) in enumerate(texts) for row in FORMATS[kind](name, text, n)]
    actual = dict(zip(rows, judged(spark, tmp_path, kind, rows, files), strict=True))
    for n, (name, text) in enumerate(texts):
        if text in NUMBERS:
            row = FORMATS[kind](name, text, n)[-1 if kind == "otlp" else 0]
            assert (actual[row] is None) == is_value(TYPES[name], text), row


def test_halves_of_surrogates_are_no_texts(spark: SparkSession, tmp_path: Path) -> None:
    halves = (r"\ud83d", r"\ude00", r"a\ud83db", r"\ude00\ud83d")
    good = (r"\ud83d\ude00", "?", r"\ufffd", r"\u0000")
    rows = [f'{{"n": {n}, "s": "{text}"}}' for n, text in enumerate((*halves, *good))]
    reason = "RQ301 `s` must be a string, found a text with half a pair of surrogates"
    assert judged(spark, tmp_path, "json", rows, 1) == [reason] * len(halves) + [None] * len(good)


def test_references_to_no_sign_are_malformed(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, query_of("xml"))
    run.write(
        "r", [f"<r><n>{n}</n><s>{s}</s></r>" for n, s in enumerate(("&#xD83D;", "&#1114112;", "&#128512;"))]
    )
    run.process()
    assert [row["position"]["line"] for row in run.quarantine("r")] == [1, 2]
    assert run.output("r") == [{"n": 2, "s": "\U0001f600"}]


@pytest.mark.parametrize(
    "marker", [r'{"$accent": "[[s = \"\ud83d\", -(x)]]"}', r'{"$punctuation": "[s = \"a\ude00\"]"}']
)
def test_a_marker_with_half_a_pair_of_surrogates_ends_the_query(
    spark: SparkSession, tmp_path: Path, marker: str
) -> None:
    run = Query(spark, tmp_path, query_of("json"))
    run.write("r", ['{"n": 1, "s": "?"}', marker, '{"n": 2, "s": "?"}'])
    with pytest.raises(DiagnosticError) as ran:
        run.process()
    options = Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")})
    with pytest.raises(DiagnosticError) as simulating:
        simulate(query_of("json"), options)
    assert [error.value.diagnostics[0].code for error in (ran, simulating)] == ["RQ006", "RQ006"]
