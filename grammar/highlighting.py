"""Colors of queries: the words of the language by kind, and a lexer for Pygments, which finds it by an entry point.

Sites, notebooks and `rich` color by Pygments. No other module imports this one, so Cedilla does not need Pygments.
"""

import re
from pathlib import Path

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from cedilla.grammar.hints.forms import CHANGES, STATEMENTS
from cedilla.grammar.syntax import TYPES, accent_forms, operator_forms


def grammar_words() -> set[str]:
    """Returns every word that the grammar spells out."""
    text = (
        Path(__file__).with_name("rq.lark").read_text("utf-8")
        + operator_forms.grammar()
        + accent_forms.grammar()
    )
    return set(re.findall(r'"([A-Za-z]{2,})"', re.sub(r"^//.*$", "", text, flags=re.MULTILINE)))


STARTS = tuple(STATEMENTS)
"""Words that begin a statement."""
RELATIONAL = (
    *operator_forms.WORDS,
    *("union", "intersect", "minus", "join", "left", "semi", "anti", "all"),
)
CONSTANTS = ("true", "false", "null")
ACCENTS = tuple(word for word in CHANGES if word.isalpha())
OTHERS = tuple(sorted(grammar_words() - {*STARTS, *RELATIONAL, *CONSTANTS, *ACCENTS}))
SIGNS = "".join(sorted({*operator_forms.SIGNS, *"⋈⟕⋉▷∪∩−≀¬∧∨"} - {"W"}))
"""Letters of the algebra; W is a sign only before a bracket."""
SYMBOLS = rf"->|→|\|\||:=|[!<>]=|[=<>+*/%≠≤≥-]|\bW(?=\[)|[{SIGNS}]"
NUMBER = r"\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\b"
NAME = r"\b[^\W\d]\w*"


class CedillaLexer(RegexLexer):
    """Splits a query into tokens of Pygments."""

    name = "Cedilla"
    aliases = ["rq", "cedilla"]  # noqa: RUF012 - Pygments declares it so
    filenames = ["*.rq"]  # noqa: RUF012
    tokens = {  # noqa: RUF012
        "root": [
            (r"\s+", Whitespace),
            (r"#.*$", Comment.Single),
            (r'"(?:\\.|[^"\\\n])*"?', String.Double),
            (r"'(?:\\.|[^'\\\n])*'?", String.Single),
            (NUMBER, Number),
            (rf"{NAME}(?=\s*:=)|(?:(?<=stream )|(?<=table )){NAME}", Name.Class),
            (words(STARTS, r"\b", r"\b"), Keyword),
            (words(RELATIONAL, r"\b", r"\b"), Name.Builtin),
            (words(CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(ACCENTS, r"\b", r"\b"), Keyword.Pseudo),
            (words(OTHERS, r"\b", r"\b"), Keyword.Reserved),
            (words(tuple(TYPES), r"\b", r"\b"), Keyword.Type),
            (rf"{NAME}(?=\s*\()", Name.Function),
            (SYMBOLS, Operator),
            (NAME, Name),
            (r"[^\w\s]", Punctuation),
        ]
    }
