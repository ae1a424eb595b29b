"""Tools and senders on topics of Kafka: each partition is an ordered stream (theory D1, G38, N9)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, read, run, simulate
from cedilla.produce import Stream
from tests.kit.command import cedilla
from tests.kit.compare import texts
from tests.kit.errors import code_of
from tests.kit.kafka import Broker, accent, closed, row
from tests.kit.lines import write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

SCHEMA = "ts: long, s: int in {1, 2}, t: double unit degF"
CELSIUS = "[[unit(t, degC)]]"


# --- queries without an engine, and beside one ---

AVERAGES = f"""
stream r({SCHEMA}) from kafka "ADDRESS" PROMISE;
emit r to json "all";
emit aggregate[avg by wid, s except ts](window[60 on ts as wid](r)) to kafka "ADDRESS-averages?key=s";
"""


def partitions(rng: Random) -> list[list[Item]]:
    """Two partitions, each with one of the sensors, its change of unit, and ends of minutes."""
    result: list[list[Item]] = []
    for s in (1, 2):
        items, unit = list[Item](), "degF"
        for minute in range(4):
            for _ in range(rng.randint(0, 5)):
                t = rng.randint(-40, 212)
                items.append(
                    row(minute * 60 + rng.randrange(60), s, float(t if unit == "degF" else (t - 32) * 5 / 9))
                )
            if unit == "degF" and rng.random() < 0.5:
                unit = "degC"
                items.append(accent(CELSIUS if rng.random() < 0.5 else f"[[s = {s}, unit(t, degC)]]"))
            items.append(
                closed(rng.choice([f"[ts < {minute * 60 + 60}]", f"[s = {s}, ts < {minute * 60 + 60}]"]))
            )
        result.append([*items, closed("[]")])
    result[0].append(row(3, 1, 5.0))  # late
    result[1].append({"ts": "never", "s": 2, "t": 5.0})
    return result


@pytest.mark.parametrize("promise", ["punctuated on ts", "partitioned by s", "heartbeat ts delay 30"])
def test_simulate_and_verify_read_topics_as_run_does(
    kafka: Broker, sail: SparkSession, tmp_path: Path, promise: str
) -> None:
    name = f"queried-{promise.split(maxsplit=1)[0]}"
    address = kafka.topic(name)
    kafka.topic(f"{name}-averages")
    kafka.send(name, *partitions(Random(promise)))
    query = tmp_path / "q.rq"
    query.write_text(AVERAGES.replace("ADDRESS", address).replace("PROMISE", promise))
    outputs = {side: {n: str(tmp_path / side / n) for n in ("r", "aggregate")} for side in ("run", "sim")}
    run(query, Options(once=True, checkpoint=str(tmp_path / "ck"), sinks=outputs["run"]), spark=sail)
    set_aside: list[str] = []
    simulate(query, Options(sinks=outputs["sim"]), lambda line, code: set_aside.append(code))
    for emit in ("r", "aggregate"):
        here, of_folders = (texts(canonical_rows(value[emit], 6)) for value in outputs.values())
        assert here == of_folders
        assert here
    kept = (tmp_path / "ck" / "quarantine" / "r").glob("*.jsonl")
    lines = [json.loads(line)["code"] for file in kept for line in file.read_text().splitlines()]
    assert sorted(set_aside) == sorted(lines) == ["RQ301", "RQ305"]
    command = [
        sys.executable,
        "-m",
        "cedilla.runtime.hosts.cli.main",
        "verify",
        str(query),
        "--engine",
        "sail",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("decode(out) = query(decode(in))") == 2


# --- tools ---


def test_each_partition_is_judged_by_its_own_markers(kafka: Broker) -> None:
    address = kafka.topic("judged")
    kafka.send("judged", [row(1, 1, 5.0), closed("[ts < 10]")], [row(2, 2, 5.0)])
    done = cedilla("validate", address, "--schema", SCHEMA)
    assert (done.exit_code, "valid (3 lines, 2 tuples" in done.output) == (0, True), done.output
    kafka.send("judged", [row(3, 1, 5.0)], [row(4, 2, 5.0), "[1]", b"\xff"])
    done = cedilla("validate", address, "--schema", SCHEMA, "--format", "json")
    actual = json.loads(done.output)
    assert (done.exit_code, actual["counts"]) == (1, {"RQ301": 2, "RQ305": 1})
    places = [finding["notes"][-1].partition(": ")[0] for finding in actual["findings"]]
    assert places == ["judged/0:2", "judged/1:2", "judged/1:3"]
    assert cedilla("validate", f"{address}/1", "--schema", SCHEMA).exit_code == 1


def test_a_transaction_that_was_given_up_is_not_read(kafka: Broker) -> None:
    address = kafka.topic("given-up", 1)
    with Stream(address, schema=SCHEMA) as stream:
        stream.tuple(row(1, 1, 5.0))
    producer = kafka.transaction("given-up", row(2, 1, 6.0))
    producer.abort_transaction()
    assert [json.loads(line) for line in cedilla("read", address).output.splitlines()] == [row(1, 1, 5.0)]


def test_one_partition_has_a_canonical_form(kafka: Broker) -> None:
    address = kafka.topic("canonical")
    kafka.send("canonical", [row(1, 1, 50.0), accent(CELSIUS), row(2, 1, 10.0)], [row(1, 2, 50.0)])
    done = cedilla("canonize", address, "--schema", SCHEMA)
    assert done.exit_code == 1
    assert "has 2 partitions" in done.output
    done = cedilla("canonize", f"{address}/0", "--schema", SCHEMA)
    tuples = [json.loads(line) for line in done.output.splitlines() if "$" not in line]
    assert (done.exit_code, tuples) == (0, [row(1, 1, 50.0), row(2, 1, 50.0)])
    assert "no partition 2" in cedilla("canonize", f"{address}/2", "--schema", SCHEMA).output


def test_jumps_are_looked_for_in_each_partition(kafka: Broker) -> None:
    address = kafka.topic("jumps")
    fahrenheit = [row(n, 1, 64.0 + n % 7 * 0.25) for n in range(100)]
    celsius = [row(100 + n, 1, (item["t"] - 32) * 5 / 9) for n, item in enumerate(fahrenheit)]
    kafka.send("jumps", [*fahrenheit, *celsius], [])
    done = cedilla("suspect", address, "--schema", SCHEMA, "--format", "json")
    (suspect,) = json.loads(done.output)["suspects"]
    assert (done.exit_code, suspect["place"]) == (1, "jumps/0:100")


def test_an_output_is_read_in_one_unit(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    items = [row(n, 1 + n % 2, 50.0) for n in range(6)]
    items += [accent(CELSIUS), *(row(6 + n, 1 + n % 2, 10.0) for n in range(4))]
    write_lines(source / "1.jsonl", items[:7])
    write_lines(source / "2.jsonl", items[7:])
    address = kafka.topic("output")
    query = tmp_path / "q.rq"
    query.write_text(f'stream r({SCHEMA}) from json "{source}"; emit r to kafka "{address}?key=s";')
    options = Options(once=True, checkpoint=str(tmp_path / "checkpoint"), files_per_epoch=1)
    run(query, options, spark=sail)
    by_time = sorted(read(address).rows(), key=lambda item: item["ts"])
    assert [(item["ts"], round(item["t"], 9)) for item in by_time] == [(n, 50.0) for n in range(10)]
    latest = read(address, "latest", query=query).pandas()
    assert set(latest["t"].round(9)) == {10.0}
    assert read(f"{address}/0").arrow().num_rows + read(f"{address}/1").arrow().num_rows == 10
    follow = read(address).follow(0.0)
    assert sum(1 for row_ in iter(lambda: next(follow), None) if row_) == 10
    kafka.send("output", [row(10, 2, 15.0)])
    (new,) = iter(lambda: next(follow), None)
    assert new is not None
    assert round(new["t"], 9) == 59.0
    assert code_of(lambda: read(address).spark(sail)) == "RQ421"


# --- senders ---


def test_tuples_go_by_key_and_markers_to_all_partitions(kafka: Broker) -> None:
    address = kafka.topic("sent", 3)
    with Stream(f"{address}?key=s", schema=SCHEMA) as stream:
        for ts in range(4):
            stream.tuple(row(ts, 1 + ts % 2, 50.0))
        stream.unit("t", "degC", {"s": 2})
        stream.tuple(row(4, 2, 10.0))
        assert kafka.records("sent") == [[], [], []]
        stream.flush()
        stream.punctuate("ts < 5")
    records = kafka.records("sent")
    markers = [[item for item in part if "ts" not in item] for part in records]
    assert markers == [[accent("[[s = 2, unit(t, degC)]]"), closed("[ts < 5]")]] * 3
    tuples = [{item["s"] for item in part if "ts" in item} for part in records]
    assert sorted(map(len, tuples)) in ([0, 0, 2], [0, 1, 1])
    with Stream(f"{address}?key=s", schema=SCHEMA) as stream:
        assert code_of(lambda: stream.tuple(row(4, 2, 10.0))) == "RQ305"
        stream.tuple(row(5, 2, 11.0))
    (validated,) = [cedilla("validate", address, "--schema", SCHEMA)]
    assert validated.exit_code == 0, validated.output


def test_a_wrong_marker_is_in_no_partition(kafka: Broker) -> None:
    address = kafka.topic("wrong")
    with Stream(address, schema=SCHEMA) as stream:
        assert code_of(lambda: stream.drop("q")) == "RQ207"
        stream.add("p", "double")
        assert code_of(lambda: stream.add("p", "double")) == "RQ205"
        stream.tuple(row(1, 1, 2.0), p=1.0)
    assert [len(part) for part in kafka.records("wrong")] == [2, 1]


def test_markers_about_keys_go_where_these_live(kafka: Broker, tmp_path: Path) -> None:
    address = kafka.topic("living", 4)
    query = tmp_path / "q.rq"
    query.write_text(
        f'stream r({SCHEMA}) from kafka "{address}" partitioned by s punctuated on ts; emit r to json "o";'
    )
    with Stream(f"{address}?key=s", query=query) as stream:
        stream.tuple(row(0, 1, 50.0))
        stream.unit("t", "degC", {"s": 1})
        stream.tuple(row(1, 1, 10.0))
        stream.punctuate("s = 1, ts < 2")
        stream.accent("+(p: double)")
    home = [part for part in kafka.records("living") if len(part) > 1]
    added = accent("[[+(p: double)]]")
    assert home == [
        [
            row(0, 1, 50.0),
            accent("[[s = 1, unit(t, degC)]]"),
            row(1, 1, 10.0),
            closed("[s = 1, ts < 2]"),
            added,
        ]
    ]
    assert [part for part in kafka.records("living") if len(part) == 1] == [[added]] * 3


def test_the_command_sends_markers(kafka: Broker) -> None:
    address = kafka.topic("by-hand")
    assert cedilla("accent", address, CELSIUS, "--schema", SCHEMA).exit_code == 0
    assert cedilla("accent", f"{address}/1", "[ts < 5]", "--schema", SCHEMA).exit_code == 0
    done = cedilla("accent", address, "[[unit(t, metre)]]", "--schema", SCHEMA)
    assert (done.exit_code, "RQ142" in done.output) == (1, True)
    assert kafka.records("by-hand") == [[accent(CELSIUS)], [accent(CELSIUS), closed("[ts < 5]")]]


def test_what_cannot_be_is_told(kafka: Broker) -> None:
    address = kafka.topic("refused", 1)
    assert code_of(lambda: Stream(f"{address}?key=q", schema=SCHEMA)) == "RQ449"
    assert code_of(lambda: Stream(f"{address}/1", schema=SCHEMA)) == "RQ410"
    assert code_of(lambda: Stream(f"{kafka.address}/none", schema=SCHEMA)) == "RQ445"
    assert code_of(lambda: Stream(address, schema=SCHEMA, markers="ops")) == "RQ435"
    done = cedilla("validate", address, "--schema", SCHEMA, "--markers", "ops")
    assert (done.exit_code, "RQ441" in done.output) == (1, True)
    kafka.send("refused", ["no tuple"])
    assert code_of(lambda: Stream(address, schema=SCHEMA)) == "RQ436"
