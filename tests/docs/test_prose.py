"""Pages, docstrings, comments and messages are in plain English: few texts have a phrase of `phrases.toml`."""

from functools import cache
from pathlib import Path

import pytest

from tests.docs.prose import MAX_WORDS, PHRASES, Text, literals, texts
from tests.kit import ROOT

LIMITS = {
    "docs": 1.0,
    **dict.fromkeys(("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md", "queries"), 2.0),
    **dict.fromkeys(("grammar", "compiler", "runtime"), 3.0),
}
"""The greatest share of texts with a phrase, in percent."""


@cache
def texts_of(name: str) -> list[Text]:
    return list(texts([ROOT / name]))


@pytest.mark.parametrize("name", LIMITS)
def test_few_texts_have_a_phrase_to_decode(name: str) -> None:
    check_share(texts_of(name), LIMITS[name])


def check_share(all_texts: list[Text], limit: float) -> None:
    stilted = [text for text in all_texts if text.phrases()]
    share = 100 * len(stilted) / len(all_texts)
    lines = "\n".join(f"{text.path}:{text.line}: {'; '.join(text.phrases())}" for text in stilted)
    assert share <= limit, f"{share:.1f} percent of the texts:\n{lines}"


@pytest.mark.rest
def test_few_messages_have_a_phrase_to_decode() -> None:
    """Messages, hints, helps, `explain`, `trace` and the live page: readers see these most."""
    rooms = [ROOT / name for name in ("grammar", "compiler", "runtime")]
    all_texts = [*literals(rooms)]
    assert {text.path.suffix for text in all_texts} == {".py", ".js"}
    check_share(all_texts, 1.0)


def test_a_literal_is_a_text_of_a_reader(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'def f(x):\n    """What has no place."""\n    return f"{x} is no {x} here" + "a b c" + "where `a b` it goes"\n'
    )
    (tmp_path / "b.js").write_text('say("no one", `it goes ${on("a b")} behind it`);\n')
    assert sorted((text.path.name, text.line, text.words) for text in literals([tmp_path])) == [
        ("a.py", 3, "where x it goes"),
        ("a.py", 3, "x is no x here"),
        ("b.js", 1, "it goes x behind it"),
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_no_sentence_is_too_long(name: str) -> None:
    long = [f"{text.path}:{text.line}" for text in texts_of(name) if text.longest() > MAX_WORDS]
    assert long == []


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ("Rows behind the marker", "after"),
        ("Nobody counts them.", "no one, someone, the reader"),
        ("What has no place waits.", "name the subject first"),
        ("Let the threads go, and brokers", "releases, drops"),
    ],
)
def test_a_phrase_is_found_with_its_plain_words(words: str, plain: str) -> None:
    assert plain in PHRASES
    assert any(phrase.endswith(f": {plain}") for phrase in Text(ROOT, 1, words).phrases())
    assert Text(ROOT, 1, "Returns the rows after the marker.").phrases() == []
