"""The first screen of a page says what it is about, and has an example. Longer texts join their sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.examples import FENCE, page_name
from tests.docs.prose import texts
from tests.kit import ROOT

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "cases").glob("*.md")])
LINKING = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not {"reference", "vscode"} & {*page.parts} and page.name not in ("concepts.md", "README.md")
]
TERMS = {"canonical": "concepts.md#canonical-values", "epoch": "concepts.md#epochs"}
"""Words of the theory -> where they are explained."""
MAX_WORDS = 120
_NO_PROSE = re.compile(
    r"^```.*?^```$|<!-- generated -->.*?<!-- end -->|`[^`\n]*`|^ {4}.*?$|^#.*?$|\[[^\]]*\]\([^)]*\)|\*\*[^*\n]*\*\*|"
    r"^\|.*?$|^!\[.*?$",
    re.MULTILINE | re.DOTALL,
)
"""Code, headings, tables, pictures, what is bold, and links: their words need no link."""
_LINK_WORDS = re.compile(
    r"\b(because|so that|for example|such as|therefore|although|otherwise|instead|in place of|if|while|until|unless|"
    r"where|when|then|as soon as|also|too|but|except|however|which|whose|after|before|by|only)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"^```|^ {4}\S|^\||^!\[|\b(for example|such as)\b|`[^`]+`", re.MULTILINE | re.IGNORECASE
)


def first_screen(page: Path) -> str:
    """Returns the text between the title and the first heading."""
    title, _, rest = page.read_text("utf-8").partition("\n")
    assert title.startswith("# ")
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_begins_with_its_subject_and_an_example(page: Path) -> None:
    screen = first_screen(page)
    lines = [line for line in FENCE.sub("", screen).splitlines() if not line.startswith(("|", "    ", "!["))]
    words = " ".join(lines).split()
    assert 20 <= len(words) <= MAX_WORDS
    assert _EXAMPLE.search(screen)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_joins_its_sentences(page: Path) -> None:
    """Of the paragraphs with three sentences, four in five have a word that joins them; on a short page all but two."""
    long = [t for t in texts([page]) if "|" not in t.words and len(re.findall(r"[.!?](?= |$)", t.words)) >= 3]
    alone = [f"{page_name(page)}:{t.line}: {t.words[:100]}" for t in long if not _LINK_WORDS.search(t.words)]
    assert len(alone) <= max(2, len(long) / 5), "\n".join(alone)


@pytest.mark.parametrize("page", LINKING, ids=page_name)
def test_a_page_links_the_words_that_it_does_not_explain(page: Path) -> None:
    text = page.read_text("utf-8")
    prose = _NO_PROSE.sub("", text)
    for word, target in TERMS.items():
        assert not re.search(rf"(?<![\w*-]){word}s?(?![\w*-])", prose) or target in text, word
