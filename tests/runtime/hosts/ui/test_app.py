"""The page and the metrics of a run, without a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from attrs import evolve
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint import ownership
from cedilla.runtime.epochs.checkpoint.journal import JOURNAL
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder, KnownFolders
from cedilla.runtime.epochs.checkpoint.ownership import is_running, owned, read_owner
from cedilla.runtime.hosts.terminal import addresses
from cedilla.runtime.hosts.terminal.addresses import Address, bound, check_extra
from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.hosts.ui.metrics import registry_of
from cedilla.runtime.tools.inspect.members import MAX_ROWS
from cedilla.runtime.tools.inspect.run_model import Model, RunModel
from tests.conftest import MODE
from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.pages import Page, served
from tests.kit.query import Query
from tests.runtime.hosts.ui.pumps import run


@pytest.fixture(scope="module")
def query(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        yield run(_embedded, tmp_path_factory.mktemp("pumps"))


@pytest.fixture(scope="module")
def path(query: Query) -> str:
    return str(query.root / "checkpoint")


@pytest.fixture(scope="module")
def model(path: str) -> Model:
    return RunModel(path).read()


@pytest.fixture(scope="module")
def page(path: str) -> Iterator[Page]:
    with served(path) as page:
        yield page


def test_each_described_value_has_its_unit_its_tuples_and_what_is_set_aside(model: Model) -> None:
    (group,) = model["sources"][0]["groups"]
    rows = {row["value"]: row for row in group["rows"]}
    assert list(rows) == ["1", "2", "3", "4"]
    litres = {value: row["attributes"]["litres"] for value, row in rows.items()}
    assert {value: entry["unit"] for value, entry in litres.items()} == {
        "1": "y / 1000000",
        "2": "L",
        "3": "L",
        "4": "L",
    }
    assert [litres["1"]["changed"], litres["2"]["changed"]] == [True, False]
    assert litres["1"]["since"] is not None
    assert (rows["1"]["attributes"]["celsius"]["sent"], rows["2"]["attributes"]["celsius"]["sent"]) == (
        "yes",
        "may be",
    )
    assert {value: (row["total"], row["rejected"]) for value, row in rows.items()} == {
        "1": (120, 0),
        "2": (61, 2),
        "3": (0, 0),
        "4": (180, 0),
    }
    assert (rows["3"]["last"], rows["3"]["silent"], group["counts"]["silent"]) == (None, True, 1)


def test_a_value_is_silent_before_the_others_and_one_outside_the_domain_is_none(
    path: str, tmp_path: Path
) -> None:
    """Also an hour after the run has stopped: then no value is new."""
    copy = shutil.copytree(path, tmp_path / "checkpoint")
    documents = SealedFiles(Files(), str(copy))
    journal = documents.read(JOURNAL)
    members = journal["members"]["pumps"]["pump"]
    members["9"] = [*members["1"]]  # of a rejected tuple
    members["2"][0] -= 120
    documents.write(JOURNAL, json.dumps(journal))
    (group,) = RunModel(str(copy), lambda: time.time() + 3600).read()["sources"][0]["groups"]
    assert {row["value"]: row["silent"] for row in group["rows"]} == {
        "1": False,
        "2": True,
        "3": True,
        "4": False,
    }


def test_an_output_is_where_the_run_has_it() -> None:
    text = 'stream r(s: int) from json "data/in"; emit r to json "out/r";'
    plan, folder = compile_query(text).plan, KnownFolder("file:/run/data/in", "file:/run/data/in")
    assert KnownFolders("ck", {"r": folder}).path_of_run(plan, "out/r") == "file:/run/out/r"
    assert KnownFolders("ck", {"r": folder}).path_of_run(plan, "/out/r") == "/out/r"
    moved = KnownFolder("file:/elsewhere", "file:/run/data/in")
    assert KnownFolders("ck", {"r": moved}).path_of_run(plan, "out/r") == "out/r"


def test_accents_have_their_line_and_what_waits_says_for_what(model: Model) -> None:
    assert [(accent["text"], accent["where"]) for accent in model["accents"]["line"]] == [
        ("[[pump = 1, unit(litres, m3)]]", "00002.jsonl:1"),
        ("[[pump = 1, +(celsius: double)]]", "00002.jsonl:2"),
        ("[[pump = 1, alter(litres, y -> y / 1000)]]", "00003.jsonl:61"),
    ]
    assert any(
        text.endswith("waits for minutes where pump in {2, 3, 4}") for text in model["accents"]["waits"]
    )


def test_what_is_doubtful_has_a_statement_to_paste(model: Model) -> None:
    assert [(diagnostic["code"], diagnostic["paste"]) for diagnostic in model["doubtful"]][:2] == [
        ("RQ223", "accent pumps [[pump = 4, unit(litres, m3)]];"),
        ("RQ218", "accent pumps [[pump = 1, alter(litres, y -> y * 1000)]];"),
    ]


def test_the_quarantine_has_codes_examples_and_the_command(model: Model, path: str) -> None:
    (code,) = model["quarantine"]
    assert (code["code"], code["count"], code["replay"]) == (
        "RQ301",
        2,
        f"cedilla replay {path} --code RQ301",
    )
    assert [example["place"] for example in code["newest"]] == ["00002.jsonl:64", "00002.jsonl:63"]


def test_a_stop_says_what_is_committed_and_what_to_mend(model: Model) -> None:
    stop = model["stop"]
    assert (stop["code"], stop["epoch"], stop["went_on"], stop["nothing_lost"]) == ("RQ202", 3, False, True)
    assert stop["committed"] == "everything up to epoch 3 is committed"
    assert any("00004.jsonl:2" in text for text in stop["mend"])


def test_the_plan_is_a_graph_with_state_and_what_waits(model: Model) -> None:
    nodes = {node["id"]: node for node in model["plan"]["nodes"]}
    assert [(name, node["layer"]) for name, node in nodes.items()] == [
        ("pumps", 0),
        ("minutes", 1),
        ("flow", 2),
        ("emit flow", 3),
        ("emit pumps", 1),
    ]
    assert nodes["flow"]["rows"] > 0
    assert nodes["flow"]["bytes"] > 0
    assert nodes["flow"]["waits"]
    assert ["minutes", "flow", []] in model["plan"]["edges"]


def test_event_time_is_closed_up_to_a_moment(model: Model) -> None:
    closed = model["sources"][0]["closed"]
    assert (closed["attribute"], closed["text"]) == ("ts", "2026-11-26T08:04:00Z")
    assert closed["behind"] == pytest.approx(model["time"] - 1795680240, abs=0.2)


def test_an_accent_is_tried_from_the_checkpoint_on_the_page_and_on_the_command_line(
    page: Page, path: str
) -> None:
    """All others have to follow pump 1, so pump 4 alone changes nothing at the output."""
    answer = page.post("/trace", {"source": "pumps", "marker": "[[pump = 4, unit(litres, m3)]]"})
    effects = {relation["relation"]: relation for relation in answer["markers"][0]["relations"]}
    assert effects["flow"]["waits"] == ["waits for minutes in [pump in {2, 3}]"]
    result = cedilla("trace", "--checkpoint", path, "[[pump = 4, unit(litres, m3)]]")
    assert result.exit_code == 0
    assert "waits for minutes in [pump in {2, 3}]" in result.stdout
    fresh = cedilla("trace", "--checkpoint", path, "[[-(celsius)]]")
    assert "[[-(celsius)]]" in fresh.stdout


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({"source": "pumps", "marker": "[[pump = 9, unit(litres, m3)]]"}, "RQ216"),
        ({"source": "pumps", "marker": "[[nonsense"}, "RQ0"),
        ({"source": "valves", "marker": "[[unit(litres, m3)]]"}, "no source valves"),
        ({"marker": 3}, "not understood"),
        ([], "not understood"),
    ],
)
def test_a_wrong_question_gets_its_problem(page: Page, question: Any, problem: str) -> None:
    answer = page.post("/trace", question)
    assert problem in json.dumps(answer["problems"])


def test_rows_are_shown_as_written_as_declared_and_in_any_unit(page: Page) -> None:
    answer = page.post("/rows", {"output": "flow", "units": "as written"})
    assert answer["rows"][-1]["litres"] == pytest.approx(103, abs=2)
    assert answer["units"] == {"litres": "L", "celsius": "degC"}
    cubic = page.post("/rows", {"output": "flow", "units": {"litres": "m3"}})
    assert cubic["rows"][-1]["litres"] == pytest.approx(answer["rows"][-1]["litres"] / 1000)
    assert cubic["units"]["litres"] == "m3"
    assert "RQ143" in json.dumps(page.post("/rows", {"output": "flow", "units": {"litres": "degF"}}))
    assert "RQ143" in json.dumps(page.post("/rows", {"output": "flow", "units": {"litres": "spoon"}}))
    assert "RQ412" in json.dumps(page.post("/rows", {"output": "nothing", "units": "latest"}))


def test_rows_before_an_alter_are_declared_values_again(page: Page) -> None:
    """The copy of the stream is written in the units of each pump; the last Alter came after its epoch's rows."""
    rows = page.post("/rows", {"output": "pumps", "units": "canonical"})["rows"]
    assert [(row["pump"], row["litres"]) for row in rows] == [(2, 101.0)]


FAMILIES = {
    "accents": ("counter", ()),
    "accents_in_force": ("gauge", ()),
    "accents_waiting": ("gauge", ()),
    "backlog_files": ("gauge", ("source",)),
    "backlog_records": ("gauge", ("source",)),
    "closed_event_time": ("gauge", ("attribute", "source")),
    "commit_age_seconds": ("gauge", ()),
    "commit_time_seconds": ("gauge", ()),
    "doubtful": ("gauge", ()),
    "epoch": ("gauge", ()),
    "epoch_seconds": ("counter", ("phase",)),
    "epochs": ("counter", ()),
    "last_seen_time_seconds": ("gauge", ("attribute", "source", "value")),
    "member_tuples": ("counter", ("attribute", "source", "value")),
    "quarantine_lines": ("gauge", ("code", "source")),
    "rejected": ("counter", ("code",)),
    "state_bytes": ("gauge", ("operator",)),
    "state_rows": ("gauge", ("operator",)),
    "tuples": ("counter", ("source",)),
    "up": ("gauge", ()),
    "written_tuples": ("counter", ("output",)),
}
"""The name of each metric without `cedilla_`, its type and its labels: alerts of users depend on them."""
Samples = dict[tuple[str, ...], float]


def scraped(text: str) -> tuple[dict[str, tuple[str, tuple[str, ...]]], Samples]:
    """Returns the metrics and the samples of a scrape, as the parser of Prometheus' client reads them. The values of
    labels follow the name of a sample, in the order of their names."""
    families, samples = dict[str, tuple[str, tuple[str, ...]]](), Samples()
    for family in text_string_to_metric_families(text):
        name = family.name.removeprefix("cedilla_")
        assert name not in families
        assert family.documentation.endswith(".")
        labels = {tuple(sorted(sample.labels)) for sample in family.samples} or {FAMILIES[name][1]}
        (names,) = labels
        families[name] = family.type, names
        for sample in family.samples:
            key = sample.name.removeprefix("cedilla_"), *(v for _, v in sorted(sample.labels.items()))
            assert key not in samples
            samples[key] = sample.value
    return families, samples


def test_metrics_have_stable_names_types_and_labels(page: Page, model: Model) -> None:
    families, samples = scraped(page.get("/metrics").text)
    assert families == FAMILIES
    documented = (ROOT / "docs" / "live-page.md").read_text("utf-8")
    for name, (type_, _) in FAMILIES.items():
        assert f"`{name}{'_total' if type_ == 'counter' else ''}`" in documented
    state = next(state for state in model["state"] if state["name"] == "flow")
    expected = {
        ("up",): 0,
        ("epoch",): 3,
        ("tuples_total", "pumps"): 361,
        ("rejected_total", "RQ301"): 2,
        ("quarantine_lines", "RQ301", "pumps"): 2,
        ("accents_total",): 3,
        ("accents_in_force",): 1,
        ("accents_waiting",): model["accents"]["waiting"],
        ("backlog_files", "pumps"): 1,
        ("member_tuples_total", "pump", "pumps", "4"): 180,
        ("closed_event_time", "ts", "pumps"): 1795680240,
        ("state_rows", "flow"): state["rows"],
        ("state_bytes", "flow"): state["bytes"],
    }
    assert {key: samples.get(key) for key in expected} == expected
    phases = {key[1] for key in samples if key[0] == "epoch_seconds_total"}
    assert phases == {"plan", "compute", "write", "commit"}


def test_metrics_of_very_many_values_are_few_and_any_text_is_a_label(
    sail: SparkSession, tmp_path: Path
) -> None:
    odd = 'a "quoted\\ name\nof two lines, süd'
    query = Query(sail, tmp_path, 'stream s(id: string, t: double) from json "s"; emit s to json "out";')
    query.write("s", [{"id": name, "t": 1.0} for name in (odd, *map(str, range(1500)))])
    query.process().close()
    _, samples = scraped(generate_latest(registry_of(Feed(str(tmp_path / "checkpoint")))).decode())
    assert samples["member_tuples_total", "id", "s", odd] == 1
    assert len([key for key in samples if key[0] == "member_tuples_total"]) == MAX_ROWS
    assert len(samples) < MAX_ROWS * 2 + 50


@pytest.mark.rest
def test_metrics_of_a_free_port_have_its_number(path: str) -> None:
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "ui", path, "--no-page", "--metrics=0"]
    with subprocess.Popen(
        [*command, "--of-run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdin is not None
        address = next(run.stdout).split()[1]
        with urlopen(address) as answer:
            assert scraped(answer.read().decode())[0] == FAMILIES
        run.stdin.close()


def test_another_host_needs_the_token_and_this_machine_its_own_name(page: Page, path: str) -> None:
    assert page.get("/model").status == 200
    assert page.get("/model", host="evil.example").status == 403
    assert page.get("/model", origin="http://evil.example").status == 403
    with served(path, "secret") as public:
        paths = ("/", "/model", "/metrics", "/?token=wrong")
        assert [public.get(path, host="edge-3:8265").status for path in paths] == [403] * 4
        entered = public.get("/?token=secret")
        assert (entered.status, entered.headers["location"]) == (307, "/")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert public.get("/model", cookie=cookie.partition(";")[0]).status == 200


def test_the_page_asks_nobody_else(page: Page) -> None:
    answer = page.get("/")
    assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_checkpoint_that_is_not_there_yet_is_a_problem_and_then_is_read(tmp_path: Path) -> None:
    feed = Feed(str(tmp_path / "new"))
    assert feed.get()["problems"][0]["code"] == "RQ411"
    assert cedilla("ui", tmp_path / "new").exit_code == 1
    with served(str(tmp_path / "new")) as page:
        assert "cedilla_up 0.0" in page.get("/metrics").text


def test_a_run_is_running_while_its_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with owned(Files(), str(tmp_path), []) as ownership_:
        owner = read_owner(Files(), str(tmp_path))
        assert owner is not None
        assert owner == ownership_.owner
        assert is_running(owner)
    assert is_running(evolve(owner, host="elsewhere")) is None
    monkeypatch.setattr(os, "kill", lambda *_: (_ for _ in ()).throw(ProcessLookupError))
    assert is_running(owner) is False


def test_another_process_with_the_number_of_a_run_is_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = ownership.Owner(
        1, ownership.socket.gethostname(), os.getpid(), "2020-01-01 00:00:00 UTC", "ck", "t"
    )
    assert is_running(owner) is False
    assert is_running(evolve(owner, since=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())))


def test_an_address_that_is_taken_and_a_package_that_is_missing_have_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with bound(Address("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert code_of(lambda: bound(Address("127.0.0.1", port))) == "RQ495"
    check_extra("--ui")
    monkeypatch.setattr(addresses, "find_spec", lambda name: None)
    assert code_of(lambda: check_extra("--ui")) == "RQ494"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("80", Address("127.0.0.1", 80)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("[::1]:80", Address("::1", 80)),
    ],
)
def test_an_address_is_a_port_or_a_host_and_a_port(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert address.is_local is (address.host != "0.0.0.0")


def test_a_query_in_the_place_of_a_port_is_a_wrong_option() -> None:
    result = cedilla("run", "--ui", "pumps.rq", "other.rq")
    assert result.exit_code == 2
    assert "a query comes before --ui" in result.stderr
