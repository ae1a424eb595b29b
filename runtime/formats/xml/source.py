"""XML: a tuple is an element of elements, a punctuation the same in the namespace `punct` (seeds, 002; design,
section 6).

The text of a file is cut into tokens by one regular expression; their numbers order tuples and markers. So one
task reads one file.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import BOOLEAN, DOUBLE, LONG, Type, quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.read_by_spark import FILE_URI, ReadBySpark, placed
from cedilla.runtime.formats.source import CORRUPT, FILE, Numbered, Types
from cedilla.runtime.formats.xml import moments
from cedilla.runtime.items import xmltext
from cedilla.runtime.items.json_objects import SHOWN
from cedilla.runtime.items.marker import MarkerLine
from cedilla.runtime.items.rejections import misfit

_NAME = r"[\p{L}_][\p{L}\p{N}_.:\-]*+"
_REST = r"(?:\s[^<>]*?)?"  # of an opening tag, without its end
_COMMENT = r"<!--(?s:.*?)-->"
_ASIDE = rf"(?:{_COMMENT}|<\?(?s:.*?)\?>|<!DOCTYPE[^<>\[]*+(?:\[[^\]]*+\][^<>]*+)?>)"
_BLANK = rf"(?:\s++|{_ASIDE})*+"
_BLANKS = r" \t\r\n"


def _leaf(group: int) -> str:
    """An element that holds text only. The group is its name, the next one its text."""
    return rf"<((?!accent:|punct:){_NAME}){_REST}(?:/>|>([^<]*+)</\{group}\s*+>)"


def _row(group: int) -> str:
    """An element of leaves; the group is its name."""
    return rf"<({_NAME}){_REST}(?:/>|>\s*+(?:(?:{_leaf(group + 1)}|{_COMMENT})\s*+)*+</\{group}\s*+>)"


def _accent(group: int) -> str:
    return rf"<accent:({_NAME}){_REST}>[^<]*+</accent:\{group}\s*+>"


def _root(group: int) -> str:
    """What opens the one element around all others: the first in it is no leaf, and there is no other of its name."""
    inside = rf"<(?:accent|punct):|<{_NAME}{_REST}>{_BLANK}<[^/!?]|</\{group}\s*+>{_BLANK}\z"
    return (
        rf"\A\x{{FEFF}}?{_BLANK}<((?!accent:|punct:){_NAME}){_REST}>"
        rf"(?={_BLANK}(?:{inside}))(?!(?s:.*?)<\{group}[\s/>])"
    )


_TOKENS = "|".join(
    [
        _root(1),
        r"\A\x{FEFF}",
        r"\s++",
        _ASIDE,
        _accent(2),
        _row(3),
        # What is none of these is malformed: up to its end, or as far as leaves follow, or one tag or text.
        rf"<({_NAME}){_REST}>(?s:(?!<\6[\s/>]).)*?</\6\s*+>",
        rf"<{_NAME}{_REST}>\s*+(?:{_leaf(7)}\s*+)*+",
        r"</[^<>]*+>",
        r"[^<\s][^<]*+",
        r"<[^<]*+",
    ]
)
_SKIPPED = rf"\A(?:\x{{FEFF}}|\s++|{_ASIDE})\z"
_OUTSIDE = rf"(?s)\A<[^>]*+>|</[^>]*+>\z|{_COMMENT}"
_NUMBER = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"


_SPOILT = (
    "an element that is meant as a marker is malformed",
    "inside it `<` and `&` are written `&lt;` and `&amp;`; a punctuation has an element for each pattern",
)


class Xml(ReadBySpark):
    """One element is one tuple or marker; a file may have one element around them all."""

    malformed: ClassVar[str] = "the element is malformed, or a value is not of its attribute's type"

    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Every element of the files, and what is malformed between them."""
        read = placed(_tokens(spark, files).where("NOT skipped"), files, ["token"], "pos", file=f"`{FILE}`")
        token, punct = F.col("token"), F.col("token").startswith("<punct:")
        is_row, is_accent = token.rlike(rf"\A{_row(1)}\z"), token.rlike(rf"\A{_accent(1)}\z")
        found = read.select(FILE, POSITION, "token", is_row.alias("row"), is_accent.alias("accent")).select(
            FILE,
            POSITION,
            "token",
            (F.col("row") | F.col("accent")).alias("well"),
            F.when(F.col("accent"), token).alias("$accent"),
            F.when(F.col("row") & punct, token).alias("$punctuation"),
            F.when(F.col("row") & ~punct, F.regexp_replace(token, _OUTSIDE, "")).alias("inside"),
        )
        values = {name: _value(f"`text${name}`", type_) for name, type_ in types.items()}
        wrong = ["NOT well", _REPEATED]
        wrong += [f"`text${name}` <> '' AND {value} IS NULL" for name, value in values.items()]
        return _with_texts(found, types).select(
            "$accent",
            "$punctuation",
            F.expr(f"CASE WHEN {' OR '.join(wrong)} THEN trim(BOTH '{_BLANKS}' FROM token) END").alias(
                CORRUPT
            ),
            *(F.expr(value).alias(name) for name, value in values.items()),
            FILE,
            POSITION,
        )

    def markers(self, spark: SparkSession, files: Numbered) -> list[MarkerLine]:
        # A marker must never be lost as a bad tuple: what follows it would be taken for something else (G34).
        spoilt = f"`{CORRUPT}` LIKE '%<accent:%' OR `{CORRUPT}` LIKE '%<punct:%'"
        found = (
            self.rows(spark, files, {})
            .where(f"`$accent` IS NOT NULL OR `$punctuation` IS NOT NULL OR {spoilt}")
            .select("$accent", "$punctuation", CORRUPT, POSITION)
            .collect()
        )
        result: list[MarkerLine] = []
        for accent, punctuation, corrupt, position in sorted(found, key=lambda row: row[3]):
            if corrupt is not None:
                result.append(MarkerLine("spoilt", corrupt, position, problem=_SPOILT))
            elif accent is not None:
                wire = partial(xmltext.accent_wire, accent)
                result.append(MarkerLine("accent", accent, position, wire))
            else:
                wire = partial(xmltext.punctuation_wire, punctuation)
                result.append(MarkerLine("punctuation", punctuation, position, wire))
        return result

    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        order = f"PARTITION BY `{FILE}` ORDER BY pos"
        above = f"{order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        breaks = "length(token) - length(replace(token, '\\n', ''))"
        numbered = _tokens(spark, files).selectExpr(
            "*", f"coalesce(sum({breaks}) OVER ({above}), 0) + 1 AS line"
        )
        return numbered.where("NOT skipped").selectExpr(
            f"trim(BOTH '{_BLANKS}' FROM token) AS raw",
            f"`{FILE}` AS file",
            "line",
            f"row_number() OVER ({order}) AS ordinal",
        )

    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        inside = F.when(F.col("raw").rlike(rf"\A{_row(1)}\z"), F.regexp_replace("raw", _OUTSIDE, ""))
        read = _with_texts(lines.select("*", inside.alias("inside")), types)
        cases = [
            f"WHEN `text${name}` <> '' AND {_value(f'`text${name}`', type_)} IS NULL "
            f"THEN concat({quote(misfit(name, type_, ''))}, {_shown(f'`text${name}`')})"
            for name, type_ in types.items()
        ]
        fault = (
            f"CASE WHEN inside IS NULL OR {_REPEATED} THEN 'the element is malformed' {' '.join(cases)} END"
        )
        return read.select(*lines.columns, F.expr(fault).alias("fault"))

    def fields(self, spark: SparkSession, files: Numbered) -> dict[str, str]:
        leaf = _leaf(1)
        tuples = _tokens(spark, files).where(
            F.col("token").rlike(rf"\A{_row(1)}\z") & ~F.col("token").startswith("<punct:")
        )
        inside = tuples.select(F.regexp_replace("token", _OUTSIDE, "").alias("inside"))
        pairs = inside.select(
            F.explode(
                F.arrays_zip(
                    F.regexp_extract_all("inside", F.lit(leaf), F.lit(1)).alias("name"),
                    F.regexp_extract_all("inside", F.lit(leaf), F.lit(2)).alias("text"),
                )
            ).alias("field")
        )
        text = f"trim(BOTH '{_BLANKS}' FROM field.text)"
        kinds = {
            kind: f"bool_and({text} = '' OR {_value(text, type_)} IS NOT NULL)" for kind, type_ in _INFERRED
        }
        found = pairs.groupBy("field.name").agg(*(F.expr(sql).alias(kind) for kind, sql in kinds.items()))
        return {row["name"]: next((kind for kind in kinds if row[kind]), "string") for row in found.collect()}


_REPEATED = "size(names) > size(array_distinct(names))"


def _shown(text: str) -> str:
    """SQL: a string as JSON has it, cut as `json_objects.shown` does."""
    # As the value of an object of one field, whose other signs are cut off.
    wrapped = f"to_json(named_struct('s', left({text}, {SHOWN})))"
    more = f"IF(length({text}) > {SHOWN}, '…', '')"
    return f"concat(substr({wrapped}, 6, length({wrapped}) - 6), {more})"


def _with_texts(found: DataFrame, types: Types) -> DataFrame:
    """Rows of `inside`, the elements of a tuple, with those of each attribute as `text$NAME`, and all their `names`."""
    leaf = F.lit(_leaf(1))
    named = found.select(
        "*",
        F.regexp_extract_all("inside", leaf, F.lit(1)).alias("names"),
        F.regexp_extract_all("inside", leaf, F.lit(2)).alias("texts"),
    )
    return named.select("*", *(F.expr(_text(name)).alias(f"text${name}") for name in types))


def _tokens(spark: SparkSession, files: Numbered) -> DataFrame:
    """The whole text of the files in pieces, with their numbers; `skipped` are those that are no element."""
    text = spark.read.text([file.path for file in files.values()], wholetext=True)
    # In two steps: beside the explosion, the root would be looked for once more for every piece.
    rooted = text.select(
        F.expr(FILE_URI).alias(FILE),
        "value",
        F.regexp_extract("value", _root(1), 1).alias("root"),
    )
    tokens = F.posexplode(F.regexp_extract_all("value", F.lit(_TOKENS), F.lit(0))).alias("pos", "token")
    pieces = rooted.select(FILE, "root", tokens)
    end = F.concat(F.lit("</"), F.col("root"), F.lit(">"))
    around = (F.col("root") != "") & ((F.col("pos") == 0) | (F.regexp_replace("token", r"\s", "") == end))
    return pieces.select(FILE, "pos", "token", (around | F.col("token").rlike(_SKIPPED)).alias("skipped"))


def _text(name: str) -> str:
    """The text of the element of a name, trimmed, its references replaced; null where there is none."""
    raw = f"trim(BOTH '{_BLANKS}' FROM get(texts, array_position(names, {quote(name)}) - 1))"
    return f"CASE WHEN {raw} LIKE '%&%' THEN {_UNESCAPED.replace('{x}', raw)} ELSE {raw} END"


_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_UTF_32 = "decode(unhex(lpad({hex}, 8, '0')), 'UTF-32')"
_UNESCAPED = (
    "array_join(transform(split({x}, '&'), (part, i) -> CASE WHEN i = 0 THEN part "
    + " ".join(
        f"WHEN part LIKE '{name};%' THEN concat({quote(sign)}, substring(part, {len(name) + 2}))"
        for name, sign in _NAMED.items()
    )
    + " WHEN part RLIKE '^#[0-9]{1,7};' THEN concat("
    + _UTF_32.format(hex="conv(substring_index(substring(part, 2), ';', 1), 10, 16)")
    + ", substring(part, instr(part, ';') + 1))"
    + " WHEN part RLIKE '^#x[0-9A-Fa-f]{1,6};' THEN concat("
    + _UTF_32.format(hex="substring_index(substring(part, 3), ';', 1)")
    + ", substring(part, instr(part, ';') + 1))"
    + " ELSE concat('&', part) END), '')"
)
"""SQL: each part after a `&` begins with a reference, or the sign stands for itself."""


def _value(text: str, type_: Type) -> str:
    """SQL: the value of a text, null where it is none of the type; as strict as JSON is."""
    if type_.name == "string":
        return text
    if type_.name == "boolean":
        return f"CASE {text} WHEN 'true' THEN true WHEN 'false' THEN false END"
    if not type_.is_numeric:
        return moments.of_text(text, type_)
    number = f"CASE WHEN {text} RLIKE '{_NUMBER}' THEN try_cast({text} AS {type_.spark}) "
    special = f"WHEN {text} IN ('NaN', 'Infinity', '-Infinity') THEN CAST({text} AS DOUBLE) "
    return f"{number}{special if type_.name == 'double' else ''}END"


_INFERRED = (("bigint", LONG), ("double", DOUBLE), ("boolean", BOOLEAN))
"""What the texts of a field can be, as Spark calls it, the narrowest first; else they are strings."""
