"""Versions of software and devices, and their keys: texts whose order, character by character, is that of the versions.

The numbers between dots are compared as numbers, and missing ones are 0. Then come pre-releases before the release, in
the order of Semantic Versioning 2.0: part by part, numbers before words, more parts last. Then the text decides, so
that equal versions have equal texts. A key ends with its text.
"""

from __future__ import annotations

import re

_LIKE_ONE = re.compile(r"[vV]?[0-9]+(?:\.[0-9]+)+(?:[-+].*)?")


def is_like_version(value: object) -> bool:
    """Returns True for a string of numbers between dots, as in `v1.10.0-rc1`, which texts do not order."""
    return isinstance(value, str) and _LIKE_ONE.fullmatch(value) is not None


_NUMBERS = "[0-9]{1,18}(?:[.][0-9]{1,18}){0,7}"
_PARTS = "(?:[0-9]{1,18}|[0-9]*[A-Za-z-][0-9A-Za-z-]{0,63})"
FORM = f"[vV]?{_NUMBERS}(?:-{_PARTS}(?:[.]{_PARTS}){{0,7}})?(?:[+][0-9A-Za-z.-]{{1,128}})?"
"""A version: up to eight numbers of up to 18 digits, then perhaps a pre-release, then perhaps the name of a build."""
_FORM = re.compile(FORM)
_SPLIT = re.compile("[vV]?([0-9.]+)(?:-([0-9A-Za-z.-]+))?")

_TEXT = " "
"""The sign before the text in a key. It comes before every other sign of a key."""
_END = "!"
_RELEASE = "#"
"""The sign after the numbers of a release; `_END` is that of a pre-release. Digits come after both."""


def key_of(text: str) -> str:
    """Returns the key of a version. Raises `ValueError` for other texts."""
    if not is_version(text):
        raise ValueError(f"{text!r} is not a version")
    split = _SPLIT.match(text)
    assert split is not None
    numbers = re.sub("(?:[.]0+)+$", "", split[1]).split(".")
    release = "".join(map(_number, numbers))
    if split[2] is None:
        return f"{release}{_RELEASE}{_TEXT}{text}"
    return f"{release}{_END}{''.join(map(_part, split[2].split('.')))}{_TEXT}{text}"


def is_version(value: object) -> bool:
    """Returns True for a text that has a key."""
    return isinstance(value, str) and len(value) <= LONGEST and _FORM.fullmatch(value) is not None


LONGEST = 256
"""The greatest length of a version."""


def _number(digits: str) -> str:
    """Returns a number with its length before it, as numbers with more digits are greater."""
    significant = digits.lstrip("0")
    return f"{len(significant):02}{significant}"


def _part(part: str) -> str:
    return f"0{_number(part)}" if part.isdigit() else f"1{part}{_END}"


def text_of(key: str) -> str:
    """Returns the version of a key, in the form that was sent."""
    return key.rpartition(_TEXT)[2]


def text_sql(key: str) -> str:
    """Writes the version of a key in SQL."""
    return f"substring_index({key}, '{_TEXT}', -1)"


def key_sql(text: str) -> str:
    """Writes the key of a text in SQL; undefined for other texts than versions."""
    numbers = rf"regexp_replace(regexp_extract({text}, '^[vV]?([0-9.]+)', 1), '([.]0+)+$', '')"
    release = _joined_sql(numbers, _number_sql("p"))
    before_build = f"substring_index({text}, '+', 1)"
    parts = f"substring({before_build}, instr({before_build}, '-') + 1)"
    pre_release = _joined_sql(
        parts, f"IF(rlike(p, '^[0-9]+$'), concat('0', {_number_sql('p')}), concat('1', p, '{_END}'))"
    )
    end = f"IF(instr({before_build}, '-') > 0, concat('{_END}', {pre_release}), '{_RELEASE}')"
    is_one = rf"rlike({text}, '^({FORM.replace('?:', '')})\\z') AND length({text}) <= {LONGEST}"
    return f"CASE WHEN {is_one} THEN concat({release}, {end}, '{_TEXT}', {text}) END"


def _joined_sql(parts: str, of_part: str) -> str:
    return f"array_join(transform(split({parts}, '[.]'), p -> {of_part}), '')"


def _number_sql(digits: str) -> str:
    significant = f"regexp_replace({digits}, '^0+', '')"
    return f"concat(lpad(CAST(length({significant}) AS STRING), 2, '0'), {significant})"
