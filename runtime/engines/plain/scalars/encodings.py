"""Bits, digits of other bases, and texts that stand for bytes: hexadecimal digits and base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import in_range

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _signed(word: int) -> int:
    """Returns the long with the last 64 bits of a number."""
    word %= 2**64
    return word - 2**64 if word >= 2**63 else word


def _bytes_of_hex(text: str) -> bytes | None:
    if not text.isascii() or len(text.split()) > 1 or text.strip() != text:
        return None
    with suppress(ValueError):
        return bytes.fromhex(text)
    return None


def _bytes_of_base64(text: str) -> bytes | None:
    with suppress(ValueError, binascii.Error):
        decoded = base64.b64decode(text, validate=True)
        return decoded if base64.b64encode(decoded).decode() == text else None
    return None


def _text(decoded: bytes | None) -> str | None:
    with suppress(UnicodeDecodeError):
        return None if decoded is None else decoded.decode()
    return None


def _hex(decoded: bytes | None) -> str | None:
    return None if decoded is None else decoded.hex().upper()


def _base64(decoded: bytes | None) -> str | None:
    return None if decoded is None else base64.b64encode(decoded).decode()


def _from_base(text: str, base: int) -> int | None:
    digits = text.removeprefix("-")
    if not digits or any(digit not in _DIGITS[:base] for digit in digits.upper()) or not digits.isascii():
        return None
    return in_range(int(text, base))


def _to_base(number: int, base: int) -> str:
    rest, digits = abs(number), ""
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if number < 0 else digits


VALUES: dict[str, Callable[..., Any]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_not": lambda x: ~x,
    "shift_left": lambda x, n: _signed(x << n),
    "shift_right": lambda x, n: x >> n,
    "bit": lambda x, n: bool(x >> n & 1),
    "bit_count": lambda x: (x % 2**64).bit_count(),
    "hex": lambda s: _hex(s.encode()),
    "unhex": lambda s: _text(_bytes_of_hex(s)),
    "base64": lambda s: _base64(s.encode()),
    "unbase64": lambda s: _text(_bytes_of_base64(s)),
    "base64_to_hex": lambda s: _hex(_bytes_of_base64(s)),
    "hex_to_base64": lambda s: _base64(_bytes_of_hex(s)),
    "from_base": _from_base,
    "to_base": _to_base,
}
