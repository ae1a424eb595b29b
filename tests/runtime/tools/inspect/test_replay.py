"""Lines of a quarantine are sent again once their cause is mended, and never read in another unit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.journal import JOURNAL
from tests.kit.command import cedilla
from tests.kit.query import Query
from tests.kit.stream import Item

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double unit L) from json "pumps" punctuated on ts;
emit pumps to json "out";
"""
ODD = {"ts": 1, "pump": 3, "litres": 5.0}
GROWTH = {"$accent": "[[grow(pump, {3})]]"}
UNIT = {"$accent": "[[pump = 3, unit(litres, m3)]]"}


def processed(spark: SparkSession, root: Path, *files: list[Item | str]) -> Query:
    query = Query(spark, root, QUERY)
    for lines in files:
        query.write("pumps", lines)
    query.process(1).close()
    return query


def replay(query: Query, *more: str, code: str = "RQ303") -> str:
    result = cedilla("replay", query.root / "checkpoint", "--code", code, *more)
    assert result.exit_code == ("error[" in result.output), result.output
    return result.output


def sent(query: Query) -> list[str]:
    files = sorted((query.root / "in" / "pumps").glob("replay-*"))
    return [line for file in files for line in file.read_text().splitlines()]


@pytest.mark.either_engine
def test_a_line_is_sent_once_and_read_after_its_domain_has_grown(spark: SparkSession, tmp_path: Path) -> None:
    query = processed(spark, tmp_path, [ODD, {"ts": 2, "pump": 1, "litres": 1.0}], [GROWTH])
    assert query.output("pumps")[0] == {"ts": 2, "pump": 1, "litres": 1.0}
    assert "1 line of pumps with RQ303 sent again" in replay(query)
    assert "error[RQ496]" in replay(query)
    assert [json.loads(line) for line in sent(query)] == [ODD]
    executor = query.executor()
    executor.process(1, {"pumps": [f for f in query.files(executor)["pumps"] if "replay" in f.path]})
    executor.close()
    assert ODD in query.output("pumps")
    assert "sent again" in replay(query, "--again")
    assert len(sent(query)) == 2


def test_lines_are_sent_to_the_keys_in_the_paths_of_their_files(sail: SparkSession, tmp_path: Path) -> None:
    """Above them they would lack an attribute, in silence where it is optional."""
    query = Query(sail, tmp_path, QUERY.replace("litres:", "region?: string, litres:"))
    for region in ("n", "a%20b"):
        (tmp_path / "in" / "pumps" / f"region={region}").mkdir(parents=True)
        query.write("pumps", [ODD], f"region={region}/1.jsonl")
    query.write("pumps", [GROWTH], "2.jsonl")
    query.process(1).close()
    assert "2 lines of pumps with RQ303 sent again" in replay(query)
    executor = query.executor()
    executor.process(1, {"pumps": [f for f in query.files(executor)["pumps"] if "replay" in f.path]})
    executor.close()
    assert sorted(row["region"] for row in query.output("pumps") if "pump" in row) == ["a b", "n"]


def test_a_line_before_an_accent_that_describes_it_is_not_read_by_it(
    sail: SparkSession, tmp_path: Path
) -> None:
    """Five litres would be five cubic metres."""
    query = processed(sail, tmp_path, [ODD], [GROWTH, UNIT])
    output = replay(query)
    assert "error[RQ497]" in output
    assert "[[pump = 3, unit(litres, m3)]]" in output
    assert sent(query) == []
    assert "sent again" in replay(query, "--as-now")
    assert [json.loads(line) for line in sent(query)] == [ODD]


@pytest.mark.parametrize(
    ("text", "is_sent"),
    [
        ("[[pump = 1, unit(litres, m3)]]", True),
        ("[[pump in {1, 3}, unit(litres, m3)]]", False),
        ("[[unit(litres, m3)]]", False),
        ("[[ts < 9, unit(litres, m3)]]", False),
        ("[[rename(vol, litres)]]", False),
        ("[[+(celsius: double)]]", True),
    ],
)
def test_only_an_accent_that_may_change_how_a_line_is_read_keeps_it_back(
    sail: SparkSession, tmp_path: Path, text: str, is_sent: bool
) -> None:
    query = processed(sail, tmp_path, [ODD], [GROWTH, {"$accent": text}])
    assert ("sent again" in replay(query)) is is_sent


@pytest.mark.parametrize(
    ("clause", "pump", "litres", "line"),
    [
        ("", "d.pump", "d.litres", {"ts": 1, "d": {"pump": 1, "litres": "?"}}),
        (
            'each "d"',
            "d.pump",
            "d.litres",
            {"ts": 1, "d": [{"pump": 1, "litres": "?"}, {"pump": 2, "litres": 1}]},
        ),
        (
            'each entry "d"',
            "d.value.pump",
            "d.value.litres",
            {"ts": 1, "d": {"key": {"pump": 1, "litres": "?"}}},
        ),
    ],
    ids=["a path", "each", "each entry"],
)
def test_a_line_with_paths_is_sent_as_it_came_and_not_read_by_a_later_accent(
    sail: SparkSession, tmp_path: Path, clause: str, pump: str, litres: str, line: Item
) -> None:
    text = QUERY.replace("pump: int", f'pump: int from "{pump}"').replace("unit L", f'from "{litres}" unit L')
    query = Query(sail, tmp_path, text.replace('json "pumps"', f'json "pumps" {clause}'))
    query.write("pumps", [line])
    query.write("pumps", [{"$accent": "[[pump = 1, unit(litres, m3)]]"}])
    query.process(1).close()
    assert "error[RQ497]" in replay(query, code="RQ301")
    assert "sent again" in replay(query, "--as-now", code="RQ301")
    bad = {"pump": 1, "litres": "?"}
    assert [json.loads(text) for text in sent(query)] == [
        {"ts": 1, "d": {"key": bad} if "entry" in clause else bad}
    ]


def test_a_line_with_an_earlier_name_is_not_read_by_a_later_accent(
    sail: SparkSession, tmp_path: Path
) -> None:
    odd = {"ts": 1, "pump": 3, "vol": 5.0}
    query = processed(sail, tmp_path, [{"$accent": "[[rename(vol, litres)]]"}], [odd], [GROWTH, UNIT])
    assert "error[RQ497]" in replay(query)


def test_accents_that_the_journal_has_lost_keep_lines_back(sail: SparkSession, tmp_path: Path) -> None:
    query = processed(sail, tmp_path, [ODD], [GROWTH])
    documents = SealedFiles(Files(), str(tmp_path / "checkpoint"))
    documents.write(JOURNAL, json.dumps({**documents.read(JOURNAL), "accents": []}))
    assert "accents that the journal does not have any more" in replay(query)
    documents.delete(JOURNAL)
    assert "error[RQ497]" in replay(query)


def test_late_tuples_and_other_formats_are_not_sent_again(sail: SparkSession, tmp_path: Path) -> None:
    late = {"ts": 1, "pump": 1, "litres": 1.0}
    query = processed(sail, tmp_path, [{"$punctuation": "[ts < 9]"}, late])
    assert "late tuples are late again" in replay(query, code="RQ305")
    assert json.loads(replay(query, "--print", code="RQ305")) == late
    assert "no line with RQ311 waits" in replay(query, code="RQ311")
