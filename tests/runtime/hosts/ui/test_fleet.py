"""Which of many devices sends what now, and the page of 5,000 of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from pyspark.sql import SparkSession

from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.tools.inspect.members import MAX_FOUND, MemberTable
from cedilla.runtime.tools.inspect.run_model import RunModel
from tests.conftest import MODE
from tests.kit.browser import opened
from tests.kit.command import cedilla
from tests.kit.pages import Page, served
from tests.kit.query import Query
from tests.kit.tiers import tiered
from tests.runtime.hosts.ui import fleet

expect.set_options(timeout=20_000)


def checkpoint_of(spark: SparkSession, root: Path, count: int) -> str:
    """Runs a fleet, file by file; returns its checkpoint."""
    query = Query(spark, root, fleet.QUERY)
    for lines in fleet.files_of(count):
        query.write("meters", lines)
    query.process(1).close()
    return str(root / "checkpoint")


@pytest.fixture(scope="module")
def two_hundred(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        yield checkpoint_of(_embedded, tmp_path_factory.mktemp("fleet"), 200)


@pytest.fixture(scope="module")
def page(two_hundred: str) -> Iterator[Page]:
    with served(two_hundred) as page:
        yield page


def ways_of(path: str) -> dict[str, list[tuple[str, int]]]:
    (group,) = RunModel(path).read()["sources"][0]["groups"]
    return {name: [(way["text"], way["count"]) for way in ways] for name, ways in group["ways"].items()}


def test_devices_that_send_the_same_are_counted_together(two_hundred: str) -> None:
    (group,) = RunModel(two_hundred).read()["sources"][0]["groups"]
    assert ways_of(two_hundred) == {
        "power": [("kW", 125), ("W", 75)],
        "cost": [("EUR, optional", 175), ("EUR", 25)],
    }
    assert group["ways"]["power"][1]["first"] == [fleet.name(n) for n in range(1, 33) if n % 8 > 4]
    assert [way["changed"] for way in group["ways"]["power"]] == [True, False]


def test_many_ways_to_send_an_attribute_are_counted_in_one(sail: SparkSession, tmp_path: Path) -> None:
    text = 'stream fleet(id: int in [1, 20], t: double) from json "fleet"; emit fleet to json "out";'
    query = Query(sail, tmp_path, text)
    accents = [{"$accent": f"[[id = {n}, alter(t, y -> y * {n + 1})]]"} for n in range(1, 21)]
    query.write("fleet", [*accents, *({"id": n, "t": 1.0} for n in range(1, 21))])
    query.process().close()
    (group,) = RunModel(str(tmp_path / "checkpoint")).read()["sources"][0]["groups"]
    ways = group["ways"]["t"]
    assert len(ways) == 13
    assert ways[0] | {"silent": 0} == {
        "text": "y * 2",
        "changed": True,
        "count": 1,
        "silent": 0,
        "first": ["1"],
    }
    assert (ways[-1]["text"], ways[-1]["count"], ways[-1]["others"]) == (None, 8, 8)


def test_devices_are_found_by_name_and_by_what_they_send(page: Page) -> None:
    def found(text: str, **sends: str) -> dict[str, Any]:
        question = {"source": "meters", "attribute": "meter", "find": text, "sends": sends}
        return page.post("/members", question)

    assert [row["value"] for row in found("M0017")["rows"]] == ["m0017"]
    everybody = found("")
    assert (everybody["all"], len(everybody["rows"])) == (200, MAX_FOUND)
    late = found("m001", power="W")
    assert [row["value"] for row in late["rows"]] == [fleet.name(n) for n in range(10, 20) if n % 8 > 4]
    assert late["rows"][0]["attributes"]["power"]["text"] == "W"
    assert found("m0002")["rows"][0]["rejected"] == 1
    for question in (
        {"source": "meters"},
        {"source": "meters", "attribute": "power", "find": "", "sends": {}},
    ):
        assert page.post("/members", question)["problems"][0]["code"] == "RQ501"
    assert "RQ501" in str(found("", colour="red"))


def test_nothing_is_computed_before_somebody_looks(two_hundred: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    ways = MemberTable._ways
    monkeypatch.setattr(MemberTable, "_ways", lambda table, name: computed.append(name) or ways(table, name))
    feed = Feed(two_hundred)
    assert computed == []
    feed.get()
    assert computed == ["power", "cost"]
    feed.get()
    assert computed == ["power", "cost"]


def test_the_page_groups_devices_and_finds_them(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    power = tab.locator("#members [data-ways='power']")
    expect(power).to_contain_text("kW 125")
    expect(power).to_contain_text("W 75 m0005, m0006, m0007")
    expect(power).to_contain_text("and 63 more")
    expect(tab.locator("#members tbody tr")).to_have_count(MAX_FOUND)
    expect(tab.locator("#members")).to_contain_text("50 of 200")
    power.get_by_role("button", name="W 75").click()
    expect(tab.locator("#members")).to_contain_text("50 of 75")
    expect(tab.locator("#members tbody tr").first).to_have_attribute("data-value", "m0005")
    tab.locator("#members input").fill("m0199")
    expect(tab.locator("#members tbody tr")).to_have_count(1)
    expect(tab.locator("#members tbody")).to_contain_text("m0199")
    assert tab.wrong == []  # type: ignore[attr-defined]


NEXT_EPOCH = """() => {
  document.querySelector("#members .scroll").scrollTop = 150;
  const model = structuredClone(state.model);
  model.sources[0].groups[0].rows[0].rate += 1;
  draw(model);
  const box = document.querySelector("#members .scroll");
  return [box.scrollTop, box.querySelectorAll("tbody tr").length];
}"""


def test_what_was_scrolled_and_searched_stays_with_a_new_epoch(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    expect(tab.locator("#members tbody tr")).to_have_count(MAX_FOUND)
    assert tab.evaluate(NEXT_EPOCH) == [150, MAX_FOUND]
    tab.locator("#members input").fill("m001")
    expect(tab.locator("#members tbody tr")).to_have_count(10)
    assert tab.evaluate(NEXT_EPOCH)[1] == 10
    expect(tab.locator("#members input")).to_be_focused()
    expect(tab.locator("#members")).to_contain_text("10 of 10")


@pytest.mark.rest
def test_the_page_of_5000_devices_is_small(browser: Browser, sail: SparkSession, tmp_path: Path) -> None:
    path = checkpoint_of(sail, tmp_path, 5_000)
    assert ways_of(path)["power"] == [("kW", 3125), ("W", 1875)]
    with served(path) as page:
        tab = opened(browser, page.address)
        expect(tab.locator("#members [data-ways='power']")).to_contain_text("3\u202f113 more")
        expect(tab.locator("#members")).to_contain_text("50 of 5\u202f000")
        expect(tab.locator("#waits")).to_contain_text(
            "... 3,119 more}: waits for minutes where (meter not in {"
        )
        assert tab.evaluate("document.querySelectorAll('*').length") < 2_000
        assert len(page.get("/model").text) < 200_000


def boxes(tab: Any, selector: str) -> list[dict[str, float]]:
    return [node.bounding_box() for node in tab.locator(selector).all()]


@pytest.mark.parametrize("width", tiered([1280, 400, 1920]))
def test_the_plan_is_inside_its_card_or_scrolls(browser: Browser, page: Page, width: int) -> None:
    tab = opened(browser, page.address, width)
    expect(tab.locator("#plan svg .node")).to_have_count(9)
    (card,) = boxes(tab, "#plan .drawn")
    if width == 400:
        assert tab.evaluate("(d => d.scrollWidth > d.clientWidth)(document.querySelector('#plan .drawn'))")
    else:
        assert all(box["x"] + box["width"] <= card["x"] + card["width"] for box in boxes(tab, "#plan .node"))
    assert not tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert boxes(tab, "#plan .node")[0]["width"] > 0.7 * 176


@pytest.mark.rest
def test_cards_keep_their_own_height(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    expect(tab.locator("#members tbody tr")).to_have_count(MAX_FOUND)
    heights = {name: boxes(tab, f"#{name}")[0]["height"] for name in ("members", "waits", "doubtful")}
    assert heights["doubtful"] < 100
    assert heights["waits"] < 200 < heights["members"]


@pytest.mark.rest
def test_own_units_rows_of_parquet_and_times_are_shown_as_people_write_them(
    browser: Browser, page: Page
) -> None:
    tab = opened(browser, page.address)
    tab.locator("#output-name").select_option("each_one")
    expect(tab.locator("#output thead")).to_contain_text("cost [EUR]")
    expect(tab.locator("#output tbody tr").first).to_contain_text("2026-11-26T08:01:00")
    expect(tab.locator("#head")).to_contain_text("closed up to 2026-11-26 08:02:00")
    expect(tab.locator("#members")).not_to_contain_text("[EUR")
    expect(tab.locator("#accents .stated")).to_contain_text('[[meter = "m0001", unit(power, kW)]] line 6')
    expect(tab.locator("#alive")).not_to_have_class("red")
    expect(tab.locator("#aside")).to_have_text("1 line set aside")


def test_the_copied_command_works(two_hundred: str) -> None:
    """The line came beside an accent on its meter, so that it cannot be sent as it is."""
    (code,) = RunModel(two_hundred).read()["quarantine"]
    assert code["replay"] == f"cedilla replay {two_hundred} --code RQ301 --print"
    command = shlex.split(code["replay"])[1:]
    result = cedilla(*command)
    assert result.exit_code == 0
    assert '"26.4 kW"' in result.stdout
    assert "error[RQ497]" in cedilla(*command[:-1]).stderr
