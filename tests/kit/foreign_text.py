"""Texts of strangers, by what they break: programs, pages, terminals, metrics, diagrams, notebooks.

A place that shows or stores a foreign text is swept with `TEXTS` or `foreign_texts()`, in the form that it takes:
`is_file_name`, `constant`, `name`, `json_string`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

RAN = "foreign_text_ran"
"""The name that a text creates, as a file or as a member of `window`, once it is run in place of being shown."""

TEXTS: dict[str, str] = {
    "line end": "first\nsecond",
    "other line ends": "a\rb\r\nc\vd\fe\x1cf\x85g",
    "separators": "a\u2028b\u2029c",
    "python after a line end": f"x\n    open('{RAN}', 'w')\n    #",
    "python after a comment": f"x\r\nopen('{RAN}', 'w')\n#.rq",
    "end of a docstring": '"""',
    "end of a docstring after text": 'text"""',
    "end of another docstring": "text'''",
    "a backslash at the end": "path\\",
    "backslashes and a quote": '\\\\"\\"',
    "double quotes": '"quoted"',
    "single quotes": "it's '' quoted",
    "backticks": "`code` ``more`` ```",
    "typographic quotes": "\u201cquoted\u201d \u2018too\u2019",
    "a docstring that runs": f'""" + open("{RAN}", "w") + """',
    "a format": "%s %d %n %(name)s {0} {name} {} }{",
    "a template": f"${{{RAN}}} $HOME $(touch {RAN}) `touch {RAN}`",
    "a double template": "{{7 * 7}} {% raw %} {{{ }}}",
    "a shell": f"; touch {RAN} & | > < * ? ~ !! # '\"",
    "end of a script": f"</script><script>window.{RAN} = 1</script>",
    "end of a style": f"</style><script>window.{RAN} = 1</script>",
    "an image": f"<img src=x onerror=window.{RAN}=1>",
    "end of an attribute": f"\"' onmouseover=window.{RAN}=1 x='",
    "a comment of a page": "<!-- --> --!> ]]> <![CDATA[",
    "entities": "&lt;b&gt; &amp; &#x1b; &",
    "a link of a page": f"[x](javascript:window.{RAN}=1) ![y](http://evil.example/y)",
    "a link of an editor": "[x](command:workbench.action.quit)",
    "a heading and a rule": "# h\n---\n* x\n> y\n\n```rq\nz",
    "a table": "| a | b |\n|---|---|",
    "colours": "\x1b[31mred\x1b[0m",
    "a cleared screen": "\x1b[2J\x1b[H",
    "a title of a terminal": "\x1b]0;title\x07 \x1b]8;;http://evil.example\x1b\\link",
    "eight-bit colours": "\x9b31m \x90 \x9d0;title\x9c",
    "signs that move": "a\bb\x7f\ac\x0e\x0fd",
    "tabs": "a\tb\t",
    "a null": "a\x00b",
    "every control sign": "".join(map(chr, [*range(32), *range(127, 160)])),
    "right to left": "abc\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "zero width": "a\u200bb\u200d\ufeffc\u00ad",
    "a mark of byte order": "\ufeffname",
    "combining": "e\u0301" + "\u0301" * 40,
    "beyond the first plane": "\U0001f600\U0010ffff\U000e0041",
    "no characters": "\ufffe\uffff\ufffd",
    "half a pair": "a\ud800b",
    "the other half of a pair": "\udfff",
    "a byte that is not utf-8": "caf\udce9",
    "letters of other scripts": "größe 温度 حرارة",
    "prometheus": 'a="b",c} 1\n# TYPE x counter\nx_total 1',
    "a diagram": 'a"]; b --> c[("',
    "dot": 'a" label="b" -> "c',
    "mermaid": "a --> b; click a call f() %%{init: {}}%% #quot; end",
    "json": '", "level": "error", "x": {',
    "a marker": '[[k = "x", +(a: int)]]',
    "a comment of a query": "x # y -- z /* */",
    "a secret": "s3://key:secret@bucket/x?password=hunter2&token=abc",
    "an address": "https://user:pass@evil.example/?sig=abc#x",
    "a path": "../../../etc/passwd",
    "a separator": "a/b\\c:d",
    "an option": "--allow-module",
    "a dot": ".",
    "spaces": "  a  b  ",
    "nothing": "",
    "a word of the language": "select",
    "a word of python": "None",
    "a name of javascript": "__proto__",
    "a number": "1e309",
    "infinity": "NaN",
    "very long": "long " * 20_000,
    "very long and wide": "\U0001f600<&\"'" * 5_000,
}
"""Texts by kind. The kinds are parameters of tests; `RAN` shows that a text was run."""

_PIECES = sorted({text for text in TEXTS.values() if text and len(text) < 200})
_LONGEST_FILE_NAME = 255
NAMES: dict[str, str] = {
    "a word of the language": "select",
    "a word that begins a definition": "emit",
    "a word of python": "None",
    "a statement of python": "import",
    "a special name of python": "__class__",
    "a name of a program": "epoch",
    "a name of a builtin": "print",
    "a name of javascript": "__proto__",
    "a member of javascript": "constructor",
    "a word of diagrams": "end",
    "a node of diagrams": "subgraph",
    "a word of sql": "table",
    "an underscore": "_",
    "letters of other scripts": "größe",
    "right to left": "حرارة",
    "a letter that python makes another": "ﬁ",
    "digits of other scripts": "a٣",
    "upper and lower": "Select",
    "very long": "n" * 3_000,
}
"""Names of relations, attributes and units that the language takes unquoted, which other languages read as words."""


def foreign_texts(legal: Callable[[str], bool] = lambda text: True) -> st.SearchStrategy[str]:
    """Returns a strategy of texts: those of `TEXTS`, two or three of them in a row, and any signs."""
    pieces = st.sampled_from(_PIECES)
    several = st.lists(pieces | st.text(max_size=5), min_size=1, max_size=3).map("".join)
    return (st.sampled_from(sorted(TEXTS.values())) | several | st.text(max_size=30)).filter(legal)


def seeded(seed: int, count: int) -> list[str]:
    """Returns texts of a seed: pieces of `TEXTS` in a row, cut anywhere."""
    rng = Random(seed)

    def text() -> str:
        joined = "".join(rng.choices(_PIECES, k=rng.choice((1, 1, 2, 3))))
        begin = rng.choice((0, 0, rng.randrange(len(joined))))
        return joined[begin:]

    return [text() for _ in range(count)]


def is_file_name(text: str) -> bool:
    """Returns True for a text that a file of Linux can be called: no `/`, no null, 1 to 255 bytes."""
    if text in ("", ".", "..") or "/" in text or "\0" in text or not is_of_bytes(text):
        return False
    return len(text.encode("utf-8", "surrogateescape")) <= _LONGEST_FILE_NAME


def is_of_bytes(text: str) -> bool:
    """Returns True for a text that is UTF-8, or stands for bytes that are not, as Python writes names of files."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == text
    except UnicodeEncodeError:
        return False


def is_unicode(text: str) -> bool:
    """Returns True for a text without halves of pairs, which UTF-8 can write."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def file_names() -> dict[str, str]:
    """Returns the texts that can be names of files, by kind; the others with `/` and null left out."""
    shortened = {kind: text.replace("/", "").replace("\0", "")[:60] for kind, text in TEXTS.items()}
    return {kind: text for kind, text in shortened.items() if is_file_name(text)}


def constant(text: str) -> str:
    """Returns a string constant of the query language, which means the text. Halves of pairs have none."""
    assert is_unicode(text), "the language has no constant for half a pair of surrogates"
    return f'"{"".join(map(_written, text))}"'


def _written(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return f"\\u{ord(sign):04x}" if sign < " " or "\x7f" <= sign <= "\xa0" else sign


def constants() -> dict[str, str]:
    """Returns string constants by kind, for each text that has one."""
    return {kind: constant(text) for kind, text in TEXTS.items() if is_unicode(text)}


def json_string(text: str) -> str:
    """Returns a JSON string of the text in ASCII; halves of pairs keep their escapes."""
    return json.dumps(text)
