"""Takes the pictures of the notebook, of the site and of its playground: `python -m tests.docs.pictures`.

The notebook is executed first. `make site` has built the site; the playground runs there by Pyodide.
"""

from __future__ import annotations

import tempfile
from typing import Any

import nbformat
from markdown import markdown
from nbclient import NotebookClient
from playwright.sync_api import Browser, expect
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from cedilla.grammar.highlighting import CedillaLexer
from tests.kit import ROOT
from tests.kit.browser import chromium, opened, served_folder
from tests.kit.pictures import take

FOLDER = ROOT / "docs"
SITE = ROOT / "build" / "site"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5em; max-width: 1020px; background: #fff }
.in { display: flex; gap: 1em; align-items: start } .in > span { color: #3b6ea5; font: 13px monospace; width: 3.5em }
.in pre { margin: 0; padding: .6em; background: #f5f6f7; border: 1px solid #dde1e4; font-size: 13px }
.in .highlight { flex: 1; min-width: 0 } .out { margin: .6em 0 1.2em 4.5em; overflow: hidden } img { max-width: 100% }
svg { max-width: 100%; height: auto }
table { border-collapse: collapse; font-size: 13px } th, td { padding: .2em .8em; text-align: right }
"""


def notebook_page() -> str:
    """Executes the notebook; returns its cells and what they show as a page."""
    notebook: Any = nbformat.read(ROOT / "queries" / "notebook" / "pumps.ipynb", 4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    formatter = HtmlFormatter[str](nowrap=False)
    parts = [f"<style>{_STYLE}{formatter.get_style_defs()}</style>"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(markdown(cell.source))
            continue
        magic, _, rest = cell.source.partition("\n")
        is_query = magic.startswith("%%cedilla")
        code = highlight(
            rest if is_query else cell.source, CedillaLexer() if is_query else PythonLexer(), formatter
        )
        first = f"<pre>{magic}</pre>" if is_query else ""
        parts.append(
            f'<div class="in"><span>[{cell.execution_count}]</span><div class="highlight">{first}{code}</div></div>'
        )
        parts += [f'<div class="out">{shown(output)}</div>' for output in cell.outputs]
    return "\n".join(parts)


def shown(output: Any) -> str:
    """Returns an output as HTML."""
    data = output.get("data", {})
    if "text/html" in data:
        return data["text/html"]
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{data.get('text/plain', output.get('text', ''))}</pre>"


def notebook(browser: Browser) -> None:
    """The notebook, from its first cell to its last."""
    tab = browser.new_page(viewport={"width": 1080, "height": 900})
    tab.set_content(notebook_page())
    take(tab, FOLDER / "notebook.png", "h1, h2, h3", whole=True)


def site(browser: Browser) -> None:
    """The first steps on the site, and the playground with an answer of Python in the browser."""
    with served_folder(SITE) as address:
        tab = opened(browser, f"{address}start.html", 1280)
        tab.locator("code .nc").first.wait_for()  # a query in colors
        take(tab, FOLDER / "site.png", "article h1, article h2")
        tab = opened(browser, f"{address}playground/index.html", 1180)
        expect(tab.locator("#state")).to_contain_text("ready", timeout=180_000)
        expect(tab.locator("#answer")).to_contain_text('"litres": 120.0}')
        take(tab, FOLDER / "playground.png", "h1, h2, button, label, option")


def main() -> None:
    """Takes all pictures."""
    with chromium() as browser:
        notebook(browser)
        site(browser)


if __name__ == "__main__":
    main()
