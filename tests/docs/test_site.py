"""The site of `make site`: its navigation, its pages, the errata and the comparison."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.site import PROJECT, home, navigation, with_repository_links, with_titles
from tests.kit import ROOT

DOCS = ROOT / "docs"
_PROSE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def test_the_navigation_has_every_page() -> None:
    def paths(entry: Any) -> list[str]:
        match entry:
            case str():
                return [entry]
            case list():
                return [path for value in entry for path in paths(value)]
            case _:
                return [path for value in entry.values() for path in paths(value)]

    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert {path for path in paths(navigation(DOCS)) if path.endswith(".md")} == pages


def test_a_block_has_its_name_as_title() -> None:
    page = "```json pumps/1.jsonl\n{}\n```\n```rq fragment\nx\n```\n"
    assert with_titles(page) == '```json title="pumps/1.jsonl"\n{}\n```\n```rq\nx\n```\n'


def test_links_out_of_the_site_lead_to_the_repository() -> None:
    page = "[a](../tests/README.md#x) [b](units.md#ways) [c](https://example.org/x) [d](../queries)"
    repository = PROJECT["urls"]["Repository"]
    assert with_repository_links(page, DOCS / "markers.md", DOCS) == (
        f"[a]({repository}/blob/main/tests/README.md#x) [b](units.md#ways) [c](https://example.org/x) "
        f"[d]({repository}/tree/main/queries)"
    )


def test_code_stays_as_it_is() -> None:
    page = "```rq\nw := window[60 on ts as m](r);\n```\n\n    sum[x](r)\n\n`a[b](c)` and [`d`](units.md)"
    assert with_repository_links(page, DOCS / "start.md", DOCS) == page


def test_the_first_page_is_the_pitch_with_picture_tables_and_playground() -> None:
    page = home((ROOT / "README.md").read_text("utf-8"), (DOCS / "README.md").read_text("utf-8"))
    assert page.index("](weather.png)") < page.index("| **Cedilla** |") < page.index("## All pages")
    assert "](playground/index.html)" in page
    assert page.count("\n# ") == 0
    local = re.findall(r"\]\((?!\w+:)([^)#\s]+)", _PROSE.sub("", page))
    assert [path for path in local if not (DOCS / path).exists()] == []


@pytest.mark.parametrize("word", ["currency", "mqtt", "upsert", "watermark"])
def test_a_page_answers_a_word_that_strangers_search(word: str) -> None:
    pages = (page.read_text("utf-8") for page in DOCS.rglob("*.md") if "reference" not in page.parts)
    assert any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for text in pages)


def test_every_test_that_the_errata_name_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (DOCS / "errata.md").read_text("utf-8")))
    pages = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert named <= pages


def test_each_erratum_names_its_test() -> None:
    items = [line for line in (DOCS / "errata.md").read_text("utf-8").splitlines() if line.startswith("- ")]
    assert len(items) > 20
    assert [item for item in items if not re.search(r"\(`test_\w+`\)\.$", item)] == []


def test_the_comparison_cites_the_documentation_of_each_system_with_its_date() -> None:
    text = (DOCS / "comparison.md").read_text("utf-8")
    changes, _, axes = text.partition("## Beyond changes")
    for part, count in ((changes, 15), (axes, 9)):
        rows = [line for line in part.splitlines() if line.startswith("| [")]
        assert len(rows) == count
        assert all(re.match(r"\| \[[^\]]+\]\(https://", row) for row in rows)
    assert re.search(r"read on \d+ \w+ 20\d\d", text)


def test_the_picture_of_the_demo_leads_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    picture = re.search(r"!\[[^\]]+\]\((?P<path>[^)]+)\)", text)
    assert picture is not None
    assert (ROOT / Path(picture["path"])).is_file()
    assert text.index(picture[0]) < text.index("## Install")


@pytest.mark.soak
def test_a_fresh_clone_builds_the_site(tmp_path: Path) -> None:
    """Installs the extra `site` alone, and Pyodide, from their registries."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    done = subprocess.run(["make", "site"], cwd=clone, check=True, capture_output=True, text=True)
    assert "http://127.0.0.1:8000/" in done.stdout
    site = clone / "build" / "site"
    for name in ("cedilla.zip", "words.json", "examples.json", "pyodide/pyodide.mjs"):
        assert (site / "playground" / name).is_file(), name
    assert not list((clone / ".venv").glob("lib/*/site-packages/pytest"))
