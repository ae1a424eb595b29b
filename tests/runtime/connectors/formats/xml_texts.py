"""Random files of XML, more or less odd."""

from __future__ import annotations

from random import Random

from cedilla.runtime.connectors.records import xml_records

ODD = {
    "i": [
        "1",
        "-7",
        "+5",
        "007",
        "0x1F",
        "2147483648",
        "5.0",
        "-5.000",
        "5.",
        "5.5",
        "0x1F.0",
        "&#53;.0",
        "1e3",
        " 5 ",
        "&#53;",
        "-0",
        "NaN",
        "٣",
        "",
        "5\v",
    ],
    "l": ["9223372036854775807", "9223372036854775808", "0XFF", "1_000", "1,000", "\t3", "1" * 30],
    "d": [
        *("1.5", ".5", "5.", "NaN", "nan", "inf", "Infinity", "-Infinity", "+INF", "INF", " NaN", "1e999"),
        *(
            "1e-400",
            "0x1p3",
            "-nan",
            "-0",
            "infinity",
            "1e",
            "--1",
            "12345678901234567890",
            "0.1",
            "1f",
            "+.5e+1",
        ),
    ],
    "m": [
        "1.25",
        "1.250",
        "1.255",
        "12345.67",
        "9999.999",
        "1e2",
        "1,000",
        ".5",
        "5.",
        "+1",
        "NaN",
        "0x1",
        "-.005",
        "",
    ],
    "s": [
        "a",
        "",
        " a b\n",
        "&#32;a&#9;",
        "&lt;&amp;&bad;&#0;",
        "5 > 4",
        "é",
        "[1, 2]",
        "true",
        "1.50",
        "&#xD800;",
        "&#1114112;",
        "\u00a0a\u3000",
    ],
    "b": ["true", "false", "True", "1", " true\n", "TRUE", "yes", ""],
    "at": [
        "2020-01-02T03:04:05Z",
        "2020-01-02",
        "2020",
        "2020-01-02T03:04:05+01:00",
        "today",
        "2020-02-30",
        "",
    ],
    "day": ["2020-01-02", "2020-1-2", "0001-01-01", "2020-01-02T00:00:00Z", "5", ""],
}
BETWEEN = ["\n", "\n", "\n", "", " \n ", "<!-- <r> -->", "<?x <r> ?>"]
MALFORMED = [
    *(
        "<r><i>1</i>",
        "</r>",
        "stray",
        "<r",
        "<r><i>1</i><i>2</i></r>",
        "<r>text</r>",
        "< r>",
        "<r><i>1</l></r>",
    ),
    *(
        "<r><s><b>true</b></s></r>",
        "<r><i <l>2</l></r>",
        "<r>\udc80</r>",
        "<r><s>\udc80</s></r>",
        "<!-- open",
        ">",
    ),
    *("<r><punct:i/></r>", "<r><accent:i>1</accent:i></r>", "<r>&#32;</r>", "<>", "<r><1>2</1></r>", "<é/>"),
]
MARKERS = [
    *("<punct:r/>", "<punct:r><i>[1,2]</i></punct:r>", "<accent:r>[[+(p: long)]]</accent:r>"),
    *(
        "<accent:r>[[i < 2, -(s)]]</accent:r>",
        "<punct:r><i>1</i><i>2</i></punct:r>",
        "<accent:r/>",
        "<punct:r>",
    ),
    "<accent:r a='1'>[[i &lt; 2, -(s)]]</accent:r\n>",
]


def element(chance: Random, odd: float) -> str:
    roll = chance.random()
    if roll < odd / 8:
        return chance.choice(MALFORMED)
    if roll < odd / 5:
        return chance.choice(MARKERS)
    row = chance.choice(["r", "r", "r", "row"])
    inside = ""
    for name, texts in chance.sample([*ODD.items()], chance.choice([0, 3, 8, 8])):
        if chance.random() < odd:
            text, space = chance.choice(texts), chance.choice(["", " a='1'", "\n"])
            leaf = (
                f"<{name}{space}/>"
                if text == ""
                else f"<{name}{space}>{text}</{name}{chance.choice(['', ' '])}>"
            )
            inside += chance.choice(["", " ", "<!-- <i>1</i> -->"]) + leaf
        else:
            inside += f"<{name}>{texts[0]}</{name}>"
    return f"<{row}/>" if inside == "" else f"<{row}>{inside}</{row}>"


def text_of(chance: Random) -> bytes:
    odd = chance.choice([0, 0.02, 0.3])
    rows = [element(chance, odd) for _ in range(chance.randrange(40))]
    text = "".join(row + (chance.choice(BETWEEN) if odd else "\n") for row in rows)
    if chance.random() < 0.3:
        text = f"<?xml version='1.0'?>\n<all>{text}</all >"
    return chance.choice([b"", xml_records.MARK]) + text.encode("utf-8", "surrogateescape")
