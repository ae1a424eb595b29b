"""Finds pages of the documentation, which are packed with the program, and parts of them by name.

A name is that of a page (`markers`, `join`), of a heading (`markers#renames`, `renames`), or of a row of a reference
table (`round`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean

_FOLDERS = ("", "cases", "operators", "reference")
"""Folders of pages, in the order of the list."""
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(?P<level>#+) (?P<title>.+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[(?P<text>[^\]\[]*)\]\((?P<path>[^)\s]*)\)")
_TABLE = re.compile(r"^\|.*\n\|(?:---\|)+\n(?:\|.*\n?)+", re.MULTILINE)
_MARKS = re.compile(r"\*\*|`")
_SENTENCE = re.compile(r".+?\.(?=\s|$)")


@cache
def pages() -> Mapping[str, str]:
    """Returns the texts of all pages by their names: their paths without `.md`."""
    root = files("cedilla").joinpath("docs")
    return {
        f"{folder}/{name}".lstrip("/"): file.read_text("utf-8")
        for folder in _FOLDERS
        for name, file in sorted(_markdown(root.joinpath(folder) if folder else root))
    }


def _markdown(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for file in folder.iterdir():
        if file.name.endswith(".md"):
            yield file.name.removesuffix(".md"), file


def command_of(page: str) -> str:
    """Returns the command that prints a page or a part of it.

    >>> command_of("reference/settings.md#late")
    'cedilla docs reference/settings#late'
    """
    return f"cedilla docs {page.replace('.md', '', 1)}"


def summary(name: str, page: str) -> str:
    r"""Returns a line about a page: its first sentence, or its title if the page begins otherwise.

    >>> summary("rows", "# Rows\n\nA **row** is [one](a.md) `value`. More follows.")
    'A row is one value.'
    >>> summary("reference/rows", "# Rows and columns\n\nA row is one value.")
    'Rows and columns'
    """
    texts = (text.strip("\n") for text in _BLOCK.sub("", page).split("\n\n"))
    title, *paragraphs = [text for text in texts if text and not text.startswith("<!--")]
    first = _SENTENCE.match(" ".join(next(iter(paragraphs), "").split()))
    is_prose = (
        paragraphs and paragraphs[0][0] not in " |#!-" and not name.startswith(("reference/", "cases/"))
    )
    return _plain(first[0] if first and is_prose else title.removeprefix("# "))


def _plain(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(lambda link: link["text"], text))


def text_of(name: str) -> str:
    """Returns the Markdown of a page, or of the part that a name means. Raises `DiagnosticError` RQ477 for others."""
    page, _, anchor = name.removeprefix("docs/").replace(".md", "", 1).strip().partition("#")
    whole = _page(page) if page else None
    if whole is not None:
        if not anchor:
            return pages()[whole]
        anchors = _sections(pages()[whole])
        if anchor.lower() not in anchors:
            hint = did_you_mean(anchor, anchors, "headings")
            raise failure("RQ477", f"the page `{whole}` has no heading `{anchor}`", hint=hint)
        return anchors[anchor.lower()]
    if not anchor and (part := _part(page) or _rows(page)):
        return part
    hint = did_you_mean(page, _names(), "pages")
    raise failure("RQ477", f"the documentation has no page `{name}`", hint=hint)


def _page(name: str) -> str | None:
    """Returns the full name of a page: `join` is `operators/join`, and so is `left join` with a hyphen."""
    wanted = re.sub(r"[\s_]+", "-", name.lower())
    for full in pages():
        if wanted in (full.lower(), full.rpartition("/")[2].lower(), full.lower().removesuffix("/readme")):
            return full
    return None


def _names() -> list[str]:
    """Returns what a name may be: pages with and without their folders, and headings that are unique."""
    return list(dict.fromkeys([*(name.rpartition("/")[2] for name in pages()), *pages(), *_unique()]))


@cache
def _unique() -> Mapping[str, str]:
    """Returns the parts below headings that only one page has: of all, of the reference, or that of the commands."""
    parts: dict[str, dict[str, str]] = {}
    for name, page in pages().items():
        for anchor, part in _sections(page).items():
            parts.setdefault(anchor, {})[name] = part
    unique: dict[str, str] = {}
    for anchor, by_page in parts.items():
        for start in ("", "reference/", "reference/commands"):
            candidates = [part for name, part in by_page.items() if name.startswith(start)]
            if len(candidates) == 1:
                unique[anchor] = candidates[0]
    return unique


def _part(name: str) -> str | None:
    return _unique().get(_anchor(name))


def _sections(page: str) -> Mapping[str, str]:
    """Returns each heading's anchor with the part of the page below it, up to the next heading of its level."""
    blanked = _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), page)
    headings = list(_HEADING.finditer(blanked))
    sections: dict[str, str] = {}
    for number, heading in enumerate(headings):
        ends = (h.start() for h in headings[number + 1 :] if len(h["level"]) <= len(heading["level"]))
        section = page[heading.start() : next(ends, len(page))].rstrip() + "\n"
        sections.setdefault(_anchor(heading["title"]), section)
    return sections


def _anchor(title: str) -> str:
    """Returns the anchor of a heading, as sites of repositories make it."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", _plain(title).lower()).strip())


def _rows(name: str) -> str | None:
    """Returns the rows of reference tables whose first cell names something: a function, a setting, an option."""
    own = re.compile(rf"(?:^\| | / |, )`{re.escape(name)}(?:[ (,=][^`|]*)?`[^|]* \|", re.IGNORECASE)
    parts: list[str] = []
    for page, text in pages().items():
        for table in _TABLE.findall(text) if page.startswith("reference/") else ():
            head, line, *rows = table.splitlines()
            if own_rows := [row for row in rows if own.match(row)]:
                parts.append("\n".join([f"From `{page}`:\n", head, line, *own_rows, ""]))
    return "\n".join(parts) or None


def for_terminal(text: str) -> str:
    """Returns the Markdown of a page with the names of other pages for links to them, and without links to files."""

    def shown(link: re.Match[str]) -> str:
        path = link["path"]
        if "://" in path or path.startswith("#"):
            return link[0]
        name, _, anchor = path.partition("#")
        if not name.endswith(".md") or (page := _page(name.removesuffix(".md").rpartition("/")[2])) is None:
            return link["text"]
        return f"{link['text']} (`{page}{'#' + anchor if anchor else ''}`)"

    code = re.compile(rf"{_BLOCK.pattern}|`[^`\n]+`|{_LINK.pattern}", re.MULTILINE | re.DOTALL)
    without_remarks = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)
    return code.sub(lambda match: match[0] if match["text"] is None else shown(match), without_remarks)
