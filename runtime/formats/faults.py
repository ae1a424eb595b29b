"""What is wrong with a rejected line, as SQL over its text: which value is not of its attribute's type (RQ301)."""

from __future__ import annotations

from cedilla.compiler.expressions.types import STRING, Type, quote
from cedilla.runtime.formats.moments import of_text
from cedilla.runtime.formats.objects import OPTIONS
from cedilla.runtime.formats.source import CORRUPT
from cedilla.runtime.items.json_objects import NUMBER, SHOWN
from cedilla.runtime.items.marker import Types
from cedilla.runtime.items.rejections import misfit


def json_fault(text: str, types: Types) -> str:
    """SQL: the first of the attributes whose value in the object of a text is none of its type, in words; null where
    there is none."""
    cases = [
        f"WHEN {_is_wrong(text, name, type_)} THEN {said(name, type_, _shown(text, name))}"
        for name, type_ in types.items()
        if type_ != STRING
    ]
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"


def said(name: str, type_: Type, shown: str) -> str:
    """SQL: `misfit` of a value, `shown` as SQL."""
    return f"concat({quote(misfit(name, type_, ''))}, {shown})"


def quoted(text: str) -> str:
    """SQL: a string as JSON has it, cut as `json_objects.shown` does."""
    # As the value of an object of one field, whose other signs are cut off.
    wrapped = f"to_json(named_struct('s', left({text}, {SHOWN})))"
    more = f"IF(length({text}) > {SHOWN}, '…', '')"
    return f"concat(substr({wrapped}, 6, length({wrapped}) - 6), {more})"


def _is_wrong(text: str, name: str, type_: Type) -> str:
    if type_.name in ("timestamp", "date"):
        value = _field(text, name, "STRING")
        return f"{value} IS NOT NULL AND {of_text(value, type_)} IS NULL"
    return f"{_parsed(text, name, type_.spark)}.`{CORRUPT}` IS NOT NULL"


def _parsed(text: str, name: str, type_: str) -> str:
    field = name.replace("`", "``")
    return f"from_json({text}, {quote(f'`{field}` {type_}, `{CORRUPT}` STRING')}, {OPTIONS})"


def _field(text: str, name: str, type_: str) -> str:
    field = name.replace("`", "``")
    return f"{_parsed(text, name, type_)}.`{field}`"


def _shown(text: str, name: str) -> str:
    """SQL: the same as `json_objects.shown`."""
    kind = f"schema_of_variant({_field(text, name, 'VARIANT')})"
    key = f'"{name}"'
    once = f"length({text}) - length(replace({text}, {quote(key)}, '')) = {len(key)}"
    pattern = quote(rf"\Q{key}\E[ \t]*:[ \t]*({NUMBER})")
    number = f"regexp_extract({text}, {pattern}, 1)"
    return (
        f"CASE WHEN {kind} IS NULL THEN 'a text' WHEN {kind} = 'STRING' THEN {quoted(_field(text, name, 'STRING'))} "
        f"WHEN {kind} = 'BOOLEAN' THEN {_field(text, name, 'STRING')} "
        f"WHEN {kind} LIKE 'OBJECT%' THEN 'an object' WHEN {kind} LIKE 'ARRAY%' THEN 'a list' "
        f"WHEN {once} AND {number} <> '' THEN {number} ELSE 'a number' END"
    )
