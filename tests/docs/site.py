"""Hooks of `make site`: its navigation is the table of `docs/README.md`; links out of `docs` become text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_ROW = re.compile(r"^\| (?:\d+ )?(?P<title>[^|]+?) \| (?P<pages>.*) \|$", re.MULTILINE)
_FENCE = re.compile(r"^```(?P<language>\w+) (?P<name>\S.*)$", re.MULTILINE)
_TAGS = ("fragment", "declarations", "error")
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>[^)#\s]+)(?P<place>#[^)]*)?\)")
_CODE_OR_LINK = re.compile(rf"^```.*?^```$|^ {{4}}.*?$|`[^`\n]+`|{_LINK.pattern}", re.MULTILINE | re.DOTALL)
"""What reads like a link in code, `window[60 on ts as m](r)`, is none."""


def navigation(docs: Path) -> list[dict[str, Any]]:
    """Returns the pages of the documentation by the rows of its index."""
    index = (docs / "README.md").read_text("utf-8")
    sections: list[dict[str, Any]] = [{"Cedilla": "README.md"}]
    for row in _ROW.finditer(index):
        pages = [{link["text"]: link["path"]} for link in _LINK.finditer(row["pages"])]
        if row["title"] == "Operators":
            pages += [
                {path.stem: f"operators/{path.name}"} for path in sorted((docs / "operators").glob("*.md"))
            ]
        if pages:
            sections.append({row["title"]: pages})
    return sections


def without_outside_links(markdown: str, page: Path, docs: Path) -> str:
    """Returns a page in which the links to files outside of `docs` are their texts."""

    def kept(link: re.Match[str]) -> str:
        if link["path"] is None or ":" in link["path"]:
            return link[0]
        target = (page.parent / link["path"]).resolve()
        return link[0] if target.is_relative_to(docs.resolve()) and target.is_file() else link["text"]

    return _CODE_OR_LINK.sub(kept, markdown)


def with_titles(markdown: str) -> str:
    """Returns a page in which the name after the language of a block is its title. Tags of tests are none."""

    def titled(fence: re.Match[str]) -> str:
        title = "" if fence["name"] in _TAGS else f' title="{fence["name"]}"'
        return f"```{fence['language']}{title}"

    return _FENCE.sub(titled, markdown)


def on_config(config: Any) -> Any:
    """Gives the site its navigation."""
    config["nav"] = navigation(Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Gives blocks their titles, and removes links that lead out of the site."""
    return without_outside_links(
        with_titles(markdown), Path(page.file.abs_src_path), Path(config["docs_dir"])
    )
