"""The extension of VS Code colors every word of the language, and is packed with the files that it names."""

import json
import re

from tests.docs.textmate import words
from tests.kit import ROOT

EXTENSION = ROOT / "docs" / "editors" / "vscode"


def test_every_word_of_the_grammar_has_a_color() -> None:
    grammar = json.loads((EXTENSION / "syntaxes" / "cedilla.tmLanguage.json").read_text("utf-8"))
    patterns = [
        re.compile(each["match"]) for each in grammar["patterns"] if r"\b(?:" in each.get("match", "")
    ]
    uncolored = {word for word in words() if not any(each.fullmatch(word) for each in patterns)}
    assert uncolored == set()


def test_the_extension_names_files_that_exist_and_the_version_of_the_package() -> None:
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    contributed = package["contributes"]
    paths = [
        package["main"],
        contributed["languages"][0]["configuration"],
        contributed["grammars"][0]["path"],
    ]
    assert all((EXTENSION / path).is_file() for path in paths)
    assert f'version = "{package["version"]}"' in (ROOT / "pyproject.toml").read_text("utf-8")
