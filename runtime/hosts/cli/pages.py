"""Finds pages of the documentation, which are packed with the program, and parts of them by name or by words.

A name is that of a page (`markers`, `join`), of a heading (`markers#renames`, `renames`), or of a row of a reference
table (`round`). Other words lead to the parts that have all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import shorten

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean

_FOLDERS = ("", "cases", "operators", "reference")
"""Folders of pages, in the order of the list."""
_MOST, _WIDTH = 12, 110
"""The most parts that a search by words lists, and the most characters of the line of each."""
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
    """Returns the Markdown of a page, of the part that a name means, or a list of the parts that have its words.

    Raises `DiagnosticError` RQ477 for others.
    """
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
    if not anchor and (part := _part(page) or _rows(page) or _with_words(page)):
        return part
    hint = did_you_mean(page, _names(), "pages")
    raise failure("RQ477", f"the documentation has no page and no words `{name}`", hint=hint)


def _with_words(words: str) -> str | None:
    """Returns a list of the parts of pages that have all words, each with one of its lines; `None` if no part has.

    A word is the beginning of one, so that `late` finds "later", too. Parts with more of the words in their headings
    come first, of these the shorter ones.
    """
    wanted = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in words.split()]
    ranked: list[tuple[int, int, str]] = []
    for name, page in pages().items():
        for anchor, section in _sections(page, nested=False).items():
            title, *lines = section.splitlines()
            if all(word.search(section) for word in wanted):
                best = max(lines or [title], key=lambda line: sum(bool(word.search(line)) for word in wanted))
                entry = (
                    f"- `{name}#{anchor}`: {shorten(_plain(best).lstrip('-|# '), _WIDTH, placeholder=' …')}"
                )
                ranked.append((-sum(bool(word.search(title)) for word in wanted), len(lines), entry))
    if not wanted or not ranked:
        return None
    more = f"\n\nFurther parts: {len(ranked) - _MOST}." if len(ranked) > _MOST else ""
    listed = "\n".join(entry for *_, entry in sorted(ranked)[:_MOST])
    return f"Nothing is named `{words}`. These parts have the words:\n\n{listed}{more}\n"


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


def _sections(page: str, *, nested: bool = True) -> Mapping[str, str]:
    """Returns each heading's anchor with the part of the page below it, up to the next heading of its level, or of any
    level if not `nested`."""
    blanked = _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), page)
    headings = list(_HEADING.finditer(blanked))
    sections: dict[str, str] = {}
    for number, heading in enumerate(headings):
        later = headings[number + 1 :]
        ends = (h.start() for h in later if not nested or len(h["level"]) <= len(heading["level"]))
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
