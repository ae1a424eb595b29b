"""Values of binary formats as JSON: decimals with all digits, moments with those of their unit, bytes in base64."""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64encode
from datetime import date, datetime, timedelta
from typing import Any

_NUMBER = secrets.token_hex(8)
"""The begin of a text that becomes a number. No producer can know it."""
_AS_NUMBER = re.compile(rf'"{_NUMBER}([^"]*)"')
_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_EPOCH = datetime(1970, 1, 1)


class BeyondTypeError(Exception):
    """A value that its type cannot have in JSON."""


def line_of(item: Any) -> bytes:
    """Returns an object as a line. Texts of `decimal_text` become numbers."""
    text = _ENCODE(item)
    return (_AS_NUMBER.sub(r"\1", text) if _NUMBER in text else text).encode()


def decimal_text(number: int, scale: int) -> str:
    """Returns a text that becomes a number with all digits. `scale`: its digits after the point."""
    digits = str(abs(number)).rjust(scale + 1, "0")
    point = len(digits) - scale
    return f"{_NUMBER}{'-' if number < 0 else ''}{digits[:point]}{'.' if scale else ''}{digits[point:]}"


def moment_text(number: int, digits: int, zone: str = "Z") -> str:
    """Returns a moment since 1970. `digits`: those after the point of a second. Raises `BeyondTypeError`."""
    seconds, rest = divmod(number, 10**digits)
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise BeyondTypeError("a timestamp of the record is outside of the years 1 to 9999") from None
    return f"{moment.isoformat()}.{rest:0{digits}d}{zone}"


def number_text(text: str) -> str:
    """Returns a text that becomes the number that it is."""
    return f"{_NUMBER}{text}"


def date_text(days: int) -> str:
    """Returns a day since 1970. Raises `BeyondTypeError`."""
    try:
        return date.fromordinal(_EPOCH.toordinal() + days).isoformat()
    except (ValueError, OverflowError):
        raise BeyondTypeError("a date of the record is outside of the years 1 to 9999") from None


def time_text(number: int, digits: int) -> str:
    """Returns a time of a day. `digits`: those after the point of a second. Raises `BeyondTypeError`."""
    seconds, rest = divmod(number, 10**digits)
    if not 0 <= seconds < 86_400:
        raise BeyondTypeError("a time of the record is not of a day")
    clock = (datetime.min + timedelta(seconds=seconds)).time()
    return f"{clock.isoformat()}.{rest:0{digits}d}"


def base64_text(data: bytes) -> str:
    """Returns bytes as text."""
    return b64encode(data).decode()
