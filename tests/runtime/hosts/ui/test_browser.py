"""The live page in headless Chromium."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from pyspark.sql import SparkSession

from cedilla.runtime.hosts.terminal.addresses import Address, bound
from tests.conftest import MODE
from tests.kit.browser import opened
from tests.kit.lines import write_lines
from tests.kit.pages import Page, served
from tests.kit.query import Query
from tests.kit.tiers import tiered
from tests.runtime.hosts.ui.pumps import QUERY, closed, pump, run

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def query(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        yield run(_embedded, tmp_path_factory.mktemp("pumps"))


@pytest.fixture(scope="module")
def page(query: Query) -> Iterator[Page]:
    with served(str(query.root / "checkpoint")) as page:
        yield page


def test_every_section_shows_its_part_of_the_run(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    expect(tab.locator("#alive")).to_contain_text("stopped")
    expect(tab.locator("#alive")).to_have_class("red")
    expect(tab.locator("#aside")).to_have_text("2 lines set aside")
    expect(tab.locator("#silent")).to_have_text("1 silent")
    expect(tab.locator("#loading")).to_be_hidden()
    expect(tab.locator("#lost")).to_be_hidden()
    expect(tab.locator("#epoch")).to_have_text("3")
    expect(tab.locator("#stop")).to_contain_text("RQ202: y * y is not a function")
    expect(tab.locator("#stop")).to_contain_text("everything up to epoch 3 is committed; nothing is lost")
    expect(tab.locator("#members tr[data-value='3'] td").nth(1)).to_have_text("never")
    expect(tab.locator("#members tr[data-value='3'] td").nth(1)).to_have_class("t red")
    expect(tab.locator("#members tr[data-value='1'] .chip.new").first).to_contain_text("y / 1000000 since")
    expect(tab.locator("#waits")).to_contain_text("waits for minutes where pump in {2, 3, 4}")
    expect(tab.locator("#accents tbody tr").first).to_contain_text("00003.jsonl:61")
    expect(tab.locator("#doubtful")).to_contain_text("accent pumps [[pump = 4, unit(litres, m3)]];")
    expect(tab.locator("#quarantine")).to_contain_text("RQ301 pumps: 2 lines")
    expect(tab.locator("#quarantine")).to_contain_text("<b>x</b>")  # a text, not an element
    expect(tab.locator("#plan svg .node")).to_have_count(5)
    expect(tab.locator("#output tbody tr").first).to_contain_text("10")
    expect(tab.locator("#epochs")).to_contain_text("tuples/s")
    assert tab.wrong == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (400, "light")])
def test_the_page_is_dark_or_light_and_fits_a_phone(
    browser: Browser, page: Page, width: int, scheme: str
) -> None:
    tab = opened(browser, page.address, width, scheme)
    expect(tab.locator("#members tr[data-value]")).to_have_count(4)
    assert not tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    red, green, blue = tab.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue < 150) is (scheme == "dark")


def test_the_keyboard_reaches_an_accent_the_plan_and_what_is_set_aside(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    expect(tab.locator("#plan svg .node")).to_have_count(5)
    tab.keyboard.press("/")
    tab.keyboard.type("[[pump = 4, unit(litres, m3)]]")
    tab.keyboard.press("Enter")
    expect(tab.locator("#try-answer")).to_contain_text("waits for minutes in [pump in {2, 3}]")
    tab.locator("#try-text").blur()
    tab.keyboard.press("p")
    tab.locator("#plan svg .node").nth(2).focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#node")).to_contain_text("forgets each minute once closed")
    expect(tab.locator("#node")).to_contain_text("a Drop of `minute` ends the query (RQ209, A3)")
    tab.keyboard.press("q")
    expect(tab.locator("#quarantine summary")).to_be_focused()


def test_a_doubt_is_tried_and_dismissed(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    first = tab.locator("#doubtful .alert").first
    first.get_by_role("button", name="try", exact=True).click()
    expect(tab.locator("#try-answer table")).to_be_visible()
    expect(tab.locator("#head a[href='#doubtful']")).to_have_text("3 possible mistakes")
    first.get_by_text("dismiss").click()
    expect(tab.locator("#head a[href='#doubtful']")).to_have_text("2 possible mistakes")
    tab.reload()
    expect(tab.locator("#head a[href='#doubtful']")).to_have_text("2 possible mistakes")


def test_rows_change_their_unit_with_a_button_and_with_a_typed_unit(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    tab.locator("#output-name").select_option("flow")
    expect(tab.locator("#output thead")).to_contain_text("litres [L]")
    tab.locator("#output-unit").fill("litres in m3")
    tab.keyboard.press("Enter")
    expect(tab.locator("#output thead")).to_contain_text("litres [m3]")
    tab.locator("#output-unit").fill("litres in degC")
    tab.keyboard.press("Enter")
    expect(tab.locator("#output .body")).to_contain_text("RQ143")
    tab.get_by_role("button", name="as declared").click()
    expect(tab.locator("#output thead")).to_contain_text("litres [L]")


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(browser: Browser, page: Page) -> None:
    tab = opened(browser, page.address)
    tab.locator("#output-name").select_option("flow")
    expect(tab.locator("#output thead")).to_contain_text("litres [L]")
    held: list[Route] = []
    tab.route("**/rows", lambda route: held.append(route))  # noqa: PLW0108  (Playwright does not take a built-in method)
    tab.locator("#output-unit").fill("litres in degC")
    with tab.expect_request("**/rows"):
        tab.locator("#output-unit").blur()
    with tab.expect_request("**/rows"):
        tab.get_by_role("button", name="as declared").click()
    refusal, as_declared = held
    for route in (as_declared, refusal):
        with tab.expect_response("**/rows") as response:
            route.continue_()
        response.value.finished()
    tab.evaluate("new Promise((done) => setTimeout(done, 100))")  # an answer is drawn after it was read
    expect(tab.locator("#output thead")).to_contain_text("litres [L]")
    expect(tab.locator("#output .body")).not_to_contain_text("RQ143")


def test_a_page_that_has_no_model_yet_shows_no_empty_cards(browser: Browser, page: Page) -> None:
    tab = browser.new_page()
    tab.route("**/events", lambda route: None)
    tab.goto(page.address)
    expect(tab.locator("#loading")).to_have_text("Reading the checkpoint ...")
    expect(tab.locator("main > section:visible")).to_have_count(1)
    tab.unroute("**/events")
    tab.route("**/events", lambda route: route.abort())
    tab.reload()
    expect(tab.locator("#lost")).to_contain_text("connection lost, showing the state of")
    expect(tab.locator("#connection")).to_contain_text("connection lost")
    tab.close()


def test_an_epoch_appears_without_a_reload(browser: Browser, sail: SparkSession, tmp_path: Path) -> None:
    stated = "accent pumps [[pump = 3, unit(litres, m3)]];"
    query = Query(sail, tmp_path, QUERY.replace("minutes :=", f"{stated}\nminutes :="))
    query.write("pumps", [pump(0, 1, 100.0), closed(60)])
    executor = query.executor()
    query.go_on(executor, 0)
    with served(str(tmp_path / "checkpoint")) as page:
        tab = opened(browser, page.address)
        expect(tab.locator("#epoch")).to_have_text("0")
        expect(tab.locator("#alive")).not_to_have_class("red")
        expect(tab.locator("#accents .stated")).to_contain_text("[[pump = 3, unit(litres, m3)]] line 5")
        tab.locator("#try-text").fill("[[half")
        query.write("pumps", [{"$accent": "[[pump = 2, unit(litres, m3)]]"}, pump(60, 2, 0.1), closed(120)])
        query.go_on(executor, 1)
        executor.close()
        expect(tab.locator("#epoch")).to_have_text("1")
        expect(tab.locator("#members tr[data-value='2'] .chip.new")).to_contain_text("m3 since")
        expect(tab.locator("#try-text")).to_have_value("[[half")


@pytest.mark.rest
@pytest.mark.parametrize("count", tiered([2_000, 100_000], most=1))
def test_very_many_accents_in_force_are_shown_in_part(
    browser: Browser, sail: SparkSession, tmp_path: Path, count: int
) -> None:
    text = 'stream fleet(id: int, t: double) from json "fleet"; emit fleet to json "out";'
    query = Query(sail, tmp_path, text)
    lines = [{"$accent": f"[[id = {n}, alter(t, y -> y * {n % 7 + 2})]]"} for n in range(count)]
    query.write("fleet", [*lines, *({"id": n, "t": 1.0} for n in range(500))])
    query.process().close()
    with served(str(tmp_path / "checkpoint")) as page:
        tab = opened(browser, page.address)
        tab.set_default_timeout(120_000)
        expect(tab.locator("#accents")).to_contain_text("7 accents in force", timeout=120_000)
        expect(tab.locator("#members tbody tr")).to_have_count(50)
        expect(tab.locator("#members")).to_contain_text("50 of 500")
        assert len(page.get("/model").text) < 1_000_000
        assert tab.evaluate("document.querySelectorAll('*').length") < 6_000
        assert not tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def started(folder: Path, port: int) -> subprocess.Popen[str]:
    arguments = ["run", "q.rq", "--engine", "sail", "--checkpoint", "ck", "--interval", "0.1", f"--ui={port}"]
    environment = {name: value for name, value in os.environ.items() if name != MODE}
    return subprocess.Popen(
        [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    )


@pytest.mark.rest
def test_a_page_stays_while_a_run_dies_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    write_lines(tmp_path / "pumps" / "1.jsonl", [pump(0, 1, 100.0)])
    with bound(Address("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with started(tmp_path, port) as first:
        try:
            assert first.stderr is not None
            lines = [next(first.stderr)]
            while "page: http" not in lines[-1]:
                lines.append(next(first.stderr))
            tab = opened(browser, f"http://127.0.0.1:{port}/")
            expect(tab.locator("#alive")).to_contain_text("running", timeout=60_000)
            expect(tab.locator("#epoch")).to_have_text("0", timeout=60_000)
            first.send_signal(signal.SIGKILL)
            expect(tab.locator("#alive")).to_contain_text("died")
            expect(tab.locator("#alive")).to_have_class("red")
            expect(tab.locator("#stop")).to_contain_text("the run died without ending (killed, machine lost)")
            expect(tab.locator("#stop")).to_contain_text("start it again, it continues from the last commit")
            expect(tab.locator("#stop code")).to_have_text("cedilla run q.rq --checkpoint ck --engine sail")
            expect(tab.locator("#connection")).to_contain_text("the run has ended")
            expect(tab.locator("#lost")).to_be_hidden()
        finally:
            first.kill()
    write_lines(tmp_path / "pumps" / "2.jsonl", [pump(1, 1, 100.0)])
    with started(tmp_path, port) as second:
        try:
            expect(tab.locator("#connection")).to_contain_text("live", timeout=60_000)
            expect(tab.locator("#epoch")).to_have_text("1", timeout=60_000)
            expect(tab.locator("#alive")).to_contain_text("running")
            expect(tab.locator("#stop")).to_be_hidden()
            second.send_signal(signal.SIGINT)
            expect(tab.locator("#alive")).to_contain_text("stopped")
            expect(tab.locator("#alive")).not_to_have_class("red")
            expect(tab.locator("#stop")).to_be_hidden()
            _, output = second.communicate(timeout=60)
            assert output.count("waiting for files") == 1
        finally:
            second.kill()
