"""Hashes and checksums."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import double
from cedilla.runtime.engines.plain.scalars.order import comparable
from cedilla.runtime.engines.plain.scalars.times import START, micros


def _hash(*arguments: Any) -> int:
    """Returns Murmur3 as in Spark: the hash of an argument is the seed of the next; undefined ones are
    skipped.
    """
    seed = 42
    for value in arguments:
        match value:
            case None:
                pass
            case bool():
                seed = _mixed(seed, struct.pack("<i", value))
            case str():
                seed = _mixed(seed, value.encode())
            case datetime():
                seed = _mixed(seed, struct.pack("<q", micros(value)))
            case date():
                seed = _mixed(seed, struct.pack("<i", (value - START.date()).days))
            case _:  # 0.0 and -0.0 are one
                seed = _mixed(seed, struct.pack("<d", comparable(double(value))))
    return seed - 2**32 if seed >= 2**31 else seed


def _mixed(seed: int, data: bytes) -> int:
    end = len(data) - len(data) % 4
    words = list(struct.unpack(f"<{end // 4}I", data[:end]))
    words += [
        byte - 256 if byte > 127 else byte for byte in data[end:]
    ]  # Spark hashes each remaining byte as a word
    for word in words:
        mixed = _turned(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        seed = (_turned(seed ^ mixed, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    seed ^= len(data)
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return seed ^ seed >> 16


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


VALUES: dict[str, Callable[..., Any]] = {
    "hash": _hash,
    "crc32": lambda s: zlib.crc32(s.encode()),
    "md5": lambda s: hashlib.md5(s.encode()).hexdigest(),
    "sha1": lambda s: hashlib.sha1(s.encode()).hexdigest(),
    "sha2": lambda s, bits: hashlib.new(f"sha{bits}", s.encode()).hexdigest(),
}
