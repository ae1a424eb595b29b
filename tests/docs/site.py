"""Hooks of `make site`: the first page is README.md, the navigation is the table of `docs/README.md`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_ROW = re.compile(r"^\| (?:\d+ )?(?P<title>[^|]+?) \| (?P<pages>[^|]*) \|$", re.MULTILINE)
_FENCE = re.compile(r"^```(?P<language>\w+) (?P<name>\S.*)$", re.MULTILINE)
_TAGS = ("fragment", "declarations", "error")
_LINK = re.compile(r"\[(?P<text>[^\]\[]+)\]\((?P<path>[^)#\s]+)(?P<place>#[^)]*)?\)")
_CODE_OR_LINK = re.compile(rf"^```.*?^```$|^ {{4}}.*?$|`[^`\n]+`|{_LINK.pattern}", re.MULTILINE | re.DOTALL)
"""What reads like a link in code, `window[60 on ts as m](r)`, is none."""
_CODE_OR_TARGET = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]+`)|\]\((?P<docs>docs/)?(?!\w+:|#)", re.MULTILINE | re.DOTALL
)


def navigation(docs: Path) -> list[dict[str, Any]]:
    """Returns the pages of the documentation by the rows of its index."""
    index = (docs / "README.md").read_text("utf-8")
    sections: list[dict[str, Any]] = [{"Home": "README.md"}]
    for row in _ROW.finditer(index):
        pages = [{link["text"]: link["path"]} for link in _LINK.finditer(row["pages"])]
        if row["title"] == "Operators":
            pages += [
                {path.stem: f"operators/{path.name}"}
                for path in sorted((docs / "operators").glob("[a-z]*.md"))
            ]
        if pages:
            sections.append({row["title"].partition(",")[0]: pages})
    return sections


def with_repository_links(markdown: str, page: Path, docs: Path) -> str:
    """Returns a page in which links to files outside of `docs` lead to the repository."""

    def led(link: re.Match[str]) -> str:
        if link["path"] is None or ":" in link["path"]:
            return link[0]
        target = (page.parent / link["path"]).resolve()
        if target.is_relative_to(docs.resolve()) and target.is_file():
            return link[0]
        kind = "tree" if target.is_dir() else "blob"
        path = target.relative_to(ROOT).as_posix()
        return f"[{link['text']}]({PROJECT['urls']['Repository']}/{kind}/main/{path}{link['place'] or ''})"

    return _CODE_OR_LINK.sub(led, markdown)


def home(readme: str, index: str) -> str:
    """Returns the first page: README.md up to its list of pages, then where to start and all pages."""
    pitch, _, _ = readme.partition("\n[Documentation](docs/README.md)")
    pitch = pitch.replace("](docs/tools.md#playground)", "](docs/playground/index.html)")
    pitch = _CODE_OR_TARGET.sub(lambda link: link["code"] or ("](" if link["docs"] else "](../"), pitch)
    return f"{pitch}\n{index[index.index('## Where to start') :]}"


def with_titles(markdown: str) -> str:
    """Returns a page in which the name after the language of a block is its title. Tags of tests are none."""

    def titled(fence: re.Match[str]) -> str:
        title = "" if fence["name"] in _TAGS else f' title="{fence["name"]}"'
        return f"```{fence['language']}{title}"

    return _FENCE.sub(titled, markdown)


def on_config(config: Any) -> Any:
    """Gives the site its navigation, a link to the repository, and the version in its name."""
    config["nav"] = [*navigation(Path(config["docs_dir"])), {"Repository": PROJECT["urls"]["Repository"]}]
    config["site_name"] = f"Cedilla {PROJECT['version']}"
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Gives blocks their titles, and links that lead out of the site their addresses."""
    path, docs = Path(page.file.abs_src_path), Path(config["docs_dir"])
    if page.file.src_uri == "README.md":
        # README.md stands above its links, whose paths begin at `docs` on the site.
        markdown = home((ROOT / "README.md").read_text("utf-8"), markdown)
    return with_repository_links(with_titles(markdown), path, docs)
